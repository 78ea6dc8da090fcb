//go:build linux

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

// A turn in which an agent ran is taken back, and forked: what is sent has its
// pairs of calls and results, the agent's log stays where it is found, and what
// it used stays used.
func TestATurnInWhichAnAgentRanIsTakenBackAndForked(t *testing.T) {
	p := newProduct(t, script.Say(asks("t1", "look around")), say("one done"), say("two done"))
	p.server.Route("look around", script.Say(shell("c1", "true")), say("I looked"), say("I looked again"), say("I looked once more"))
	c := p.sit(wide, "TERM=xterm", "--permission-mode", "bypassPermissions")
	c.sees("Ctrl-D")
	c.turns("the first prompt", "one done")
	id := agentSession.FindStringSubmatch(p.result(4, "t1"))[1]
	again := func(call string) script.Reply { return script.Say(asks(call, "again", `,"resume":"`+id+`"`)) }
	c.turns("the second prompt", "two done")

	// Behind it: the pair is sent, and the agent can be gone on with.
	c.types("/rewind\r")
	c.sees("the second prompt", "a number")
	c.types("1\r")
	c.sees("only the conversation", "a number")
	c.types("1\r")
	c.sees("the conversation is back to before: the second prompt")
	p.server.Add(again("t2"), say("three done"))
	c.turns("the third prompt", "three done")
	contains(t, p.result(6, "t1"), "I looked")
	lacks(t, string(p.request(6).Body), "the second prompt")
	contains(t, p.result(8, "t2"), "I looked again")

	first := ""
	for _, name := range p.logs() {
		if ref := strings.TrimSuffix(filepath.Base(name), ".jsonl"); ref != id {
			first = ref
		}
	}

	// A fork has the pairs; the agent belongs to the conversation it was started in.
	c.types("/fork\r")
	c.sees("a copy of the conversation goes on as")
	p.server.Add(again("t3"), say("four done"))
	c.turns("the fourth prompt", "four done")
	contains(t, p.result(9, "t2"), "I looked again")
	contains(t, p.result(10, "t3"), "no agent of this conversation", "start a new one")

	// Before it: nothing of it is sent.
	c.types("/rewind\r")
	c.sees("the fourth prompt", "the first prompt", "a number")
	c.types("3\r")
	c.sees("only the conversation", "a number")
	c.types("1\r")
	c.sees("the conversation is back to before: the first prompt")
	p.server.Add(say("five done"))
	c.turns("the fifth prompt", "five done")
	lacks(t, string(p.request(11).Body), "t1", "I looked", "agent session")
	c.types("/cost\r")
	c.sees("11 requests")
	c.types("\x04")
	c.ends()
	p.census()

	// The first conversation has its agent and its costs still.
	p.server.Add(again("t4"), say("six done"))
	p.done("-r", first, "go on")
	last := len(p.server.Requests())
	contains(t, p.result(last, "t4"), "I looked once more")
}
