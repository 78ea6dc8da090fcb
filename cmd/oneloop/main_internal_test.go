package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/internal/tui"
)

func TestAPanicIsOneLineAndFailure(t *testing.T) {
	name := filepath.Join(t.TempDir(), "stderr")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	undone := true
	p := &program{words: tui.Messages("en"), stderr: f}
	code := p.end(func(context.Context) error {
		defer func() { undone = false }()
		panic("something of ours")
	})
	said, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if code != exitFailed || strings.Count(string(said), "\n") != 1 || !strings.Contains(string(said), "something of ours") || strings.Contains(string(said), "goroutine") {
		t.Errorf("exit code %d, %q", code, said)
	}
	if undone {
		t.Error("what was deferred was not done")
	}
}
