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

// filesHold checks what files of a workspace hold.
func filesHold(t *testing.T, w workspace.Workspace, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(w.Describe().Root, name)); string(got) != text {
			t.Errorf("%s has %q, %v", name, got, err)
		}
	}
}

// says checks the notes of a command: their number, and what each has.
func says(t *testing.T, w workspace.Workspace, command string, want ...string) {
	t.Helper()
	out, exit := bash(t, w, 30*time.Second, command)
	if len(exit.Notes) != len(want) {
		t.Errorf("%s: it says %q beside %s, want %q", command, exit.Notes, out, want)
		return
	}
	for i, note := range want {
		if !strings.Contains(exit.Notes[i], note) {
			t.Errorf("%s: it says %q, want %q", command, exit.Notes[i], note)
		}
	}
}

func TestSandboxProtectsSettingsInFolders(t *testing.T) {
	inNamespaces(t, func(t *testing.T, backend string) {
		w := sandbox(t, workspace.SandboxOptions{Backend: backend})
		root := w.Describe().Root
		mine := map[string]string{"sub/.vscode/settings.json": "{}", "sub/deep/.envrc": "mine", "sub/deep/.mcp.json": "{}", "sub/deep/a.code-workspace": "{}", ".cursor/mcp.json": "{}"}
		for name, text := range mine {
			place(t, filepath.Join(root, name), text)
		}
		place(t, root+"/sub/deep/file", "")
		place(t, root+"/node_modules/p/.vscode/x", "")
		says(t, w, `for n in sub/.vscode/settings.json sub/deep/.envrc sub/deep/.mcp.json sub/deep/*.code-workspace .cursor/mcp.json; do echo pwn > $n; rm -f $n; mv $n x; ln -sf x $n; done
mkdir sub/.vscode/new; mv sub/.vscode x; echo later > node_modules/p/.vscode/x; ln sub/deep/file linked`)
		filesHold(t, w, mine)
		filesHold(t, w, map[string]string{"node_modules/p/.vscode/x": "later\n", "linked": ""})
		if _, err := os.Lstat(root + "/sub/.vscode/new"); err == nil {
			t.Error("a new file is in a protected folder")
		}
		place(t, root+"/other/.idea/x.xml", "mine") // between two commands
		says(t, w, "echo pwn > other/.idea/x.xml; true")
		filesHold(t, w, map[string]string{"other/.idea/x.xml": "mine"})
		says(t, w, "echo pwn > other/.idea/x.xml", "the sandbox protects "+root+"/other/.idea: editors")
		says(t, w, "mv sub gone; mkdir -p sub/.vscode", "new while this command ran: gone/.vscode, gone/deep/.envrc, gone/deep/.mcp.json, gone/deep/a.code-workspace. ", "changed while this command ran: sub/.vscode. ")
		says(t, w, "echo pwn > gone/deep/.envrc; echo pwn > gone/.vscode/settings.json; true")
		filesHold(t, w, map[string]string{"gone/deep/.envrc": "mine", "gone/.vscode/settings.json": "{}"})
	})
}

