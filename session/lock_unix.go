//go:build unix

package session

import (
	"os"
	"syscall"
)

// lock takes the file for this process, until it is closed or the process has
// ended, however it ends.
func lock(f disk) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch err {
		case syscall.EINTR:
			continue
		case syscall.EWOULDBLOCK:
			return ErrInUse
		}
		return err
	}
}

// syncDir makes a file that is new in dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
