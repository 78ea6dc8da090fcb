package rawjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"oneloop/internal/rawjson"
)

// Most strings take a short way, which is to give the same.
func TestAStringIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	same := func(t rapid.TB, s string) {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		want := "before" + string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
		if got := string(rawjson.AppendString([]byte("before"), s)); got != want {
			t.Errorf("%q is written as %s; want %s", s, got, want)
		}
	}
	for c := range 256 {
		same(t, string([]byte{'a', byte(c), 'b'}))
	}
	rapid.Check(t, func(t *rapid.T) {
		same(t, rapid.OneOf(rapid.String(), rapid.StringN(0, 8, -1), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s"))
	})
}