func TestSandboxKeepsLinksThatLeadToSettings(t *testing.T) {
	inNamespaces(t, func(t *testing.T, backend string) {
		w := sandbox(t, workspace.SandboxOptions{Backend: backend})
		root := w.Describe().Root
		place(t, root+"/sub/file", "")
		links := []string{".exrc", "sub/.envrc"}
		for _, name := range links {
			if err := os.Symlink("file", filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
		if backend == workspace.BackendBwrap { // which cannot mount them
			says(t, w, "ln -sf evil .exrc; ln -sf evil sub/.envrc", "changed while this command ran: .exrc, sub/.envrc. ")
			return
		}
		says(t, w, "for n in .exrc sub/.envrc; do ln -sf evil $n; rm -f $n; echo evil > new; mv new $n; done; true")
		for _, name := range links {
			if target, err := os.Readlink(filepath.Join(root, name)); target != "file" {
				t.Errorf("%s leads to %q, %v", name, target, err)
			}
		}
	})
}

func TestSandboxNamesSettingsThatAreNew(t *testing.T) {
	for _, backend := range []string{workspace.BackendNS, workspace.BackendLL} {
		w := sandbox(t, workspace.SandboxOptions{Backend: backend})
		root := w.Describe().Root
		says(t, w, "mkdir -p {a,b,c}/.vscode .zed node_modules/p/.vscode; for n in d/.envrc e/.mcp.json f/opencode.json a.code-workspace; do mkdir -p $(dirname $n); echo x > $n; done; touch opencode.toml",
			"new while this command ran: .zed, a.code-workspace, a/.vscode, b/.vscode, c/.vscode and 3 more. Editors, agents, shells or git run or obey what is in them")
		says(t, w, "true")
		says(t, w, "echo y > d/.envrc; echo x > b/.vscode/tasks.json", "changed while this command ran: b/.vscode, d/.envrc. ")
		says(t, w, "mkdir -p h/.opencode; touch h/.nvim.lua h/.devcontainer.json h/opencode.jsonc", "ran: h/.devcontainer.json, h/.nvim.lua, h/.opencode, h/opencode.jsonc. ")
		says(t, w, "rmdir {a,c}/.vscode; mv f g", "new while this command ran: g/opencode.json. ")
		long := strings.Repeat("long/", 30) + "cut/.claude/settings.json"
		says(t, w, "mkdir -p "+filepath.Dir(long)+"; echo > "+long, "ran: …/long/long/long/")
		if backend == workspace.BackendLL {
			place(t, root+"/sub/.cursor/mcp.json", "{}")
			says(t, w, "echo x > sub/.cursor/mcp.json; mkdir .vscode", "new while this command ran: .vscode. ", "changed while this command ran: sub/.cursor. ")
			continue
		}
		says(t, w, "echo x > .zed/settings.json; true")
		if _, err := os.Lstat(root + "/.zed/settings.json"); err == nil {
			t.Error("in the root it is not kept from the next command")
		}
	}
}

func TestSandboxNamesSettingsReplacedUnderACommand(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	root := w.Describe().Root
	place(t, root+"/sub/.envrc", "mine")
	place(t, root+"/opencode.json", "mine")
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "touch up; until [ -e go ]; do sleep 0.01; done"}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the command", func() bool { _, err := os.Lstat(root + "/up"); return err == nil })
	for _, name := range []string{"/sub/.envrc", "/opencode.json"} {
		place(t, root+"/replacement", "mine too")
		if err := os.Rename(root+"/replacement", root+name); err != nil {
			t.Fatal(err)
		}
	}
	place(t, root+"/go", "")
	exit, err := p.Wait()
	if notes := strings.Join(exit.Notes, "\n"); err != nil || len(exit.Notes) != 2 || !strings.Contains(notes, "after which the command could change it: "+root+"/opencode.json. Say") || !strings.Contains(notes, "changed while this command ran: sub/.envrc. ") {
		t.Errorf("it says %q, %v", exit.Notes, err)
	}
	says(t, w, "echo pwn > sub/.envrc; true")
	filesHold(t, w, map[string]string{"sub/.envrc": "mine too"})
}

func TestSandboxKnowsSettingsBehindManyNewFolders(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	place(t, w.Describe().Root+"/z/y/.envrc", "mine")
	says(t, w, "mkdir -p a/{1..1100}", "more than 1000 folders now: repositories and settings in the others")
	says(t, w, "echo pwn > z/y/.envrc; true")
	filesHold(t, w, map[string]string{"z/y/.envrc": "mine"})
}

func TestSandboxSaysThatSettingsAreTooManyToProtect(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	prepare(t, w, "mkdir p; for n in {100..200}; do mkdir p/$n; echo mine > p/$n/.envrc; done")
	says(t, w, "echo pwn > p/199/.envrc; echo pwn > p/200/.envrc", "more than 100 settings", "changed while this command ran: p/200/.envrc. ")
	filesHold(t, w, map[string]string{"p/199/.envrc": "mine\n"})
	says(t, w, "touch p/'!'{100..220}.code-workspace", "p/!104.code-workspace and 95 more. ")
	says(t, w, "mkdir p/.vscode", "new while this command ran: p/.vscode. ")
}

// TestSandboxSeesWhatComesIntoFoldersItHasRead changes folders that are not
// read again as long as they are as they were.
func TestSandboxSeesWhatComesIntoFoldersItHasRead(t *testing.T) {
	const settles = 50 * time.Millisecond
	t.Cleanup(workspace.StateTime(settles))
	w := sandbox(t, workspace.SandboxOptions{})
	root := w.Describe().Root
	place(t, root+"/a/b/file", "")
	for _, name := range []string{"a/b/.envrc", "a/.git/config", "a/c/.idea/x"} {
		until(t, "the folders", func() bool { return time.Since(newest(t, root)) > 2*settles })
		says(t, w, "true")
		says(t, w, "mkdir -p $(dirname "+name+"); printf '[core]\\n fsmonitor = x\\n' > "+name, "new")
	}
}

// newest is when something last changed in a folder.
func newest(t *testing.T, root string) (at time.Time) {
	for _, path := range tree(t, root) {
		if info, err := os.Lstat(path); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}
