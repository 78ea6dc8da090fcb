//go:build amd64 || arm64

package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"
)

// look finds repositories, and reads them, and what else is obeyed. What was
// known comes first, so that nothing made meanwhile can hide what is done to
// it.
func (t *tripwire) look(known map[string]repository) map[string]repository {
	s := search{t: t, began: time.Now(), found: map[string]repository{}, read: reading{t: t}, folders: make(map[string]visited, len(t.folders))}
	for path := range known {
		if _, err := t.shut.lstat(path); err == nil {
			s.add(path)
		}
	}
	if t.git != "" {
		s.add(t.git)
	}
	s.walk(t.roots, everything)
	s.walk(s.later, onlyRepositories)
	t.whole, t.folders, t.marks = s.looked < wireFolders, s.folders, 0
	t.see(s.obeyed)
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
	began   time.Time
	found   map[string]repository
	read    reading
	looked  int                // folders that were looked into
	folders map[string]visited // those
	obeyed  []string
	later   []string // folders for which there is time at the end
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
	s.walk([]string{filepath.Join(path, "modules"), filepath.Join(path, "worktrees")}, inGitFolder)
}

// A purpose is what a walk looks for.
type purpose int

const (
	everything purpose = iota
	onlyRepositories
	inGitFolder // those of submodules and worktrees
)

// walk goes through folders.
func (s *search) walk(queue []string, why purpose) {
	for n := 0; n < len(queue) && s.looked < wireFolders; n++ {
		dir := queue[n]
		f, ok := s.folder(dir)
		if !ok {
			continue
		}
		if f.bare || f.inner && why == inGitFolder && n > 1 {
			s.add(dir)
			continue
		}
		for _, name := range f.git {
			s.add(filepath.Join(dir, name))
		}
		if why == everything {
			for _, name := range f.obeyed {
				s.obeyed = append(s.obeyed, filepath.Join(dir, name))
			}
		}
		for _, name := range f.dirs {
			path := filepath.Join(dir, name)
			if why == everything && (slices.Contains(f.obeyed, name) || slices.Contains(packageFolders, name)) {
				s.later = append(s.later, path)
			} else {
				queue = append(queue, path)
			}
		}
	}
}

// packageFolders hold what was fetched from elsewhere. Nobody opens it in an
// editor, and package managers must be able to take it away.
var packageFolders = []string{"node_modules", "bower_components", "site-packages", "vendor"}

// visited is what a walk needs to know of a folder.
type visited struct {
	state folderState
	bare  bool     // it is a git folder
	inner bool     // it is one where it lies in another
	git   []string // names of repositories
	// Names that are obeyed, and those of all folders but repositories.
	obeyed, dirs []string
}

// folderState is another when the names in a folder are. Commands cannot
// choose the time of its last change.
type folderState struct {
	dev, ino uint64
	changed  syscall.Timespec
}

// stateTime is how long ago a folder must have changed for its state to tell of
// every further change: some file systems keep whole seconds only, by two.
var stateTime = 3 * time.Second

// folder reads one, unless it is as it was at the last look.
func (s *search) folder(dir string) (f visited, ok bool) {
	info, err := s.t.shut.lstat(dir)
	if err != nil || !info.IsDir() {
		return f, false
	}
	s.looked++
	st := info.Sys().(*syscall.Stat_t)
	state := folderState{uint64(st.Dev), st.Ino, st.Ctim}
	f, known := s.t.folders[dir]
	if !known || f.state != state {
		entries, err := s.t.shut.readDir(dir)
		if err != nil {
			return f, false // gone, or another user's
		}
		f = contents(entries)
		if time.Unix(st.Ctim.Unix()).Add(stateTime).Before(s.began) {
			f.state = state
		}
	}
	s.folders[dir] = f
	return f, true
}

// contents sorts what is in a folder. What is a git folder goes by what git
// does, but in another one git does not ask for all of it.
func contents(entries []os.DirEntry) (f visited) {
	has := map[string]bool{}
	for _, e := range entries {
		name := fold(e.Name())
		switch name {
		case ".git":
			f.git = append(f.git, e.Name())
			continue
		case "head", "objects", "refs", "commondir", "config", "hooks":
			has[name] = true
		}
		if guardedName(name) && f.notes(e) {
			f.obeyed = append(f.obeyed, e.Name())
		}
		if e.IsDir() && len(f.dirs) < wireFolders {
			f.dirs = append(f.dirs, e.Name())
		}
	}
	f.inner = has["head"] || has["config"] || has["commondir"] || has["hooks"]
	f.bare = has["head"] && (has["objects"] && has["refs"] || has["commondir"])
	return f
}

// notes reports whether a name that is obeyed is kept. Sockets are stand-ins, of
// this program or of another. However many names there are, one that is spelled
// as it is obeyed everywhere is not lost among them.
func (f *visited) notes(e os.DirEntry) bool {
	return e.Type() != fs.ModeSocket &&
		(len(f.obeyed) < wireObeyed || slices.Contains(guardedNames, e.Name()) || slices.Contains(guardedToo, e.Name()))
}
