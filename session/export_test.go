package session

import (
	"errors"
	"io"
)

// KillIn has the process end in the write number n (from 1) to a log, once the
// part of it is written that keep says: how many bytes of so many.
func KillIn(n int, keep func(length int) int, kill func()) {
	open := openDisk
	openDisk = func(path string, flag int) (logFile, error) {
		d, err := open(path, flag)
		if err != nil {
			return nil, err
		}
		return &deadly{logFile: d, left: &n, keep: keep, kill: kill}, nil
	}
}

// deadly is a disk that ends the process.
type deadly struct {
	logFile
	left *int
	keep func(length int) int
	kill func()
}

func (d *deadly) WriteAt(p []byte, at int64) (int, error) {
	if *d.left--; *d.left != 0 {
		return d.logFile.WriteAt(p, at)
	}
	if _, err := d.logFile.WriteAt(p[:d.keep(len(p))], at); err != nil {
		return 0, err
	}
	d.kill()
	return 0, io.ErrClosedPipe
}

// FillDisk has every write to a log fail until free is called.
func FillDisk() (free func()) {
	open := openDisk
	openDisk = func(path string, flag int) (logFile, error) {
		d, err := open(path, flag)
		if err != nil {
			return nil, err
		}
		return &full{d}, nil
	}
	return func() { openDisk = open }
}

// full is a disk that nothing more goes onto.
type full struct{ logFile }

func (*full) WriteAt([]byte, int64) (int, error) { return 0, errors.New("no space left") }
