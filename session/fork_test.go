package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"oneloop"
	"oneloop/session"
)

// TestAForkOfAForkMayBeginInWhatCameBefore forks a fork at an entry that is not
// its own.
func TestAForkOfAForkMayBeginInWhatCameBefore(t *testing.T) {
	store := session.Store{Dir: t.TempDir()}
	l := store.New(session.LogOptions{Head: session.Head{Dir: "/w"}})
	says := func(l *session.Log, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if err := l.Append(t.Context(), oneloop.UserText(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	fork := func(path string, at int64) *session.Log {
		t.Helper()
		made, err := session.Fork(path, at, session.LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		l, _ := open(t, made)
		return l
	}
	said := func(l *session.Log) (texts []string) {
		for _, m := range request(t, l).Messages {
			texts = append(texts, m.Text())
		}
		return texts
	}
	says(l, "one", "two", "three")
	l.Close()
	middle := fork(l.Path(), 0)
	says(middle, "four", "five")
	prompts := middle.Prompts()
	middle.Close()
	var paths []string
	wants := [][]string{{"one"}, {"one", "two"}, {"one", "two", "three"}, {"one", "two", "three", "four"}}
	for i, want := range wants {
		last := fork(middle.Path(), prompts[i+1].N-1)
		if got := said(last); !slices.Equal(got, want) {
			t.Errorf("forked before %q it begins with %q", prompts[i+1].Text, got)
		}
		last.Close()
		paths = append(paths, last.Path())
	}
	if err := store.Remove(middle.Path()); err != nil {
		t.Fatal(err)
	}
	for i, want := range wants {
		last, _ := open(t, paths[i])
		if got := said(last); !slices.Equal(got, want) {
			t.Errorf("without the session it was forked from it begins with %q, not %q", got, want)
		}
	}
}

// TestAForkIsListedWithTheTurnsItBeginsWith has sessions of any length: what is
// read of a long one is not all of it.
func TestAForkIsListedWithTheTurnsItBeginsWith(t *testing.T) {
	for _, size := range []int{1, 30_000} {
		store := session.Store{Dir: t.TempDir()}
		l := store.New(session.LogOptions{Head: session.Head{Dir: "/w"}})
		m := oneloop.ModelFunc(func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
			return says(oneloop.StopEndTurn, text(strings.Repeat("x", size))), nil
		})
		s := &session.Session{Model: m, Transcript: l}
		for i := range 9 {
			if _, err := send(t, t.Context(), s, text(fmt.Sprint("prompt ", i+1))); err != nil {
				t.Fatal(err)
			}
		}
		l.SetInfo(func(i *session.Info) { i.Name = "mine" })
		prompts := l.Prompts()
		l.Close()
		for turns := range 9 {
			made, err := session.Fork(l.Path(), prompts[turns].N-1, session.LogOptions{})
			if err != nil {
				t.Fatal(err)
			}
			list, err := store.List("/w")
			if err != nil || len(list) != 2 {
				t.Fatal(list, err)
			}
			for _, l := range list {
				if l.Path == made && (l.Turns != turns || l.Name != "" || l.Title != "prompt 1") {
					t.Errorf("of %d bytes a turn: forked behind turn %d it is listed as %+v", size, turns, l.Info)
				}
			}
			if err := store.Remove(made); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAForkThatCannotBeWrittenSaysWhyOnce(t *testing.T) {
	l := session.Store{Dir: t.TempDir()}.New(session.LogOptions{Head: session.Head{Dir: "/w"}})
	if err := l.Append(t.Context(), oneloop.UserText("one")); err != nil {
		t.Fatal(err)
	}
	l.Close()
	defer session.FillDisk()()
	if _, err := session.Fork(l.Path(), 0, session.LogOptions{}); err == nil || strings.Count(err.Error(), "no space left") != 1 {
		t.Errorf("%v", err)
	}
}
