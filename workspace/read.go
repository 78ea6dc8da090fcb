package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// openDir opens a folder, and never waits for the other side of a pipe
// that is there instead.
func openDir(path string) (*os.Root, error) { return os.OpenRoot(path + onlyFolder) }

// readSmall reads a regular file that somebody else may have put there. It
// waits for nothing, and takes none that is longer than most, in bytes.
func readSmall(path string, most int) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, most)
}

var errLong = errors.New("it is too long")

func readAll(f *os.File, most int) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrNotRegular)
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("%s: %w", f.Name(), errLong)
	}
	return text, err
}
