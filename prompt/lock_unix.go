//go:build unix

package prompt

import (
	"os"
	"syscall"
)

// lockFile takes a file for this process, until it is closed or the process has
// ended, however it ends. Another one that has it is [errLocked].
func lockFile(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EWOULDBLOCK:
			return errLocked
		}
		return err
	}
}

// syncDir makes what was renamed or removed in dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
