package team

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Link makes a private folder (0700) in dir, or in the system's temporary one
// when dir is empty, that holds a link named "oneloop" to the running
// executable, and returns the folder. With [Options].Link it comes first on the
// PATH of commands, so that they find this program whatever is installed.
//
// A program that is replaced in its place, as updates do, is found as the new
// one. After it was moved away the link leads nowhere and the shell goes on to
// the rest of PATH. cleanup removes folder and link; a killed program leaves
// them behind.
func Link(dir string) (path string, cleanup func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, fmt.Errorf("find the running program: %w", err)
	}
	path, err = os.MkdirTemp(dir, "oneloop-bin-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for the link to this program: %w", err)
	}
	name := "oneloop"
	if strings.EqualFold(filepath.Ext(self), ".exe") {
		name += ".exe"
	}
	if err := os.Symlink(self, filepath.Join(path, name)); err != nil {
		os.RemoveAll(path)
		return "", nil, fmt.Errorf("link to the running program: %w", err)
	}
	return path, func() error { return os.RemoveAll(path) }, nil
}

// withLink returns env with link first on its PATH; base is the PATH of a
// command whose own environment names none.
func withLink(env []string, link, base string) []string {
	if link == "" {
		return env
	}
	for _, kv := range env {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			base = p // the last one counts
		}
	}
	if base != "" {
		link += string(os.PathListSeparator) + base
	}
	return append(env[:len(env):len(env)], "PATH="+link)
}
