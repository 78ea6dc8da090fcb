package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
// program's own settings are no place to work in, and those that hold
// credentials none that a project may name.
func (l *loader) addDirs() error {
	for _, name := range l.Flags.AddDirs {
		if err := l.addDir(name, []string{l.out.ConfigDir, l.out.StateDir}); err != nil {
			return usage("--add-dir %s: %v; name a folder that is there.", name, err)
		}
	}
	files := l.project
	if l.own != nil {
		files = append([]*file{l.own}, files...)
	}
	for _, f := range files {
		closed := []string{l.out.ConfigDir, l.out.StateDir}
		if f != l.own {
			closed = append(closed, workspace.HiddenPaths(l.Environ)...)
		}
		if len(f.dirs) > 0 && f != l.own && !f.approved {
			l.notice("%s: %s is ignored: the file is part of the folder and not approved.", f.path, dirsKey)
			continue
		}
		for _, name := range f.dirs {
			if err := l.addDir(name, closed); err != nil {
				l.notice("%s: %s: %s is left out: %v.", f.path, dirsKey, name, err)
			}
		}
	}
	return nil
}

// addDir adds a folder by its real path, unless it is one already. ~ is the
// home folder; another relative name is one in the folder that is worked in.
// None in closed is added.
func (l *loader) addDir(name string, closed []string) error {
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
	case slices.ContainsFunc(closed, func(dir string) bool { return dir != "" && within(actual, dir) }):
		return errors.New("it holds settings or credentials")
	}
	if root, err := filepath.EvalSymlinks(l.Dir); err == nil && root == actual || slices.Contains(l.out.Dirs, actual) {
		return nil
	}
	l.out.Dirs = append(l.out.Dirs, actual)
	return nil
}

// within reports whether a real path is dir or in it.
func within(actual, dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	rel, err := filepath.Rel(dir, actual)
	return err == nil && filepath.IsLocal(rel)
}
