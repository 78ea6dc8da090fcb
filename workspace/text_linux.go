package workspace

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// TextFile returns an open file without a name that holds text, for
// [Cmd.Fds]. Linux takes no argument of a command longer than 128 KiB; a file
// is the way to hand over more.
func TextFile(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("text", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make text file: %w", err)
	}
	return fillText(os.NewFile(uintptr(fd), "text"), text)
}
