//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"oneloop/looptest/script"
)

// until is a command that runs until the file go is there.
const until = "while [ ! -e go ]; do sleep 0.02; done; echo went"

func (p *product) lets() {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// marked waits for a command that makes the file mark.
func (p *product) marked() {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); !p.exists("mark"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatal("the command was never run")
		}
	}
}

func TestALineTypedWhileACommandRunsGoesWithItsResult(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", until)), say("all done"))
	c := p.converse()
	c.types("go on\r")
	c.requested(1)
	c.types("also this\r")
	c.sees("waits as 1: also this")
	c.types("and that\r")
	c.sees("waits as 2: and that")
	c.types("/queue\r")
	c.sees("  1  also this", "  2  and that", "/queue drop")
	c.types("/queue edit 1 rather this\r")
	c.sees("waits as 1: rather this")
	c.types("/queue drop 2\r")
	c.sees("taken back: and that")
	c.types("/queue drop 2\r")
	c.sees("no line 2 waits")
	c.types("/queue edit\r")
	c.sees("/queue edit N TEXT")
	p.lets()
	c.sees("> rather this", "all done")
	contains(t, p.result(2, "t1"), "went")
	if got := p.request(2).Last().Text(); got != "rather this" {
		t.Errorf("the model was told %q", got)
	}
	c.types("/queue\r")
	c.sees("nothing waits")
	c.types("\x04")
	c.ends()
}

func TestWhatWaitsIsSaidAtOnceWhenTheTurnIsStopped(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "sleep 60")), say("other work"))
	c := p.converse()
	c.types("go on\r")
	c.requested(1)
	c.types("do another thing\r")
	c.sees("waits as 1")
	c.types("/clear\r") // what must not come into a turn comes behind it
	c.sees("after this turn: /clear")
	c.types("\x1b")
	c.sees("stopped", "> do another thing", "other work", "> /clear", "a new conversation")
	contains(t, p.result(2, "t1"), "interrupted")
	if got := p.request(2).Last().Text(); got != "do another thing" {
		t.Errorf("the model was told %q", got)
	}
	c.types("\x04")
	c.ends()
}

func TestWhatWaitedWhenTheProgramEndedIsOfferedAgain(t *testing.T) {
	for name, end := range map[string]func(c *terminal){
		"left": func(c *terminal) {
			c.types("\x03\x03")
			c.sees("not delivered; kept", "  1  left over")
			c.ends()
		},
		"killed": func(c *terminal) {
			c.signal(syscall.SIGKILL)
			<-c.done
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProduct(t, script.Reply{Wait: script.Forever}, say("the task"), say("all of it"))
			c := p.converse("--sandbox", "none") // which would be begun, and has the log open until it is
			c.types("go on\r")
			c.requested(1)
			c.types("left over\r")
			c.sees("waits as 1")
			end(c)

			o := p.done("-c", "a task")
			contains(t, o.stderr, `"left over"`, "not sent")
			lacks(t, string(p.request(2).Body), "left over")

			c = p.sit(usual, "TERM=xterm", "-c")
			c.sees("Ctrl-D", "typed the last time", "  1  left over")
			c.types("next\r")
			c.sees("> left over", "all of it")
			if got := p.request(3).Last().Text(); got != "left overnext" {
				t.Errorf("the model was told %q", got)
			}
			c.types("\x04")
			c.ends()
			c = p.converse("-c")
			c.types("\x04")
			c.ends()
			c.mu.Lock()
			defer c.mu.Unlock()
			lacks(t, string(c.all), "typed the last time")
		})
	}
}

func TestWhatWaitsIsNotSentIntoWhatFailed(t *testing.T) {
	typed := make(chan struct{})
	p := newProduct(t, script.Reply{React: func(script.Request) script.Reply {
		<-typed
		return script.Fail(400, "invalid_request_error", "not today")
	}}, say("all of it"))
	c := p.converse()
	c.types("go on\r")
	c.requested(1)
	c.types("also this\r")
	c.sees("waits as 1")
	close(typed)
	c.sees("not today", "1 line waits")
	c.types("now\r")
	c.sees("> also this", "all of it")
	if got := p.request(2).Last().Text(); !strings.HasSuffix(got, "also thisnow") {
		t.Errorf("the model was told %q", got)
	}
	c.types("\x04")
	c.ends()
}

func TestCaseHist09And13TheSameHoldsForWhoGoesOnLater(t *testing.T) {
	half := script.Say(script.Text("I will look"), script.Open(script.ToolPieces("t2", "Bash", `{"command":"echo hi > p.t`)))
	half.Pauses = []script.Pause{{After: 8, For: script.Forever}}
	p := newProduct(t, script.Say(shell("t1", "echo s > mark; sleep 60")), half, say("next is done"))
	c := p.converse()
	c.types("go on\r")
	p.marked()
	c.types("\x1b")
	c.sees("stopped")
	c.types("look\r")
	c.sees("I will look")
	c.types("\x03\x03")
	c.ends()
	p.done("-c", "next")
	contains(t, string(p.request(3).Body), "I will look", "next")
	contains(t, p.result(3, "t1"), "interrupted", "may have changed")
	lacks(t, p.result(3, "t1"), "not run", "did not run")
	if p.exists("p.t") {
		t.Error("an unfinished call was run")
	}
}
