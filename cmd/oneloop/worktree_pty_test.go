//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"oneloop/looptest/script"
)

// commits makes a repository of the folder that is worked in.
func (p *product) commits(files map[string]string) {
	p.t.Helper()
	for name, text := range files {
		p.puts(name, text)
	}
	c := exec.Command("sh", "-ec", "git init -q -b main .; git config user.name n; git config user.email e@example.com; printf '.env\n' > .git/info/exclude; git add .; git commit -q --allow-empty -m one")
	c.Dir = p.dir
	if out, err := c.CombinedOutput(); err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
}

func TestAConversationInAWorktree(t *testing.T) {
	p := newProduct(t, say("hello"), say("again"), say("other"))
	p.commits(map[string]string{"AGENTS.md": "Be brief.\n"})
	p.asking(t) // and the key is in a file that the worktree does not have
	tree := filepath.Join(".oneloop", "worktrees", "fix")
	c := p.sit(wide, "TERM=xterm", "--worktree", "fix")
	c.answers("y\r", "AGENTS.md", "ANTHROPIC_API_KEY", "go on without them")
	c.sees(tree, "Ctrl-D")
	c.types("hi\r")
	c.sees("hello")
	contains(t, string(p.request(1).Body), "Be brief")
	c.types("/worktrees\r")
	c.sees("fix  ", "in use; nothing of its own")
	c.types("/worktrees remove fix\r")
	c.sees("the worktree fix is in use")
	c.types("/worktrees remove\r")
	c.sees("[--discard]")
	c.types("\x04")
	c.sees("--worktree fix", "the worktree fix: it is removed")
	c.ends()
	if p.exists(tree) {
		t.Error("the worktree is there")
	}

	// What was trusted is not asked for again. What a branch brings along is, and
	// the session goes on.
	c = p.sit(wide, "TERM=xterm", "--worktree", "fix", "-c")
	c.sees(tree, "hello")
	c.types("more\r")
	c.sees("again")
	if err := os.WriteFile(filepath.Join(p.dir, tree, "AGENTS.md"), []byte("Be long.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.types("\x04")
	c.sees("the work is in", "1 file changed or new (AGENTS.md)")
	c.ends()
	c = p.sit(wide, "TERM=xterm", "--worktree", "fix")
	c.answers("n\r", "changed since you trusted it", "go on without them")
	c.sees("Ctrl-D")
	c.types("what now\r")
	c.sees("other")
	if body := string(p.request(3).Body); strings.Contains(body, "Be long") {
		t.Error("what the branch brings along is used")
	}
	c.types("\x04")
	c.sees("the work is in")
	c.ends()
	out := p.done("team", "worktrees", "remove", "fix", "--discard", "--trust")
	contains(t, out.stdout, "git branch wt/fix ")
}

// TestASignalEndsAWorktreeAsTheTaskWould ends the task while its command runs:
// by a signal what would be lost stays and the rest goes; a program that is
// killed leaves it, and the next one has it at once.
func TestASignalEndsAWorktreeAsTheTaskWould(t *testing.T) {
	mark := filepath.Join(".oneloop", "worktrees", "fix", "mark")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		p := newProduct(t, script.Say(shell("t1", "touch mark; sleep 300")), say("done"))
		p.commits(map[string]string{".gitignore": "mark\n"})
		cmd := p.started(mark, "--worktree", "fix")
		if o := p.run("--worktree", "fix", "go on"); o.code != exitConfig || !strings.Contains(o.stderr, "the worktree fix is in use") {
			t.Errorf("%v: another one says %d %s", sig, o.code, o.stderr)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		p.census()
		if kept := p.exists(filepath.Dir(mark)); kept != (sig == syscall.SIGKILL) {
			t.Errorf("%v: the worktree is there: %v", sig, kept)
		}
		if sig == syscall.SIGKILL {
			contains(t, p.done("--worktree", "fix", "go on").stderr, "the worktree fix: it is removed")
		}
	}
}
