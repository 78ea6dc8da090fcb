package prompt

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes a file for this process, until it is closed or the process has
// ended, however it ends. Another one that has it is [errLocked].
func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// syncDir does nothing: a folder cannot be synced there.
func syncDir(string) error { return nil }
