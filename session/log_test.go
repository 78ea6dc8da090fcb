package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/session"
)

// open opens a log and closes it with the test.
func open(t *testing.T, path string) (*session.Log, []session.Damage) {
	t.Helper()
	l, damage, err := session.OpenLog(path, session.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, damage
}

func request(t *testing.T, l *session.Log) *oneloop.Request {
	t.Helper()
	req, err := l.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(req.Messages) == 0 {
		return req
	}
	if err := looptest.CheckRequest(req); err != nil {
		t.Errorf("an API would refuse the conversation: %v", err)
	}
	return req
}

// asJSON are messages as they are sent.
func asJSON(t *testing.T, msgs []*oneloop.Message) []string {
	t.Helper()
	var list []string
	for _, m := range msgs {
		b, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(b))
	}
	return list
}

func TestAConversationGoesOnInAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "s1.jsonl")
	l := session.NewLog(path, session.LogOptions{Head: session.Head{Dir: "/w"}})
	l.Use(session.Setup{Model: "m", System: []oneloop.Block{&oneloop.Text{Text: "Be brief <now>."}}, Tools: tools(nil).Defs()})
	m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, text("I look"), call("1", "T")), ok()}}
	s := &session.Session{Model: m, Transcript: l, Tools: tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return oneloop.TextResult("r"), nil
	})}
	if _, err := send(t, t.Context(), s, text("hi")); err != nil {
		t.Fatal(err)
	}
	before := request(t, l)
	if _, _, err := session.OpenLog(path, session.LogOptions{}); !errors.Is(err, session.ErrInUse) {
		t.Errorf("a second one got %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}

	again, damage := open(t, path)
	after := request(t, again)
	if len(damage) > 0 {
		t.Errorf("damage is told: %v", damage)
	}
	if a, b := asJSON(t, before.Messages), asJSON(t, after.Messages); !slices.Equal(a, b) {
		t.Errorf("the conversation was\n%s\nand is\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	if len(after.Tools) != 1 || len(after.System) != 1 || after.System[0].(*oneloop.Text).Text != "Be brief <now>." {
		t.Errorf("tools %v, system %v", after.Tools, after.System)
	}
	if i := again.Info(); i.Title != "hi" || i.Turns != 1 || again.Dir() != "/w" {
		t.Errorf("info is %+v, folder %q", i, again.Dir())
	}
	if mode := stat(t, path).Mode().Perm(); mode != 0o600 {
		t.Errorf("the file has mode %#o", mode)
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestTheLogCanBeCutAnywhere cuts the log of a turn at every byte: what is
// left is a conversation that goes on, and what it says of calls is true.
func TestTheLogCanBeCutAnywhere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	l := session.NewLog(path, session.LogOptions{})
	ran := map[string]bool{}
	box := tools(func(_ context.Context, c *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		ran[c.ID] = true
		emit(oneloop.ToolOutput{ID: c.ID, Text: "so far " + c.ID})
		return oneloop.TextResult("r" + c.ID), nil
	})
	box.Tools[0] = l.Intend(box.Tools[0])
	m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, text("I look"), call("1", "T"), call("2", "T")), ok()}}
	if _, err := send(t, t.Context(), &session.Session{Model: m, Transcript: l, Tools: box}, text("hi")); err != nil || len(ran) != 2 {
		t.Fatal(err, ran)
	}
	l.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := 0
	for end := first; end <= len(whole); end += 1 + end%11 {
		cut := filepath.Join(dir, "cut.jsonl")
		if err := os.WriteFile(cut, whole[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		var last []string
		for range 2 { // opened again, it says the same
			l, _, err := session.OpenLog(cut, session.LogOptions{})
			if err != nil {
				t.Fatalf("cut at %d: %v", end, err)
			}
			now := asJSON(t, request(t, l).Messages)
			if last != nil && !slices.Equal(last, now) {
				t.Fatalf("cut at %d: opened again it is\n%s\ninstead of\n%s", end, strings.Join(now, "\n"), strings.Join(last, "\n"))
			}
			last = now
			l.Close()
		}
		said := strings.Join(last, "\n")
		for _, id := range []string{"1", "2"} {
			intended := bytes.Contains(whole[:end], []byte(`"k":"intent","d":{"call":"`+id+`"`)) && cutAfterLine(whole, end, `"k":"intent","d":{"call":"`+id+`"`)
			if unknown := strings.Contains(said, `"tool_use_id":"`+id+`","content":"Interrupted; outcome unknown`); unknown && !intended {
				t.Fatalf("cut at %d: the outcome of %s is called unknown, and it was never begun:\n%s", end, id, said)
			}
			if not := strings.Contains(said, `"tool_use_id":"`+id+`","content":"Interrupted: the conversation broke off before`); not && intended {
				t.Fatalf("cut at %d: %s is said not to have run:\n%s", end, id, said)
			}
		}
	}
}

// cutAfterLine reports whether the line with mark in it ends before the cut.
func cutAfterLine(whole []byte, cut int, mark string) bool {
	at := bytes.Index(whole, []byte(mark))
	return at >= 0 && at+bytes.IndexByte(whole[at:], '\n') <= cut
}

// TestAForgedLogLeadsNowhere gives logs whose first entry names a beginning
// that is none.
func TestAForgedLogLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	if err := os.MkdirAll(filepath.Join(dir, "s"), 0o700); err != nil {
		t.Fatal(err)
	}
	secret := session.NewLog(other+".jsonl", session.LogOptions{})
	if err := secret.Append(t.Context(), oneloop.UserText("secret")); err != nil {
		t.Fatal(err)
	}
	secret.Close()
	for name, head := range map[string]string{
		"elsewhere": `{"n":5,"t":"2026-11-30T00:00:00Z","k":"session","d":{"v":1,"id":"x","parent":{"id":"../other","n":4}}}`,
		"itself":    `{"n":5,"t":"2026-11-30T00:00:00Z","k":"session","d":{"v":1,"id":"x","parent":{"id":"x","n":9}}}`,
		"all of it": `{"n":5,"t":"2026-11-30T00:00:00Z","k":"session","d":{"v":1,"id":"x","parent":{"id":"x","n":0}}}`,
		"a folder":  `{"n":5,"t":"2026-11-30T00:00:00Z","k":"session","d":{"v":1,"id":"x","parent":{"id":"..","n":2}}}`,
	} {
		path := filepath.Join(dir, "s", "x.jsonl")
		if err := os.WriteFile(path, []byte(head+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if l, _, err := session.OpenLog(path, session.LogOptions{}); err == nil {
			t.Errorf("%s: it was opened, with %d messages", name, len(request(t, l).Messages))
			l.Close()
		}
		if err := session.Export(new(bytes.Buffer), path); err == nil {
			t.Errorf("%s: it was exported", name)
		}
	}
	named := filepath.Join(dir, "s", "named.jsonl")
	if err := os.WriteFile(named, []byte(`{"n":1,"t":"2026-11-30T00:00:00Z","k":"session","d":{"v":1,"id":"../../x"}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, _ := open(t, named); l.ID() != "named" {
		t.Errorf("the log named is called %q", l.ID())
	}
}

// TestAnEntryThatCannotBeUsedCostsItselfOnly has entries that are valid JSON and
// mean nothing.
func TestAnEntryThatCannotBeUsedCostsItselfOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	l := session.NewLog(path, session.LogOptions{})
	if err := l.Append(t.Context(), oneloop.UserText("hi")); err != nil {
		t.Fatal(err)
	}
	l.Close()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, entry := range []string{`"k":"setup","d":{"system":7}`, `"k":"redact","d":{"at":2,"block":9}`, `"k":"rewind","d":{"to":"x"}`} {
		fmt.Fprintf(f, `{"n":%d,"t":"2026-11-30T00:00:00Z",%s}`+"\n", 3+i, entry)
	}
	f.Close()
	again, damage := open(t, path)
	if got := request(t, again).Messages; len(got) != 1 || got[0].Text() != "hi" || len(damage) != 3 {
		t.Errorf("%d messages, damage %v", len(got), damage)
	}
}

func TestAFileInWhichNothingWasSaidGoes(t *testing.T) {
	for _, said := range []bool{false, true} {
		store := session.Store{Dir: t.TempDir()}
		l := store.New(session.LogOptions{Head: session.Head{Dir: "/w"}})
		l.Use(session.Setup{Model: "m"})
		l.Prepare()
		l.Event(oneloop.Notice{Text: "before anything"})
		if said {
			if err := l.Append(t.Context(), oneloop.UserText("hi")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.Newest("/w"); errors.Is(err, session.ErrNoSession) == said {
			t.Errorf("said %v: the newest while it is open: %v", said, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(l.Path()); (err == nil) != said {
			t.Errorf("said %v: %v", said, err)
		}
		if list, err := store.List(""); err != nil || len(list) > 0 != said {
			t.Errorf("said %v: listed are %v, %v", said, list, err)
		}
	}
}
