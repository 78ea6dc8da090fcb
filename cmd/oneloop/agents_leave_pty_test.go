//go:build linux

package main

import (
	"regexp"
	"syscall"
	"testing"
	"time"

	"oneloop/looptest/script"
)

// However a person leaves while an agent is at work: nothing is left running,
// and the logs of both say what became of it, so that it can be gone on with.
func TestHoweverAPersonLeavesAnAgentAtWorkItsOutcomeIsKept(t *testing.T) {
	for name, leave := range map[string]func(*terminal){
		"Ctrl-D and Ctrl-C": func(c *terminal) {
			c.types("\x04")
			c.sees("leaving when the turn is over")
			c.types("\x03")
		},
		"twice Ctrl-C":           func(c *terminal) { c.types("\x03\x03") },
		"SIGTERM":                func(c *terminal) { c.signal(syscall.SIGTERM) },
		"SIGHUP":                 func(c *terminal) { c.signal(syscall.SIGHUP) },
		"the terminal is closed": func(c *terminal) { c.pty.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProduct(t, script.Say(asks("t1", "look around")))
			p.server.Route("look around", script.Say(shell("c1", "(setsid sleep 300 &) ; touch mark; sleep 300")), script.Reply{React: func(r script.Request) script.Reply {
				told, _ := r.Result("c1")
				contains(t, told.FullText(), "interrupted")
				return say("I went on")
			}})
			c := p.converse()
			c.types("go\r")
			c.appears("mark")
			leave(c)
			select {
			case <-c.done:
			case <-time.After(time.Minute):
				t.Fatal("the program did not end")
			}
			p.census()
			p.server.Add(script.Reply{React: func(r script.Request) script.Reply {
				told, _ := r.Result("t1")
				contains(t, told.FullText(), "interrupted")
				id := regexp.MustCompile(`agent session ([0-9TZa-f-]+)`).FindStringSubmatch(told.FullText())
				if id == nil {
					t.Errorf("no session is named in %q", told.FullText())
					return say("well")
				}
				return script.Say(asks("t2", "go on", `,"resume":"`+id[1]+`"`))
			}}, say("well"))
			p.done("-c", "what became of it?")
			contains(t, p.result(len(p.server.Requests()), "t2"), "I went on")
		})
	}
}

// Ctrl-D alone waits for the turn, and so for the agent.
func TestWhoLeavesWhileAnAgentIsAtWorkGetsItsAnswer(t *testing.T) {
	p := newProduct(t, script.Say(asks("t1", "look around")), say("it looked"))
	p.server.Route("look around", script.Say(shell("c1", "touch mark; until test -e go; do sleep 0.02; done; echo seen")), say("I looked"))
	c := p.converse()
	c.types("go\r")
	c.appears("mark")
	c.types("\x04")
	c.sees("leaving when the turn is over")
	p.writes("go", "")
	c.sees("it looked")
	if ws := c.ends(); !ws.Exited() || ws.ExitStatus() != 0 {
		t.Errorf("it ended with %v", ws)
	}
	contains(t, p.result(3, "c1"), "seen")
	contains(t, p.result(4, "t1"), "I looked")
}
