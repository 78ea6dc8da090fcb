//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"oneloop/looptest/script"
)

// This holds for the goroutine that turns run in. A panic in another one that
// has no recover of its own ends the process by Go's hand; no program can give
// a terminal back then.
func TestCaseTerm07APanicGivesTheTerminalBackAndIsOneLine(t *testing.T) {
	p := newProduct(t)
	p.bin = "oneloop-panics"
	c := p.converse()
	c.types("go\r")
	c.sees("internal error")
	if ws := c.ends(); !ws.Exited() || ws.ExitStatus() != exitFailed {
		t.Errorf("it ended with %v", ws)
	}
	c.modes()
	c.mu.Lock()
	defer c.mu.Unlock()
	if bytes.Contains(c.all, []byte("goroutine ")) || bytes.Contains(c.all, []byte("panic:")) {
		t.Errorf("panic text: %q", c.all)
	}
	if end := c.all[bytes.Index(c.all, []byte("oneloop: internal error")):]; bytes.Count(end, []byte("\n")) != 1 {
		t.Errorf("not one line: %q", end)
	}
}

// asking leaves a .env that is asked about.
func (p *product) asking(t *testing.T) {
	t.Helper()
	var kept []string
	for _, kv := range p.env {
		if !strings.HasPrefix(kv, "ANTHROPIC_") {
			kept = append(kept, kv)
		}
	}
	p.env = kept
	text := fmt.Sprintf("ANTHROPIC_API_KEY=%s\nANTHROPIC_BASE_URL=%s\n", testKey, p.server.URL())
	if err := os.WriteFile(filepath.Join(p.dir, ".env"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

var usual = pty.Winsize{Rows: 24, Cols: 80}

func TestTheQuestionAboutTheEnvFile(t *testing.T) {
	p := newProduct(t, say("trusted answer"))
	p.asking(t)
	c := p.sit(usual, "TERM=xterm")
	c.types("y\r") // before it is shown: no answer
	c.sees("go on without them")
	c.types("n\r")
	c.sees("ANTHROPIC_API_KEY") // what to do without a key
	if ws := c.ends(); ws.ExitStatus() != exitConfig {
		t.Errorf("it ended with %v", ws)
	}
	c.modes()
	c = p.sit(usual, "TERM=xterm")
	c.sees("go on without them")
	c.types("y\r")
	c.sees("Ctrl-D")
	c.types("hello\r")
	c.sees("trusted answer")
	c.types("\x04")
	c.ends()
}

func TestCaseTerm07TheTerminalIsGivenBackDuringAQuestion(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		p := newProduct(t)
		p.asking(t)
		c := p.sit(usual, "TERM=xterm")
		c.sees("go on without them")
		if err := c.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if ws := c.ends(); !ws.Signaled() || ws.Signal() != sig {
			t.Errorf("%v: the parent sees %v", sig, ws)
		}
		c.modes()
	}
}

func TestCaseTerm07StoppedAndContinued(t *testing.T) {
	stream := script.Say(script.Text("first part, last part"))
	stream.Pauses = []script.Pause{{After: 4, For: script.Forever}}
	p := newProduct(t, stream, say("after all"))
	c := p.converse()
	raw := c.settings()
	c.types("go on\r")
	c.sees("first")
	c.types("typed")
	c.sees("typed")
	c.signal(syscall.SIGTSTP)
	c.becomes("T")
	if c.settings() != c.before {
		t.Error("the settings are not given back while it is stopped")
	}
	c.modes()
	c.signal(syscall.SIGCONT)
	c.sees("> typed")
	if c.settings() != raw {
		t.Error("the settings are not taken again")
	}
	c.types("\x03")
	c.sees("stopped")
	c.types("\r")
	c.sees("after all")
	contains(t, p.request(2).Messages[len(p.request(2).Messages)-1].Text(), "typed")
	c.types("\x04")
	c.ends()
	c.modes()
}

func (c *terminal) signal(s syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		c.t.Fatal(err)
	}
}

// becomes waits for the program to be in this state, as ps(1) has it.
func (c *terminal) becomes(state string) {
	c.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		b, err := os.ReadFile("/proc/" + strconv.Itoa(c.cmd.Process.Pid) + "/stat")
		if err != nil {
			c.t.Fatal(err)
		}
		if _, after, _ := strings.Cut(string(b), ") "); strings.HasPrefix(after, state) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("the program is not in state %s: %s", state, b)
		}
		time.Sleep(5 * time.Millisecond) // another process's doing
	}
}

// shell starts a shell at the terminal that has p's program on its PATH.
func (p *product) shell() *terminal {
	p.t.Helper()
	bin, err := exec.LookPath(p.bin)
	if err != nil {
		p.t.Fatal(err)
	}
	start := filepath.Join(p.t.TempDir(), "shell")
	text := "#!/bin/sh\nexec bash --norc --noprofile -i\n" // whatever its arguments are
	if err := os.WriteFile(start, []byte(text), 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.bin = start
	p.env = append(p.env, "PS1=ready$ ", "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"))
	c := p.sit(usual, "TERM=xterm")
	c.sees("ready$ ")
	return c
}

