//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

// turns says something and waits for what then happens and the end of the turn.
func (c *terminal) turns(line string, texts ...string) {
	c.t.Helper()
	c.types(line + "\r")
	c.sees(append(texts, "tokens: ")...)
}

// sameFront fails unless all requests have the tools and the system prompt of the first.
func (p *product) sameFront() {
	p.t.Helper()
	first := p.request(1)
	for i, r := range p.server.Requests() {
		for _, field := range []string{"tools", "system"} {
			if string(r.Fields[field]) != string(first.Fields[field]) {
				p.t.Errorf("request %d has other %s than the first", i+1, field)
			}
		}
	}
}

// write is a call that makes a file.
func write(id, file string) script.Block {
	return script.Tool(id, "Write", `{"file_path":"`+file+`","content":"x"}`)
}

func TestTheModeIsChangedInAConversationAndTheModelIsTold(t *testing.T) {
	p := newProduct(t,
		script.Say(shell("t1", "touch first")), say("one done"),
		script.Say(shell("t2", "touch second"), write("t3", "third")), say("two done"),
		say("three done"), script.Say(shell("t4", "touch fourth")), say("four done"), say("five done"), say("six done"))
	file := filepath.Join(t.TempDir(), "trace")
	c := p.sit(wide, "TERM=xterm", "--permission-mode", "default", "--trace="+file)
	c.sees("Ctrl-D")
	c.turns("one", "one done")
	c.types("/mode\r")
	c.sees("permission mode default: what neither", "/mode NAME", "  acceptEdits        edits in", "  plan               nothing", "  dontAsk ", "  bypassPermissions  nothing is asked")
	c.types("/mode everything\r")
	c.sees(`"everything" is no permission mode`)
	c.types("/mode plan\r")
	c.sees("permission mode plan: nothing", "they look at this folder", "mode plan")
	c.turns("two", "two done")
	contains(t, p.result(4, "t2"), "Read-only file system")
	contains(t, p.result(4, "t3"), "the permission mode is plan", "with /mode default")
	if !p.exists("first") || p.exists("second") || p.exists("third") {
		t.Errorf("there are: first %v, second %v, third %v", p.exists("first"), p.exists("second"), p.exists("third"))
	}
	note := "The user has changed the permission mode from default to plan: look and think, and change nothing."
	if last := p.request(3).Last().Text(); !strings.HasPrefix(last, "two") || !strings.Contains(last, note) {
		t.Errorf("the model is told %q", last)
	}
	c.types("/mode default\r")
	c.sees("permission mode default", "they change this folder")
	c.types("/mode plan\r") // and back, so that there is nothing to tell
	c.sees("they look at this folder")
	c.turns("three", "three done")
	if last := p.request(5).Last().Text(); last != "three" {
		t.Errorf("the model is told %q", last)
	}
	c.types("/mode bypassPermissions\r")
	c.sees("Whatever the model calls runs at once", "Commands stay in the sandbox", "mode bypassPermissions")
	c.turns("four", "four done")
	if last := p.request(6).Last().Text(); !strings.Contains(last, "from plan to bypassPermissions: nothing is asked; the danger list") || !p.exists("fourth") {
		t.Errorf("the model is told %q", last)
	}
	c.types("/clear\r")
	c.sees("a new conversation begins")
	c.turns("five", "five done")
	if last := p.request(8).Last().Text(); !strings.Contains(last, "from default to bypassPermissions") {
		t.Errorf("the model of the new conversation is told %q", last)
	}
	p.sameFront()
	lacks(t, string(p.request(3).Body), "ExitPlanMode\"")
	c.types("\x04")
	c.ends()
	if o := p.run("--permission-mode", "default", "-c", "six"); o.code != exitDone {
		t.Errorf("going on: exit code %d, %s", o.code, o.stderr)
	}
	if last := p.request(9).Last().Text(); !strings.Contains(last, "from bypassPermissions to default") {
		t.Errorf("the model of the conversation that is gone on with is told %q", last)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), `"kind":"boundary"`) != 4 || !strings.Contains(string(text), `"permission_mode":"plan","in":"`) {
		t.Errorf("the trace does not have the modes: %v\n%s", err, text)
	}
}

func TestShiftTabChangesTheModeOfATurnThatRuns(t *testing.T) {
	typed := make(chan struct{})
	p := newProduct(t, script.Reply{React: func(script.Request) script.Reply {
		<-typed
		return script.Say(write("t1", "made"))
	}}, script.Say(write("t2", "too")), say("both done"), say("and on"))
	c := p.sit(wide, "TERM=xterm", guarded...)
	c.sees("Ctrl-D")
	c.types("go on\r")
	c.requested(1)
	c.types("\x1b[Z")
	c.sees("mode acceptEdits")
	close(typed)
	c.sees("both done")
	if !p.exists("made") || !p.exists("too") {
		t.Error("an edit was not made unasked")
	}
	contains(t, string(p.request(2).Body), "from default to acceptEdits: edits in the folders")
	if n := strings.Count(string(p.request(3).Body), "has changed the permission mode"); n != 1 {
		t.Errorf("the model is told %d times", n)
	}
	c.types("\x1b[Z")
	c.sees("mode plan")
	c.types("\x1b[Z/mode\r")
	c.sees("permission mode default")
	c.turns("go on", "and on")
	contains(t, string(p.request(4).Last().Text()), "from acceptEdits to default")
	c.types("/mode bypassPermissions\r")
	c.sees("with all your rights")
	p.sameFront()
	c.types("\x04")
	c.ends()
}
