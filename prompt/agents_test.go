package prompt_test

import (
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
