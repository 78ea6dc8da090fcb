package session_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/session"
)

// kept is a session that was closed.
func kept(t *testing.T, path string) []byte {
	t.Helper()
	l := session.NewLog(path, session.LogOptions{})
	if err := l.Append(t.Context(), oneloop.UserText("hi"), says(oneloop.StopEndTurn, text("hello"))); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return whole
}

func TestATornEndIsNoDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	whole := kept(t, path)
	if err := os.WriteFile(path, whole[:len(whole)-9], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, damage := open(t, path); len(damage) != 1 || !damage[0].Torn() {
		t.Errorf("a torn end is told as %v", damage)
	}
	other := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(other, bytes.Replace(whole, []byte(`"role":"user"`), []byte(`"role":"uter"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, damage := open(t, other); len(damage) == 0 || damage[0].Torn() {
		t.Errorf("damage is told as %v", damage)
	}
}

func TestANewNameIsNoWorkInASession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	kept(t, path)
	then := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	if err := session.Rename(path, "x"); err != nil {
		t.Fatal(err)
	}
	if got := stat(t, path).ModTime(); !got.Equal(then) {
		t.Errorf("the file was changed at %v, and is said to have been at %v", then, got)
	}
	if l, _ := open(t, path); l.Info().Name != "x" {
		t.Errorf("its name is %q", l.Info().Name)
	}
}

func TestALogOfANewerFormatHasNoFork(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	whole := kept(t, path)
	if err := os.WriteFile(path, bytes.Replace(whole, []byte(`"v":1`), []byte(`"v":9`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if made, err := session.Fork(path, 0, session.LogOptions{}); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("the fork is %s, %v", made, err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("there are %v, %v", list, err)
	}
}

func TestCloseTellsWhatIsLost(t *testing.T) {
	none := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(none, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := session.NewLog(filepath.Join(none, "s.jsonl"), session.LogOptions{}) // in what is no folder
	if err := l.Append(t.Context(), oneloop.UserText("hi")); err != nil {
		t.Fatal(err)
	}
	if lost, ok := errors.AsType[*session.LostError](l.Close()); !ok || lost.Entries != 2 {
		t.Errorf("told is %v", lost)
	}
}

// TestATurnThatBrokeOffIsCounted has a process end in a turn, twice.
func TestATurnThatBrokeOffIsCounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	l := session.NewLog(path, session.LogOptions{})
	for turn := 1; turn <= 2; turn++ {
		l.Event(oneloop.TurnStart{})
		if err := l.Append(t.Context(), oneloop.UserText("do it")); err != nil {
			t.Fatal(err)
		}
		l.Close() // what a kill leaves
		for range 2 {
			again, _, err := session.OpenLog(path, session.LogOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if i := again.Info(); i.Turns != turn || i.Title != "do it" {
				t.Errorf("after %d turns it says %d, %q", turn, i.Turns, i.Title)
			}
			again.Close()
		}
		var err error
		if l, _, err = session.OpenLog(path, session.LogOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
}
