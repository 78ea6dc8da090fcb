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

func TestSandboxObeysTheUsersHooks(t *testing.T) {
	inNamespaces(t, obeysTheUsersHooks)
	t.Run(workspace.BackendLL, func(t *testing.T) { obeysTheUsersHooks(t, workspace.BackendLL) })
}

// obeysTheUsersHooks runs protected programs of the user's where they are:
// they can be read and executed, as outside, and not changed.
func obeysTheUsersHooks(t *testing.T, backend string) {
	base := t.TempDir()
	setup := exec.Command("bash", "-c", `git init -q main && cd main && git commit -q --allow-empty -m one && git worktree add -q ../tree
		printf '#!/bin/sh\necho stopped by the hook; exit 1\n' > .git/hooks/pre-commit && chmod 755 .git/hooks/pre-commit
		for dir in .husky .oneloop/hooks .claude/hooks; do mkdir -p $dir && printf '#!/bin/sh\necho from %s\n' $dir > $dir/program && chmod 755 $dir/program; done`)
	setup.Dir, setup.Env = base, append(os.Environ(), person...)
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	env := workspace.Scrub(append(os.Environ(), person...), nil)
	for _, name := range []string{"main", "tree"} {
		w := sandboxAt(t, filepath.Join(base, name), workspace.SandboxOptions{Env: env, Backend: backend, Show: []string{base}})
		out, exit := bash(t, w, 10*time.Second, "echo x > file && git add file && git commit -qm two")
		if exit.Code != 1 || !strings.Contains(out, "stopped by the hook") || strings.Contains(out, "ignored") {
			t.Errorf("%s: the hook does not stop the commit: %+v %s", name, exit, out)
		}
		if out, exit := bash(t, w, 10*time.Second, "git commit -qnm two && git log -1 --format=%s"); exit.Code != 0 || out != "two\n" {
			t.Errorf("%s: nor does a commit without it work: %+v %s", name, exit, out)
		}
	}
	w := sandboxAt(t, filepath.Join(base, "main"), workspace.SandboxOptions{Env: env, Backend: backend})
	out, exit := bash(t, w, 10*time.Second, ".husky/program && .oneloop/hooks/program && .claude/hooks/program")
	if exit.Code != 0 || out != "from .husky\nfrom .oneloop/hooks\nfrom .claude/hooks\n" {
		t.Errorf("protected programs: %+v %s", exit, out)
	}
}
