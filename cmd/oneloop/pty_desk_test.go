//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"

	"oneloop/looptest/script"
)

// guarded are the flags of a conversation that asks before commands run.
var guarded = []string{"--permission-mode", "default", "--sandbox", "none"}

var wide = pty.Winsize{Rows: 50, Cols: 200}

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
	p.smallPrompt(1, 5500) // this is the largest default set
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
	p.settings(`{"hooks":{"PermissionRequest":[{"hooks":[{"type":"command","command":"true"}]}]}}`) // is asked, and is nobody
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
	}}, say("seen"))
	c := p.converse(guarded...)
	c.types("go on\r")
	c.requested(1)
	c.types("y\r")
	c.sees("waits as 1: y")
	c.types("y")
	c.sees("> y")
	close(typed)
	c.answers("n\r", "  touch a")
	c.sees("> y", "seen") // what was sent meanwhile goes to the model with the answer
	if got := p.request(2).Last().Text(); got != "y" {
		t.Errorf("the model was told %q", got)
	}
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
	p.settings(`{"permissions":{"ask":["Bash(curl:*)"]}}`)
	c := p.converse("--permission-mode", "default")
	c.types("go on\r")
	c.answers("n\r", "  curl http://127.0.0.1:1/", "sandbox, network by rules", "why: ")
	c.sees("seen")
	contains(t, p.result(2, "t1"), "the user was asked and said no")
	c.types("\x04")
	c.ends()
}

func TestPermissionsAndSandboxShowWhatIsInForce(t *testing.T) {
	p := newProduct(t)
	path := p.settings(`{"permissions":{"defaultMode":"acceptEdits","deny":["Bash(curl:*)"],"allow":["Bash(curl x)","Write(a)"]}}`)
	more := t.TempDir()
	c := p.sit(wide, "TERM=xterm", "--permission-mode", "acceptEdits", "--add-dir", more)
	c.sees("Commands run in a sandbox", "permission mode acceptEdits: edits", "also working in: "+more, "Ctrl-D")
	c.types("/permissions\r")
	c.sees("acceptEdits: edits in the workspace are made unasked, else as default (set by --permission-mode)",
		"  deny   Bash(curl:*)  ("+path+")", "  allow  Bash(curl x)  ("+path+")", "it can never decide anything: the rule Bash(curl:*)",
		"  allow  Write(a)  ("+path+")", "it has no effect", "commands run confined", "settings.local.json")
	c.types("/sandbox\r")
	c.sees("commands run in: ", " sandbox, network by rules", "they may change: "+p.dir+", "+more, "hosts that rules allow: -; others are asked", "limits of each command: processes and threads 4096, memory none, one file none", "--sandbox auto, ns, bwrap, ll or none")
	c.types("/mode plan\r")
	c.sees("mode plan")
	c.types("/sandbox\r")
	c.sees(", read-only", "they may change: /tmp\r", "hosts that rules allow")
	c.types("\x04")
	c.ends()
}

func TestWithoutASandboxThatIsSaid(t *testing.T) {
	p := newProduct(t)
	p.env = append(p.env, "ONELOOP_LANG=zh")
	c := p.converse(guarded...)
	c.types("/permissions\r")
	c.sees("权限模式 default：规则和沙箱都没有决定的", "没有规则", "只查看的直接运行")
	c.types("/sandbox\r")
	c.sees("没有沙箱", "要修改：启动时用 --sandbox")
	c.types("\x04")
	c.ends()
}

