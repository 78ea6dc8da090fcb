//go:build amd64 || arm64

package workspace

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"

	"oneloop/workspace/confine"
)

// What is mounted read-only over itself is protected as long as nobody outside
// puts another file in its place, as git and editors do: with the old one goes
// what was mounted. A command that still runs can change the new one then. What
// it has not made itself is not taken back from the user, but told.

// held is what a protected file was when it was mounted.
type held struct {
	path string
	what birth
}

// birth tells a file from every other that ever had its place.
type birth struct {
	major, minor uint32
	ino          uint64
	kind         uint16
	at           unix.StatxTimestamp
}

func birthOf(path string) (b birth, ok bool) {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_TYPE|unix.STATX_BTIME, &st) != nil {
		return b, false
	}
	return birth{st.Dev_major, st.Dev_minor, st.Ino, st.Mode & unix.S_IFMT, st.Btime}, true
}

// hold remembers what is mounted read-only.
func hold(mounts []confine.Guard) (list []held) {
	for _, g := range mounts {
		if g.Kind != confine.ReadOnly {
			continue
		}
		path := filepath.Join(g.Root, g.Path)
		if b, ok := birthOf(path); ok && b.kind != unix.S_IFLNK {
			list = append(list, held{path, b})
		}
	}
	return list
}

// replaced names what is another file now.
func replaced(list []held) (notes []string) {
	var names []string
	for _, h := range list {
		if now, ok := birthOf(h.path); ok && now != h.what {
			names = append(names, h.path)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("replaced by another program while this command ran, after which the command could change it: %s. Say so to the user before it is used", few(names))}
}
