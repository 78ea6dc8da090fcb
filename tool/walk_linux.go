package tool

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// folder opens a folder of root, which d is: with one call, where a Root makes
// one for each part of the path. What the kernel does not want, or not yet
// know, is left to the Root.
func (d *folder) folder(root *os.Root, rel string) (*folder, error) {
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(d.fd, rel, &how)
	if err != nil {
		return openFolder(root, rel)
	}
	return &folder{fd: fd}, nil
}

// list puts the entries of the folder at into s, in no order. Their paths are
// parts of one text, so that a folder costs one allocation and not one for
// each file.
func (d *folder) list(at string, s *scratch) error {
	s.entries = s.entries[:0]
	if s.buf == nil {
		s.buf = make([]byte, 32<<10)
	}
	for {
		var n int
		err := again(func() (err error) { n, err = unix.Getdents(d.fd, s.buf); return err })
		switch {
		case err == unix.ENOENT:
			return nil // it was removed meanwhile
		case err != nil:
			return &fs.PathError{Op: "readdir", Path: at, Err: err}
		case n <= 0:
			return nil
		}
		s.entries = d.parse(at, s.buf[:n], s.entries)
	}
}

// parse adds the entries that the kernel wrote into buf to list.
func (d *folder) parse(at string, buf []byte, list []entry) []entry {
	if at != "" {
		at += "/"
	}
	size := 0
	for rest := buf; len(rest) > 0; {
		var name []byte
		name, _, rest = dirent(rest)
		size += len(at) + len(name)
	}
	var text strings.Builder
	text.Grow(size)
	for len(buf) > 0 {
		var name []byte
		var kind byte
		if name, kind, buf = dirent(buf); len(name) == 0 || string(name) == "." || string(name) == ".." {
			continue
		}
		from := text.Len()
		text.WriteString(at)
		text.Write(name)
		e := entry{path: text.String()[from:]}
		e.name = e.path[len(at):]
		switch kind {
		case unix.DT_REG:
			e.kind = fileEntry
		case unix.DT_DIR:
			e.kind = folderEntry
		case unix.DT_UNKNOWN: // some file systems do not tell
			e.kind = d.kind(e.name)
		}
		list = append(list, e)
	}
	return list
}

// dirent takes a linux_dirent64 from buf: inode and offset, 8 bytes each, its
// size, 2 bytes, the kind, the name up to a NUL.
func dirent(buf []byte) (name []byte, kind byte, rest []byte) {
	const begin = 19
	if len(buf) < begin {
		return nil, 0, nil
	}
	size := int(binary.NativeEndian.Uint16(buf[16:]))
	if size < begin || size > len(buf) {
		return nil, 0, nil
	}
	name = buf[begin:size]
	if i := bytes.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	return name, buf[18], buf[size:]
}

func (d *folder) kind(name string) entryKind {
	var st unix.Stat_t
	if err := again(func() error { return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return otherEntry
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return fileEntry
	case unix.S_IFDIR:
		return folderEntry
	}
	return otherEntry
}
