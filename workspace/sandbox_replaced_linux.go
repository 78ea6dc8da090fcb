//go:build amd64 || arm64

package workspace

import (
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"oneloop/workspace/confine"
)

// What is mounted read-only over itself is protected as long as nobody outside
// puts another file in its place, as git and editors do: with the old one goes
// what was mounted. A command that still runs can change the new one then, and
// who did what to it cannot be told. It is named; where git would now run
// something it is put back, with what was there kept beside it.

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

// hold remembers what is mounted read-only, but for what is in loose: that a
// command can move away itself.
func hold(mounts []confine.Guard, loose map[string]bool) (list []held) {
	for _, g := range mounts {
		path := filepath.Join(g.Root, g.Path)
		if g.Kind != confine.ReadOnly || loose[path] {
			continue
		}
		if b, ok := birthOf(path); ok && b.kind != unix.S_IFLNK {
			list = append(list, held{path, b})
		}
	}
	return list
}

// around holds the hidden folders in which something is shown. Once one is
// another folder, only a new holder shows it again.
func around(p confine.Policy) (list []held) {
	for _, path := range confine.Covered(p.Hide, p.Write) {
		if !slices.ContainsFunc(slices.Concat(p.Write, p.Show), func(shown string) bool { _, in := below(path, shown); return in }) {
			continue
		}
		if b, ok := birthOf(path); ok {
			list = append(list, held{path, b})
		}
	}
	return list
}

// replaced gives what is another file now.
func replaced(list []held) (paths []string) {
	for _, h := range list {
		if now, ok := birthOf(h.path); ok && now != h.what {
			paths = append(paths, h.path)
		}
	}
	return paths
}

// tellReplaced is for whoever started the command.
func tellReplaced(paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("replaced by another program while this command ran, after which the command could change it: %s. Say so to the user before it is used", few(paths, 200))}
}

// unprotected has the repositories looked at in which these files are: no
// mount protects them any more from commands that run, whatever is mounted for
// later ones.
func (t *tripwire) unprotected(paths []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, path := range paths {
		for repository := range t.mounted {
			if _, in := below(repository, path); in {
				t.exposed[repository] = true
			}
		}
	}
}
