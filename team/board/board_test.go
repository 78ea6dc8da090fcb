package board_test

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"oneloop/team/board"
)

// clock is one that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func open(t testing.TB, path string, o board.Options) *board.Board {
	t.Helper()
	b, err := board.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func fresh(t testing.TB) string { return filepath.Join(t.TempDir(), "state", "tasks.jsonl") }

func create(t testing.TB, b *board.Board, subject string, blockedBy ...string) string {
	t.Helper()
	task, err := b.Create(t.Context(), board.New{Subject: subject, BlockedBy: blockedBy})
	if err != nil {
		t.Fatal(err)
	}
	return task.ID
}

func claim(t testing.TB, b *board.Board, owner, id string) *board.Claim {
	t.Helper()
	c, err := b.Claim(t.Context(), owner, id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func task(t testing.TB, b *board.Board, id string) board.Task {
	t.Helper()
	found, err := b.Task(id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestATaskGoesFromOneToTheNext(t *testing.T) {
	path := fresh(t)
	a, b := open(t, path, board.Options{}), open(t, path, board.Options{})
	first := create(t, a, "build")
	second := create(t, b, "test", first)
	c, err := a.ClaimNext(t.Context(), "s1/ann")
	if err != nil || c.Task.ID != first || c.Token != 1 {
		t.Fatal(c, err)
	}
	if _, err := b.ClaimNext(t.Context(), "s2/bob"); err == nil || err.Error() != board.ErrNothing.Error() {
		t.Fatal(err)
	}
	ready, err := c.Complete(t.Context(), "fine")
	if err != nil || len(ready) != 1 || ready[0] != second {
		t.Fatal(ready, err)
	}
	d, err := b.ClaimNext(t.Context(), "s2/bob")
	if err != nil || d.Task.ID != second {
		t.Fatal(d, err)
	}
	got := task(t, a, first)
	if got.Status != board.Completed || got.Owner != "s1/ann" || got.Result != "fine" || len(got.Blocks) != 1 {
		t.Errorf("%+v", got)
	}
}
