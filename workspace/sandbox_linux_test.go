//go:build amd64 || arm64

package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop/looptest"
	"oneloop/workspace"
)

// sandbox returns a confined workspace in a fresh folder.
func sandbox(t testing.TB, opts workspace.SandboxOptions) *workspace.SandboxWorkspace {
	t.Helper()
	return sandboxAt(t, t.TempDir(), opts)
}

func sandboxAt(t testing.TB, root string, opts workspace.SandboxOptions) *workspace.SandboxWorkspace {
	t.Helper()
	if opts.State == "" {
		opts.State = t.TempDir()
	}
	w, err := workspace.Sandboxed(root, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func TestSandboxKeepsTheContract(t *testing.T) {
	looptest.Census(t)
	looptest.TestWorkspace(t, func(t testing.TB) workspace.Workspace { return sandbox(t, workspace.SandboxOptions{}) })
}

func TestSandboxOfLandlockKeepsTheContract(t *testing.T) {
	looptest.Census(t)
	looptest.TestWorkspace(t, func(t testing.TB) workspace.Workspace {
		w := sandbox(t, workspace.SandboxOptions{Backend: workspace.BackendLL})
		if err := w.Prepare(); err != nil {
			t.Fatal(err)
		}
		return w
	})
}

// needBwrap skips a test, loudly, where there is no bubblewrap.
func needBwrap(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); err != nil {
		fmt.Fprintln(os.Stderr, t.Name()+" WAS NOT RUN: there is no bwrap (Debian: apt install bubblewrap)")
		t.Skip("there is no bwrap")
	}
}

// inNamespaces runs a test in each backend that has some.
func inNamespaces(t *testing.T, test func(t *testing.T, backend string)) {
	t.Run(workspace.BackendNS, func(t *testing.T) { test(t, workspace.BackendNS) })
	t.Run(workspace.BackendBwrap, func(t *testing.T) { needBwrap(t); test(t, workspace.BackendBwrap) })
}

func TestSandboxOfBubblewrapKeepsTheContract(t *testing.T) {
	needBwrap(t)
	looptest.Census(t)
	looptest.TestWorkspace(t, func(t testing.TB) workspace.Workspace {
		w := sandbox(t, workspace.SandboxOptions{Backend: workspace.BackendBwrap})
		if err := w.Prepare(); err != nil {
			t.Fatal(err)
		}
		return w
	})
}

func TestSandboxSaysWhatIsInForce(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	if s := w.Status(); s.Backend != "" || w.Describe().Sandbox != "sandbox" {
		t.Errorf("before the start it says %+v", s)
	}
	if err := w.Prepare(); err != nil {
		t.Fatal(err)
	}
	if s := w.Status(); s.Backend != "ns" || len(s.Failed) > 0 || w.Describe().Sandbox != "ns" {
		t.Errorf("it says %+v", s)
	}
}

func TestSandboxLeavesNoStandInBehind(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	root := w.Describe().Root
	if out, exit := bash(t, w, 10*time.Second, "git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m one && ls -A"); exit.Code != 0 || !strings.Contains(out, ".vscode") {
		t.Fatalf("%+v %s", exit, out)
	}
	before := tree(t, root)
	out, exit := bash(t, w, 10*time.Second, "git status --porcelain; git add -A; git -c user.name=a -c user.email=b commit -q --allow-empty -m two && git fsck && git worktree list && ls -A .git | tr '\\n' ' '")
	if exit.Code != 0 || !strings.Contains(out, "commondir") || strings.Contains(out, "?? ") {
		t.Errorf("%+v %s", exit, out)
	}
	for _, name := range tree(t, root) {
		if !strings.Contains(strings.Join(before, "\n"), name) && !strings.Contains(name, "/objects/") {
			t.Errorf("%s was left", name)
		}
	}
}

func tree(t *testing.T, root string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
