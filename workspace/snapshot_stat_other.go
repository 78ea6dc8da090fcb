//go:build !linux && !darwin

package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
)

// lstatIn looks at what has the name in the folder rel, and does not follow it.
func lstatIn(_ *os.File, root *os.Root, rel, name string) (stat, error) {
	info, err := root.Lstat(filepath.Join(rel, name))
	if err != nil {
		return stat{}, err
	}
	return statOf(info), nil
}

func statOf(info fs.FileInfo) stat {
	s := stat{kind: kindOther, mode: uint32(info.Mode().Perm()), size: info.Size(), mtime: info.ModTime().UnixNano()}
	switch {
	case info.Mode().IsRegular():
		s.kind = kindFile
	case info.IsDir():
		s.kind = kindDir
	case info.Mode()&fs.ModeSymlink != 0:
		s.kind = kindLink
	}
	return s
}

// statFile looks at an open file.
func statFile(f *os.File) (stat, error) {
	info, err := f.Stat()
	if err != nil {
		return stat{}, err
	}
	return statOf(info), nil
}

// permissions are the bits of a mode as package fs has them.
func permissions(mode uint32) fs.FileMode { return fs.FileMode(mode & 0o777) }

// lstatPath looks at a path.
func lstatPath(path string) (stat, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return stat{}, err
	}
	return statOf(info), nil
}
