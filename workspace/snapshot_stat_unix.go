//go:build linux || darwin

package workspace

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// lstatIn looks at what has the name in an open folder, and does not follow it.
func lstatIn(dir *os.File, _ *os.Root, _, name string) (stat, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return stat{}, &fs.PathError{Op: "lstat", Path: name, Err: err}
		}
		return statOf(&st), nil
	}
}

func statOf(st *unix.Stat_t) stat {
	s := stat{
		kind: kindOther, mode: uint32(st.Mode) & 0o7777, size: st.Size,
		mtime: unix.TimespecToNsec(st.Mtim), ctime: unix.TimespecToNsec(st.Ctim), ino: uint64(st.Ino),
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		s.kind = kindFile
	case unix.S_IFDIR:
		s.kind = kindDir
	case unix.S_IFLNK:
		s.kind = kindLink
	}
	return s
}

// statFile looks at an open file.
func statFile(f *os.File) (stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return stat{}, &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	return statOf(&st), nil
}

// permissions are the bits of a mode as package fs has them.
func permissions(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for bit, is := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if mode&bit != 0 {
			m |= is
		}
	}
	return m
}

// lstatPath looks at a path.
func lstatPath(path string) (stat, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return stat{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return statOf(&st), nil
}
