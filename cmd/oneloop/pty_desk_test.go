//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

// guarded are the flags of a conversation that asks before commands run.
var guarded = []string{"--permission-mode", "default", "--sandbox", "none"}

// answers types at a question that shows these texts.
func (c *terminal) answers(line string, question ...string) {
	c.t.Helper()
	c.sees(question...)
	c.types(line)
}

const twoQuestions = `{"questions":[
	{"question":"Which store?","header":"Store","options":[{"label":"SQLite","description":"one \u001b[2Jfile"},{"label":"Postgres"}]},
	{"question":"Which systems?","options":[{"label":"Linux"},{"label":"macOS"},{"label":"Windows"}],"multiSelect":true}]}`

func TestTheModelAsksAndHearsWhatThePersonChose(t *testing.T) {
	p := newProduct(t, script.Say(script.Tool("t1", "AskUserQuestion", twoQuestions)), say("thank you"))
	file := filepath.Join(t.TempDir(), "trace")
	c := p.converse("--trace=" + file)
	c.types("begin\r")
	c.answers("2\r", "one ␛[2Jfile")
	c.answers("3 1\r", "[2/2] Which systems?")
	c.sees("thank you")
	contains(t, p.result(2, "t1"), "The user chose: Postgres.", "The user chose: Windows; Linux.")
	c.types("\x04")
	c.ends()
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), `"kind":"question"`) != 2 || strings.Count(string(text), `"kind":"answer"`) != 2 {
		t.Errorf("the trace has not both questions: %v\n%s", err, text)
	}
}

func TestTheModelHearsThatAQuestionWasLeftOpenOrTheTurnStopped(t *testing.T) {
	p := newProduct(t, script.Say(script.Tool("t1", "AskUserQuestion", twoQuestions)), script.Say(script.Tool("t2", "AskUserQuestion", twoQuestions)), say("so be it"))
	c := p.converse()
	c.types("begin\r")
	c.answers("\x1b", "[1/2]")
	c.answers("whatever runs\r", "[2/2]")
	c.requested(2)
	contains(t, p.result(2, "t1"), "does not want to answer", "The user says: whatever runs")
	c.answers("\x03", "[1/2]")
	c.sees("stopped;")
	c.types("go on\r")
	c.sees("so be it")
	contains(t, p.result(3, "t2"), "The user stopped the turn instead of answering. 2 of 2")
	c.types("\x04")
	c.ends()
}

func TestWithoutATerminalNobodyCanBeAskedToChoose(t *testing.T) {
	p := newProduct(t, say("ok"))
	p.done("do it")
	lacks(t, string(p.request(1).Body), "AskUserQuestion")
}

func TestCasePerm09ThreeQuestionsAreAnsweredOneByOne(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "touch a"), shell("t2", "touch b"), shell("t3", "touch c")), say("seen"))
	c := p.converse(guarded...)
	c.types("go on\r")
	c.answers("y\ry\r", "  touch a") // a key pressed twice
	c.answers("n not this one\r", "  touch b")
	c.answers("y\r", "  touch c")
	c.sees("seen")
	if !p.exists("a") || p.exists("b") || !p.exists("c") {
		t.Errorf("a %v, b %v, c %v", p.exists("a"), p.exists("b"), p.exists("c"))
	}
	contains(t, p.result(2, "t2"), "the user was asked and said no", "not this one")
	for _, id := range []string{"t1", "t3"} {
		lacks(t, p.result(2, id), "Not run")
	}
	c.types("\x7f\x04") // the y still stands in the line
	c.ends()
}

func TestAYesTypedAheadOfAQuestionIsNoAnswerToIt(t *testing.T) {
	typed := make(chan struct{})
	p := newProduct(t, script.Reply{React: func(script.Request) script.Reply {
		<-typed
		return script.Say(shell("t1", "touch a"))
	}}, say("seen"), say("and so on"))
	c := p.converse(guarded...)
	c.types("go on\r")
	c.requested(1)
	c.types("y\r")
	c.sees("next: y")
	c.types("y")
	c.sees("> y")
	close(typed)
	c.answers("n\r", "  touch a")
	c.sees("and so on") // what was sent meanwhile is the next prompt
	if p.exists("a") {
		t.Error("a key pressed before the question answered it")
	}
	contains(t, p.result(2, "t1"), "the user was asked and said no")
	c.types("\x7f\x04")
	c.ends()
}

func TestAPermissionShowsTheWholeCommandWhereItRunsAndWhatAlwaysWrites(t *testing.T) {
	long := "echo " + strings.Repeat("long ", 100)
	p := newProduct(t, script.Say(shell("t1", long+"\u202e\u200b\x1b[2J; touch a")), script.Say(shell("t2", "touch made"), shell("t3", "touch made")), say("seen"))
	p.env = append(p.env, "ONELOOP_LANG=zh")
	c := p.converse(guarded...)
	c.types("go on\r")
	c.requested(1)
	c.answers("n\r", "运行这条命令？", "  "+long+`\u202e\u200b\x1b[2J; touch a`, "运行环境：没有沙箱")
	kept := filepath.Join(p.dir, ".oneloop", "settings.local.json")
	c.answers("a\r", "  touch made", "a  可以，以后都允许：Bash(touch made)（记在 "+kept+"）")
	c.sees("seen") // the third is asked for no more
	if text, err := os.ReadFile(kept); err != nil || !strings.Contains(string(text), `"Bash(touch made)"`) || !p.exists("made") {
		t.Errorf("%s is %s, %v", kept, text, err)
	}
	c.types("\x04")
	c.ends()
}

func TestARuleAsksAlsoWhereCommandsAreConfined(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "curl http://127.0.0.1:1/")), say("seen"))
	settings := filepath.Join(p.home(), ".config", "oneloop", "settings.json")
	if err := os.MkdirAll(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(settings, []byte(`{"permissions":{"ask":["Bash(curl:*)"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := p.converse("--permission-mode", "default")
	c.types("go on\r")
	c.answers("n\r", "  curl http://127.0.0.1:1/", "sandbox, no network", "why: ")
	c.sees("seen")
	contains(t, p.result(2, "t1"), "the user was asked and said no")
	c.types("\x04")
	c.ends()
}
