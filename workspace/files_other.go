//go:build !linux && !darwin

package workspace

import (
	"io/fs"
	"os"
)

// noWait is nothing here: opening a pipe does not wait.
const noWait = 0

// onlyFolder is nothing here: opening a pipe does not wait.
const onlyFolder = ""

// onDisk refuses nothing: the system has no file systems of its own making.
func onDisk(*os.File) error { return nil }

// unique says why a file cannot be replaced by another: always, since its
// access list and streams would not come along.
func unique(fs.FileInfo) string {
	return "on this system only that keeps its access list and attributes"
}

// makeLike is not reached here: unique refuses every file.
func makeLike(*os.Root, *os.File, fs.FileInfo) (made *fresh, why string, err error) {
	return nil, unique(nil), nil
}
