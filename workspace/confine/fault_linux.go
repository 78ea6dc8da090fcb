//go:build amd64 || arm64

package confine

import (
	"errors"
	"strings"
	"syscall"
)

// fault is an error on its way from another process. The zero value is none.
type fault struct {
	Text  string
	Errno int  // the system's, that it is of; 0: none
	Files bool // it is a FileError
}

func faultOf(err error) fault {
	if err == nil {
		return fault{}
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	return fault{err.Error(), int(errno), errors.As(err, new(*FileError))}
}

// err is the error, of the same kinds.
func (f fault) err() error {
	switch {
	case f == fault{}:
		return nil
	case f.Files:
		return &FileError{arrived{f}}
	}
	return arrived{f}
}

type arrived struct{ fault fault }

func (a arrived) Error() string { return a.fault.Text }

func (a arrived) Is(target error) bool {
	errno := syscall.Errno(a.fault.Errno)
	return errno != 0 && (target == errno || errno.Is(target))
}

// byWords tells an error by the words of bwrap, which has no others.
func byWords(err error) error {
	f := fault{Text: err.Error()}
	for _, words := range []string{"Can't find source path", "Can't create file at", "Can't mkdir", "Can't chdir"} {
		f.Files = f.Files || strings.Contains(f.Text, words)
	}
	for _, errno := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.ENOSYS, syscall.ENOSPC, syscall.EINVAL} {
		if strings.Contains(strings.ToLower(f.Text), errno.Error()) {
			f.Errno = int(errno)
			break
		}
	}
	if strings.Contains(f.Text, "No permissions to ") {
		f.Errno = int(syscall.EPERM)
	}
	return f.err()
}
