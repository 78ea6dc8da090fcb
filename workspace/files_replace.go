package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
		done.Why, err = replaceOld(dir, base, data)
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
	tmp, name, err := makeTemp(dir, perm.Perm())
	if err != nil {
		return err
	}
	named := true
	defer func() {
		tmp.Close()
		if named {
			err = errors.Join(err, dir.Remove(name))
		}
	}()
	if err := fill(tmp, data); err != nil {
		return err
	}
	// A link, unlike a rename, does not replace what somebody else made there.
	err = dir.Link(name, base)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, there := dir.Lstat(base); !errors.Is(there, fs.ErrNotExist) {
		return fs.ErrExist
	}
	err = dir.Rename(name, base) // the file system has no hard links
	named = err != nil
	return err
}

// replaceOld gives a file new content. If it does so in place it says why.
func replaceOld(dir *os.Root, base string, data []byte) (why string, err error) {
	old, info, err := openToWrite(dir, base)
	if err != nil {
		return "", err
	}
	defer old.Close()
	why, err = byRename(dir, base, old, info, data)
	if err != nil || why == "" {
		return "", err
	}
	note, err := inPlace(dir, base, info, data)
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
	tmp, name, why, err := makeLike(dir, old, info)
	if err != nil || why != "" {
		return why, err
	}
	renamed := false
	defer func() {
		tmp.Close()
		if !renamed {
			err = errors.Join(err, dir.Remove(name))
		}
	}()
	if err := fill(tmp, data); err != nil {
		return "", err
	}
	if now, err := dir.Lstat(base); err != nil || !os.SameFile(info, now) {
		return "", errors.Join(errMoved, err)
	}
	err = dir.Rename(name, base)
	if refused(err) {
		return fmt.Sprintf("the system does not let another file take its place (%v)", plainly(err)), nil
	}
	renamed = err == nil
	return "", err
}

// refused reports whether a rename failed for a reason that does not keep the
// file from being written: it is a mount point, or the folder is sticky.
func refused(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EBUSY) || errors.Is(err, syscall.EXDEV)
}

// makeTemp makes a file with a name that nobody can have expected.
func makeTemp(dir *os.Root, perm fs.FileMode) (*os.File, string, error) {
	name := tempName()
	file, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	return file, name, err
}

func tempName() string { return ".oneloop-" + rand.Text() }

func fill(file *os.File, data []byte) error {
	_, err := file.Write(data)
	if err == nil && len(data) <= waitUpTo {
		err = file.Sync()
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// inPlace writes over a file, with a copy of the old content on the disk
// until that is done. The note says if the copy could not be removed.
func inPlace(dir *os.Root, base string, info fs.FileInfo, data []byte) (note string, err error) {
	file, now, err := openPlain(dir, base, os.O_RDWR)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if !os.SameFile(info, now) {
		return "", errMoved
	}
	kept, err := keepOld(dir, file)
	if err != nil {
		return "", fmt.Errorf("it can only be written in place, and no copy of it could be kept: %w", plainly(err))
	}
	defer kept.file.Close()
	size := now.Size()
	failed := overwrite(file, size, data)
	if failed != nil {
		if err := restore(file, size, kept.file); err != nil {
			return "", fmt.Errorf("%w; restoring it failed too (%v); what it held is in %s", plainly(failed), plainly(err), kept.path)
		}
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

// keepOld copies a file beside it or, where the folder cannot be written,
// into the folder for temporary files. Only the user can read the copy.
func keepOld(dir *os.Root, file *os.File) (oldCopy, error) {
	var kept oldCopy
	tmp, name, err := makeTemp(dir, 0o600)
	if err == nil {
		kept = oldCopy{file: tmp, path: filepath.Join(dir.Name(), name), remove: func() error { return dir.Remove(name) }}
	} else {
		if tmp, err = os.CreateTemp("", "oneloop-"); err != nil {
			return kept, err
		}
		kept = oldCopy{file: tmp, path: tmp.Name(), remove: func() error { return os.Remove(tmp.Name()) }}
	}
	if _, err = io.Copy(tmp, io.NewSectionReader(file, 0, 1<<62)); err == nil {
		err = tmp.Sync()
	}
	if err != nil {
		tmp.Close()
		return kept, errors.Join(err, kept.remove())
	}
	return kept, nil
}
