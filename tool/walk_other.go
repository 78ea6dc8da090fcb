//go:build !unix

package tool

import (
	"errors"
	"io/fs"
	"os"
)

// folder is an open folder, in which no link is followed.
type folder struct{ root *os.Root }

// openFolder opens a folder of root.
func openFolder(root *os.Root, rel string) (*folder, error) {
	r, err := root.OpenRoot(rel)
	if err != nil {
		return nil, err
	}
	return &folder{r}, nil
}

func (d *folder) close() { d.root.Close() }

// folder opens a folder of root, which d is.
func (d *folder) folder(root *os.Root, rel string) (*folder, error) { return openFolder(root, rel) }

// list puts the entries of the folder at into s, in no order.
func (d *folder) list(at string, s *scratch) error {
	f, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return s.take(at, f)
}

// changed is when a file was last written to, in nanoseconds.
func (d *folder) changed(name string) (int64, bool) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return 0, false
	}
	return info.ModTime().UnixNano(), true
}

// open opens a regular file for reading.
func (d *folder) open(name string) (*os.File, error) {
	info, err := d.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errors.New("it is no regular file")}
	}
	if err != nil {
		return nil, err
	}
	return d.root.Open(name)
}
