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

func TestSandboxTellsWhatNestedRepositoriesMakeGitRun(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	root := w.Describe().Root
	init := exec.Command("bash", "-c", "git init -q old && rm -rf old/.git/hooks/* && git init -q old/deep/er")
	init.Dir = root
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	bash(t, w, 10*time.Second, "true")
	const hook = `printf '#!/bin/sh\n' > %/.git/hooks/pre-commit; chmod +x %/.git/hooks/pre-commit; `
	in := func(dir, command string) string { return strings.ReplaceAll(command, "%", dir) }
	for _, c := range []struct {
		name, command, note, gone string
	}{
		{"nothing", "true", "", ""},
		{"a commit", "cd old && git -c user.name=a -c user.email=b commit -q --allow-empty -m x && git remote add o https://example.org/x && git config user.name me", "", ""},
		{"a hook", in("old", hook), "hooks/pre-commit of the repository", "old/.git/hooks/pre-commit"},
		{"a setting", "git -C old config core.fsmonitor evil", "config of the repository", ""},
		{"an alias deep down", "git -C old/deep/er config alias.st '!evil'", "config of the repository", ""},
		{"another common folder", "echo ../../evil > old/.git/commondir", "commondir of the repository", "old/.git/commondir"},
		{"an example", "touch old/.git/hooks/x.sample", "", ""},
		{"a new one", "git init -q new", "", ""},
		{"a new one with a hook", "git init -q bad && " + in("bad", hook) + "git -C bad config core.pager evil", "core.pager=evil, hooks/pre-commit", ""},
		{"the same again", "true", "", ""},
		{"one in the root", "git init -q . && git config core.sshCommand evil", "core.sshcommand=evil", ""},
	} {
		_, exit := bash(t, w, 10*time.Second, c.command)
		notes := strings.Join(exit.Notes, "\n")
		if c.note == "" && notes != "" || !strings.Contains(notes, c.note) || exit.Code != 0 {
			t.Errorf("%s: %+v, want %q", c.name, exit, c.note)
		}
		if c.gone != "" {
			if _, err := os.Lstat(filepath.Join(root, c.gone)); err == nil {
				t.Errorf("%s: %s is still there", c.name, c.gone)
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "old/.git/config"))
	if err != nil || strings.Contains(string(text), "evil") || !strings.Contains(string(text), "example.org") {
		t.Errorf("the settings are now %s, %v", text, err)
	}
}
