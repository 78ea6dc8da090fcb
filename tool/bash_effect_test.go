//go:build unix

package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"oneloop"
	"oneloop/tool"
	"oneloop/workspace"
)

func TestACommandThatOnlyLooksHasThatEffect(t *testing.T) {
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{})
	for command, want := range map[string]oneloop.Effect{
		"ls -la | head -5": oneloop.ReadOnly, "git status && git diff --stat": oneloop.ReadOnly, "ls\r\npwd\r\n": oneloop.ReadOnly,
		"ls > out": oneloop.Once, "ls; touch x": oneloop.Once, "git status $(touch x)": oneloop.Once, "cat 'a": oneloop.Once,
	} {
		in, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Effect(&oneloop.ToolUse{Name: "Bash", Input: in}); got != want {
			t.Errorf("%q: %v, want %v", command, got, want)
		}
	}
	if got := b.Effect(&oneloop.ToolUse{Name: "Bash", Input: json.RawMessage(`{"command":7}`)}); got != oneloop.Once {
		t.Errorf("what cannot be read is %v", got)
	}
}

// A repository can name a program that git status runs. The tool's own way of
// running what only looks leaves it out; the command as it is runs it.
func TestWhatOnlyLooksRunsNoProgramOfARepository(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	root := w.Describe().Root
	b := tool.Bash(w, tool.BashOptions{SpillDir: t.TempDir()})
	run := func(command string) string {
		t.Helper()
		return call(t, t.Context(), b, map[string]any{"command": command}, nil).Text()
	}
	marker := filepath.Join(root, "ran")
	if err := os.WriteFile(filepath.Join(root, "spy"), []byte("#!/bin/sh\ntouch \""+marker+"\"\nprintf 'x\\0'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	run("git init -q . && git config core.fsmonitor ./spy && git config diff.external ./spy && echo a > f && git add f && echo b > f")
	for _, c := range []struct {
		command string
		runs    bool
	}{
		{"env git status", true}, {"git status", false}, {"git status -s; git diff f", false}, {"env git diff f", true},
	} {
		os.Remove(marker)
		text := run(c.command)
		if _, err := os.Stat(marker); (err == nil) != c.runs {
			t.Errorf("%s: the repository's program ran: %v; it printed %s", c.command, err == nil, text)
		}
	}
}
