//go:build !linux

package workspace

import (
	"errors"
	"io/fs"
	"os"
)

// makeFresh makes a file.
func makeFresh(dir *os.Root, perm fs.FileMode) (*fresh, error) { return makeNamed(dir, perm) }

// linkNameless is not reached here: every file has a name from the start.
func (f *fresh) linkNameless(string) error { return errors.ErrUnsupported }
