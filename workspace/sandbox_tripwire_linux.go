//go:build amd64 || arm64

package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// tripwire looks after the repositories below the workspace that no mount
// protects: a command may have made them, or they are too many to know. What
// a command changed in one that makes git run something is put back; what it
// brought along in a new one is named.
type tripwire struct {
	roots []string

	mu      sync.Mutex
	known   map[string]repository // by the path of the .git; nil before the first look
	mounted map[string]bool       // those that mounts protect
}

// repository is what git obeys in a git folder: its files by name, with what
// is in them. A .git that is a file has one file without a name.
type repository map[string]string

const (
	// wireFolders is how many folders are looked into, the upper ones first.
	wireFolders = 1000
	// wireFile is how much of a file is kept, in bytes. Hooks and settings are
	// shorter.
	wireFile = 64 << 10
)

// set remembers how things are before the first command. mounted are the
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
	if t.known == nil {
		t.known = t.look()
	}
}

// check compares, puts back, and tells.
func (t *tripwire) check() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var notes []string
	now := t.look()
	for _, path := range slices.Sorted(maps.Keys(now)) {
		was, known := t.known[path]
		if !known {
			if why := now[path].active(); len(why) > 0 {
				notes = append(notes, fmt.Sprintf("the new repository %s makes git run or obey: %s. Say so to the user before git is used there", path, strings.Join(why, ", ")))
			}
			continue
		}
		if bad := now[path].worse(was); len(bad) > 0 {
			notes = append(notes, putBack(path, was, bad))
			now[path] = read(path)
		}
	}
	t.known = now
	return notes
}

// look finds the repositories that no mount protects.
func (t *tripwire) look() map[string]repository {
	found := map[string]repository{}
	queue := slices.Clone(t.roots)
	for n := 0; n < len(queue) && n < wireFolders; n++ {
		dir := queue[n]
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // gone, or closed to us
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			switch {
			case fold(e.Name()) == ".git":
				if !t.mounted[path] {
					found[path] = read(path)
				}
			case e.IsDir():
				queue = append(queue, path)
			}
		}
	}
	return found
}

// read reads what git obeys. Hooks that git brings as examples are none.
func read(path string) repository {
	r := repository{}
	info, err := os.Lstat(path)
	if err != nil {
		return r
	}
	if !info.IsDir() {
		if above, err := openDir(filepath.Dir(path)); err == nil {
			r[""] = content(above, filepath.Base(path))
			above.Close()
		}
		return r
	}
	root, err := openDir(path)
	if err != nil {
		return r
	}
	defer root.Close()
	names := []string{"config", "config.worktree", "commondir", "info/attributes"}
	if dir, _, err := openPlain(root, "hooks", os.O_RDONLY); err == nil {
		hooks, _ := dir.ReadDir(wireFolders)
		dir.Close()
		for _, e := range hooks {
			if !strings.HasSuffix(e.Name(), ".sample") {
				names = append(names, "hooks/"+e.Name())
			}
		}
	}
	for _, name := range names {
		if _, err := root.Lstat(name); err == nil {
			r[name] = content(root, name)
		}
	}
	return r
}

// content is the text of a file, or what stands for something else.
func content(root *os.Root, name string) string {
	info, err := root.Lstat(name)
	if err != nil {
		return ""
	}
	if !info.Mode().IsRegular() {
		target, _ := root.Readlink(name)
		return info.Mode().Type().String() + target
	}
	f, _, err := openPlain(root, name, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, wireFile))
	return string(text)
}

// active names what a repository makes git run or obey.
func (r repository) active() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		switch name {
		case "config", "config.worktree":
			list = append(list, strongSettings(r[name])...)
		case "", "info/attributes":
		default:
			list = append(list, name)
		}
	}
	return list
}

// worse names the files whose change makes git run or obey something else
// than before.
func (r repository) worse(was repository) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		text, had := was[name]
		switch {
		case had && text == r[name]:
		case name == "config" || name == "config.worktree":
			old := strongSettings(text)
			if slices.ContainsFunc(strongSettings(r[name]), func(s string) bool { return !slices.Contains(old, s) }) {
				list = append(list, name)
			}
		case name == "info/attributes" && strings.TrimSpace(r[name]) == "":
		default:
			list = append(list, name)
		}
	}
	return list
}

// putBack puts back files of a repository.
func putBack(path string, was repository, names []string) string {
	dir := path
	if names[0] == "" {
		dir, names = filepath.Dir(path), []string{filepath.Base(path)}
		was = repository{names[0]: was[""]}
	}
	root, err := openDir(dir)
	if err == nil {
		for _, name := range names {
			err = errors.Join(err, put(root, name, was))
		}
		root.Close()
	}
	what := fmt.Sprintf("%s of the repository %s", strings.Join(names, ", "), path)
	if err != nil {
		return fmt.Sprintf("%s was changed so that git would run something, and could not be put back: %v. Say so to the user before git is used there", what, err)
	}
	return what + " was changed so that git would run something, which the sandbox does not allow, so it was put back"
}

func put(root *os.Root, name string, was repository) error {
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	text, had := was[name]
	if !had {
		return nil
	}
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(name, "hooks/") {
		mode = 0o755
	}
	return root.WriteFile(name, []byte(text), mode)
}
