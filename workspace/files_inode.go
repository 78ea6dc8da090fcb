//go:build linux || darwin

package workspace

import (
	"fmt"
	"io/fs"
	"syscall"
)

// noWait lets no open wait for the other side of a pipe that was put there
// at the last moment.
const noWait = syscall.O_NONBLOCK

// onlyFolder at the end of a path lets nothing but a folder be opened.
const onlyFolder = "/."

// unique says why a file cannot be replaced by another; empty if it can.
func unique(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return "the system does not say how many names it has"
	case st.Nlink != 1:
		return fmt.Sprintf("it has %d names (hard links), which are to stay one file", st.Nlink)
	case info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return "it runs as its owner or group (setuid, setgid)"
	}
	return ""
}
