//go:build amd64 || arm64

package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
)

// inEach runs a test in each backend.
func inEach(t *testing.T, test func(t *testing.T, backend string)) {
	inNamespaces(t, test)
	t.Run(workspace.BackendLL, func(t *testing.T) { test(t, workspace.BackendLL) })
}

func TestSandboxWorksInAFolderWhoseNameIsNoText(t *testing.T) {
	inEach(t, func(t *testing.T, backend string) {
		root := filepath.Join(t.TempDir(), "\xc4\xe3 :\n\xff")
		also := filepath.Join(t.TempDir(), "\xba\xc3")
		for _, dir := range []string{root, also, filepath.Join(root, "\xff")} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w := sandboxAt(t, root, workspace.SandboxOptions{Backend: backend, Dirs: []string{also}})
		out, exit := bash(t, w, 10*time.Second, "cd $'\\xff' && touch in ../in '"+also+"/in' && pwd")
		if exit.Code != 0 || out != root+"/\xff\n" {
			t.Errorf("%q, %+v", out, exit)
		}
		for _, dir := range []string{root, also, filepath.Join(root, "\xff")} {
			if _, err := os.Lstat(filepath.Join(dir, "in")); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestSandboxDoesWithoutACacheThatCannotBeMade(t *testing.T) {
	inEach(t, func(t *testing.T, backend string) {
		w := sandbox(t, workspace.SandboxOptions{Backend: backend, Cache: "/proc/cache", State: "/proc/state"})
		for range 2 {
			out, exit := bash(t, w, 10*time.Second, `mkdir -p "$XDG_CACHE_HOME" "$GOCACHE" && echo made`)
			if exit.Code != 0 || out != "made\n" {
				t.Errorf("%q, %+v", out, exit)
			}
		}
		if s := w.Status(); len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "/proc/cache") {
			t.Errorf("it says %q", s.Notes)
		}
	})
}
