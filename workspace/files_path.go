package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// follow says which links of a name are followed.
type follow int

const (
	toTheEnd   follow = iota
	notTheLast        // the last component is meant itself
)

// mostLinks is how many links a name may lead through, as on Linux.
const mostLinks = 40

// find follows a name to where it leads.
func (f rooted) find(op, name string, links follow) (place, error) {
	p := place{op: op, name: name}
	abs, err := f.absolute(name)
	if err != nil {
		return p, p.fail(err)
	}
	actual, err := f.walk(abs, links)
	if dir, rel, ok := f.holder(actual); ok {
		p.folder, p.rel = dir, rel
		return p, p.fail(err)
	}
	// Whatever went wrong out there is not for the caller to know.
	return p, p.fail(f.outside(actual))
}

// findToChange is find for what changes something.
func (f rooted) findToChange(op, name string, links follow) (place, error) {
	p, err := f.find(op, name, links)
	if err != nil || !f.protected(p.path()) {
		return p, err
	}
	if abs, err := f.absolute(name); err == nil && f.protected(abs) {
		return p, nil
	}
	return p, p.fail(fmt.Errorf("it leads to %s: %w", p.path(), ErrHidden))
}

// absolute makes a name an absolute one, with the root as it really is.
func (f rooted) absolute(name string) (string, error) {
	if !filepath.IsAbs(name) {
		if filepath.VolumeName(name) != "" || name != "" && os.IsPathSeparator(name[0]) {
			return "", f.outside(name)
		}
		return filepath.Join(f.folders[0].real, name), nil
	}
	name = filepath.Clean(name)
	if _, _, ok := f.holder(name); ok {
		return name, nil
	}
	for _, dir := range f.folders {
		if rel, ok := below(dir.given, name); ok {
			return filepath.Join(dir.real, rel), nil
		}
	}
	return name, nil
}

// holder gives the innermost folder that holds path.
func (f rooted) holder(path string) (dir, rel string, ok bool) {
	for _, d := range f.folders {
		if r, in := below(d.real, path); in && (!ok || len(d.real) > len(dir)) {
			dir, rel, ok = d.real, r, true
		}
	}
	return dir, rel, ok
}

// below gives the path from dir to path if that leads through no "..".
// Both are absolute and clean.
func below(dir, path string) (string, bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rel, true
}

// walk follows the links of an absolute path. On an error it gives how far
// it came.
func (f rooted) walk(abs string, links follow) (string, error) {
	at, rest := filepath.VolumeName(abs)+string(filepath.Separator), abs[len(filepath.VolumeName(abs)):]
	if dir, rel, ok := f.holder(abs); ok {
		at, rest = dir, rel
	}
	ahead := split(rest)
	for n := 0; len(ahead) > 0; {
		name := ahead[0]
		ahead = ahead[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if len(ahead) == 0 && links == notTheLast {
			return next, nil
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			at = next
			continue
		case err != nil:
			return next, err
		case info.Mode()&fs.ModeSymlink == 0:
			at = next
			continue
		}
		if n++; n > mostLinks {
			return next, errors.New("too many symbolic links, or they lead in a circle")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return next, err
		}
		if filepath.IsAbs(target) {
			volume := filepath.VolumeName(target)
			at, target = volume+string(filepath.Separator), target[len(volume):]
		}
		ahead = append(split(target), ahead...)
	}
	return at, nil
}

// split gives the components of a path but "." and empty ones.
func split(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	kept := parts[:0]
	for _, p := range parts {
		if p != "." {
			kept = append(kept, p)
		}
	}
	return kept
}

func (f rooted) outside(path string) error {
	roots := make([]string, len(f.folders))
	for i, d := range f.folders {
		roots[i] = d.real
	}
	return fmt.Errorf("it leads to %s, %w (%s)", path, ErrOutside, strings.Join(roots, ", "))
}

// in calls do with the folder that p lies in and p's name there. The error
// names p as it was given.
func (p place) in(do func(dir *os.Root, base string) error) error {
	dir, base, err := p.enter()
	if err != nil {
		return err
	}
	defer dir.Close()
	return p.fail(do(dir, base))
}

// enter opens the folder that holds a place. Nothing on the way from the
// root may be a link.
func (p place) enter() (*os.Root, string, error) {
	dir, err := openRoot(p.folder)
	if err != nil {
		return nil, "", p.fail(err)
	}
	names := split(p.rel)
	if len(names) == 0 {
		return dir, ".", nil
	}
	for _, name := range names[:len(names)-1] {
		sub, err := step(dir, name)
		dir.Close()
		if err != nil {
			return nil, "", p.fail(err)
		}
		dir = sub
	}
	return dir, names[len(names)-1], nil
}

var errMoved = errors.New("a folder on the way was replaced meanwhile; try again")

func openRoot(path string) (*os.Root, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %s (%w)", ErrNoRoot, path, plainly(err))
	}
	dir, err := openDir(path)
	if err != nil {
		return nil, err
	}
	return unmoved(dir, before)
}

func step(dir *os.Root, name string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, errMoved
	}
	sub, err := dir.OpenRoot(name + onlyFolder)
	if err != nil {
		return nil, err
	}
	return unmoved(sub, before)
}

// unmoved closes dir unless it is what before describes.
func unmoved(dir *os.Root, before fs.FileInfo) (*os.Root, error) {
	after, err := dir.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = errMoved
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// openPlain opens a file or folder, and nothing that could block or that
// reacts to being opened.
func openPlain(dir *os.Root, base string, flag int) (*os.File, fs.FileInfo, error) {
	before, err := dir.Lstat(base)
	if err != nil {
		return nil, nil, err
	}
	if before.Mode()&fs.ModeSymlink != 0 {
		return nil, nil, errMoved
	}
	if err := plain(before); err != nil {
		return nil, nil, err
	}
	file, err := dir.OpenFile(base, flag|noWait, 0)
	if err != nil {
		return nil, nil, err
	}
	after, err := file.Stat()
	if err == nil {
		err = plain(after)
	}
	if err == nil && !os.SameFile(before, after) {
		err = errMoved
	}
	if err == nil {
		err = onDisk(file)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, after, nil
}

// plain refuses what is neither file nor folder.
func plain(info fs.FileInfo) error {
	kind := ""
	switch mode := info.Mode(); {
	case mode.IsRegular(), mode.IsDir():
		return nil
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	case mode&fs.ModeDevice != 0:
		kind = "a device"
	default:
		kind = "neither file nor folder"
	}
	return fmt.Errorf("it is %s, %w", kind, ErrNotRegular)
}
