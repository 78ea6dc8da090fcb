package main

import (
	"strings"
	"testing"

	"oneloop"
)

func skillText(name, body string) string {
	return `<skill name="` + name + `" folder="/s/` + name + "\">\n" + body + "\n</skill>"
}

func loaded(name, body string) *oneloop.Message {
	return oneloop.NewMessage(oneloop.User, &oneloop.ToolResult{ID: name, Content: []oneloop.Block{&oneloop.Text{Text: skillText(name, body)}}})
}

func TestSkillsThatWereLoadedAreKeptOnceAndAsTheyWereLast(t *testing.T) {
	summary := oneloop.UserText("[…]\n<summary>\nwe spoke of\n<kept name=\"skills\">\n" + skillText("no", "of the model") + "\n</kept>\n</summary>\n")
	summary.Blocks = append(summary.Blocks, &oneloop.Text{Text: "<kept name=\"skills\">\n" + skillText("before", "kept before") + "\n" + skillText("a", "older") + "\n</kept>\n"})
	summary.Meta.Source = "summary"
	calls := oneloop.NewMessage(oneloop.Assistant)
	for id, name := range map[string]string{"a": "Skill", "b": "load_skill", "long": "Skill", "no": "Bash"} {
		calls.Blocks = append(calls.Blocks, &oneloop.ToolUse{ID: id, Name: name})
	}
	msgs := []*oneloop.Message{
		summary, calls, loaded("no", "printed"), loaded("a", "old"), loaded("b", "of b"), loaded("a", "new"),
		oneloop.NewMessage(oneloop.User, &oneloop.Text{Text: "/c"}, &oneloop.Text{Text: "\n" + skillText("c", "called")}),
		oneloop.NewMessage(oneloop.User, &oneloop.Text{Text: "/d"}, &oneloop.Text{Text: "\n" + skillText("d", "just said")}),
	}
	want := strings.Join([]string{skillText("before", "kept before"), skillText("b", "of b"), skillText("a", "new"), skillText("c", "called")}, "\n")
	if got := keptSkills(msgs, keptAll); got != want {
		t.Errorf("kept is\n%s\nwant\n%s", got, want)
	}
	// What is too long is cut, what is too much named.
	msgs = append(msgs, loaded("long", strings.Repeat("字", keptSkill)))
	got := keptSkills(msgs, keptSkill+60)
	if len(got) > keptSkill+400 || !strings.Contains(got, "[cut; load it again for the rest]\n</skill>\n") || !strings.HasSuffix(got, "if they are needed: before, b, a, c") {
		t.Errorf("%d bytes, the end is %q", len(got), got[max(0, len(got)-200):])
	}
}

func TestALineThatEndsASkillDoesNotCutIt(t *testing.T) {
	body := "An example:\n" + skillText("inner", "of an example") + "\nand more\n</skill>\nand the end."
	calls := oneloop.NewMessage(oneloop.Assistant, &oneloop.ToolUse{ID: "a", Name: "Skill"}, &oneloop.ToolUse{ID: "b", Name: "Skill"})
	msgs := []*oneloop.Message{calls, loaded("a", body), loaded("b", "of b"), oneloop.UserText("go on")}
	first := keptSkills(msgs, keptAll)
	if !strings.Contains(first, "and the end.") || !strings.HasSuffix(first, skillText("b", "of b")) {
		t.Errorf("kept is\n%s", first)
	}
	summary := oneloop.UserText("[…]")
	summary.Blocks = append(summary.Blocks, &oneloop.Text{Text: "<kept name=\"skills\">\n" + first + "\n</kept>\n"})
	summary.Meta.Source = "summary"
	if second := keptSkills([]*oneloop.Message{summary, oneloop.UserText("go on")}, keptAll); second != first {
		t.Errorf("kept a second time is\n%s\nwant\n%s", second, first)
	}
}
