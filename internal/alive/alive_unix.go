//go:build unix

package alive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// pipe makes a named pipe and opens its end for writing.
func pipe(path string) (*os.File, error) {
	switch err := syscall.Mkfifo(path, 0o600); {
	case errors.Is(err, fs.ErrExist):
		return nil, err
	case err != nil: // the folder's file system has none
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	// There is no end for writing without one for reading.
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	defer r.Close()
	w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return w, nil
}

// ended reports whether a named pipe has nobody at its end for writing.
func ended(path string) (bool, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
		if err == syscall.EINTR {
			continue
		}
		if err == syscall.ENOENT {
			return true, nil
		}
		if err != nil {
			return false, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		var b [1]byte
		n, err := syscall.Read(fd, b[:])
		syscall.Close(fd)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN || n > 0:
			return false, nil
		case err != nil:
			return false, &fs.PathError{Op: "read", Path: path, Err: err}
		default:
			return true, nil
		}
	}
}

// end waits until nobody is at the end for writing of a named pipe, where the
// system tells of that: else it returns false at once.
func end(ctx context.Context, path string) (told bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Mode()&fs.ModeNamedPipe == 0 || f.SetReadDeadline(time.Time{}) != nil {
		return false, err
	}
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for b := make([]byte, 1); ; {
		n, err := f.Read(b)
		switch {
		case n > 0: // somebody else wrote there
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		}
	}
}
