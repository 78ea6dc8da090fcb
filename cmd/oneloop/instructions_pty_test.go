//go:build linux

package main

import (
	"strings"
	"testing"

	"oneloop/looptest/script"
)

func TestInstructionsBelowTheFolderAreToldOfInEachConversation(t *testing.T) {
	read := func(id string) script.Reply { return script.Say(script.Tool(id, "Read", `{"file_path":"deep/a.txt"}`)) }
	p := newProduct(t, read("r1"), script.Say(shell("b1", "seq 3000")), say("one done"), say("two done"), say("SUM"), say("three done"), read("r2"), say("four done"))
	p.puts("AGENTS.md", "be brief")
	p.puts("deep/AGENTS.md", "be briefer")
	p.puts("deep/a.txt", "text")
	c := p.sit(usual, "TERM=xterm", "--trust")
	c.sees("Ctrl-D")
	const told = "deep/AGENTS.md instructs whoever works in deep"
	is := func(request int) {
		t.Helper()
		if n := strings.Count(string(p.request(request).Body), told); n != 1 {
			t.Errorf("it is told of %d times in request %d", n, request)
		}
	}
	c.turns("first", "one done")
	is(2)
	c.turns("second", "two done")
	c.types("/compact\r")
	c.sees("made shorter")
	c.turns("third", "three done")
	is(6)
	c.types("/clear\r")
	c.sees("a new conversation begins")
	c.turns("fourth", "four done")
	is(8)
	c.types("\x04")
	c.ends()
}
