// Package alive tells other processes whether somebody is still there. Who is
// holds a file; the kernel lets go of it when the process ends, however it ends.
// Others can look ([Gone]), as often as they like and all at once, and can wait for
// the end ([Wait]).
//
// The file is a named pipe that nobody writes to: for those who read it, it ends
// when the process does. Unlike a lock it can be looked at without being taken, and
// waited for without asking again. Where there are no pipes in folders it is a file
// that is locked.
package alive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"oneloop/internal/disk"
)

// Every is how often [Wait] looks where the system does not tell.
const Every = time.Second

// Holder holds a file.
type Holder struct {
	f    *os.File
	path string
}

// Hold makes a file, which must not be there, and its folder, and holds the file.
func Hold(path string) (*Holder, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := pipe(path)
	if errors.Is(err, errors.ErrUnsupported) {
		f, err = locked(path)
	}
	if err != nil {
		return nil, fmt.Errorf("hold %s: %w", filepath.Base(path), err)
	}
	return &Holder{f, path}, nil
}

// Release lets go of the file and removes it.
func (h *Holder) Release() error {
	closed := h.f.Close() // first, as some systems remove no file that is open
	err := os.Remove(h.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(closed, err)
}

func locked(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(context.Background(), f); err != nil { // who looks has it for a moment
		return nil, errors.Join(err, f.Close(), os.Remove(path))
	}
	return f, nil
}

// Gone reports whether nobody holds the file, or there is none.
func Gone(path string) (bool, error) {
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if fi.Mode()&fs.ModeNamedPipe != 0 {
		return ended(path)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = disk.TryLock(f)
	if errors.Is(err, disk.ErrHeld) {
		return false, nil
	}
	return err == nil, err
}

// Wait returns nil as soon as nobody holds the file, and the cause when ctx ends
// before.
func Wait(ctx context.Context, path string) error {
	for {
		if told, err := end(ctx, path); told || err != nil {
			return err
		}
		gone, err := Gone(path)
		if gone || err != nil {
			return err
		}
		next := time.NewTimer(Every)
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return context.Cause(ctx)
		}
	}
}
