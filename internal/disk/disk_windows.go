package disk

import (
	"errors"

	"golang.org/x/sys/windows"
)

// far is where the byte is that is locked: behind the end of every file, so that
// what is in it can be read by others.
const far = 1 << 30 // of 4 GiB each

// TryLock takes the lock of an open file for this process, until [Unlock], until
// the file is closed, or until the process has ended, however it ends. When
// somebody else has it, the error is [ErrHeld]. Who opened the file once more,
// in this process too, is somebody else.
func TryLock(f File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: far})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}

// Release gives the lock back.
func Unlock(f File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: far})
}

// SyncDir does nothing: a folder cannot be synced there.
func SyncDir(string) error { return nil }
