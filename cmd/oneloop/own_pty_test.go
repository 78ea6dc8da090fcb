//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop/looptest/script"
	danger "oneloop/policy/shell"
	"oneloop/workspace"
)

func TestACommandOfThePersonsOwnIsRunAndToldWithTheNextPrompt(t *testing.T) {
	p := newProduct(t, say("first answer"), say("second answer"))
	outside := filepath.Join(t.TempDir(), "made")
	p.env = append(p.env, "COPY="+testKey)
	c := p.converse("--permission-mode", "plan") // the sandbox would keep it from writing
	c.types("!pwd; echo 文件; touch " + outside + "; echo $ANTHROPIC_API_KEY $COPY; (exit 3)\r")
	c.sees(p.dir, "文件", "[exit code 3]")
	if _, err := os.Stat(outside); err != nil {
		t.Errorf("it ran with other rights: %v", err)
	}
	c.types("!true\r")
	c.sees("(no output)")
	c.turns("what was that?", "first answer")
	m := p.request(1).Messages
	var all []string
	for _, x := range m {
		for _, b := range x.Content {
			all = append(all, b.Text)
		}
	}
	text := strings.Join(all, "\n")
	contains(t, text, "The user ran a command of their own", "$ pwd; echo 文件", p.dir+"\n文件", "[exit code 3]", "$ true\n(no output)\nwhat was that?")
	lacks(t, text, testKey)
	c.turns("and now?", "second answer")
	if n := strings.Count(string(p.request(2).Body), "$ true"); n != 1 {
		t.Errorf("the model reads it %d times", n)
	}
	c.types("\x04")
	c.ends()
}

func TestACommandOfThePersonsOwnAtATerminalThatOnlyPrints(t *testing.T) {
	p := newProduct(t, say("heard it"))
	c := p.sit(usual, "TERM=dumb")
	c.sees("Ctrl-D")
	c.types("!echo made-$((40+2)); (exit 3)\n")
	c.sees("made-42", "[exit code 3]")
	c.types("well?\n")
	c.sees("heard it")
	contains(t, string(p.request(1).Body), "made-42")
	c.types("exit\n")
	c.ends()
}

func TestACommandOfThePersonsOwnIsStoppedWithAllItStarted(t *testing.T) {
	p := newProduct(t, say("heard it"))
	c := p.converse()
	c.types("!echo begun; (setsid sh -c 'echo $$ > pid; sleep 60' &); sleep 60\r")
	c.appears("pid")
	c.types("also this\r")
	c.sees("waits as 1")
	began := time.Now()
	c.types("\x1b")
	c.sees("stopped", "> also this", "heard it")
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v to stop it", took)
	}
	pid, err := os.ReadFile(filepath.Join(p.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Error("what it started goes on")
	}
	contains(t, string(p.request(1).Body), "interrupted while it ran", "begun")
	c.types("\x04")
	c.ends()
}

func TestACommandOfThePersonsOwnOutlivesAKill(t *testing.T) {
	p := newProduct(t, say("one done"), say("two done"))
	c := p.converse()
	c.turns("one", "one done")
	c.types("!echo kept-$((40+2))\r")
	c.sees("kept-42")
	c.types("!echo shown-$((40+2))\r") // then what came before is kept
	c.sees("shown-42")
	c.cmd.Process.Kill()
	<-c.done
	c = p.converse("-c")
	c.turns("two", "two done")
	contains(t, string(p.request(2).Body), "kept-42")
	c.types("\x04")
	c.ends()
}

func TestACommandTypedDuringATurnRunsBehindIt(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", until)), say("all done"), say("heard it"))
	c := p.converse()
	c.types("go on\r")
	c.requested(1)
	c.types("!touch mine; echo was $((40+2))\r")
	c.sees("after this turn: !touch mine")
	p.lets()
	c.sees("all done", "> !touch mine", "was 42")
	lacks(t, string(p.request(2).Body), "touch mine")
	c.turns("next", "heard it")
	contains(t, string(p.request(3).Body), "touch mine", "was 42")
	c.types("\x04")
	c.ends()
}

func TestALineTypedDuringACommandOfThePersonsOwnIsSaidThoughTheTurnBeforeFailed(t *testing.T) {
	p := newProduct(t, script.Fail(400, "invalid_request_error", "no"), say("heard"))
	c := p.converse()
	c.types("a prompt\r")
	c.sees("error: ")
	c.types("!touch mark; while [ ! -e go ]; do sleep 0.02; done; echo went\r")
	p.marked()
	c.types("meanwhile\r")
	c.sees("waits as 1")
	p.lets()
	c.sees("> meanwhile", "heard")
	c.types("\x04")
	c.ends()
}

func TestALongOutputIsCutForTheModelAndKept(t *testing.T) {
	p := newProduct(t, say("heard it"))
	c := p.converse()
	c.types("!seq 100000\r")
	c.sees("output truncated here", "99999")
	c.turns("well?", "heard it")
	if n := len(p.request(1).Body); n > 150_000 {
		t.Errorf("%d bytes were sent", n)
	}
	c.types("\x04")
	c.ends()
}

// No such command is run here: they are judged only.
func TestTheDangerListHoldsForThePersonToo(t *testing.T) {
	at := workspace.Info{Root: "/home/u/work", Home: "/home/u"}
	for command, refused := range map[string]bool{"git push": false, "make install": false, "rm -r build": false, "mkfs.ext4 disk.img": true} {
		d := ownRefused(command, at)
		if (d != nil) != refused {
			t.Errorf("%s: %+v", command, d)
		}
		if d != nil && (d.Reason == "" || d.Why == nil) {
			t.Errorf("%s: no reason in %+v", command, d)
		}
		if got := danger.Judge(command, danger.Place{Dir: at.Root, Home: at.Home}).Tier == danger.Deny; got != refused {
			t.Errorf("%s is denied: %v", command, got)
		}
	}
}

func TestOneLineBehindAnExclamationMarkIsACommand(t *testing.T) {
	for line, want := range map[string]string{
		"!ls": "ls", "! ls -l ": "ls -l", "!ls\r\n": "ls", "!": "", " !ls": "", "!a\nb": "", "ls": "", "!  ": "",
	} {
		if got, ok := own(line); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", line, got, ok)
		}
	}
}

func TestWhatWasShownIsNotShownAgain(t *testing.T) {
	for _, c := range [][3]string{
		{"a\nb\n[exit code 1]", "a\nb\n", "[exit code 1]"},
		{"a\nb", "a\n", "b"},
		{"a\nb", "", "a\nb"}, {"a\nb", "a\nb\n", ""},
		{"a\nb\nc", "a\nc\n", "a\nb\nc"},
		{"interrupted. Output so far:\na\nb", "a\n", "b"},
	} {
		if got := unshown(c[0], c[1]); got != c[2] {
			t.Errorf("%q of which %q was shown: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestFilesOfAPersonsOwnCommandAreTheirs(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "echo agent >made")), say("one done"), script.Say(shell("t2", "echo agent >later")), say("two done"))
	c := p.sit(wide, "TERM=xterm")
	c.sees("Ctrl-D")
	c.turns("the first prompt", "one done")
	p.settled()
	c.types("!echo mine >mine; echo made-$((40+2))\r")
	c.sees("made-42")
	c.turns("the second prompt", "two done")
	c.types("/rewind\r")
	c.sees("the second prompt", "the first prompt", "a number")
	c.types("2\r")
	c.sees("removed (2): later, made", "a number")
	c.types("3\r")
	c.sees("2 files are as they were")
	p.holds("mine", "mine\n")
	c.types("\x04")
	c.ends()
}