func TestInPlanCommandsLookAndTheAcceptedPlanIsCarriedOut(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "cat known && echo x > made")),
		script.Say(script.Tool("t2", "ExitPlanMode", `{"plan":"1. make it"}`)),
		script.Say(script.Tool("t3", "ExitPlanMode", `{"plan":"1. make it\n2. look"}`)),
		script.Say(shell("t4", "echo x > made")), say("carried out"))
	if err := os.WriteFile(filepath.Join(p.dir, "known"), []byte("what is known\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "trace")
	c := p.sit(wide, "TERM=xterm", "--permission-mode", "plan", "--trace="+file)
	c.sees("they look at this folder", "permission mode plan", "Ctrl-D")
	c.types("go on\r")
	c.sees("commands run in: ", ", network by rules, read-only")
	c.answers("n look at it too\r", "Carry out this plan?", "  1. make it", "keep planning")
	c.requested(3)
	contains(t, p.result(2, "t1"), "what is known", "Read-only file system")
	contains(t, p.result(3, "t2"), "the mode stays plan. The user says: look at it too")
	if p.exists("made") {
		t.Error("a command in plan changed the folder")
	}
	c.answers("y\r", "  2. look")
	c.sees("carried out")
	contains(t, p.result(4, "t3"), "The user approves the plan")
	if !p.exists("made") {
		t.Errorf("it was not carried out: %s", p.result(5, "t4"))
	}
	c.types("/permissions\r")
	c.sees("permission mode default", "no rules")
	c.mu.Lock()
	if strings.Contains(string(c.all), "set by --permission-mode") {
		t.Error("the mode is said to be that of the flag, which named another")
	}
	c.mu.Unlock()
	c.types("\x04")
	c.ends()
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `"kind":"boundary"`) || !strings.Contains(string(text), `"permission_mode":"plan"`) {
		t.Errorf("the trace does not say what is in force: %v", err)
	}
}

func TestClearEndsOneSessionOfTheHooksAndBeginsAnother(t *testing.T) {
	p := newProduct(t, say("first done"), say("second done"))
	p.settings(`{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo start $(cat | grep -o '\"source\":\"[a-z]*') >> log"}]}],
		"SessionEnd":[{"hooks":[{"type":"command","command":"echo end $(cat | grep -o '\"reason\":\"[a-z_]*') >> log"}]}]}}`)
	c := p.converse()
	c.types("/clear\r") // nothing has begun yet
	c.sees("a new conversation begins")
	c.types("one\r")
	c.sees("first done", "tokens: ")
	c.types("/clear\r")
	c.sees("a new conversation begins")
	c.types("two\r")
	c.sees("second done", "tokens: ")
	c.types("\x04")
	c.ends()
	log, err := os.ReadFile(filepath.Join(p.dir, "log"))
	want := "start \"source\":\"startup\nend \"reason\":\"clear\nstart \"source\":\"clear\nend \"reason\":\"prompt_input_exit\n"
	if err != nil || string(log) != want {
		t.Errorf("the hooks ran as\n%s%v", log, err)
	}
}

func TestCtrlCLeavesWithoutAHookThatHangsAtTheEnd(t *testing.T) {
	p := newProduct(t, say("first done"), say("second done"))
	p.settings(`{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","command":"sleep 300","timeout":600}]}]}}`)
	c := p.converse()
	c.types("one\r")
	c.sees("tokens: ")
	c.types("/clear\r")
	c.sees("Ctrl-C ends the wait")
	c.types("\x03")
	c.sees("a new conversation begins")
	c.types("two\r")
	c.sees("tokens: ")
	c.types("\x04")
	c.sees("Ctrl-C ends the wait")
	c.types("\x03")
	c.sees("were stopped")
	c.ends()
}

func TestARuleIsKeptAlsoWhileACommandRunsInTheBackground(t *testing.T) {
	p := newProduct(t, script.Say(script.Tool("t1", "Bash", `{"command":"sleep 300","run_in_background":true}`)),
		script.Say(script.Tool("t2", "WebFetch", `{"url":"http://x.invalid/","prompt":"what"}`)), say("seen"))
	c := p.converse("--permission-mode", "default")
	c.types("go on\r")
	kept := filepath.Join(p.dir, ".oneloop", "settings.local.json")
	c.answers("a\r", "Connect to this host?", "WebFetch(domain:x.invalid) (kept in "+kept)
	c.sees("seen")
	c.types("\x04")
	c.ends()
	if text, err := os.ReadFile(kept); err != nil || !strings.Contains(string(text), `"WebFetch(domain:x.invalid)"`) {
		t.Errorf("%s is %s, %v", kept, text, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Contains(string(c.all), "could not be written") {
		t.Error("it is said that the rule is not kept")
	}
}
