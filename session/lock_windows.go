package session

import (
	"errors"

	"golang.org/x/sys/windows"
)

// lock takes the file for this process, until it is closed or the process has
// ended, however it ends. The lock is on a byte far behind the log's end, so
// that others can read it.
func lock(f disk) error {
	const far = 1 << 30 // of 4 GiB each
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: far})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrInUse
	}
	return err
}

// syncDir does nothing: a folder cannot be synced there.
func syncDir(string) error { return nil }
