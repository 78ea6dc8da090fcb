package session_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/session"
)

// TestWhatACallPrintedIsKeptThoughNothingFollows has a call print a little and
// then nothing, until the process is gone.
func TestWhatACallPrintedIsKeptThoughNothingFollows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	l := session.NewLog(path, session.LogOptions{})
	defer l.Close()
	if err := l.Append(t.Context(), oneloop.UserText("hi"), says(oneloop.StopToolUse, call("1", "T"))); err != nil {
		t.Fatal(err)
	}
	run := l.Intend(oneloop.Tool{Run: func(_ context.Context, c *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		for _, line := range []string{"starting\n", "table users is moved\n", "the old backup is deleted\n"} {
			emit(oneloop.ToolOutput{ID: c.ID, Text: line})
		}
		return nil, nil
	}}).Run
	if _, err := run(t.Context(), call("1", "T").(*oneloop.ToolUse), l.Event); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for until := time.Now().Add(30 * time.Second); !strings.Contains(read(), "backup is deleted"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("the log does not have what was printed:\n%s", read())
		}
	}
	killed := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(killed, []byte(read()), 0o600); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, killed)
	said := strings.Join(asJSON(t, request(t, again).Messages), "\n")
	if !strings.Contains(said, `of which the last second may be missing:\nstarting\ntable users is moved\nthe old backup is deleted`) {
		t.Errorf("the model is told\n%s", said)
	}
}
