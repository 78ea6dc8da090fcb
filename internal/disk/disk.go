// Package disk is for files that several processes use, and that are to be there
// after a power cut.
package disk

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrHeld says that somebody else has the lock.
var ErrHeld = errors.New("another process holds it")

// File is what a lock needs of an [os.File].
type File interface{ Fd() uintptr }

// Syncer is what [Sync] needs of an [os.File].
type Syncer interface {
	File
	Sync() error
}

// Patience is how long [Lock] waits at most. What is done under such a lock takes
// milliseconds; a process that has one for longer was stopped in the middle.
const Patience = 10 * time.Second

// Lock takes the lock of a file as soon as nobody else has it. It fails when ctx
// ends, and with [ErrHeld] after [Patience].
func Lock(ctx context.Context, f File) error {
	err := TryLock(f)
	if !errors.Is(err, ErrHeld) {
		return err
	}
	late := time.NewTimer(Patience)
	defer late.Stop()
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 5*time.Millisecond) {
		next := time.NewTimer(pause)
		select {
		case <-next.C:
		case <-late.C:
			return fmt.Errorf("%w, for more than %v now", ErrHeld, Patience)
		case <-ctx.Done():
			next.Stop()
			return context.Cause(ctx)
		}
		if err := TryLock(f); !errors.Is(err, ErrHeld) {
			return err
		}
	}
}
