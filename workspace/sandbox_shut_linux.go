//go:build amd64 || arm64

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// opener gives this program for a moment the rights in folders that their mode
// takes from it: a command can close one to hide what it did there, and git
// finds a hook in a folder that nobody can list.
type opener struct {
	roots []string // no others are opened
	list  []lifted
}

// lifted is a folder that was opened.
type lifted struct {
	dir  *os.File // only to name it
	path string
	mode uint32 // it had, and has again
}

// openMost is how many folders are open at a time.
const openMost = 200

// open opens a folder, and those above it in its root, as far as they are this
// user's. It reports whether that changed anything.
func (o *opener) open(path string) (changed bool) {
	for _, root := range o.roots {
		rel, ok := below(root, path)
		if !ok {
			continue
		}
		changed = o.lift(root) || changed
		dir := root
		for name := range strings.SplitSeq(rel, "/") {
			if dir = filepath.Join(dir, name); dir != root {
				changed = o.lift(dir) || changed
			}
		}
	}
	return changed
}

func (o *opener) lift(path string) bool {
	if len(o.list) >= openMost || unix.Access(path, unix.R_OK|unix.W_OK|unix.X_OK) != unix.EACCES {
		return false
	}
	dir, err := os.OpenFile(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	var st unix.Stat_t
	if unix.Fstat(int(dir.Fd()), &st) != nil || int(st.Uid) != os.Geteuid() || st.Mode&0o700 == 0o700 || chmodAt(dir, st.Mode|0o700) != nil {
		dir.Close()
		return false
	}
	o.list = append(o.list, lifted{dir, path, st.Mode})
	return true
}

// chmodAt changes the mode of what a descriptor only names.
func chmodAt(f *os.File, mode uint32) error {
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), mode&0o7777)
}

// restore closes the folders again, those last opened first.
func (o *opener) restore() {
	for _, l := range slices.Backward(o.list) {
		chmodAt(l.dir, l.mode) // what could be opened can be closed
		l.dir.Close()
	}
	o.list = nil
}

// closed reports whether nobody gets at what is at path once the folders are
// closed again.
func (o *opener) closed(path string) bool {
	return slices.ContainsFunc(o.list, func(l lifted) bool {
		_, in := below(l.path, path)
		return in && l.path != path && l.mode&0o100 == 0
	})
}

// was reports whether a folder has been opened.
func (o *opener) was(path string) bool {
	return slices.ContainsFunc(o.list, func(l lifted) bool { return l.path == path })
}

// try does something that fails where a folder is closed once more when that has
// been opened.
func (o *opener) try(dir string, do func() error) error {
	err := do()
	if errors.Is(err, fs.ErrPermission) && o.open(dir) {
		err = do()
	}
	return err
}

// lstat is that of os.
func (o *opener) lstat(path string) (info fs.FileInfo, err error) {
	err = o.try(filepath.Dir(path), func() (err error) { info, err = os.Lstat(path); return err })
	return info, err
}

// openDir opens a folder whatever its mode.
func (o *opener) openDir(path string) (root *os.Root, err error) {
	err = o.try(path, func() (err error) { root, err = openDir(path); return err })
	return root, err
}

// readDir is that of os.
func (o *opener) readDir(path string) (entries []os.DirEntry, err error) {
	err = o.try(path, func() (err error) { entries, err = os.ReadDir(path); return err })
	return entries, err
}

// real follows links, through closed folders too.
func (o *opener) real(path string) (actual string, err error) {
	for {
		actual, err = filepath.EvalSymlinks(path)
		var at *fs.PathError
		if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &at) || !o.open(filepath.Dir(at.Path)) {
			return actual, err
		}
	}
}
