package watch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"oneloop/internal/watch"
)

// soon fails the test when nothing comes; how long it takes is measured elsewhere.
func soon(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatalf("nobody was told: %s", what)
	}
}

func TestEveryChangeOfAFileIsTold(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	f := watch.New(dir)
	defer f.Close()
	if f.Err() != nil {
		t.Fatal(f.Err())
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"made", func() error { return os.WriteFile(path, nil, 0o600) }},
		{"written", func() error { return os.WriteFile(path, []byte("1"), 0o600) }},
		{"written by another process", func() error { return exec.Command("sh", "-c", "echo >>"+path).Run() }},
		{"replaced", func() error {
			if err := os.WriteFile(other, nil, 0o600); err != nil {
				return err
			}
			return os.Rename(other, path)
		}},
		{"removed", func() error { return os.Remove(path) }},
	} {
		first, second, apart := f.Next(path), f.Next(path), f.Next(filepath.Join(dir, "c"))
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		soon(t, step.what, first)
		soon(t, step.what, second)
		select {
		case <-apart:
			t.Errorf("%s: who waits for another file was told", step.what)
		default:
		}
	}
}

func TestWhereNothingCanBeWatchedOneLooksNowAndThen(t *testing.T) {
	f := watch.New(filepath.Join(t.TempDir(), "none"))
	defer f.Close()
	if f.Err() == nil {
		t.Fatal("a folder that is not there is watched")
	}
	soon(t, "a second is over", f.Next("x"))
}

func TestTheEndIsToldToo(t *testing.T) {
	for _, dir := range []string{t.TempDir(), "/none"} {
		f := watch.New(dir)
		c := f.Next(filepath.Join(dir, "a"))
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		soon(t, "closed", c)
	}
}
