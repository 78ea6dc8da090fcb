package policy

import (
	"os"
	"path/filepath"
	"strings"

	"oneloop/internal/gitsafe"
	"oneloop/policy/shell"
)

// gitFilters says why git, when it compares files with what it keeps, may run
// a program that the repository around dir names; nil: it does not. Filters
// have names of the repository's own choice, so that no option turns them all
// off, and settings that are included are not looked for.
func gitFilters(dir string) *shell.Reason {
	for _, folder := range gitFolders(dir) {
		for _, name := range []string{"config", "config.worktree"} {
			text, err := readSome(filepath.Join(folder, name))
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				return shell.Because("repository-unread", "the settings of its repository cannot be read")
			}
			settings, odd := gitsafe.Config(text)
			for _, s := range settings {
				switch s.Section {
				case "filter":
					return shell.Because("repository-filters", "git runs the filters that its repository's settings name")
				case "include", "includeif":
					return shell.Because("repository-includes", "its repository's settings include others, which may name programs")
				}
			}
			if odd {
				return shell.Because("repository-unread", "the settings of its repository cannot be read")
			}
		}
	}
	return nil
}

// gitFolders are those that hold the settings of the repository around dir.
func gitFolders(dir string) []string {
	for {
		at := filepath.Join(dir, ".git")
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			text, err := readSome(at)
			to, is := strings.CutPrefix(strings.TrimSpace(text), "gitdir:")
			if err != nil || !is {
				return []string{at} // nothing can be read below it
			}
			if at = strings.TrimSpace(to); !filepath.IsAbs(at) {
				at = filepath.Join(dir, at)
			}
		case err != nil && bare(dir):
			at = dir
		case err != nil:
			up := filepath.Dir(dir)
			if up == dir {
				return nil
			}
			dir = up
			continue
		}
		folders := []string{at}
		if text, err := readSome(filepath.Join(at, "commondir")); err == nil {
			common := strings.TrimSpace(text)
			if !filepath.IsAbs(common) {
				common = filepath.Join(at, common)
			}
			folders = append(folders, common)
		}
		return folders
	}
}

// bare reports whether git takes dir itself for what else is in .git.
func bare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// readSome reads a file of at most 1 MiB.
func readSome(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > 1<<20 { // a pipe would keep us
		return "", os.ErrInvalid
	}
	data, err := os.ReadFile(name)
	return string(data), err
}
