package session

import (
	"testing"

	"pgregory.net/rapid"
)

// What a log begins with is written by hand.
func TestAHeadIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.Just(""), rapid.String())
		h := Head{Version: rapid.Int().Draw(t, "v"), ID: text.Draw(t, "id"), Dir: text.Draw(t, "dir"), Program: text.Draw(t, "program"), User: text.Draw(t, "user")}
		if rapid.Bool().Draw(t, "fork") {
			h.Parent = &Place{ID: text.Draw(t, "parent"), N: rapid.Int64().Draw(t, "n")}
		}
		if rapid.Bool().Draw(t, "child") {
			h.Child = &Child{Of: text.Draw(t, "of"), Path: text.Draw(t, "path"), Call: text.Draw(t, "call")}
		}
		if rapid.Bool().Draw(t, "chapter") {
			h.Series = text.Draw(t, "series")
		}
		want, err := encode(h)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := appendHead(nil, h); err != nil || string(got) != string(want) {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	})
}
