package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rooted are the files below some folders.
//
// Every operation has two steps. First the name is followed to where it
// leads, a path without links, which is judged. Then the folder of that path
// is opened one component at a time, refusing links, and the operation is done
// in the open folder: what another process does between the steps can make it
// fail, but not lead it elsewhere. Folders are opened anew for each operation,
// so that one that was removed and made again is found.
type rooted struct {
	folders []folder // the first is the root
	home    string
}

// folder is one whose files may be used.
type folder struct {
	real  string // absolute, without links
	given string // as the caller named it, absolute
}

// place is where a name leads.
type place struct {
	op, name string // what is done, to what, for errors
	folder   string // one of the folders, by its real path
	rel      string // from there, without links
}

func (p place) path() string { return filepath.Join(p.folder, p.rel) }

// fail puts the name as it was given into an error of package os.
func (p place) fail(err error) error { return failed(p.op, p.name, err) }

func failed(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: plainly(err)}
}

// plainly gives an error of the system without what was done to which file.
func plainly(err error) error {
	switch err := err.(type) {
	case *fs.PathError:
		return err.Err
	case *os.LinkError:
		return err.Err
	}
	return err
}

func (f rooted) Resolve(name string) (string, error) {
	p, err := f.find("resolve", name, toTheEnd)
	return p.path(), err
}

func (f rooted) Open(name string) (file fs.File, err error) {
	p, err := f.find("open", name, toTheEnd)
	if err != nil {
		return nil, err
	}
	err = p.in(func(dir *os.Root, base string) error {
		opened, _, err := openPlain(dir, base, os.O_RDONLY)
		if err == nil {
			file = opened
		}
		return err
	})
	return file, err
}

func (f rooted) Create(name string, perm fs.FileMode) (file io.WriteCloser, err error) {
	p, err := f.findToChange("create", name, notTheLast)
	if err != nil {
		return nil, err
	}
	err = p.in(func(dir *os.Root, base string) error {
		made, err := dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			file = made
		}
		return err
	})
	return file, err
}

func (f rooted) Stat(name string) (fs.FileInfo, error) { return f.lstat("stat", name, toTheEnd) }

func (f rooted) Lstat(name string) (fs.FileInfo, error) { return f.lstat("lstat", name, notTheLast) }

func (f rooted) lstat(op, name string, links follow) (info fs.FileInfo, err error) {
	p, err := f.find(op, name, links)
	if err != nil {
		return nil, err
	}
	err = p.in(func(dir *os.Root, base string) (err error) {
		info, err = dir.Lstat(base)
		return err
	})
	return info, err
}

func (f rooted) ReadDir(name string) (list []fs.DirEntry, err error) {
	p, err := f.find("readdir", name, toTheEnd)
	if err != nil {
		return nil, err
	}
	err = p.in(func(dir *os.Root, base string) error {
		d, _, err := openPlain(dir, base, os.O_RDONLY)
		if err != nil {
			return err
		}
		defer d.Close()
		list, err = d.ReadDir(-1)
		slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
		return err
	})
	return list, err
}

func (f rooted) MkdirAll(name string, perm fs.FileMode) error {
	p, err := f.findToChange("mkdir", name, toTheEnd)
	if err != nil {
		return err
	}
	root, err := openDir(p.folder)
	if err != nil {
		return p.fail(err)
	}
	defer root.Close()
	return p.fail(root.MkdirAll(p.rel, perm))
}

func (f rooted) Chmod(name string, perm fs.FileMode) error {
	p, err := f.findToChange("chmod", name, toTheEnd)
	if err != nil {
		return err
	}
	return p.in(func(dir *os.Root, base string) error { return dir.Chmod(base, perm) })
}

func (f rooted) Rename(from, to string) error {
	p, err := f.findToChange("rename", from, notTheLast)
	if err != nil {
		return err
	}
	target, err := f.findToChange("rename", to, notTheLast)
	if err != nil {
		return err
	}
	if p.folder != target.folder {
		return p.fail(fmt.Errorf("%s is below another folder of the workspace; copy it there and remove it here", to))
	}
	root, err := openDir(p.folder)
	if err != nil {
		return p.fail(err)
	}
	defer root.Close()
	return p.fail(root.Rename(p.rel, target.rel))
}

func (f rooted) Remove(name string) error {
	p, err := f.findToChange("remove", name, notTheLast)
	if err != nil {
		return err
	}
	return p.in(func(dir *os.Root, base string) error { return dir.Remove(base) })
}
