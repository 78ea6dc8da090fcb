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

func TestSandboxExplainsWhatStoppedACommandAtAFile(t *testing.T) {
	inNamespaces(t, explainsWhatStoppedACommand)
}

func explainsWhatStoppedACommand(t *testing.T, backend string) {
	home, root := t.TempDir(), begin(t)
	env := workspace.Scrub(append(os.Environ(), append(person, "TARGET="+home)...), nil)
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	w := sandboxAt(t, root, workspace.SandboxOptions{Env: env, Backend: backend, Show: []string{home}})
	part := sandboxAt(t, filepath.Join(root, "sub"), workspace.SandboxOptions{Env: env, Backend: backend, Show: []string{root}})
	stopsAreExplained(t, []stopped{
		{w, "git config user.name x", root + "/.git/config", "git obeys it later"},
		{w, "cd sub && git remote add o x", root + "/.git/config", "git obeys it later"},
		{w, "git init", root + "/.git/config", "they can do it"},
		{w, "git branch -q extra && git branch -m extra other", root + "/.git/config", "--sandbox none"},
		{w, "echo x > .git/hooks/post-commit", root + "/.git/hooks", "git obeys it later"},
		{w, "mv .git other", root + "/.git", "keeps " + root + "/.git where it is"},
		{w, "echo x > .envrc", root + "/.envrc", "also while it does not exist"},
		{w, "cd sub && echo x > ../.envrc", root + "/.envrc", "also while it does not exist"},
		{w, "mkdir -p .vscode", root + "/.vscode", "editors"},
		{w, "echo x > .vscode/settings.json", root + "/.vscode", "editors"},
		{w, "echo x > $TARGET/new", "keeps " + home + " read-only", "--add-dir " + home},
		{w, "echo x > '/usr/a name'", "keeps /usr read-only", "The user can do it, or run without"},
		{part, "git add -A ..", root + "/.git read-only", "--add-dir " + root},
		{w.ReadOnly(), "echo x > file", "may only look", "plan"},
		{w.ReadOnly(), "echo x > $TARGET/new", "keeps " + home + " read-only", ""},
	})
	if out, exit := bash(t, w, 10*time.Second, "rm .envrc .vscode .idea .mcp.json .oneloop .git/config"); exit.Code == 0 || len(exit.Notes) != 3 {
		t.Errorf("of many: %+v %s", exit, out)
	}
	for _, c := range []string{
		"git branch -q one && git branch -q two && git branch -u one two && git branch -d one",
		"git init -q --bare there && git push -q -u ./there HEAD:refs/heads/x",
	} {
		if out, exit := bash(t, w, 10*time.Second, c); exit.Code != 0 || len(exit.Notes) != 1 || !strings.Contains(exit.Notes[0], root+"/.git/config") {
			t.Errorf("%s: %+v\n%s", c, exit, out)
		}
	}
	for _, quiet := range []string{
		"echo 'touch: /etc/x: Read-only file system'", "echo x > .envrc; true",
		"echo there; exit 3", "cat missing", "mkdir sub", "echo 'open x: read-only file system'; false", "echo 'Permission denied: main.go'; false", "echo 'main.go: File exists'; false",
		"mkdir gone && cd gone && mkdir ../sub",
	} {
		if out, exit := bash(t, w, 10*time.Second, quiet); len(exit.Notes) > 0 {
			t.Errorf("%s: it says %q beside %s", quiet, exit.Notes, out)
		}
	}
}

// stopped is a command with what is said of it.
type stopped struct {
	w             workspace.Workspace
	command       string
	what, besides string
}

func stopsAreExplained(t *testing.T, list []stopped) {
	t.Helper()
	for _, s := range list {
		out, exit := bash(t, s.w, 10*time.Second, s.command)
		if exit.Code == 0 || len(exit.Notes) != 1 || !strings.Contains(exit.Notes[0], s.what) || !strings.Contains(exit.Notes[0], s.besides) {
			t.Errorf("%s: %+v\n%s\nwant a note with %q and %q", s.command, exit, out, s.what, s.besides)
		}
	}
}

func TestSandboxOfLandlockExplainsWhatStoppedACommandAtAFile(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	closed := filepath.Join(outside, "closed")
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	env := workspace.Scrub(append(os.Environ(), "TARGET="+outside), nil)
	w := sandboxAt(t, root, workspace.SandboxOptions{Env: env, Backend: workspace.BackendLL})
	stopsAreExplained(t, []stopped{{w, "echo x > $TARGET/new", "keeps " + outside + " read-only", "$TMPDIR only. The user can do it, or give the folder (--add-dir " + outside}})
	if out, exit := bash(t, w, 10*time.Second, "mkdir shut && chmod 0 shut; echo 'shut/x: Permission denied'; false"); len(exit.Notes) > 0 {
		t.Errorf("it says %q beside %s", exit.Notes, out)
	}
	if os.Geteuid() != 0 { // whom the mode does not stop
		if out, exit := bash(t, w, 10*time.Second, "echo x > $TARGET/closed/new"); exit.Code == 0 || len(exit.Notes) > 0 {
			t.Errorf("it says %q beside %s", exit.Notes, out)
		}
	}
}
