package prompt_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/prompt"
	"oneloop/tool"
)

// write makes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func namesOf(list []*prompt.Skill) (all []string) {
	for _, k := range list {
		all = append(all, k.Name)
	}
	return all
}

func TestSkillsAreFoundWithWhatTheySayOfThemselves(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"pdf/SKILL.md": `---
name: pdf
description: >-
  Fills in forms.
  Use it: whenever a PDF is named.
license: MIT
metadata: {author: me, version: "1.0"}
model: opus
allowed-tools: Bash(pdftk:*) Read
argument-hint: [file]
---
# Forms
Do it.
`,
		"pdf/scripts/fill.sh":   "#!/bin/sh\n",
		"pdf/deeper/SKILL.md":   "---\nname: deeper\ndescription: is part of the other\n---\n",
		"group/notes/SKILL.md":  "---\nname: notes\ndescription: Takes: notes\ndisable-model-invocation: true\n---\nbody",
		"quiet/skill.md":        "---\nname: quiet\ndescription: d\nuser-invocable: false\n---\nbody",
		"bare/SKILL.md":         "# Bare\n\nWithout fields.\n",
		"empty/SKILL.md":        "---\nname: empty\n---\n",
		"other/SKILL.md":        "---\nname: odd name\ndescription: d\n---\nbody",
		".hidden/SKILL.md":      "---\nname: hidden\ndescription: d\n---\nbody",
		"big/SKILL.md":          "---\nname: big\ndescription: d\n---\n" + strings.Repeat("x", prompt.MostSkill),
		"binary/SKILL.md":       "---\nname: binary\ndescription: d\n---\n\xff\xfe",
		"nul/SKILL.md":          "---\nname: nul\ndescription: d\n---\na\x00b",
		"tabs/SKILL.md":         "---\nname: tabs\ndescription: [" + strings.Repeat("\t", 60_000) + "]\n---\nbe\U000e0041 brief",
		"notes.txt":             "no skill",
		"long-name/SKILL.md":    "---\nname: short\ndescription: " + strings.Repeat("y", 1100) + "\n---\nbody",
		"node_modules/SKILL.md": "---\nname: module\ndescription: d\n---\nbody",
	})
	list, warnings := prompt.Find(prompt.Place{Dir: dir}, prompt.Place{Dir: filepath.Join(dir, "gone")}, prompt.Place{Dir: filepath.Join(dir, "notes.txt")})
	if diff := cmp.Diff([]string{"bare", "notes", "short", "other", "pdf", "quiet", "tabs"}, namesOf(list)); diff != "" {
		t.Fatal(diff)
	}
	pdf := prompt.Named(list, "pdf")
	want := &prompt.Skill{
		Name: "pdf", Description: "Fills in forms. Use it: whenever a PDF is named.", Hint: "[file]", ByModel: true, ByUser: true,
		Path: filepath.Join(dir, "pdf", "SKILL.md"), Dir: filepath.Join(dir, "pdf"), Place: prompt.Place{Dir: dir}, Tools: []string{"Bash(pdftk:*)", "Read"},
		Warnings: []string{"its model counts for nothing here"},
	}
	if diff := cmp.Diff(want, pdf, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "also" }, cmp.Ignore())); diff != "" {
		t.Error(diff)
	}
	for name, odd := range map[string]string{
		"tabs": "1 characters that nobody sees", "notes": "description is taken as plain text", "bare": "it has no name", "other": `"odd name" cannot be typed`, "short": "its name is not that of its folder, long-name",
	} {
		if got := strings.Join(prompt.Named(list, name).Warnings, "\n"); !strings.Contains(got, odd) {
			t.Errorf("of %s it is told: %q", name, got)
		}
	}
	if text, err := prompt.Named(list, "tabs").Text(t.Context(), prompt.Call{}); err != nil || !strings.Contains(text, `be\U000e0041 brief`) {
		t.Errorf("%v: %s", err, text)
	}
	if n := len([]rune(prompt.Named(list, "short").Description)); n != 1024 {
		t.Errorf("a long description has %d characters", n)
	}
	all := strings.Join(warnings, "\n")
	for _, want := range []string{"empty", "big", "binary", "nul"} {
		if !strings.Contains(all, filepath.Join(dir, want, "SKILL.md")+" is left out") {
			t.Errorf("nothing is told of %s:\n%s", want, all)
		}
	}
	if prompt.Named(list, "notes").ByModel || !prompt.Named(list, "notes").ByUser || prompt.Named(list, "quiet").ByUser {
		t.Error("who may call them is not read")
	}
}

