package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/session"
)

// conversed is the log of a conversation with a strict API, and the server that
// knows what it said in it.
func conversed(t *testing.T) ([]byte, *script.Server) {
	server := script.New(
		script.Say(thought(1), script.Text("I look, é 中"), script.Tool("toolu_a1", "T", `{"command":"ls \ud83d\ude00"}`), script.Tool("toolu_a2", "T", `{"path":"0"}`)),
		script.Say(script.Tool("toolu_b7", "T", `{}`)),
		script.Say(script.Text("0")),
		script.Say(script.Tool("toolu_c1", "T", `{"n":1}`)),
		script.Say(script.Text("done")),
		script.Reply{Repeat: true, Blocks: []script.Block{script.Text("ok")}},
	)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	path := filepath.Join(t.TempDir(), "s.jsonl")
	l := session.NewLog(path, session.LogOptions{Head: session.Head{Dir: "/w"}})
	n := 0
	s := agent(t, server, func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		n++
		r := oneloop.TextResult(fmt.Sprint(n))
		if n == 2 {
			r.Content = append(r.Content, &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte("png")})
		}
		r.IsError = n == 3
		return r, nil
	})
	on(s, l)
	for i := range 2 {
		if _, err := send(t, t.Context(), s, text(fmt.Sprint("turn ", i))); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole, server
}

// on puts a session on a log.
func on(s *session.Session, l *session.Log) {
	box := s.Tools.(*oneloop.Toolbox)
	l.Use(session.Setup{Model: "m", System: []oneloop.Block{&oneloop.Text{Text: "Be brief."}}, Tools: box.Defs()})
	box.Tools[0] = l.Intend(box.Tools[0])
	s.Transcript = l
}

// TestNoBitIsTheEndOfASession changes single bits of a log: it opens, and the
// next request is one that a strict API takes. Only of reasoning, whose
// signature an API alone can check, and of an image, whose bytes nothing here
// reads, it finds out by being refused once.
func TestNoBitIsTheEndOfASession(t *testing.T) {
	whole, server := conversed(t)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	flips, version := 400, bytes.Index(whole, []byte(`"v":1`))+len(`"v":`)
	for range flips {
		bit := random.IntN(len(whole) * 8)
		if bit/8 == version {
			continue // a newer format is refused
		}
		spoilt := bytes.Clone(whole)
		spoilt[bit/8] ^= 1 << (bit % 8)
		if err := goesOn(t, server, path, spoilt); err != nil {
			begin := bytes.LastIndexByte(whole[:bit/8], '\n') + 1
			line, _, _ := bytes.Cut(spoilt[begin:], []byte("\n"))
			t.Errorf("seed %d, bit %d of byte %d (%q, was %q): %v\n%s", seed, bit%8, bit/8, spoilt[bit/8], whole[bit/8], err, line)
		}
	}
}

// goesOn opens a log and takes a turn.
func goesOn(t *testing.T, server *script.Server, path string, log []byte) error {
	if err := os.WriteFile(path, log, 0o600); err != nil {
		return err
	}
	l, damage, err := session.OpenLog(path, session.LogOptions{})
	if err != nil {
		return err
	}
	defer l.Close()
	s := agent(t, server, nil)
	on(s, l)
	notices := ""
	for e, err := range s.Send(t.Context(), text("go on")) {
		if err != nil {
			return fmt.Errorf("%w (damage %v)", err, damage)
		}
		if n, ok := e.(oneloop.Notice); ok {
			notices += n.Text
		}
	}
	if notices != "" && !strings.Contains(notices, "without the reasoning") && !strings.Contains(notices, "without an image") {
		return errors.New(notices)
	}
	return nil
}

