//go:build amd64 || arm64

package workspace

import (
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What editors, agents and shells obey in the folders of the workspace, and
// further such names in its root, are too many to keep from being made. Where
// they are when a command starts, they are mounted read-only; those that are
// new afterwards are named. Folders above them are not mounted, as nothing could
// be renamed from one mount to another: a command can move such a folder away
// and make another one in its place, which is named as well.

// obeyed is such a file or folder.
type obeyed struct {
	// A command made it, in a folder. It is left to commands: they must be able
	// to take away again what they fetched, a worktree for example.
	made    bool
	mounted bool
	what    birth  // of one that is mounted below the root
	mark    uint64 // of one that is not; see mark
}

const (
	// wireObeyed is how many of them are seen in one folder, but for those that
	// are there once at most.
	wireObeyed = 100
	// wireMounts is how many of them are mounted, for every command.
	wireMounts = 100
	// wireMarks is how many files in them are marked, and markFiles in one.
	wireMarks, markFiles = 2000, 100
	// tellMost is how many of them are told in a note.
	tellMost = 5
)

// see takes what a walk found. What was known counts however far the walk
// came.
func (t *tripwire) see(found []string) {
	t.seen = slices.DeleteFunc(found, func(path string) bool { return t.kept[path] })
	there := map[string]bool{}
	for _, path := range t.seen {
		there[path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(t.obeyed)) {
		if there[path] {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			t.seen = append(t.seen, path)
		} else {
			delete(t.obeyed, path)
		}
	}
}

// arm gives what is to be mounted for a command, of what can be.
func (t *tripwire) arm(can func(path string) bool) (mount []string, overflow bool) {
	if t.obeyed == nil {
		t.obeyed = map[string]*obeyed{}
	}
	if t.running == 0 {
		t.movable = map[birth]bool{}
	}
	for _, path := range t.seen {
		o := t.obeyed[path]
		if o == nil && t.running == 0 {
			o = &obeyed{}
			t.obeyed[path] = o
		}
		if _, err := os.Lstat(path); err != nil {
			delete(t.obeyed, path) // if it comes again it is new
			continue
		}
		if o == nil {
			continue
		}
		mounts := !o.made && can != nil && !t.shut.closed(path) && can(path)
		if mounts && len(mount) == wireMounts {
			mounts, overflow = false, true
		}
		if mounts {
			mount = append(mount, path)
		}
		if t.running > 0 {
			continue // others may not have it mounted
		}
		o.mounted, o.what = mounts, birth{}
		if mounts && !t.top(path) {
			o.what, _ = birthOf(path)
			t.movable[o.what] = true
		}
		if !mounts {
			o.mark = t.mark(path)
		}
	}
	return mount, overflow
}

// top reports whether a path is directly in a folder of the workspace, which no
// command can move.
func (t *tripwire) top(path string) bool { return slices.Contains(t.roots, filepath.Dir(path)) }

// compare tells what is new, and what has changed.
func (t *tripwire) compare() (notes []string) {
	var made, changed []string
	for _, path := range t.seen {
		o, known := t.obeyed[path]
		switch {
		case !known:
			made = append(made, path)
			// In the root nobody unpacks anything: there the next one is kept from it,
			// as it is from what was only moved with its folder.
			was, _ := birthOf(path)
			t.obeyed[path] = &obeyed{made: !t.top(path) && !t.movable[was], mark: t.mark(path)}
		case o.mounted:
			if now, ok := birthOf(path); ok && now != o.what && o.what != (birth{}) {
				changed = append(changed, path)
				o.what = now
			}
		default:
			mark := t.mark(path)
			if mark != o.mark && mark != 0 && o.mark != 0 {
				changed = append(changed, path)
			}
			o.mark = mark
		}
	}
	const why = "%s while this command ran: %s. Editors, agents, shells or git run or obey what is in them when they are used there, outside the sandbox. Say so to the user"
	if len(made) > 0 {
		notes = append(notes, fmt.Sprintf(why, "new", t.told(made)))
	}
	if len(changed) > 0 {
		notes = append(notes, fmt.Sprintf(why, "changed", t.told(changed)))
	}
	return notes
}

// mark is another when a file is, or what is in a folder. 0: it is not known.
func (t *tripwire) mark(path string) uint64 {
	sum := fnv.New64a()
	queue := []string{path}
	for n := 0; n < len(queue) && n < markFiles; n++ {
		if t.marks++; t.marks > wireMarks {
			return 0
		}
		info, err := t.shut.lstat(queue[n])
		if err != nil {
			continue
		}
		var entries []os.DirEntry
		if info.IsDir() {
			entries, _ = t.shut.readDir(queue[n]) // what another user closed is closed to commands
		}
		if t.shut.was(queue[n]) {
			fmt.Fprintln(sum, queue[n], "closed") // opening it changed the rest
		} else {
			fmt.Fprintln(sum, queue[n], stamp(info))
		}
		if info.IsDir() {
			for _, e := range entries {
				queue = append(queue, filepath.Join(queue[n], e.Name()))
			}
		}
	}
	return sum.Sum64()
}

// told is a list for a note: from the workspace, the first few, of long ones
// the end.
func (t *tripwire) told(paths []string) string {
	const most = 80 // bytes of one
	var list []string
	for _, path := range paths[:min(len(paths), tellMost)] {
		if rel, ok := below(t.roots[0], path); ok {
			path = rel
		}
		cut := ""
		for len(path) > most {
			_, rest, ok := strings.Cut(path[1:], "/")
			if !ok {
				break
			}
			path, cut = rest, "…/"
		}
		list = append(list, shown(cut+path, most+10))
	}
	text := strings.Join(list, ", ")
	if more := len(paths) - len(list); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
