//go:build amd64 || arm64

package workspace

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// tripwire looks after the repositories in the workspace that no mount
// protects: a command may have made them, or they are too many to know. What
// a command changed in one that makes git run something is put back; what it
// brought along in a new one is named. Files outside git folders to which the
// settings of a repository lead are the user's work, and only named too.
type tripwire struct {
	roots []string
	git   string // a git folder besides; empty: there is none

	mu      sync.Mutex
	known   map[string]repository // by the path of the .git or bare folder; nil before the first look
	mounted map[string]bool       // those that mounts protect
	running int                   // commands
	whole   bool                  // the last look reached every folder
}

const (
	// wireFolders is how many folders are looked into, the upper ones first.
	wireFolders = 1000
	// wireRepositories is how many repositories are known.
	wireRepositories = 2000
)

// set remembers how things are before a command. mounted are the
// repositories that mounts protect from now on.
func (t *tripwire) set(mounted []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, path := range mounted {
		if t.mounted == nil {
			t.mounted = map[string]bool{}
		}
		t.mounted[path] = true
	}
	switch {
	case t.known == nil:
		t.known = t.look(nil)
	case t.running == 0:
		// What changed since the last command is the user's doing.
		read := reading{t: t}
		for path := range t.known {
			t.known[path] = read.repository(path)
		}
	}
	t.running++
}

// check compares, puts back, and tells.
func (t *tripwire) check() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.running--
	whole := t.whole
	now := t.look(t.known)
	var notes, fresh []string
	for _, path := range slices.Sorted(maps.Keys(now)) {
		r := now[path]
		was, known := t.known[path]
		if !known {
			if why := r.active(); len(why) > 0 {
				fresh = append(fresh, fmt.Sprintf("the new repository %s makes git run or obey: %s. Say so to the user before git is used there", shown(path, 200), few(why, 100)))
			}
			continue
		}
		if !t.mounted[path] {
			if bad := r.worse(was); len(bad) > 0 {
				notes = append(notes, putBack(path, was, bad))
				r = (&reading{t: t}).repository(path)
				now[path] = r
			}
		}
		if led := changed(was.led, r.led); len(led) > 0 {
			fresh = append(fresh, fmt.Sprintf("git would run or obey what was changed or made now, since settings of %s lead to it: %s. Say so to the user before git is used there", shown(path, 200), few(t.short(led), 100)))
		}
	}
	t.known = now
	if whole && !t.whole {
		fresh = append(fresh, fmt.Sprintf("there are more than %d folders now: repositories in the others were not looked for. Say so to the user before git is used in a new folder", wireFolders))
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

// look finds repositories, and reads them. Those that were known come first,
// so that nothing made meanwhile can hide what is done to them.
func (t *tripwire) look(known map[string]repository) map[string]repository {
	s := search{t: t, found: map[string]repository{}, read: reading{t: t}}
	for path := range known {
		if _, err := os.Lstat(path); err == nil {
			s.add(path)
		}
	}
	if t.git != "" {
		s.add(t.git)
	}
	s.walk(t.roots, false)
	t.whole = s.folders < wireFolders
	return s.found
}

// in reports whether commands can have written what is at path.
func (t *tripwire) in(path string) bool {
	if t.git != "" {
		if _, ok := below(t.git, path); ok {
			return true
		}
	}
	return slices.ContainsFunc(t.roots, func(root string) bool { _, ok := below(root, path); return ok })
}

// search is one look.
type search struct {
	t       *tripwire
	found   map[string]repository
	read    reading
	folders int // looked into
}

// add reads a repository, those it leads to, and those it holds.
func (s *search) add(path string) {
	if _, ok := s.found[path]; ok || len(s.found) >= wireRepositories {
		return
	}
	r := s.read.repository(path)
	s.found[path] = r
	for _, next := range r.next {
		s.add(next)
	}
	s.walk([]string{filepath.Join(path, "modules"), filepath.Join(path, "worktrees")}, true)
}

// walk goes through folders. In a git folder those of submodules and worktrees
// are looked for.
func (s *search) walk(queue []string, inGit bool) {
	for n := 0; n < len(queue) && s.folders < wireFolders; n++ {
		dir := queue[n]
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		s.folders++
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // gone, or closed to us
		}
		if isGitFolder(entries, inGit && n > 1) {
			s.add(dir)
			continue
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case fold(e.Name()) == ".git":
				s.add(path)
			case e.IsDir():
				queue = append(queue, path)
			}
		}
	}
}

// isGitFolder goes by what git does, but in a git folder does not ask for all
// of it.
func isGitFolder(entries []os.DirEntry, inGit bool) bool {
	has := map[string]bool{}
	for _, e := range entries {
		has[fold(e.Name())] = true
	}
	if inGit {
		return has["head"] || has["config"] || has["commondir"] || has["hooks"]
	}
	return has["head"] && (has["objects"] && has["refs"] || has["commondir"])
}
