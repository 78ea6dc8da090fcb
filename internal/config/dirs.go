package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"oneloop/internal/system"
	"oneloop/workspace"
)

// dirsKey is the setting that adds folders to the workspace.
const dirsKey = "permissions.additionalDirectories"

// readDirs reads a list of folders.
func (f *file) readDirs(data []byte, name string, raw json.RawMessage) error {
	if err := json.Unmarshal(raw, &f.dirs); err != nil {
		return fmt.Errorf("%s:%d: %s must be a list of folders in quotes, as in [\"~/notes\"]", f.path, lineOf(data, name), dirsKey)
	}
	return nil
}

// addDirs finds the further folders of the workspace: those of the flag, which
// must be there, and those of settings, where one that is missing is told of
// and left out. As a rule that allows, a folder that a file of the project
// adds counts only once the user has approved of the file. The folders of this
// program's own settings are no place to work in; what else a project may not
// name [loader.beyond] says.
func (l *loader) addDirs() error {
	for _, name := range l.Flags.AddDirs {
		if err := l.addDir(name, nil); err != nil {
			return usage("--add-dir %s: %v; name a folder that is there.", name, err)
		}
	}
	files := l.project
	if l.own != nil {
		files = append([]*file{l.own}, files...)
	}
	for _, f := range files {
		refuse := l.beyond
		if f == l.own {
			refuse = nil
		}
		if len(f.dirs) > 0 && f != l.own && !f.approved {
			l.notice("%s: %s is ignored: the file is part of the folder and not approved.", f.path, dirsKey)
			continue
		}
		for _, name := range f.dirs {
			if err := l.addDir(name, refuse); err != nil {
				l.notice("%s: %s: %s is left out: %v.", f.path, dirsKey, name, err)
			}
		}
	}
	return nil
}

// addDir adds a folder by its real path, unless it is one already. ~ is the
// home folder; another relative name is one in the folder that is worked in.
// refuse, unless it is nil, may say why one is not added that is named by path
// and is actually at the other.
func (l *loader) addDir(name string, refuse func(path, actual string) error) error {
	path := filepath.FromSlash(name)
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		if l.home == "" {
			return errors.New("the home folder is not known")
		}
		path = l.home + rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.Dir, path)
	}
	actual, err := filepath.EvalSymlinks(path)
	if err != nil {
		return errors.New(cause(err))
	}
	info, err := os.Stat(actual)
	switch {
	case err != nil:
		return errors.New(cause(err))
	case !info.IsDir():
		return errors.New("it is no folder")
	case slices.ContainsFunc([]string{l.out.ConfigDir, l.out.StateDir}, func(dir string) bool { return dir != "" && within(actual, dir) }):
		return errors.New("it holds settings or credentials")
	}
	if refuse != nil {
		if err := refuse(path, actual); err != nil {
			return fmt.Errorf("%w; if it is meant, your own settings or --add-dir can name it", err)
		}
	}
	if root, err := filepath.EvalSymlinks(l.Dir); err == nil && root == actual || slices.Contains(l.out.Dirs, actual) {
		return nil
	}
	l.out.Dirs = append(l.out.Dirs, actual)
	return nil
}

// beyond says why a folder is none that a file of the project may add, whatever
// the user said of the file: what is in it is the user's or the system's, or
// decides what this program does.
func (l *loader) beyond(path, actual string) error {
	places := append(workspace.HiddenPaths(l.Environ), l.out.ConfigDir, l.out.StateDir)
	isIn := func(dir string) bool { return dir != "" && within(actual, dir) }
	holds := func(place string) bool { return place != "" && within(place, actual) }
	switch {
	case filepath.Dir(actual) == actual:
		return errors.New("it is the root of the file system")
	case holds(l.home):
		return errors.New("it is your home folder, or that is in it")
	case slices.ContainsFunc(places, isIn):
		return errors.New("it holds settings or credentials")
	case slices.ContainsFunc(system.Folders(), isIn), slices.ContainsFunc(systemParents(), func(dir string) bool { return isIn(dir) && holds(dir) }):
		return errors.New("it is a folder of the system")
	case slices.ContainsFunc(places, holds):
		return errors.New("a place of settings or credentials is in it")
	case isLocal(l.Dir, path) && !within(actual, l.Dir):
		return errors.New("it is a link that leads out of the folder, and can lead elsewhere tomorrow")
	}
	return nil
}

// systemParents are no place for a project, but what is in them can be one.
func systemParents() []string {
	return []string{"/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var", "/var/lib", "/var/tmp", "/Applications", "/Users", "/Volumes"}
}

func isLocal(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// within reports whether name is dir or in it, by its path or by where its
// links lead; a file system may also know one folder by several names.
func within(name, dir string) bool {
	other, err := os.Stat(dir)
	known := err == nil
	names := []string{filepath.Clean(name)}
	if real, err := filepath.EvalSymlinks(name); err == nil && real != names[0] {
		names = append(names, real)
	}
	for _, at := range names {
		for last := ""; at != last; last, at = at, filepath.Dir(at) {
			if at == dir {
				return true
			}
			if info, err := os.Stat(at); known && err == nil && os.SameFile(info, other) {
				return true
			}
		}
	}
	return false
}
