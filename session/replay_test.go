package session_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/trace"
)

// failer is a test, or one try of a property.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// replays has the sessions at paths taken again, and fails the test for one that
// comes out otherwise. It returns how many turns there were.
func replays(t failer, paths ...string) (turns int) {
	t.Helper()
	for _, path := range paths {
		r, err := trace.Replay(context.Background(), path, trace.ReplayOptions{})
		if err != nil {
			t.Errorf("replay %s: %v", path, err)
			continue
		}
		if r.Differs != nil {
			t.Errorf("replay %s: %v", path, r.Differs)
		}
		for _, why := range r.LeftOut {
			if !strings.Contains(why, "the program was ended there") && !strings.Contains(why, "was not written to its end") {
				t.Errorf("replay %s: %s", path, why)
			}
		}
		turns += r.Turns
	}
	return turns
}

func TestLogsOfEveryVersionAreReplayed(t *testing.T) {
	logs, err := filepath.Glob("testdata/v*/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if turns := replays(t, logs...); turns < 10 {
		t.Errorf("%d logs, %d turns", len(logs), turns)
	}
}
