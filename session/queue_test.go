package session_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"oneloop"
	"oneloop/session"
)

func words(list []session.Waiting) (all []string) {
	for _, w := range list {
		all = append(all, w.Text())
	}
	return all
}

// during is a session over l whose model makes one call, and whose tool does
// do.
func during(l *session.Log, do func()) (*session.Session, *model) {
	m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, call("1", "T")), ok(), ok(), ok()}}
	return &session.Session{Model: m, Transcript: l, Inbox: new(session.Inbox),
		Tools: tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			do()
			return oneloop.TextResult("r"), nil
		})}, m
}

func TestWhatWaitsCanBeSeenChangedAndTakenBack(t *testing.T) {
	var s *session.Session
	s, m := during(session.NewLog("", session.LogOptions{}), func() {
		box := s.Inbox
		one, two, three := box.Put(session.BeforeModel, text("one")), box.Put(session.BeforeModel, text("two")), box.Put(session.BeforeModel, text("three"))
		box.Put(session.WithNext, text("a note"))
		if got := words(box.List()); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("it lists %q", got)
		}
		if box.Put(session.BeforeModel, text(" ")) != 0 || box.Edit(one, text(" ")) {
			t.Error("blank text was taken")
		}
		if !box.Edit(two, text("too")) || !box.Drop(one) || box.Drop(one) || box.Edit(one, text("x")) || !box.Drop(three) {
			t.Error("what waits could not be changed, or what does not could")
		}
	})
	if _, err := send(t, t.Context(), s, text("hi")); err != nil {
		t.Fatal(err)
	}
	if last := m.requests[1].Messages[3]; len(last.Blocks) != 2 || last.Text() != "tooa note" {
		t.Errorf("the model was told %q", last.Text())
	}
	if got := s.Inbox.List(); len(got) != 0 || s.Inbox.Edit(2, text("x")) || s.Inbox.Drop(2) {
		t.Errorf("what was said still waits: %v", got)
	}
}

func TestWhatWaitedWhenTheProcessEndedIsThereAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	l := session.NewLog(path, session.LogOptions{})
	ctx, stop := context.WithCancel(t.Context())
	var s *session.Session
	s, _ = during(l, func() {
		s.Inbox.Put(session.BeforeModel, text("first"))
		s.Inbox.Put(session.WithNext, text("a note"))
		stop()
		s.Inbox.Drop(s.Inbox.Put(session.BeforeModel, text("taken back")))
		s.Inbox.Put(session.AtTurnEnd, text("second"))
	})
	if _, err := send(t, ctx, s, text("hi")); !errors.Is(err, oneloop.ErrInterrupted) {
		t.Fatal(err)
	}
	l.Close()
	fork, err := session.Fork(path, 0, session.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := open(t, fork); len(f.Undelivered()) != 0 {
		t.Error("a copy has what waits for the other one")
	}

	again, _ := open(t, path)
	if got := words(again.Undelivered()); !slices.Equal(got, []string{"first", "second"}) {
		t.Fatalf("it has %q", got)
	}
	s, m := during(again, func() {})
	s.Inbox.Resume(again)
	s.Inbox.Put(session.BeforeModel, text("third"))
	s.Inbox.Drop(s.Inbox.List()[1].ID)
	if got := words(again.Undelivered()); !slices.Equal(got, []string{"first", "third"}) {
		t.Errorf("what is kept is %q", got)
	}
	if _, err := send(t, t.Context(), s); err != nil {
		t.Fatal(err)
	}
	asked := m.requests[0].Messages
	if last := asked[len(asked)-1]; last.Text() != "firstthird" || last.Meta.Source != "" {
		t.Errorf("the model was told %q", last.Text())
	}
	again.Close()
	after, _ := open(t, path)
	if got := after.Undelivered(); len(got) != 0 {
		t.Errorf("what was said waits again: %q", words(got))
	}
}

func TestOnlyWhatIsSaidBehindAnAnswerIsAPrompt(t *testing.T) {
	l := session.NewLog("", session.LogOptions{})
	var s *session.Session
	s, m := during(l, func() { s.Inbox.Put(session.BeforeModel, text("meanwhile")) })
	m.during = func(_ context.Context, n int) {
		if n == 2 {
			s.Inbox.Put(session.BeforeModel, text("and then"), text("more"))
		}
	}
	if _, err := send(t, t.Context(), s, text("hi")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range l.Prompts() {
		got = append(got, p.Text)
	}
	if !slices.Equal(got, []string{"hi", "and then\nmore"}) {
		t.Errorf("the prompts are %q", got)
	}
}

func TestAHookIsAskedAboutWhatCameMeanwhile(t *testing.T) {
	var s *session.Session
	s, m := during(session.NewLog("", session.LogOptions{}), func() {
		s.Inbox.Put(session.BeforeModel, text("secret"))
		s.Inbox.Put(session.WithNext, text("a note"))
	})
	s.BeforePrompt = func(_ context.Context, p *oneloop.Message) error {
		if strings.Contains(p.Text(), "secret") {
			return errors.New("not that")
		}
		p.Blocks = append(p.Blocks, text("context"))
		return nil
	}
	said, err := told(t, s, text("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "secret") || !strings.Contains(said[0], "not that") {
		t.Errorf("the user was told %q", said)
	}
	if last := m.requests[1].Messages[3]; last.Text() != "a note" {
		t.Errorf("the model was told %q", last.Text())
	}
}
