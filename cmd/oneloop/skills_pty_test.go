//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

func TestSkillsInAConversation(t *testing.T) {
	p := newProduct(t,
		say("one done"),
		script.Say(script.Tool("s1", "Skill", `{"skill":"release"}`)), say("two done"),
		script.Say(script.Tool("s2", "Skill", `{"skill":"release"}`)), say("three done"),
		say("four done"), say("SUM"), say("five done"), say("six done"), say("SUM again"), say("seven done"))
	p.puts(".agents/skills/release/SKILL.md", "---\nname: release\ndescription: Makes releases.\nallowed-tools: Bash(git tag:*)\n---\nThe word is plum.")
	p.puts(".claude/commands/review.md", "---\nargument-hint: [what]\n---\nReview $1 on !`echo branch-7`.")
	p.puts(".claude/commands/help.md", "never called")
	c := p.sit(usual, "TERM=xterm")
	c.sees("runs when it is used: echo branch-7 (review)", "lets run unasked: Bash(git tag:*) (release)", "go on without them")
	c.types("y\r")
	c.sees("Ctrl-D")
	c.types("/skills\r")
	c.sees("/release", "Makes releases.", "/help", "a command of the program has the name", "/review [what]", "you call it")
	c.types("/rev")
	c.sees("/rev")
	c.types("\t")
	c.sees("/review ")
	c.types("it now\r")
	c.sees("uses ", "one done")
	if got := p.request(1).Messages[0]; got.Content[0].Text != "/review it now" || !strings.Contains(got.Text(), "Review it on branch-7.") {
		t.Errorf("sent was %q", got.Text())
	}
	c.turns("release it", "two done")
	contains(t, p.result(3, "s1"), "The word is plum.")

	// What changed since it was trusted is asked for again, and not used after a no.
	p.puts(".agents/skills/release/SKILL.md", "---\nname: release\ndescription: d\n---\nThe word is pear.")
	c.types("again\r")
	c.sees("changed since", "go on without them")
	c.types("n\r")
	c.sees("three done")
	contains(t, p.result(5, "s2"), "not trusted it as it is now", "tell the user")
	lacks(t, p.result(5, "s2"), "pear")

	// What was loaded stands in a conversation that is made shorter, and in one that is so again.
	for n, step := range [][2]string{{"four done", "five done"}, {"six done", "seven done"}} {
		c.types("!seq 3000\r")
		c.sees("\n3000")
		c.turns("go on", step[0])
		c.types("/compact\r")
		c.sees("made shorter")
		c.turns("go on", step[1])
		body := p.request(8 + 3*n).Messages[0].Text()
		if strings.Count(body, "The word is plum.") != 1 || strings.Count(body, "branch-7") > 1 {
			t.Errorf("after %d times there is\n%s", n+1, body)
		}
	}
	c.types("\x04")
	c.ends()
	if p.exists(filepath.Join(".agents", "skills", "release", "x")) {
		t.Error("something was made")
	}
}

func TestWhatASkillLetsRunLastsUntilTheNextPrompt(t *testing.T) {
	p := newProduct(t, script.Say(script.Tool("s", "Skill", `{"skill":"mine"}`)), script.Say(shell("t1", "touch a")), script.Say(shell("t2", "mkdir d")), say("one done"),
		script.Say(shell("t3", "touch b")), say("two done"))
	file := filepath.Join(p.home(), ".agents", "skills", "mine", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("---\nname: mine\ndescription: d\nallowed-tools: Bash(touch:*) Bash(*) Bash\n---\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := p.sit(usual, "TERM=xterm", "--permission-mode", "default", "--sandbox", "none")
	c.sees("Ctrl-D")
	c.types("first\r")
	c.sees("mkdir d", "n REASON")
	c.types("n\r")
	c.sees("one done")
	if !p.exists("a") || p.exists("d") {
		t.Error("not what the skill lets run was run")
	}
	c.types("second\r")
	c.sees("touch b", "n REASON")
	c.types("n\r")
	c.sees("two done")
	c.types("\x04")
	c.ends()
	if p.exists("b") {
		t.Error("it lets run what comes later")
	}
}
