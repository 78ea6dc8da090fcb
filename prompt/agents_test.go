package prompt_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"oneloop/prompt"
)

func folder(name string, files map[string]string) prompt.AgentFolder {
	m := fstest.MapFS{}
	for n, text := range files {
		m[n] = &fstest.MapFile{Data: []byte(text)}
	}
	return prompt.AgentFolder{FS: m, Name: name}
}

func TestADefinitionSaysWhatAnAgentIs(t *testing.T) {
	list, notes := prompt.Agents(folder("agents", map[string]string{
		"reviewer.md": "---\nname: reviewer\ndescription: |\n  Reads changes.\n  Use it after edits.\ntools: Read, Grep\nmodel: haiku\neffort: low\nmaxTurns: 7\n---\n\nYou review.\n",
		"plain.md":    "Just do it.\n",
		"all.md":      "---\nmodel: inherit\ndisallowedTools: [Bash, Write]\n---\n",
		"none.md":     "---\ntools:\n---\n",
		"notes.txt":   "no definition",
	}))
	want := []prompt.Agent{
		{Name: "all", Without: []string{"Bash", "Write"}, File: "agents/all.md"},
		{Name: "none", Tools: []string{}, File: "agents/none.md"},
		{Name: "plain", Body: "Just do it.", File: "agents/plain.md"},
		{Name: "reviewer", Description: "Reads changes. Use it after edits.", Tools: []string{"Read", "Grep"}, Model: "haiku", Effort: "low", MaxTurns: 7, Body: "You review.", File: "agents/reviewer.md"},
	}
	if d := cmp.Diff(want, list); d != "" || len(notes) > 0 {
		t.Errorf("%s\n%q", d, notes)
	}
}

func TestTheFolderThatIsNamedFirstDefinesAnAgent(t *testing.T) {
	list, notes := prompt.Agents(
		folder("first", map[string]string{"a.md": "of the first"}),
		prompt.AgentFolder{FS: fstest.MapFS{}, Name: "empty"},
		folder("second", map[string]string{"a.md": "of the second", "b.md": "another"}))
	if len(list) != 2 || list[0].Body != "of the first" || list[1].Body != "another" || len(notes) > 0 {
		t.Errorf("%+v %q", list, notes)
	}
}

func TestWhatIsNotFollowedInADefinitionIsSaid(t *testing.T) {
	list, notes := prompt.Agents(folder("agents", map[string]string{
		"a.md":    "---\nname: a\nisolation: worktree\npermissionMode: plan\nmaxTurns: many\ndescription: " + strings.Repeat("word ", 100) + "\n---\n",
		"b.md":    "---\nname: b/../c\n---\n",
		"c.md":    "---\nname: c\ndescription: look\u200b\n---\nYou \u2062look.",
		"d.md":    "You \xff look.",
		"long.md": strings.Repeat("x", prompt.MostAgentBytes+1),
	}))
	if len(list) != 2 || list[0].MaxTurns != 0 || len(list[0].Description) > 310 || strings.ContainsAny(list[1].Description+list[1].Body, "\u200b\u2062") {
		t.Errorf("%+v", list)
	}
	all := strings.Join(notes, "\n")
	for _, want := range []string{"agents/a.md: these fields are not followed: permissionMode, isolation", `maxTurns is no number of turns: "many"`, `"b/../c" is no name`, "agents/c.md: it holds 2 characters that nobody sees", "agents/d.md: it is no text in UTF-8", "agents/long.md: it is longer than 64 KiB"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not said in\n%s", want, all)
		}
	}
}

func TestADefinitionWhoseToolsCannotBeReadIsNoAgentWithAll(t *testing.T) {
	for _, text := range []string{"---\ntools:\n  - Read\n bad\n---\n", "---\ntools: Read\nnever closed\n", "---\ndisallowedTools: [Bash, Write\n---\n"} {
		list, notes := prompt.Agents(folder("agents", map[string]string{"a.md": text}))
		if len(list) > 0 || !strings.Contains(strings.Join(notes, "\n"), "agents/a.md: it is left out: which tools") {
			t.Errorf("%q: %+v %q", text, list, notes)
		}
	}
	list, notes := prompt.Agents(folder("agents", map[string]string{"a.md": "---\ntools: Read, Bash(git diff:*)\nallowed-tools: Read\n---\n", "b.md": "---\ntools: \"*\"\n---\n"}))
	all := strings.Join(notes, "\n")
	if len(list) != 2 || list[1].Tools != nil || len(notes) != 2 || !strings.Contains(all, "Bash(git diff:*) is no tool") || !strings.Contains(all, "not followed: allowed-tools") {
		t.Errorf("%+v %q", list, notes)
	}
}

// guarded are files of which some are never to be opened.
type guarded struct {
	fstest.MapFS
	t *testing.T
}

func (g guarded) Open(name string) (fs.File, error) {
	if f := g.MapFS[name]; f != nil && f.Mode.Type() == fs.ModeNamedPipe {
		g.t.Errorf("%s is opened", name) // which waits for ever
	}
	return g.MapFS.Open(name)
}

func TestAPipeThatIsCalledLikeADefinitionIsNotWaitedFor(t *testing.T) {
	list, notes := prompt.Agents(prompt.AgentFolder{Name: "agents", FS: guarded{fstest.MapFS{"p.md": {Mode: fs.ModeNamedPipe}, "a.md": {Data: []byte("words")}}, t}})
	if len(list) != 1 || len(notes) != 1 || notes[0] != "agents/p.md: it is no ordinary file" {
		t.Errorf("%+v %q", list, notes)
	}
}
