//go:build amd64 || arm64

package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop/looptest"
	"oneloop/workspace"
)

func TestSandboxOfBubblewrapEndsWhatRunsWhenItIsClosed(t *testing.T) {
	needBwrap(t)
	looptest.Census(t)
	w := sandbox(t, workspace.SandboxOptions{Backend: workspace.BackendBwrap})
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "trap '' TERM; touch up; setsid sleep 300 & wait"}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the command", func() bool { _, err := os.Lstat(filepath.Join(w.Describe().Root, "up")); return err == nil })
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err == nil && exit.Code == 0 {
		t.Errorf("it ended well: %+v", exit)
	}
	if _, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"true"}}); err == nil {
		t.Error("a closed sandbox starts a command")
	}
}

func TestSandboxOfBubblewrapTakesNoProgramThatACommandCanHaveWritten(t *testing.T) {
	needBwrap(t)
	root := t.TempDir()
	for _, dir := range []string{root, t.TempDir()} { // the other is in the folder of temporary files
		if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		w := sandboxAt(t, root, workspace.SandboxOptions{Backend: workspace.BackendBwrap, Env: []string{"PATH=" + dir, "HOME=" + root}})
		if err := w.Prepare(); !errors.Is(err, workspace.ErrNoProgram) {
			t.Errorf("with one in %s: %v", dir, err)
		}
	}
}

// TestSandboxOfBubblewrapDoesNotMountWhatALinkLeadsTo has a protected name
// that leads to a hidden file.
func TestSandboxOfBubblewrapDoesNotMountWhatALinkLeadsTo(t *testing.T) {
	needBwrap(t)
	root, home := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "key"), []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".envrc", ".vscode"} {
		if err := os.Symlink(filepath.Join(home, "key"), filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	w := sandboxAt(t, root, workspace.SandboxOptions{Backend: workspace.BackendBwrap, Show: []string{home}, Hide: []string{filepath.Join(home, "key")}})
	out, exit := bash(t, w, 30*time.Second, "cat .envrc .vscode; echo done")
	if out != "done\n" || exit.Code != 0 {
		t.Errorf("it prints %q, %+v", out, exit)
	}
}

func TestSandboxOfBubblewrapHidesAroundTheWorkspace(t *testing.T) {
	needBwrap(t)
	home := t.TempDir()
	root := filepath.Join(home, "hidden", "ws")
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "hidden", "key"), []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := sandboxAt(t, root, workspace.SandboxOptions{Backend: workspace.BackendBwrap, Show: []string{home}, Hide: []string{filepath.Join(home, "hidden")}})
	out, _ := bash(t, w, 30*time.Second, "cat ../key; ls -A ..; echo x > ../new; echo kept > file; cat file")
	if strings.Contains(out, "SECRET") || !strings.Contains(out, "ws\n") || !strings.Contains(out, "Read-only") || !strings.HasSuffix(out, "kept\n") {
		t.Errorf("it prints %s", out)
	}
}

func TestSandboxClearsTemporaryFoldersOfProgramsThatWereKilled(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	path, remove, err := workspace.NewTmp()
	if err != nil {
		t.Fatal(err)
	}
	left, open, link, other := filepath.Join(dir, "oneloop-tmp-1"), filepath.Join(dir, "oneloop-tmp-2"), filepath.Join(dir, "oneloop-tmp-3"), filepath.Join(dir, "other")
	for name, mode := range map[string]os.FileMode{left: 0o700, open: 0o755, other: 0o700} {
		if err := errors.Join(os.Mkdir(name, mode), os.WriteFile(filepath.Join(name, "file"), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	there := func(path string) bool { _, err := os.Lstat(path); return err == nil }
	workspace.ClearTmp(dir, time.Now().Add(-time.Minute))
	if !there(left) {
		t.Error("one that may be being made was removed")
	}
	workspace.ClearTmp(dir, time.Now().Add(time.Minute))
	if there(left) {
		t.Error("one that was left is still there")
	}
	for _, kept := range []string{path, open, link, filepath.Join(other, "file")} {
		if !there(kept) {
			t.Errorf("%s was removed", kept)
		}
	}
	if err := remove(); err != nil || there(path) {
		t.Errorf("its own: %v", err)
	}
}
