//go:build unix && !linux

package tui

import "golang.org/x/sys/unix"

func flushInput(fd int) error {
	const read = 1 // FREAD
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, read)
}
