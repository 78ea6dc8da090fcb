//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/looptest/script"
	"oneloop/session"
)

func TestTheTraceHasTheQuestionAboutTheEnvFileAndItsAnswer(t *testing.T) {
	p := newProduct(t)
	p.asking(t)
	file := filepath.Join(t.TempDir(), "trace")
	c := p.sit(usual, "TERM=xterm", "--trace="+file)
	c.sees("go on without them")
	c.types("y\r")
	c.sees("Ctrl-D")
	c.types("\x04")
	c.ends()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"kind":"question"`) || !strings.Contains(lines[1], `"kind":"answer"`) || !strings.Contains(lines[1], `"allow":true`) {
		t.Errorf("the trace is\n%s", text)
	}
}

func TestCaseSub07WhoIsThereIsAsked(t *testing.T) {
	p := newProduct(t, script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		if r.N > session.RepeatsEnded+1 {
			return say("after all")
		}
		return circling("echo same").React(r)
	}})
	c := p.converse()
	c.types("go on\r")
	c.sees("Let it go on?", `Bash {"command":"echo same"}`, "end the turn")
	c.types("n look elsewhere\r")
	c.sees("after all")
	contains(t, p.result(session.RepeatsEnded+1, fmt.Sprint("t", session.RepeatsEnded)), "The user says: look elsewhere")
	c.types("\x04")
	c.ends()
}