func TestOfTwoWithOneNameTheFirstCounts(t *testing.T) {
	dir := t.TempDir()
	skill := func(text string) string { return "---\nname: a\ndescription: d\n---\n" + text }
	write(t, dir, map[string]string{
		"project/a/SKILL.md": skill("project"), "user/a/SKILL.md": skill("user"),
		"user/b/SKILL.md":       "---\nname: b\ndescription: d\n---\nskill",
		"commands/b.md":         "command",
		"commands/c.md":         "c",
		"commands/git/pr.md":    "pr",
		"commands/git/c.md":     "git c",
		"commands/x/same.md":    "1",
		"commands/y/same.md":    "2",
		"commands/readme.txt":   "no",
		"commands/two words.md": "no",
	})
	list, warnings := prompt.Find(prompt.Place{Dir: filepath.Join(dir, "project"), Project: ".claude/skills"}, prompt.Place{Dir: filepath.Join(dir, "user")},
		prompt.Place{Dir: filepath.Join(dir, "commands"), Commands: true})
	if diff := cmp.Diff([]string{"a", "b", "c", "git:c", "pr", "x:same", "y:same"}, namesOf(list)); diff != "" {
		t.Error(diff)
	}
	if k := prompt.Named(list, "a"); k.Place.Project != ".claude/skills" {
		t.Errorf("a is from %s", k.Path)
	}
	if k := prompt.Named(list, "b"); k.Place.Commands {
		t.Error("the command b hides the skill b")
	}
	all := strings.Join(warnings, "\n")
	for _, hidden := range []string{filepath.Join("user", "a", "SKILL.md"), filepath.Join("commands", "b.md")} {
		if !strings.Contains(all, hidden+" is hidden by") {
			t.Errorf("nothing is told of %s:\n%s", hidden, all)
		}
	}
}

func TestAFolderWithoutASkillIsSaid(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"pdf/skill.txt": "x", "group/in/SKILL.md": "---\nname: in\ndescription: d\n---\n", ".git/x": "x", "README.md": "x"})
	list, warnings := prompt.Find(prompt.Place{Dir: dir})
	if len(list) != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], dir+" has folders without a SKILL.md: pdf.") {
		t.Errorf("found %d, warnings %q", len(list), warnings)
	}
	if _, warnings := prompt.Find(prompt.Place{Dir: dir, Commands: true}); len(warnings) != 0 {
		t.Errorf("of commands it is said: %q", warnings)
	}
}

func TestOfVeryManyFoldersSomeAreLeftOutAndThatIsSaid(t *testing.T) {
	dir := t.TempDir()
	for i := range 2001 {
		if err := os.Mkdir(filepath.Join(dir, strconv.Itoa(i)), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, warnings := prompt.Find(prompt.Place{Dir: dir}); len(warnings) != 2 || !strings.Contains(warnings[0], "more than 2000 folders; "+filepath.Join(dir, "998")) ||
		!strings.HasSuffix(warnings[1], " has folders without a SKILL.md: 0, 1, 10, 100, 1000, and 1994 more.") {
		t.Errorf("%q", warnings)
	}
}

func TestLinksOfAProjectToFoldersAreNotFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"elsewhere/a/SKILL.md": "---\nname: a\ndescription: d\n---\n", "place/b/SKILL.md": "---\nname: b\ndescription: d\n---\n"})
	if err := os.Symlink(filepath.Join(dir, "elsewhere", "a"), filepath.Join(dir, "place", "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "place"), filepath.Join(dir, "place", "round")); err != nil {
		t.Fatal(err)
	}
	theirs, _ := prompt.Find(prompt.Place{Dir: filepath.Join(dir, "place"), Project: "place"})
	mine, _ := prompt.Find(prompt.Place{Dir: filepath.Join(dir, "place")})
	if diff := cmp.Diff([][]string{{"b"}, {"a", "b"}}, [][]string{namesOf(theirs), namesOf(mine)}); diff != "" {
		t.Error(diff)
	}
}

func TestASkillThatALinkLeadsToIsTheFolderItLeadsTo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := tempDir(t)
	write(t, dir, map[string]string{"real/a/SKILL.md": "---\nname: a\ndescription: d\n---\nat ${CLAUDE_SKILL_DIR}", "real/a/x.md": ""})
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "place"), 0o700), os.Symlink(filepath.Join(dir, "real", "a"), filepath.Join(dir, "place", "a"))); err != nil {
		t.Fatal(err)
	}
	list, _ := prompt.Find(prompt.Place{Dir: filepath.Join(dir, "place")})
	got, err := prompt.Named(list, "a").Text(t.Context(), prompt.Call{})
	real := filepath.Join(dir, "real", "a")
	if want := `<skill name="a" folder="` + real + "\">\nat " + real + "\n\n[In its folder: x.md]\n</skill>"; got != want || err != nil {
		t.Errorf("%v:\n%s\nwant\n%s", err, got, want)
	}
}

