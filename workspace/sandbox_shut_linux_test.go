//go:build amd64 || arm64

package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
)

// TestSandboxLooksIntoFoldersThatACommandCloses is for an ordinary user: root
// reads every folder.
func TestSandboxLooksIntoFoldersThatACommandCloses(t *testing.T) {
	needOrdinary(t)
	inEach(t, func(t *testing.T, backend string) {
		w := sandbox(t, workspace.SandboxOptions{Backend: backend})
		root := w.Describe().Root
		prepare(t, w, "git init -q sub; mkdir -p sub/.git/hooks sub/hk other; git init -q with; git -C with config core.hooksPath hk; mkdir with/hk")
		const hook = `echo evil > sub/.git/hooks/pre-commit; chmod +x sub/.git/hooks/pre-commit; `
		for _, c := range []struct {
			command, closed string
			mode            fs.FileMode
			note            string
		}{
			{hook + "chmod 311 sub/.git/hooks", "sub/.git/hooks", 0o311, "hooks/pre-commit of the repository"},
			{hook + "chmod 311 sub/.git", "sub/.git", 0o311, "hooks/pre-commit of the repository"},
			{hook + "chmod 111 sub/.git/hooks sub", "sub", 0o111, "hooks/pre-commit of the repository"},
			{hook + "chmod 0 sub", "sub", 0, "hooks/pre-commit of the repository"},
			{"echo evil > with/hk/pre-push; chmod +x with/hk/pre-push; chmod 311 with/hk", "with/hk", 0o311, "with/hk/pre-push"},
			{"echo evil > other/.envrc; chmod 311 other", "other", 0o311, "new while this command ran: other/.envrc"},
			{hook + "chmod 311 .", ".", 0o311, "hooks/pre-commit of the repository"},
		} {
			path := filepath.Join(root, c.closed)
			notes := told(t, w, c.command)
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != c.mode || !strings.Contains(notes, c.note) {
				t.Errorf("%s: it says %q, %v %v", c.command, notes, info, err)
			}
			if _, exit := bash(t, w, 30*time.Second, "true"); len(exit.Notes) > 0 {
				t.Errorf("%s: afterwards it says %q", c.command, exit.Notes)
			}
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
			os.Chmod(root+"/sub/.git/hooks", 0o755)
			if _, err := os.Lstat(root + "/sub/.git/hooks/pre-commit"); err == nil {
				t.Errorf("%s: there is a hook", c.command)
			}
		}
		left, err := os.ReadDir(root)
		for _, e := range left {
			if err == nil && e.Type() == fs.ModeSocket {
				t.Errorf("%s is left", e.Name())
			}
		}
	})
}