func TestCtrlZGoesToTheShellAndFgComesBack(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "echo s > mark; until [ -e go ]; do sleep 0.05; done; echo went")), say("back again"), say("heard it"))
	c := p.shell()
	c.types("oneloop --permission-mode bypassPermissions\r")
	c.sees("Ctrl-D")
	raw := c.settings()
	c.types("go on\r")
	c.appears("mark")
	c.types("half a line")
	c.sees("half a line")
	c.types("\x1a")
	c.sees("Stopped")
	c.mu.Lock()
	if i, j := bytes.LastIndex(c.all, []byte("\x1b[?2004l\x1b[?25h")), bytes.LastIndex(c.all, []byte("Stopped")); i < 0 || i > j {
		t.Errorf("the modes are not turned off before the shell has the terminal: %q", c.all)
	}
	c.mu.Unlock()
	c.types("touch go; echo cooked $((1+1))\r") // the command goes on meanwhile
	c.sees("cooked 2")
	c.types("fg\r")
	c.sees("back again")
	if c.settings() != raw {
		t.Error("the settings are not taken again")
	}
	contains(t, p.result(2, "t1"), "went")
	c.types("\r")
	c.sees("heard it")
	contains(t, p.request(3).Messages[len(p.request(3).Messages)-1].Text(), "half a line")
	c.types("exit\r")
	c.sees("ready$ ")
	c.types("exit\r")
	c.ends()
}

func TestCtrlZWithoutAShellIsNothing(t *testing.T) {
	c := newProduct(t, say("still there")).converse()
	c.types("\x1agoes on\r")
	c.sees("still there")
	c.types("\x04")
	c.ends()
}

func TestCaseTerm07TheTerminalIsClosed(t *testing.T) {
	for name, c := range map[string]struct {
		kind string
		busy bool
	}{"at the prompt": {"TERM=xterm", false}, "in a command": {"TERM=xterm", true}, "plain, at the prompt": {"TERM=dumb", false}, "plain, in a command": {"TERM=dumb", true}} {
		t.Run(name, func(t *testing.T) { theTerminalIsClosed(t, c.kind, c.busy) })
	}
}

func theTerminalIsClosed(t *testing.T, kind string, busy bool) {
	p := newProduct(t, script.Say(shell("t1", "echo $$ > pid; (setsid sleep 60 &) ; sleep 60")))
	c := p.sit(usual, kind)
	c.sees("Ctrl-D")
	if busy {
		c.types("go on\r")
		c.appears("pid")
	}
	c.pty.Close()
	select {
	case <-c.done:
	case <-time.After(time.Minute):
		t.Fatal("the program did not end")
	}
	c.census()
	if ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() && ws.Signal() != syscall.SIGHUP || ws.Exited() && ws.ExitStatus() != 0 {
		t.Errorf("it ended with %v", ws)
	}
}

// appears waits for a file a command makes.
func (c *terminal) appears(name string) {
	c.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !c.exists(name); {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s never appeared", name)
		}
		time.Sleep(5 * time.Millisecond) // another process makes it
	}
}

func TestCaseTerm07ALeavingPersonEndsATurn(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "echo s > mark; sleep 60")))
	c := p.converse()
	c.types("go on\r")
	c.appears("mark")
	c.types("\x03\x03") // twice: stop, and leave
	if ws := c.ends(); !ws.Exited() || ws.ExitStatus() != 0 {
		t.Errorf("it ended with %v", ws)
	}
	c.modes()
}

func TestCaseTerm04TerminalsThatOnlyPrint(t *testing.T) {
	for name, c := range map[string]struct {
		size pty.Winsize
		kind string
	}{
		"no TERM": {usual, "NOTHING="}, "dumb": {usual, "TERM=dumb"}, "no size": {pty.Winsize{}, "TERM=xterm"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProduct(t, script.Say(script.Text("a look"), shell("t1", "echo 文件")), say("plain answer"))
			p.env = append(p.env, "NO_COLOR=1")
			s := p.sit(c.size, c.kind)
			s.sees("Ctrl-D")
			s.types("go on\n")
			s.sees("plain answer")
			s.types("exit\n")
			if ws := s.ends(); ws.ExitStatus() != 0 {
				t.Errorf("it ended with %v", ws)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if bytes.Contains(s.all, []byte("\x1b")) {
				t.Errorf("sequences in %q", s.all)
			}
		})
	}
}

func TestCaseStrm12CompressedTextIsShownAsItComes(t *testing.T) {
	stream := script.Say(script.Text("first part, last part"))
	stream.Gzip = true
	stream.Pauses = []script.Pause{{After: 4, For: script.Forever}}
	p := newProduct(t, stream)
	c := p.converse()
	c.types("go on\r")
	c.sees("first") // the rest never comes
	c.types("\x1b")
	c.sees("stopped")
	c.types("\x04")
	c.ends()
}

func TestWhoLeavesTheDemoLeavesNothing(t *testing.T) {
	for name, key := range map[string]string{"Ctrl-C": "\x03", "Ctrl-D": "\x04"} {
		t.Run(name, func(t *testing.T) {
			p := newProduct(t)
			tmp := t.TempDir()
			p.env = append(p.env, "TMPDIR="+tmp)
			c := p.sit(pty.Winsize{Rows: 24, Cols: 80}, "TERM=xterm-256color", "demo")
			c.sees("press Enter to go on")
			c.types(key)
			select {
			case <-c.done:
			case <-time.After(time.Minute):
				t.Fatal("it goes on")
			}
			left, err := os.ReadDir(tmp)
			if err != nil || len(left) > 0 {
				t.Errorf("it leaves %v %v", left, err)
			}
		})
	}
}