// TestWhatCannotBeSentIsDamage has a message in a log that can be read and that
// no API would take.
func TestWhatCannotBeSentIsDamage(t *testing.T) {
	whole, server := conversed(t)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	for _, c := range [][2]string{
		{`"role":"assistant"`, `"role":"assistqnt"`},
		{`"role":"user","content":[{"type":"text","text":"turn 1"}]`, `"role":"user","bontent":[{"type":"text","text":"turn 1"}]`},
		{`"text":"done"`, `"tezt":"done"`},
		{`"text":"done"`, `"Text":"done"`},
		{`"text":"done"`, "\"text\":\"d\xefne\""},
		{`"tool_use_id":"toolu_b7"`, `"tool_uce_id":"toolu_b7"`},
		{`"type":"tool_result","tool_use_id":"toolu_b7"`, `"type":"tool_rasult","tool_use_id":"toolu_b7"`},
		{`"is_error"`, `"is_arror"`},
		{`"id":"toolu_b7"`, `"id":"toolu.b7"`},
		{`"id":"toolu_c1"`, `"id":"toolu_a1"`},
		{`\ud83d\ude00`, `\ud03d\ude00`},
		{`"media_type"`, `"media_dype"`},
		{`"k":"message"`, `"k":"messagd"`},
	} {
		if !bytes.Contains(whole, []byte(c[0])) {
			t.Fatalf("the log has no %s:\n%s", c[0], whole)
		}
		spoilt := bytes.Replace(whole, []byte(c[0]), []byte(c[1]), 1)
		if err := goesOn(t, server, path, spoilt); err != nil {
			t.Errorf("%s: %v", c[1], err)
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(kept, spoilt) {
			t.Errorf("%s: what is damaged was changed", c[1])
		}
		l, damage, err := session.OpenLog(path, session.LogOptions{})
		if err != nil {
			t.Errorf("%s: %v", c[1], err)
			continue
		}
		request(t, l)
		l.Close()
		if len(damage) == 0 {
			t.Errorf("%s: no damage is told", c[1])
		}
	}
}

// TestALogWithoutItsFirstEntryIsOneStill has the first line of a log damaged,
// or away.
func TestALogWithoutItsFirstEntryIsOneStill(t *testing.T) {
	store := session.Store{Dir: t.TempDir()}
	made := store.New(session.LogOptions{Head: session.Head{Dir: "/w"}})
	if err := made.Append(t.Context(), oneloop.UserText("hi"), says(oneloop.StopEndTurn, text("hello"))); err != nil {
		t.Fatal(err)
	}
	made.Close()
	path := made.Path()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := bytes.Cut(whole, []byte("\n"))
	for name, log := range map[string][]byte{
		"damaged":          append(append(bytes.Replace(first, []byte(`"k"`), []byte(`"o"`), 1), '\n'), rest...),
		"not to be used":   append(append(bytes.Replace(first, []byte(`"v":1`), []byte(`"v":"1"`), 1), '\n'), rest...),
		"away":             rest,
		"damaged and more": append(append(bytes.Replace(first, []byte(`"k"`), []byte(`"o"`), 1), '\n'), bytes.Replace(rest, []byte(`"role":"assistant"`), []byte(`"role":"assistqnt"`), 1)...),
		"damaged, no more": append(bytes.Replace(first, []byte(`"k"`), []byte(`"o"`), 1), '\n'),
	} {
		if err := os.WriteFile(path, log, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := store.Newest("/w")
		if err != nil || l.ID != made.ID() || l.Dir != "/w" || l.Err != nil {
			t.Errorf("%s: the newest is %+v, %v", name, l, err)
		}
		again, damage, err := session.OpenLog(path, session.LogOptions{Head: session.Head{Dir: "/w"}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if again.ID() != made.ID() || again.Dir() != "/w" || len(damage) == 0 {
			t.Errorf("%s: it is %s in %s, damage %v", name, again.ID(), again.Dir(), damage)
		}
		if n := len(again.Prompts()); n != 1 && name != "damaged, no more" {
			t.Errorf("%s: it has %d prompts", name, n)
		}
		again.Close()
		head, damage, err := session.Read(path, func(session.Entry) error { return nil })
		if err != nil || head.ID != made.ID() || len(damage) == 0 {
			t.Errorf("%s: read as %+v, damage %v, %v", name, head, damage, err)
		}
		if _, _, damage, err := session.Look(path); err != nil || len(damage) == 0 {
			t.Errorf("%s: looked at: damage %v, %v", name, damage, err)
		}
		if name == "damaged, no more" {
			continue
		}
		fork, err := session.Fork(path, 0, session.LogOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		l2, damage, err := session.OpenLog(fork, session.LogOptions{Head: session.Head{Dir: "/w"}})
		if err != nil {
			t.Errorf("%s: its fork: %v", name, err)
			continue
		}
		if l2.Dir() != "/w" || len(l2.Prompts()) != 1 || len(damage) == 0 {
			t.Errorf("%s: its fork is in %s, has %d prompts, damage %v", name, l2.Dir(), len(l2.Prompts()), damage)
		}
		l2.Close()
		os.Remove(fork)
	}
}
