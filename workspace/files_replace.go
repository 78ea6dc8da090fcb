package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"syscall"
)

// waitUpTo is the size in bytes up to which new content is on the disk before
// it takes the place of the old. More is not waited for (10 MB take as long as
// everything else three times), so that after a power failure a larger file
// can be incomplete where the file system does not order the two by itself, as
// ext4 and btrfs do. Writing in place always waits, for the copy and for the
// file. The folder is never waited for: after a power failure the old file may
// be there again.
const waitUpTo = 1 << 20

func (f rooted) Replace(name string, data []byte, perm fs.FileMode) (Replaced, error) {
	p, err := f.findToChange("replace", name, toTheEnd)
	if err != nil {
		return Replaced{}, err
	}
	dir, base, err := p.enter()
	if err != nil {
		return Replaced{}, err
	}
	defer dir.Close()
	done := Replaced{Path: p.path()}
	switch _, err = dir.Lstat(base); {
	case errors.Is(err, fs.ErrNotExist):
		done.Created = true
		err = createWhole(dir, base, data, perm)
	case err == nil:
		done.Why, err = replaceOld(dir, filepath.Dir(done.Path), base, data)
		done.InPlace = done.Why != ""
	}
	if err != nil {
		return Replaced{}, p.fail(err)
	}
	return done, nil
}

// createWhole makes a file that nobody sees before it is complete.
func createWhole(dir *os.Root, base string, data []byte, perm fs.FileMode) (err error) {
	if perm == 0 {
		perm = 0o666
	}
	made, err := makeFresh(dir, perm.Perm())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.drop()) }()
	if err := made.fill(data); err != nil {
		return err
	}
	// A link, unlike a rename, does not replace what somebody else made there.
	err = made.link(base)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, there := dir.Lstat(base); !errors.Is(there, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return made.rename(base) // the file system has no hard links
}

// replaceOld gives a file new content. If it does so in place it says why.
func replaceOld(dir *os.Root, folder, base string, data []byte) (why string, err error) {
	old, info, err := openToWrite(dir, base)
	if err != nil {
		return "", err
	}
	defer old.Close()
	why, err = byRename(dir, base, old, info, data)
	if err != nil || why == "" {
		return "", err
	}
	note, err := inPlace(dir, folder, base, info, data)
	return why + note, err
}

// openToWrite opens a file to learn that it may be written: a rename would
// not ask.
func openToWrite(dir *os.Root, base string) (*os.File, fs.FileInfo, error) {
	info, err := dir.Lstat(base)
	if err != nil {
		return nil, nil, err
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o222 == 0 {
		return nil, nil, fmt.Errorf("%w (mode %04o); it must be made writable first, e.g. by chmod u+w", ErrReadOnly, info.Mode().Perm())
	}
	if info.IsDir() {
		return nil, nil, syscall.EISDIR
	}
	file, info, err := openPlain(dir, base, os.O_WRONLY)
	if errors.Is(err, syscall.ETXTBSY) { // a program that runs can be replaced, not written
		return openPlain(dir, base, os.O_RDONLY)
	}
	return file, info, err
}

// byRename puts a new file in the place of the old one. When it says why
// that cannot be, nothing has changed.
func byRename(dir *os.Root, base string, old *os.File, info fs.FileInfo, data []byte) (why string, err error) {
	if why := unique(info); why != "" {
		return why, nil
	}
	made, why, err := makeLike(dir, old, info)
	if err != nil || why != "" {
		return why, err
	}
	defer func() { err = errors.Join(err, made.drop()) }()
	if err := made.fill(data); err != nil {
		return "", err
	}
	if now, err := dir.Lstat(base); err != nil || !os.SameFile(info, now) {
		return "", errors.Join(errMoved, err)
	}
	err = made.rename(base)
	if refused(err) {
		return fmt.Sprintf("the system does not let another file take its place (%v)", plainly(err)), nil
	}
	return "", err
}

// refused reports whether a rename failed for a reason that does not keep the
// file from being written: it is a mount point, or the folder is sticky.
func refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV)
}

// fresh is a new file that nobody knows of yet.
type fresh struct {
	*os.File
	dir  *os.Root
	name string // in dir; empty: it has none so far, and goes with the process
}

// makeNamed makes a file with a name that nobody can have expected.
func makeNamed(dir *os.Root, perm fs.FileMode) (*fresh, error) {
	for try := 0; ; try++ {
		name := tempName()
		file, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			return &fresh{file, dir, name}, nil
		}
		if !errors.Is(err, fs.ErrExist) || try == tries {
			return nil, err
		}
	}
}

// tries is how often another name is tried where one is taken. That happens
// only when somebody wants it to.
const tries = 3

