package workspace

import (
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// rooted are the files below a folder. The folder is opened for each
// operation, so that one that was removed and made again is found.
type rooted struct{ root, given string }

// in opens the root and gives the name from there.
func (f rooted) in(op, name string) (*os.Root, string, error) {
	rel, err := relative(name, f.root, f.given)
	if err != nil {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	r, err := os.OpenRoot(f.root)
	return r, rel, err
}

func (f rooted) Open(name string) (fs.File, error) {
	r, name, err := f.in("open", name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Open(name)
}

func (f rooted) Create(name string, perm fs.FileMode) (io.WriteCloser, error) {
	r, name, err := f.in("create", name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

func (f rooted) Stat(name string) (fs.FileInfo, error) {
	r, name, err := f.in("stat", name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Stat(name)
}

func (f rooted) Lstat(name string) (fs.FileInfo, error) {
	r, name, err := f.in("lstat", name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.Lstat(name)
}

func (f rooted) ReadDir(name string) ([]fs.DirEntry, error) {
	r, name, err := f.in("readdir", name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	d, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, err := d.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

func (f rooted) MkdirAll(name string, perm fs.FileMode) error {
	r, name, err := f.in("mkdir", name)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.MkdirAll(name, perm)
}

func (f rooted) Chmod(name string, perm fs.FileMode) error {
	r, name, err := f.in("chmod", name)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Chmod(name, perm)
}

func (f rooted) Rename(from, to string) error {
	r, from, err := f.in("rename", from)
	if err != nil {
		return err
	}
	defer r.Close()
	target, err := relative(to, f.root, f.given)
	if err != nil {
		return &fs.PathError{Op: "rename", Path: to, Err: err}
	}
	return r.Rename(from, target)
}

func (f rooted) Remove(name string) error {
	r, name, err := f.in("remove", name)
	if err != nil {
		return err
	}
	defer r.Close()
	return r.Remove(name)
}
