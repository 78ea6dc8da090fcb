package disk

import "syscall"

// Sync waits until what was written to an open file is on the disk, with its size.
func Sync(f Syncer) error {
	for {
		if err := syscall.Fdatasync(int(f.Fd())); err != syscall.EINTR {
			return err
		}
	}
}
