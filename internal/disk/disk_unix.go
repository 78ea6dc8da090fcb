//go:build unix

package disk

import (
	"os"
	"syscall"
)

// TryLock takes the lock of an open file for this process, until [Unlock], until
// the file is closed, or until the process has ended, however it ends. When
// somebody else has it, the error is [ErrHeld]. Who opened the file once more,
// in this process too, is somebody else.
func TryLock(f File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EWOULDBLOCK:
			return ErrHeld
		}
		return err
	}
}

// Release gives the lock back.
func Unlock(f File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_UN); err != syscall.EINTR {
			return err
		}
	}
}

// SyncDir makes the names that were made, changed or removed in a folder survive
// a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
