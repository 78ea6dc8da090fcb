package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
// adds counts only once the user has approved of the file.
func (l *loader) addDirs() error {
	for _, name := range l.Flags.AddDirs {
		if err := l.addDir(name); err != nil {
			return usage("--add-dir %s: %v; name a folder that is there.", name, err)
		}
	}
	files := l.project
	if l.own != nil {
		files = append([]*file{l.own}, files...)
	}
	for _, f := range files {
		if len(f.dirs) > 0 && f != l.own && !f.approved {
			l.notice("%s: %s is ignored: the file is part of the folder and not approved.", f.path, dirsKey)
			continue
		}
		for _, name := range f.dirs {
			if err := l.addDir(name); err != nil {
				l.notice("%s: %s: %s is left out: %v.", f.path, dirsKey, name, err)
			}
		}
	}
	return nil
}

// addDir adds a folder by its real path, unless it is one already. ~ is the
// home folder; another relative name is one in the folder that is worked in.
func (l *loader) addDir(name string) error {
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
	}
	if root, err := filepath.EvalSymlinks(l.Dir); err == nil && root == actual || slices.Contains(l.out.Dirs, actual) {
		return nil
	}
	l.out.Dirs = append(l.out.Dirs, actual)
	return nil
}
