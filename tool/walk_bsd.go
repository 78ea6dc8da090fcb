//go:build unix && !linux

package tool

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// folder opens a folder of root, which d is.
func (d *folder) folder(root *os.Root, rel string) (*folder, error) { return openFolder(root, rel) }

// list puts the entries of the folder at into s, in no order. A folder in a
// Root has every entry looked at, which costs more than all the rest; a copy
// of the descriptor is no such folder, and the kind of an entry is in the list.
func (d *folder) list(at string, s *scratch) error {
	fd, err := unix.FcntlInt(uintptr(d.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "readdir", Path: at, Err: err}
	}
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	return s.take(at, f)
}
