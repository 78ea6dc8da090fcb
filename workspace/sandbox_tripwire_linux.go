//go:build amd64 || arm64

package workspace

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// tripwire looks after the repositories in the workspace that no mount
// protects: a command may have made them, or they are too many to know. What
// a command changed in one that makes git run something is put back; what it
// brought along in a new one is named. Files outside git folders to which the
// settings of a repository lead are the user's work, and only named too.
//
// On the same walk it finds what editors, agents and shells obey in all the
// folders: see [obeyed].
type tripwire struct {
	roots []string
	git   string          // a git folder besides; empty: there is none
	kept  map[string]bool // names that commands cannot make, by path: they are no news

	mu      sync.Mutex
	shut    opener
	known   map[string]repository // by the path of the .git or bare folder
	mounted map[string]bool       // those that mounts protect
	exposed map[string]bool       // those of them that a running command may have got at
	running int                   // commands
	whole   bool                  // the last look reached every folder
	folders map[string]visited    // as they were at the last look
	seen    []string              // paths of what is obeyed, at the last look, the upper ones first
	obeyed  map[string]*obeyed    // by path
	movable map[birth]bool        // what is mounted below the root
	marks   int                   // files that were marked since then
}

const (
	// wireFolders is how many folders are looked into, the upper ones first.
	wireFolders = 1000
	// wireRepositories is how many repositories are known.
	wireRepositories = 2000
)

// set remembers how things are before a command. mounted are the
// repositories that mounts protect from now on. It gives what else is to be
// mounted, of what can be; nil: nothing can. overflow says that there is more.
func (t *tripwire) set(mounted []string, can func(path string) bool) (mount []string, overflow bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shut.restore()
	now := map[string]bool{}
	for _, path := range mounted {
		now[path] = true
	}
	if t.running == 0 {
		// What changed since the last command is the user's doing.
		t.known = t.look(t.known)
		t.mounted, t.exposed = now, map[string]bool{}
	}
	for path := range now {
		t.exposed[path] = t.exposed[path] || !t.mounted[path] // others run without
	}
	for path := range t.mounted {
		t.exposed[path] = t.exposed[path] || !now[path]
	}
	mount, overflow = t.arm(can)
	t.running++
	return mount, overflow
}

// check compares, puts back, and tells. As long as another command runs, things
// are measured by how they were before it: it could have changed them.
func (t *tripwire) check() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.shut.restore()
	t.running--
	whole := t.whole
	now := t.look(t.known)
	notes := t.compare()
	var fresh []string
	for _, path := range slices.Sorted(maps.Keys(now)) {
		r := now[path]
		was, known := t.known[path]
		if r.more && !was.more {
			fresh = append(fresh, fmt.Sprintf("the repository %s has or leads to more files beside its hooks than are looked at: what they do now is not known. Say so to the user before git is used there", shown(path, 200)))
		}
		if !known {
			if why := r.active(); len(why) > 0 {
				fresh = append(fresh, fmt.Sprintf("the new repository %s makes git run or obey: %s. Say so to the user before git is used there", shown(path, 200), few(why, 100)))
			}
			continue
		}
		if r.shut && !was.shut {
			fresh = append(fresh, fmt.Sprintf("the repository %s cannot be read any more. Say so to the user before git is used there", shown(path, 200)))
		}
		if !t.mounted[path] || t.exposed[path] {
			if bad := r.worse(was); len(bad) > 0 {
				notes = append(notes, t.putBack(path, was, bad))
				r = (&reading{t: t}).repository(path)
				now[path] = r
			}
		}
		if led := changed(was.led, r.led); len(led) > 0 {
			fresh = append(fresh, fmt.Sprintf("git would run or obey what was changed or made now, since settings of %s lead to it: %s. Say so to the user before git is used there", shown(path, 200), few(t.short(led), 100)))
		}
		if t.running > 0 {
			r.files = was.files
			now[path] = r
		}
	}
	for path, was := range t.known {
		if _, there := now[path]; !there && t.running > 0 {
			now[path] = was // it may come back
		}
	}
	t.known = now
	if whole && !t.whole {
		fresh = append(fresh, fmt.Sprintf("there are more than %d folders now: repositories and settings in the others were not looked for. Say so to the user before a new folder is used", wireFolders))
	}
	return append(notes, fresh...)
}

// short gives paths from the folder they are in.
func (t *tripwire) short(paths []string) []string {
	for i, path := range paths {
		for _, root := range t.roots {
			if rel, ok := below(root, path); ok {
				paths[i] = rel
				break
			}
		}
	}
	return paths
}

// few is a list cut short, each of it to so many bytes.
func few(list []string, each int) string {
	const most = 8
	var b strings.Builder
	for i, item := range list {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(list)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(shown(item, each))
	}
	return b.String()
}
