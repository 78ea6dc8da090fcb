//go:build linux

package main

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"oneloop/looptest/script"
)

// busy are the moments of a turn in which a person waits for something: more
// words of the model, or their own answer.
var busy = map[string]struct {
	reply func() script.Reply
	shows string
}{
	"while words stream": {func() script.Reply {
		r := script.Say(script.Text("first part, last part"))
		r.Pauses = []script.Pause{{After: 4, For: script.Forever}}
		return r
	}, "first"},
	"at a question": {func() script.Reply { return script.Say(shell("t1", "touch made")) }, "yes, once"},
}

// among takes the program to one of these moments.
func among(t *testing.T, moment string, more ...script.Reply) *terminal {
	t.Helper()
	m := busy[moment]
	c := newProduct(t, append([]script.Reply{m.reply()}, more...)...).converse("--permission-mode", "default", "--sandbox", "none")
	c.types("go on\r")
	c.sees(m.shows)
	return c
}

func TestCaseTerm07TheTerminalIsGivenBackInTheMiddleOfATurn(t *testing.T) {
	for moment := range busy {
		t.Run(moment, func(t *testing.T) {
			for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
				c := among(t, moment)
				c.signal(sig)
				if ws := c.ends(); !ws.Signaled() || ws.Signal() != sig {
					t.Errorf("%v: the parent sees %v", sig, ws)
				}
				c.given()
			}
			for name, keys := range map[string]string{"Ctrl-C twice": "\x03\x03", "Ctrl-D after Esc": "\x1b\x1b\x04"} {
				c := among(t, moment)
				c.types(keys)
				if ws := c.ends(); !ws.Exited() || ws.ExitStatus() != 0 {
					t.Errorf("%s: it ended with %v", name, ws)
				}
				c.given()
				if c.exists("made") {
					t.Errorf("%s: what was asked about was done", name)
				}
			}
		})
	}
}

func TestCaseTerm07TheTerminalIsClosedInTheMiddleOfATurn(t *testing.T) {
	for moment := range busy {
		t.Run(moment, func(t *testing.T) {
			c := among(t, moment)
			c.pty.Close()
			select {
			case <-c.done:
			case <-time.After(time.Minute):
				t.Fatal("the program did not end")
			}
			c.census()
			if c.exists("made") {
				t.Error("what was asked about was done")
			}
		})
	}
}

func TestCaseTerm07AQuestionOutlivesAStop(t *testing.T) {
	c := among(t, "at a question", say("all done"))
	raw := c.settings()
	c.types("ye")
	c.sees("ye")
	c.signal(syscall.SIGTSTP)
	c.becomes("T")
	if c.settings() != c.before {
		t.Error("the settings are not given back while it is stopped")
	}
	c.given()
	c.signal(syscall.SIGCONT)
	c.sees("ye") // what was typed is drawn again
	if c.settings() != raw {
		t.Error("the settings are not taken again")
	}
	c.types("s\r")
	c.sees("all done")
	if !c.exists("made") {
		t.Error("the answer was not heard")
	}
	c.types("\x04")
	c.ends()
	c.given()
}

var (
	privateMode = regexp.MustCompile(`\x1b\[\?([0-9;]+)([hl])`)
	// keyboard is a mode of the keyboard that is not in privateMode: kitty's
	// protocol, pushed and popped, and xterm's modifyOtherKeys.
	keyboard = regexp.MustCompile(`\x1b\[[<>=][0-9;]*[um]`)
)

// given waits for the program to turn off every mode of the terminal it turned
// on: a private mode is left reset, but for the cursor, which is left shown.
func (c *terminal) given() {
	c.t.Helper()
	c.modes()
	c.mu.Lock()
	defer c.mu.Unlock()
	last := map[string]string{}
	for _, m := range privateMode.FindAllStringSubmatch(string(c.all), -1) {
		for mode := range strings.SplitSeq(m[1], ";") {
			last[mode] = m[2]
		}
	}
	for mode, set := range last {
		if want := map[bool]string{true: "h", false: "l"}[mode == "25"]; set != want {
			c.t.Errorf("mode %s is left %s in %q", mode, set, c.all)
		}
	}
	if last["25"] != "h" {
		c.t.Errorf("the cursor is not shown at the end of %q", c.all)
	}
	if k := keyboard.FindAllString(string(c.all), -1); len(k)%2 != 0 {
		c.t.Errorf("a mode of the keyboard is left: %q", k)
	}
}
