//go:build unix

package tool

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// folder is an open folder. Names in it are looked up from its descriptor and
// no link is followed, so nothing that is done elsewhere leads out of it. An
// [os.Root] for each would do the same with twice the system calls.
type folder struct {
	file *os.File // nil: fd is all there is
	fd   int
}

// openFolder opens a folder of root.
func openFolder(root *os.Root, rel string) (*folder, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &folder{file: f, fd: int(f.Fd())}, nil
}

func (d *folder) close() {
	if d.file == nil {
		unix.Close(d.fd)
		return
	}
	d.file.Close()
}

// changed is when a file was last written to, in nanoseconds.
func (d *folder) changed(name string) (int64, bool) {
	var st unix.Stat_t
	err := again(func() error { return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return unix.TimespecToNsec(st.Mtim), err == nil
}

// open opens a regular file for reading. A pipe that has taken its place is
// not waited for.
func (d *folder) open(name string) (*os.File, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.Join(err, errors.New("it is no regular file"))}
	}
	// Without the flag the runtime does not try to wait for it.
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
