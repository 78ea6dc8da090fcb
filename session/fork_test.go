package session_test

import (
	"slices"
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