func TestNoFileOfAProjectLeadsOutOfIt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := t.TempDir()
	write(t, dir, map[string]string{"secret": "---\nname: a\ndescription: d\n---\nthe secret", "ws/docs/c.md": "within", "ws/.claude/commands/b.md": "as it was"})
	place := prompt.Place{Dir: filepath.Join(dir, "ws", ".claude", "commands"), Project: ".claude/commands", Commands: true}
	for name, to := range map[string]string{"a.md": filepath.Join(dir, "secret"), "up.md": "../../../secret", "c.md": "../../docs/c.md"} {
		if err := os.Symlink(to, filepath.Join(place.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	list, warnings := prompt.Find(place)
	if diff := cmp.Diff([]string{"b", "c"}, namesOf(list)); diff != "" || !strings.Contains(strings.Join(warnings, "\n"), "up.md is left out: path escapes") {
		t.Errorf("%s\n%q", diff, warnings)
	}
	// Nor one that was no link when it was found.
	b := prompt.Named(list, "b")
	if err := errors.Join(os.Remove(b.Path), os.Symlink(filepath.Join(dir, "secret"), b.Path)); err != nil {
		t.Fatal(err)
	}
	if text, err := b.Text(t.Context(), prompt.Call{}); err == nil {
		t.Errorf("the text is %q", text)
	}
}

// one is a skill with this text, or a command.
func one(t *testing.T, command bool, text string) *prompt.Skill {
	t.Helper()
	dir := tempDir(t)
	name := "x/SKILL.md"
	if command {
		name = "x.md"
	}
	write(t, dir, map[string]string{name: text})
	list, warnings := prompt.Find(prompt.Place{Dir: dir, Commands: command})
	if len(list) != 1 {
		t.Fatalf("%d were found: %v", len(list), warnings)
	}
	return list[0]
}

func TestArgumentsStandWhereTheTextWantsThem(t *testing.T) {
	ran := func(_ context.Context, command string) string { return "{" + command + "}\n" }
	const skill = "---\nname: x\ndescription: d\n---\n"
	for _, c := range []struct {
		name, text, args, want string
		command                bool
	}{
		{name: "all of them", text: "Fix $ARGUMENTS now", args: " a 'b c' ", command: true, want: "Fix a 'b c' now"},
		{name: "by position", text: "$2 before $1, $3.", args: `one "two words"`, command: true, want: "two words before one, ."},
		{name: "a price", text: "$100 and $0 and $x and $ARGUMENTS", args: "a", command: true, want: "$100 and $0 and $x and a"},
		{name: "no place", text: "Do it.", args: "soon", command: true, want: "Do it.\n\nARGUMENTS: soon"},
		{name: "none", text: "Do it: $ARGUMENTS", command: true, want: "Do it: "},
		{name: "not twice", text: "$1", args: `'$2 !` + "`id`" + `' b`, command: true, want: "$2 !`id`"},
		{name: "a command", text: "Now: !`git status` end", command: true, want: "Now: {git status} end"},
		{name: "with arguments", text: "!`gh pr view $1`", args: `1;id "it's"`, command: true, want: "{set -- '1;id' 'it'\\''s'; gh pr view $1}"},
		{name: "with the second", text: "!`echo $2`", args: "a b", command: true, want: "{set -- 'a' 'b'; echo $2}"},
		{name: "with all", text: "!`echo $ARGUMENTS`", args: "a'b", command: true, want: "{ARGUMENTS='a'\\''b'; set -- 'a'\\''b'; echo $ARGUMENTS}"},
		{name: "no command", text: "Wow!`x` and ``!`y` `` and !`", command: true, want: "Wow!`x` and ``!`y` `` and !`"},
		{name: "in code", text: "```sh\n!`id`\n```\n!`id`", command: true, want: "```sh\n!`id`\n```\n{id}"},
		{name: "a skill without arguments", text: skill + "awk '{print $1}' ${CLAUDE_SESSION_ID}", want: "awk '{print $1}' s1"},
		{name: "a skill with them", text: skill + "$1", args: "a", want: "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := one(t, c.command, c.text)
			got, err := k.Text(t.Context(), prompt.Call{Args: c.args, Session: "s1", Run: ran})
			if err != nil {
				t.Fatal(err)
			}
			begin, end := `<command name="x">`+"\n", "\n</command>"
			if !c.command {
				begin, end = `<skill name="x" folder="`+k.Dir+`">`+"\n", "\n</skill>"
			}
			if want := begin + c.want + end; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestWhatCommandsOfATextPrintIsBoundedTogether(t *testing.T) {
	k := one(t, false, "---\nname: x\ndescription: d\n---\n!`one` !`two` !`three` end")
	var ran []string
	text, err := k.Text(t.Context(), prompt.Call{Run: func(_ context.Context, command string) string {
		ran = append(ran, command)
		return strings.Repeat("é", 20<<10) // 40 KiB
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ran, []string{"one", "two"}) {
		t.Errorf("ran %q", ran)
	}
	for _, want := range []string{"may print 64 KiB together. This one printed 40960 bytes: two]", "[not run, those before it printed 64 KiB, the most there may be: three] end"} {
		if !strings.Contains(text, want) {
			t.Errorf("it is not said: %q", want)
		}
	}
	if n := strings.Count(text, "é"); n != 32<<10 || !utf8.ValidString(text) || len(text) > 66<<10 {
		t.Errorf("%d characters are there, %d bytes", n, len(text))
	}
}

func TestATextIsReadAnewAndNamesItsFiles(t *testing.T) {
	k := one(t, false, "---\nname: x\ndescription: d\n---\nfirst !`id`")
	write(t, k.Dir, map[string]string{"scripts/run.sh": "", "references/a b.md": "", ".git/config": ""})
	write(t, k.Dir, map[string]string{"SKILL.md": "---\nname: x\ndescription: d\n---\nsecond ${CLAUDE_SKILL_DIR} !`id`"})
	got, err := k.Text(t.Context(), prompt.Call{})
	want := "second " + k.Dir + " [not run: id]\n\n[In its folder: references/a b.md, scripts/run.sh]\n</skill>"
	if err != nil || !strings.HasSuffix(got, want) {
		t.Errorf("%v:\n%s", err, got)
	}
	if runs, err := k.Runs(t.Context()); err != nil || len(runs) != 1 || runs[0] != "id" {
		t.Errorf("it runs %q, %v", runs, err)
	}
	if err := os.Remove(k.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Text(t.Context(), prompt.Call{}); err == nil || !strings.Contains(err.Error(), "SKILL.md cannot be read: no such file") {
		t.Errorf("of a file that is gone: %v", err)
	}
}

func TestTheModelLoadsSkillsByATool(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"skills/a/SKILL.md": "---\nname: a\ndescription: Does a.\n---\nHow to do a.",
		"skills/b/SKILL.md": "---\nname: b\ndescription: Does b.\ndisable-model-invocation: true\n---\nHow to do b.",
		"commands/c.md":     "c",
	})
	list, _ := prompt.Find(prompt.Place{Dir: filepath.Join(dir, "skills")}, prompt.Place{Dir: filepath.Join(dir, "commands"), Commands: true})
	skill, ok := prompt.SkillTool(prompt.SkillOptions{List: list})
	if !ok || !strings.HasSuffix(skill.Description, "\n- a: Does a.") {
		t.Fatalf("the tool says %q", skill.Description)
	}
	def, err := json.Marshal(map[string]any{"name": skill.Name, "description": skill.Description, "input_schema": skill.Schema})
	if err != nil || len(def) > 300+len(`\n- a: Does a.`) {
		t.Errorf("the tool has %d bytes in a request: %s", len(def), def)
	}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{skill}, Aliases: tool.Aliases()}
	answer := func(name, input string) string {
		m := box.Run(t.Context(), []*oneloop.ToolUse{{ID: "1", Name: name, Input: json.RawMessage(input)}}, func(oneloop.Event) {})
		return m.Blocks[0].(*oneloop.ToolResult).Text()
	}
	for _, c := range []struct{ name, input, want string }{
		{"Skill", `{"skill":"a"}`, "How to do a.\n</skill>"},
		{"Skill", `{"skill":"/a","args":"x"}`, "ARGUMENTS: x"},
		{"load_skill", `{"name":"a"}`, "How to do a."},
		{"Skill", `{"skill":"b"}`, "b is for the user to call, with /b"},
		{"Skill", `{"skill":"c"}`, "c is for the user to call"},
		{"Skill", `{"skill":"zzz"}`, "There are: a"},
	} {
		if got := answer(c.name, c.input); !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %s", c.name, c.input, got)
		}
	}
	if _, ok := prompt.SkillTool(prompt.SkillOptions{List: list[1:]}); ok {
		t.Error("there is a tool although the model may load none")
	}
}

func TestALongCatalogueIsCutByDescriptions(t *testing.T) {
	var list []*prompt.Skill
	for i := range 200 {
		list = append(list, &prompt.Skill{Name: "n" + strings.Repeat("x", i%5), Description: strings.Repeat("d", 1000), ByModel: true})
	}
	got := prompt.Catalogue(list)
	if len(got) > 16<<10 || strings.Count(got, "\n- n") != 200 {
		t.Errorf("it has %d bytes and %d lines", len(got), strings.Count(got, "\n- n"))
	}
}
