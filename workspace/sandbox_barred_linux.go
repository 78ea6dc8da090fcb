//go:build amd64 || arm64

package workspace

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"oneloop/workspace/confine"
)

// barred reports whether nothing can be made in a folder, as it is another
// user's or on a disk that cannot be written: commands have no more rights
// than we. Where only the mode of a folder of ours says so, which a command
// could change, it is shut.
func (t *taking) barred(dir string) bool {
	here := spot{t.root, dir}
	barred, known := t.bars[here]
	if known {
		return barred
	}
	err := unix.Access(t.path(dir), unix.W_OK|unix.X_OK)
	barred = err == unix.EACCES || err == unix.EROFS
	t.bars[here] = barred
	if err == unix.EACCES && t.ours(dir) {
		t.shut[here] = true
	}
	return barred
}

// ours reports whether a folder is this user's, or may be.
func (t *taking) ours(dir string) bool {
	var st unix.Stat_t
	return unix.Lstat(t.path(dir), &st) != nil || int(st.Uid) == os.Geteuid()
}

// view gives the mounts, and the roots that are read-only as a whole.
func (t *taking) view() (mounts []confine.Guard, closed []string) {
	for _, root := range t.roots {
		if t.shut[spot{root, "."}] && !slices.Contains(closed, root) {
			closed = append(closed, root)
		}
	}
	for _, g := range t.mounts {
		inShut := false
		for dir := filepath.Dir(g.Path); dir != "." && !inShut; dir = filepath.Dir(dir) {
			inShut = t.shut[spot{g.Root, dir}]
		}
		if inShut {
			continue // read-only with the folder
		}
		if t.shut[spot{g.Root, g.Path}] || slices.Contains(closed, g.Root) {
			g.Kind = confine.ReadOnly
		}
		mounts = append(mounts, g)
	}
	return mounts, closed
}
