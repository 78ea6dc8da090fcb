package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// besides are the further folders of a workspace in dir.
func (p *program) besides(dir string) []string {
	return slices.DeleteFunc(slices.Clone(p.settings.Dirs), func(d string) bool { return d == dir })
}

// addDirs are the folders of --add-dir, absolute. As those of any program they
// are seen from where it was started; ~ is for whoever writes --add-dir=~/x,
// which a shell leaves as it is.
func (p *program) addDirs() ([]string, error) {
	var dirs []string
	for _, name := range p.opts.dirs {
		path := name
		if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) && p.home() != "" {
			path = p.home() + rest
		}
		abs, err := filepath.Abs(path)
		var info os.FileInfo
		if err == nil && name != "" {
			info, err = os.Stat(abs)
		}
		if err == nil && (info == nil || !info.IsDir()) {
			err = errors.New("it is no folder")
		}
		if err != nil {
			return nil, usagef("%s", "--add-dir: "+fmt.Sprintf(p.words.BadDir, name, plain(err)))
		}
		dirs = append(dirs, abs)
	}
	return dirs, nil
}
