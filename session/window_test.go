package session_test

import (
	"bytes"
	"context"
	pixels "image"
	"image/png"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/session"
)

func TestTheWindowIsCountedByTheAPIAndWhatCameSinceIsEstimated(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, pixels.NewGray(pixels.Rect(0, 0, 1000, 1000))); err != nil {
		t.Fatal(err)
	}
	log := session.NewLog("", session.LogOptions{})
	log.Use(session.Setup{System: []oneloop.Block{text(strings.Repeat("s", 350))}, Tools: []oneloop.ToolDef{{Name: "T", Schema: []byte(`"` + strings.Repeat("d", 698) + `"`)}}})
	s := &session.Session{Transcript: log, Window: session.Window{Tokens: 200_000}}
	fill := func(want session.Fill) {
		t.Helper()
		got, err := s.Fill(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	add := func(m *oneloop.Message) {
		t.Helper()
		if err := log.Append(context.Background(), m); err != nil {
			t.Fatal(err)
		}
	}
	add(oneloop.NewMessage(oneloop.User, text(strings.Repeat("你", 92)), &oneloop.Media{Type: "image", MIME: "image/png", Data: picture.Bytes()}))
	parts := []session.Part{{Name: "system", Tokens: 108}, {Name: "tools", Tokens: 209}, {Name: "prompts", Tokens: 100}, {Name: "media", Tokens: 36*36 + 8}}
	fill(session.Fill{Window: 200_000, Limit: 180_000, Used: 1721, Parts: parts})

	m := says(oneloop.StopToolUse, call("1", "T"))
	m.Usage = oneloop.Usage{Reported: true, CacheRead: 17_000, CacheWrite: 100, Input: 50, Output: 60}
	add(m)
	r := oneloop.TextResult(strings.Repeat("r", 1400))
	r.ID = "1"
	add(oneloop.NewMessage(oneloop.User, r))
	got, err := s.Fill(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(17_210 + 400 + 24); got.Used != want || !got.Counted {
		t.Errorf("%d tokens are in the window, counted %v; want %d", got.Used, got.Counted, want)
	}
	var sum int64
	for _, p := range got.Parts {
		sum += p.Tokens
	}
	if sum > got.Used || sum < got.Used-10 {
		t.Errorf("the parts are %d of %d", sum, got.Used)
	}
}

func TestTheLimitLeavesRoomForAReply(t *testing.T) {
	for _, c := range []struct {
		window session.Window
		reply  int
		want   int64
	}{
		{session.Window{}, 8000, 0},
		{session.Window{Tokens: 200_000}, 0, 180_000},
		{session.Window{Tokens: 200_000}, 4096, 195_904},
		{session.Window{Tokens: 1_000_000}, 128_000, 980_000},
		{session.Window{Tokens: 20_000}, 128_000, 15_000},
		{session.Window{Tokens: 20_000, Output: 19_000}, 128_000, 1000},
	} {
		log := session.NewLog("", session.LogOptions{})
		log.Use(session.Setup{Params: oneloop.Params{MaxTokens: c.reply}})
		s := &session.Session{Transcript: log, Window: c.window}
		if got, err := s.Fill(t.Context()); err != nil || got.Limit != c.want {
			t.Errorf("%+v with replies of %d: %d, %v; want %d", c.window, c.reply, got.Limit, err, c.want)
		}
	}
}
