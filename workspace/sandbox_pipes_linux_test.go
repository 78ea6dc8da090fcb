//go:build amd64 || arm64

package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"oneloop/workspace"
)

// Opening a pipe waits for its other side, which never comes.

func TestSandboxWaitsForNoPipeThatACommandMade(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	for _, name := range []string{"hooks", "config", "commondir", "info", "info/attributes", "modules", "worktrees"} {
		bash(t, w, 10*time.Second, "mkdir -p n/.git; cd n/.git; rm -rf info; case "+name+" in */*) mkdir info;; esac; mkfifo "+name)
		bash(t, w, 10*time.Second, "rm -rf n; mkfifo n; true")
		bash(t, w, 10*time.Second, "rm -rf n; mkdir n; mkfifo n/.git")
		bash(t, w, 10*time.Second, "rm -rf n")
	}
}

func TestSandboxOpensAFolderWithPipesForGitFiles(t *testing.T) {
	for _, pipe := range []string{"ws/.git", "own/gitdir", "own/commondir"} {
		dir := t.TempDir()
		for _, name := range []string{"ws", "own"} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range map[string]string{"ws/.git": "gitdir: ../own\n", "own/gitdir": filepath.Join(dir, "ws/.git")} {
			if name == pipe {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Mkfifo(filepath.Join(dir, pipe), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, exit := bash(t, sandboxAt(t, filepath.Join(dir, "ws"), workspace.SandboxOptions{}), 10*time.Second, "true"); exit.Code != 0 {
			t.Errorf("%s: %+v", pipe, exit)
		}
	}
}

func TestSandboxTellsLittleAndNothingHidden(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	_, exit := bash(t, w, 30*time.Second, `for i in $(seq 1 100); do mkdir -p r$i/.git; { echo "[x]"; printf 'y = '; head -c 65000 /dev/zero | tr '\0' a; } > r$i/.git/config; done
mkdir -p a/.git; printf '[x]\n y = "\033]52;c;x\007 \342\200\256"\n' > a/.git/config`)
	notes := strings.Join(exit.Notes, "")
	if len(notes) > 4<<10 || len(exit.Notes) < 3 || !strings.Contains(notes, "left out") || !strings.Contains(notes, `\u202e`) || !strings.Contains(notes, `x.y=`) {
		t.Errorf("%d bytes: %.600q", len(notes), notes)
	}
	if i := strings.IndexFunc(notes, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }); i >= 0 {
		t.Errorf("raw: %q", notes[i:i+20])
	}
}
