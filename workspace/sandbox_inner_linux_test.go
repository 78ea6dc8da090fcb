//go:build amd64 || arm64

package workspace_test

import (
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
)

func TestSandboxRunsWhereSomethingElseIsInPlaceOfAFolder(t *testing.T) {
	for _, name := range []string{"modules", "worktrees", "info"} {
		for _, make := range []string{"echo >", "mkfifo", "ln -s nowhere"} {
			w := sandbox(t, workspace.SandboxOptions{})
			prepare(t, w, "git init -q .; rm -rf .git/"+name+"; "+make+" .git/"+name)
			notes := told(t, w, "true")
			if make != "ln -s nowhere" && !strings.Contains(notes, ".git/"+name+" is no folder") {
				t.Errorf("%s %s: %q", make, name, notes)
			}
			if notes := told(t, w, "true"); notes != "" {
				t.Errorf("%s %s is told again: %s", make, name, notes)
			}
		}
	}
}

func TestSandboxProtectsSubmodulesThatWereThereBeforeAllOthers(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	prepare(t, w, "git init -q .; mkdir -p .git/modules/zz/modules/in; touch .git/modules/zz/{HEAD,config} .git/modules/zz/modules/in/{HEAD,config}")
	bash(t, w, 30*time.Second, "true")
	told(t, w, "cd .git/modules; mkdir -p m{1..150}; touch m{1..150}/HEAD; mkdir -p e/{1..1500} "+strings.Repeat("d/", 50))
	out, exit := bash(t, w, 30*time.Second, "cd .git/modules; for d in zz zz/modules/in; do echo x >> $d/config || echo kept; done; grep -c '/modules/[^/]*/config ' /proc/self/mountinfo")
	if strings.Count(out, "kept\n") != 2 || !strings.HasSuffix(out, "kept\n100\n") {
		t.Errorf("%s", out)
	}
	if notes := strings.Join(exit.Notes, "\n"); !strings.Contains(notes, "more than 100 git folders") || !strings.Contains(notes, "more than 1000 folders") {
		t.Errorf("%s", notes)
	}
	prepare(t, w, "rm -rf .git/modules/e .git/modules/d")
	if notes := told(t, w, "printf '[core]\n fsmonitor = evil\n' > .git/modules/m99/config"); !strings.Contains(notes, "config of the repository") {
		t.Errorf("one that is not mounted: %s", notes)
	}
}