var tempName = func() string { return ".oneloop-" + rand.Text() }

// fill writes the content. Where closing could still find that there was no
// room for it, the file is closed.
func (f *fresh) fill(data []byte) error {
	_, err := f.Write(data)
	if err == nil && len(data) <= waitUpTo {
		err = f.Sync()
	}
	if err != nil || f.name == "" {
		return err
	}
	return f.Close()
}

// link names the file base, where nothing must be.
func (f *fresh) link(base string) error {
	if f.name == "" {
		return f.linkNameless(base)
	}
	return f.dir.Link(f.name, base)
}

// rename names the file base, in place of what has that name.
func (f *fresh) rename(base string) error {
	for try := 0; f.name == ""; try++ {
		name := tempName()
		err := f.linkNameless(name)
		if err == nil {
			f.name = name
		} else if !errors.Is(err, fs.ErrExist) || try == tries {
			return err
		}
	}
	err := f.dir.Rename(f.name, base)
	if err == nil {
		f.name = ""
	}
	return err
}

// drop removes what has no place yet.
func (f *fresh) drop() error {
	f.Close()
	if f.name == "" {
		return nil
	}
	return f.dir.Remove(f.name)
}

// inPlace writes over a file, with a copy of the old content on the disk
// until that is done. The note says if the copy could not be removed.
func inPlace(dir *os.Root, folder, base string, info fs.FileInfo, data []byte) (note string, err error) {
	file, now, err := openPlain(dir, base, os.O_RDWR)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if !os.SameFile(info, now) {
		return "", errMoved
	}
	kept, err := keepOld(dir, folder, file)
	if err != nil {
		return "", fmt.Errorf("it can only be written in place, and no copy of it could be kept: %w", plainly(err))
	}
	size := now.Size()
	failed := overwrite(file, size, data)
	if failed != nil {
		if err := restore(file, size, kept.file); err != nil {
			kept.file.Close()
			return "", fmt.Errorf("%w; restoring it failed too (%v); what it held is in %s", plainly(failed), plainly(err), kept.path)
		}
		failed = plainly(failed)
	}
	if err := kept.remove(); err != nil {
		note = fmt.Sprintf("; a copy of the old content is left in %s (%v)", kept.path, plainly(err))
	}
	return note, failed
}

// overwrite replaces content of a length of size. What needs more room comes
// first, when the old content is still whole.
func overwrite(file *os.File, size int64, data []byte) error {
	head := min(size, int64(len(data)))
	if _, err := file.WriteAt(data[head:], size); err != nil {
		return err
	}
	if _, err := file.WriteAt(data[:head], 0); err != nil {
		return err
	}
	if err := file.Truncate(int64(len(data))); err != nil {
		return err
	}
	return file.Sync()
}

func restore(file *os.File, size int64, old *os.File) error {
	if err := file.Truncate(size); err != nil {
		return err
	}
	if _, err := old.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.Copy(io.NewOffsetWriter(file, 0), old); err != nil {
		return err
	}
	return file.Sync()
}

// oldCopy is a copy of a file's old content.
type oldCopy struct {
	file   *os.File
	path   string
	remove func() error
}

// keepOld copies a file beside it or, where that cannot be, into the folder
// for temporary files. Only the user can read the copy.
func keepOld(dir *os.Root, folder string, file *os.File) (oldCopy, error) {
	kept, beside := keepIn(file, func() (oldCopy, error) {
		made, err := makeNamed(dir, 0o600)
		if err != nil {
			return oldCopy{}, err
		}
		return oldCopy{file: made.File, path: filepath.Join(folder, made.name), remove: made.drop}, nil
	})
	if beside == nil {
		return kept, nil
	}
	kept, elsewhere := keepIn(file, func() (oldCopy, error) {
		tmp, err := os.CreateTemp("", "oneloop-")
		if err != nil {
			return oldCopy{}, err
		}
		return oldCopy{file: tmp, path: tmp.Name(), remove: func() error { tmp.Close(); return os.Remove(tmp.Name()) }}, nil
	})
	if elsewhere != nil {
		return kept, fmt.Errorf("%w; elsewhere: %w", plainly(beside), plainly(elsewhere))
	}
	return kept, nil
}

func keepIn(file *os.File, open func() (oldCopy, error)) (oldCopy, error) {
	kept, err := open()
	if err != nil {
		return kept, err
	}
	if _, err = io.Copy(kept.file, io.NewSectionReader(file, 0, math.MaxInt64)); err == nil {
		err = kept.file.Sync()
	}
	if err != nil {
		return oldCopy{}, errors.Join(plainly(err), kept.remove())
	}
	return kept, nil
}
