package disk_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"oneloop/internal/disk"
)

func open(t *testing.T, path string) *os.File {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestOneHasTheLockUntilItIsGivenBackOrClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	a, b := open(t, path), open(t, path)
	if err := disk.TryLock(a); err != nil {
		t.Fatal(err)
	}
	if err := disk.TryLock(b); !errors.Is(err, disk.ErrHeld) {
		t.Fatalf("a second one has it: %v", err)
	}
	if err := disk.Unlock(a); err != nil {
		t.Fatal(err)
	}
	if err := disk.TryLock(b); err != nil {
		t.Fatalf("given back: %v", err)
	}
	b.Close()
	if err := disk.TryLock(a); err != nil {
		t.Fatalf("closed: %v", err)
	}
	if err := disk.SyncDir(filepath.Dir(path)); err != nil {
		t.Error(err)
	}
}

func TestWaitingEndsWithTheLockOrTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	a, b := open(t, path), open(t, path)
	if err := disk.Lock(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(5*time.Millisecond, func() { cancel(why) })
	if err := disk.Lock(ctx, b); !errors.Is(err, why) {
		t.Fatalf("waiting that was ended: %v", err)
	}
	got := make(chan error)
	go func() { got <- disk.Lock(t.Context(), b) }()
	if err := disk.Unlock(a); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}
