//go:build unix

package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

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

// What else a repository's settings can make git run where it only looks. The
// commands with env in front are the control: the trap works.
func TestWhatOnlyLooksRunsNoProgramOfARepositoryInAnyWay(t *testing.T) {
	for name, c := range map[string]struct{ setup, command string }{
		"a signature in the usual format": {`f=$(git rev-parse HEAD^{tree}); c=$(printf 'tree %s\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nm\n' $f | git hash-object -t commit -w --stdin)
git update-ref HEAD $c; git config gpg.program "$SPY"; git config format.pretty '%G? %s'`, "git log -1"},
		"a signature that is shown": {`f=$(git rev-parse HEAD^{tree}); c=$(printf 'tree %s\nauthor a <a> 1 +0000\ncommitter a <a> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nm\n' $f | git hash-object -t commit -w --stdin)
git update-ref HEAD $c; git config gpg.openpgp.program "$SPY"; git config log.showSignature true`, "git show"},
		"the diff of a submodule":            {`git init -q sub; cd sub; echo a > f; git add f; git commit -qm a; cd ..; git add sub 2>/dev/null; git commit -qm sub; cd sub; echo b > f; git commit -qam b; git config diff.external "$SPY"; cd ..; git config diff.submodule diff`, "git diff"},
		"the status of a submodule":          {`git init -q sub; cd sub; echo a > f; git add f; git commit -qm a; cd ..; git add sub 2>/dev/null; git commit -qm sub; cd sub; git config core.fsmonitor "$SPY"`, "git status"},
		"a merge that is made again":         {`echo 'f merge=spy' > .git/info/attributes; git checkout -qb x; echo x > f; git commit -qam x; git checkout -q -; echo y > f; git commit -qam y; git merge -q -s ours x; git config merge.spy.driver "$SPY"; git config log.diffMerges remerge`, "git log -1 -p -m"},
		"a conversion to text":               {`echo 'f diff=spy' > .git/info/attributes; git config diff.spy.textconv "$SPY"; echo c > f`, "git diff"},
		"a conversion in blame":              {`echo 'f diff=spy' > .git/info/attributes; git config diff.spy.textconv "$SPY"`, "git blame f"},
		"a driver of diffs":                  {`echo 'f diff=spy' > .git/info/attributes; git config diff.spy.command "$SPY"; echo c > f`, "git diff"},
		"a hook after the index was written": {`cp "$SPY" .git/hooks/post-index-change; touch -t 200101010000 f`, "git status"},
		"hooks elsewhere":                    {`mkdir h; cp "$SPY" h/post-index-change; git config core.hooksPath h; touch -t 200101010000 f`, "git status"},
		"what is missing and would be fetched": {`git config remote.o.url ssh://nowhere.invalid/x; git config remote.o.promisor true; git config core.repositoryFormatVersion 1; git config extensions.partialClone o; git config core.sshCommand "$SPY"`,
			"git show 1234567890123456789012345678901234567890"},
		"summaries of submodules": {`git init -q sub; cd sub; echo a > f; git add f; git commit -qm a; cd ..; git add sub 2>/dev/null; git commit -qm sub; cd sub; echo b > f; git commit -qam b; git config core.fsmonitor "$SPY"; cd ..; git config status.submoduleSummary true`, "git status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t, workspace.LocalOptions{})
			b := tool.Bash(w, tool.BashOptions{SpillDir: t.TempDir()})
			run := func(command string) string {
				t.Helper()
				return call(t, t.Context(), b, map[string]any{"command": command}, nil).Text()
			}
			out := t.TempDir()
			marker, spy := filepath.Join(out, "ran"), filepath.Join(out, "spy")
			if err := os.WriteFile(spy, []byte("#!/bin/sh\ntouch '"+marker+"'\nprintf 'x\\0'\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			ready := run("export SPY='" + spy + "' GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a\ngit init -q . && echo a > f && git add f && git commit -qm a\n" + c.setup)
			os.Remove(marker)
			control := run("env " + c.command)
			if _, err := os.Stat(marker); err != nil {
				t.Fatalf("the trap does not work\n%s\n%s", ready, control)
			}
			os.Remove(marker)
			if err := os.Chtimes(filepath.Join(w.Describe().Root, "f"), time.Time{}, time.Unix(1e9, 0)); err != nil { // the index is to be written again
				t.Fatal(err)
			}
			if text := run(c.command); fileIsThere(marker) {
				t.Errorf("%s: the repository's program ran; it printed %s", c.command, text)
			}
		})
	}
}

func fileIsThere(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
