//go:build amd64 || arm64

package workspace_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
)

// prepare runs a command in the workspace as its user would.
func prepare(t *testing.T, w workspace.Workspace, command string) {
	t.Helper()
	c := exec.Command("bash", "-ec", "export GIT_CONFIG_GLOBAL=/dev/null GIT_TEMPLATE_DIR=; "+command)
	c.Dir = w.Describe().Root
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// told runs a command in the sandbox and gives its notes.
func told(t *testing.T, w workspace.Workspace, command string) string {
	t.Helper()
	out, exit := bash(t, w, 30*time.Second, command)
	if exit.Code != 0 {
		t.Errorf("%s: %+v %s", command, exit, out)
	}
	return strings.Join(exit.Notes, "\n")
}

func TestSandboxPutsBackExactlyAndKeepsWhatWasThere(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	root := w.Describe().Root
	prepare(t, w, `git init -q sub; cd sub/.git; mkdir -p hooks; head -c 100000 /dev/zero | tr '\0' a > hooks/long; chmod 750 hooks/long
echo user > hooks/plain; chmod 644 hooks/plain; ln -s ../../hook hooks/link; head -c 1200000 /dev/zero > hooks/huge; chmod +x hooks/huge; printf '#\n' > hooks/off; chmod 600 hooks/off
git config alias.x '!mine'; chmod 600 config`)
	bash(t, w, 30*time.Second, "true")
	notes := told(t, w, `cd sub/.git; for f in long plain huge; do echo evil > hooks/$f; done; chmod +x hooks/plain hooks/off; ln -sf ../../evil hooks/link; git config alias.x '!evil'`)
	if !strings.Contains(notes, "could not be put back") || !strings.Contains(notes, "too long to have been kept") {
		t.Error(notes)
	}
	out := func(command string) string {
		c := exec.Command("bash", "-c", command)
		c.Dir = filepath.Join(root, "sub/.git")
		text, _ := c.CombinedOutput()
		return string(text)
	}
	for command, want := range map[string]string{
		"stat -c '%a %s' hooks/long hooks/plain hooks/off; stat -c %a config": "750 100000\n644 5\n600 2\n600\n",
		"readlink hooks/link; cat hooks/plain; git config alias.x":            "../../hook\nuser\n!mine\n",
		"ls hooks": "huge.set-aside\nlink\nlink.set-aside\nlong\nlong.set-aside\noff\nplain\nplain.set-aside\n",
		"cat hooks/*.set-aside 2>/dev/null; grep -c evil config.set-aside": "evil\nevil\nevil\n1\n",
	} {
		if got := out(command); got != want {
			t.Errorf("%s:\n%s, want\n%s", command, got, want)
		}
	}
	if notes := told(t, w, "true"); notes != "" {
		t.Errorf("told again: %s", notes)
	}
	prepare(t, w, "git -C sub config alias.y '!mine'")
	if notes := told(t, w, "true"); notes != "" || out("git config alias.y") != "!mine\n" {
		t.Errorf("what the user changed between two commands: %s", notes)
	}
}

func TestSandboxSeesEveryWayToARepository(t *testing.T) {
	const evil = `printf '[core]\n fsmonitor = evil\n' >> `
	for name, c := range map[string]struct{ before, command, note string }{
		"a .git file":                 {"mkdir n", "git init -q --bare evilgit; mkdir odd; cp -r evilgit/* odd; " + evil + "odd/config; rm -r odd/refs; echo gitdir: ../odd > n/.git", "odd makes git run or obey: core.fsmonitor=evil"},
		"a .git file that leads away": {"mkdir n", "echo gitdir: /usr > n/.git", "the git folder /usr outside"},
		"a .git link":                 {"mkdir n d", evil + "d/config; ln -s ../d n/.git", "d makes git run or obey: core.fsmonitor"},
		"another .git file":           {"git init -q --separate-git-dir=g s", "mkdir e; echo gitdir: ../e > s/.git", ".git of the repository"},
		"a bare one":                  {"mkdir src; git init -q .", "cd src; git init -q --bare; " + evil + "config", "src makes git run or obey: core.fsmonitor"},
		"a submodule":                 {"git init -q .", "mkdir -p .git/modules/a/b/; cd .git/modules/a/b; touch HEAD; " + evil + "config", "modules/a/b makes git run or obey: core.fsmonitor"},
		"a worktree": {"git init -q n; cd n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; git worktree add -q ../wt 2>/dev/null",
			"mkdir e; echo ../../../../e > n/.git/worktrees/wt/commondir", "commondir of the repository"},
		"an included file": {"git init -q .; git config include.path ../conf; echo > conf", evil + "conf", "lead to it: "},
		"shared hooks":     {"git init -q .; mkdir .githooks; git config core.hooksPath .githooks; echo > .githooks/pre-commit", "chmod +x .githooks/pre-commit", ".githooks/pre-commit"},
		"a link to hooks":  {"git init -q .; rm -rf .git/hooks; mkdir hk; ln -s ../hk .git/hooks", "echo > hk/pre-push; chmod +x hk/pre-push", "hk/pre-push"},
		"a long config":    {"true", "mkdir -p n/.git; { head -c 1200000 /dev/zero | tr '\\0' '\\n'; printf '[core]\\n fsmonitor = evil\\n'; } > n/.git/config", "too long to look at"},
		"nothing":          {"git init -q .; mkdir .githooks; git config core.hooksPath .githooks; git config include.path ../conf; echo > conf", "echo '[user] name = a' > conf; echo > .githooks/readme; git init -q n; git init -q --bare b; git worktree list", ""},
		"a new worktree":   {"git init -q n; cd n; git -c user.name=a -c user.email=b commit -q --allow-empty -m x", "git -C n worktree add -q ../wt 2>/dev/null", ""},
		"many new folders": {"git init -q z", "mkdir -p a/{1..1100}; git -C z config core.fsmonitor evil", "config of the repository"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GIT_CONFIG_GLOBAL", "/dev/null")
			w := sandbox(t, workspace.SandboxOptions{})
			prepare(t, w, c.before)
			bash(t, w, 30*time.Second, "true")
			if notes := told(t, w, c.command); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("%s\nwant %q", notes, c.note)
			}
		})
	}
}

func TestSandboxFindsHooksAmongManyFiles(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	prepare(t, w, "git init -q sub; git init -q led; git -C led config core.hooksPath hk; mkdir -p sub/.git/hooks led/hk; touch {sub/.git/hooks,led/hk}/{1..1500}.sample sub/.git/hooks/lib")
	hook := func(path string) string { return "echo evil > " + path + "; chmod +x " + path }
	for _, c := range []struct{ command, note string }{
		{hook("sub/.git/hooks/update"), "hooks/update of the repository"},
		{hook("sub/.git/hooks/lib"), "hooks/lib of the repository"},
		{hook("led/hk/pre-push"), "led/hk/pre-push"},
		{"touch led/hk/{1..300}; " + hook("led/hk/post-checkout"), "led/hk/post-checkout"},
		{"touch sub/.git/hooks/{1..600}", "sub/.git has or leads to more files"},
		{"rm sub/.git/hooks/{1..600}; " + hook("sub/.git/hooks/pre-push"), "hooks/pre-push of the repository"},
	} {
		if notes := told(t, w, c.command); !strings.Contains(notes, c.note) {
			t.Errorf("%s: it says %q, want %q", c.command, notes, c.note)
		}
	}
}
