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

// beside starts a command that does something once there is a file go. The
// result waits for its end and gives its notes.
func beside(t *testing.T, w workspace.Workspace, command string) (end func() string) {
	t.Helper()
	root := w.Describe().Root
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "touch up; until [ -e go ]; do sleep 0.01; done; " + command}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the command", func() bool { _, err := os.Lstat(root + "/up"); return err == nil })
	return func() string {
		place(t, root+"/go", "")
		exit, err := p.Wait()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(exit.Notes, "\n")
	}
}

func TestSandboxTakesNoStandInForAChange(t *testing.T) {
	inNamespaces(t, func(t *testing.T, backend string) {
		w := sandbox(t, workspace.SandboxOptions{Backend: backend})
		root := w.Describe().Root
		prepare(t, w, "git init -q .")
		end := beside(t, w, "echo ../evil > .git/commondir")
		for range 2 {
			if notes := told(t, w, "true"); notes != "" {
				t.Errorf("beside another command: %s", notes)
			}
		}
		if notes := end(); notes != "" {
			t.Error(notes)
		}
		if left, _ := filepath.Glob(root + "/.git/commondir*"); len(left) > 0 {
			t.Errorf("there is %q", left)
		}
	})
}

// TestSandboxMeasuresByWhatWasBeforeAllThatRun has the user replace settings
// under one command while others start and end.
func TestSandboxMeasuresByWhatWasBeforeAllThatRun(t *testing.T) {
	inNamespaces(t, func(t *testing.T, backend string) {
		w := sandbox(t, workspace.SandboxOptions{Backend: backend})
		root := w.Describe().Root
		prepare(t, w, "git init -q .; git init -q sub")
		end := beside(t, w, `echo ../evil > .git/commondir; until [ -e on ]; do sleep 0.01; done
printf '[core]\n\tfsmonitor = evil\n' >> .git/config; echo ../evil > sub/.git/commondir`)
		prepare(t, w, "git config user.name bob")
		told(t, w, "true")
		place(t, root+"/go", "")
		told(t, w, "touch on; until [ -e sub/.git/commondir ]; do sleep 0.01; done")
		told(t, w, "true")
		if notes := end(); !strings.Contains(notes, "replaced by another program") {
			t.Errorf("it says %q", notes)
		}
		bash(t, w, 30*time.Second, "true")
		for _, dir := range []string{"", "sub/"} {
			if _, err := os.Lstat(root + "/" + dir + ".git/commondir"); err == nil {
				t.Errorf("%s.git/commondir is there", dir)
			}
		}
		text, err := os.ReadFile(root + "/.git/config")
		if err != nil || strings.Contains(string(text), "fsmonitor") {
			t.Errorf("%s, %v", text, err)
		}
	})
}

func TestSandboxNamesWhatIsDoneToARepositoryThatIsNewBesideACommand(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	end := beside(t, w, "git config core.fsmonitor evil")
	told(t, w, "git init -q .")
	told(t, w, "true")
	if notes := end(); !strings.Contains(notes, "config of the repository") {
		t.Errorf("it says %q", notes)
	}
}
