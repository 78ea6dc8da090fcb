//go:build amd64 || arm64

package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
)

// TestACommandInAWorktreeChangesThatOnly has a sandbox in a worktree below the
// main checkout: it can commit, and reaches neither the files of the main
// checkout, nor those of another worktree, nor what git obeys.
func TestACommandInAWorktreeChangesThatOnly(t *testing.T) {
	test := func(t *testing.T, backend string) {
		tr := newTrap(t)
		main := tr.root + "/repo"
		wts := tr.clean(main)
		h, other := tr.add(wts, "a", ""), tr.add(wts, "b", "")
		state := filepath.Dir(tr.hits) + "/state"
		env := workspace.Scrub(append(os.Environ(), person...), nil)
		w := sandboxAt(t, h.Path, workspace.SandboxOptions{Env: env, Backend: backend, Show: []string{main}, Hide: []string{state}})
		out, exit := bash(t, w, 30*time.Second, "echo x > new && git add new && git commit -qm mine && git status --porcelain && git log --format=%s main.. && git diff --stat main | tail -1")
		if exit.Code != 0 || !strings.HasPrefix(out, "mine\n 1 file changed") || len(exit.Notes) > 0 {
			t.Fatalf("a commit: %+v %s", exit, out)
		}
		if s, err := h.State(t.Context()); err != nil || s.Ahead != 1 || s.Changes != 0 {
			t.Errorf("it is %+v, %v", s, err)
		}
		for _, command := range []string{
			"echo x > " + main + "/f.txt", "echo x > " + main + "/stray", "mkdir -p " + main + "/.oneloop/hooks", "rm -r " + main + "/.oneloop/worktrees/b",
			"echo x > " + other.Path + "/f.txt", "mv " + h.Path + " " + main + "/.oneloop/worktrees/c", "ln -s / " + main + "/.oneloop/worktrees/d",
			"echo '*' > " + main + "/.oneloop/worktrees/.gitignore", "cat " + state + "/projects/*/worktrees/a", "f=$(echo " + state + "/projects/*/worktrees/b); echo removing - kept > $f && cat $f",
			"git worktree remove --force " + other.Path,
		} {
			if backend == workspace.BackendLL && strings.HasPrefix(command, "git worktree remove") {
				continue // its files stay, but git forgets it: without namespaces its own folders are open
			}
			if out, exit := bash(t, w, 30*time.Second, command); exit.Code == 0 {
				t.Errorf("%s works: %s", command, out)
			}
		}
		// Without namespaces these are put back when the command has ended.
		for _, command := range []string{
			"git config core.fsmonitor evil", "git config alias.x '!evil'", "echo evil > " + main + "/.git/hooks/pre-commit; chmod +x " + main + "/.git/hooks/pre-commit",
			"echo ../../evil > $(git rev-parse --git-dir)/commondir", "echo " + main + "/.git > .git", "echo x > " + main + "/.git/worktrees/b/gitdir",
		} {
			if backend == workspace.BackendLL && strings.HasSuffix(command, "gitdir") {
				continue // it runs nothing; b is then one that git does not know of, and kept
			}
			bash(t, w, 30*time.Second, command)
		}
		for _, path := range []string{"/.git/config", "/.git/hooks/pre-commit", "/.git/worktrees/a/commondir", "/.oneloop/worktrees/a/.git", "/.git/worktrees/b/gitdir"} {
			text, err := os.ReadFile(main + path)
			bad := strings.Contains(string(text), "evil") || strings.HasSuffix(path, "/.git") && !strings.Contains(string(text), "worktrees/a") || strings.HasSuffix(path, "gitdir") && string(text) != other.Path+"/.git\n"
			if bad {
				t.Errorf("%s is %q, %v", path, text, err)
			}
		}
		if text, err := os.ReadFile(main + "/f.txt"); err != nil || string(text) != "two\n" {
			t.Errorf("the main checkout has %q, %v", text, err)
		}
		if out := tr.git(main, "status", "--porcelain"); out != "" {
			t.Errorf("git status in the main checkout says %s", out)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		merge := exec.Command("git", "-C", main, "merge", "-q", "wt/a")
		if out, err := merge.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if _, err := h.Remove(t.Context(), workspace.WorktreeRemoveOptions{Discard: backend == workspace.BackendLL}); err != nil {
			t.Error(err)
		}
	}
	inNamespaces(t, test)
	t.Run(workspace.BackendLL, func(t *testing.T) { test(t, workspace.BackendLL) })
}
