//go:build linux

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"oneloop/looptest/script"
)

// path is the name that the agent with this title was given.
func (c *terminal) path(title string) string {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	plain := sequences.ReplaceAll(c.all, nil)
	m := regexp.MustCompile(`subtask (/[0-9]+): ` + title).FindSubmatch(plain)
	if m == nil {
		c.t.Fatalf("no agent for %q in %s", title, plain)
	}
	return string(m[1])
}

// twoAsk starts two agents, the second of which asks when the first one's
// question was seen.
func twoAsk(t *testing.T, more ...script.Reply) *terminal {
	second := make(chan struct{})
	p := newProduct(t, append([]script.Reply{script.Say(
		script.Tool("t1", "Agent", `{"description":"Part one","prompt":"do one"}`),
		script.Tool("t2", "Agent", `{"description":"Part two","prompt":"do two"}`))}, more...)...)
	p.server.Route("do one", script.Say(shell("c1", "touch one")), say("one has ended"))
	p.server.Route("do two", script.Reply{React: func(script.Request) script.Reply {
		<-second
		return script.Say(shell("c2", "touch two"))
	}}, say("two has ended"))
	c := p.converse(guarded...)
	c.types("begin\r")
	c.sees("Run this command?", "touch one", "n REASON")
	c.says("the agent " + c.path("Part one") + " asks")
	close(second)
	return c
}

// says checks that a text was written at any time.
func (c *terminal) says(text string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	contains(c.t, string(sequences.ReplaceAll(c.all, nil)), text)
}

func TestQuestionsOfAgentsSayWhoAsksAndEachHasItsOwnAnswer(t *testing.T) {
	c := twoAsk(t, say("both are back"))
	c.requested(3)
	c.types("n leave it\r")
	c.sees("Run this command?", "touch two", "the agent "+c.path("Part two")+" asks", "n REASON")
	c.types("y\r")
	c.sees("both are back")
	if c.exists("one") || !c.exists("two") {
		t.Error("the answers went to the wrong agents")
	}
	for _, r := range c.server.Requests() {
		if told, ok := r.Result("c1"); ok {
			contains(t, told.FullText(), "leave it")
		}
		if told, ok := r.Result("c2"); ok && told.IsError {
			t.Errorf("the second was told %s", told.FullText())
		}
	}
	c.types("\x04")
	c.ends()
	c.census()
}

func TestAnInterruptAtTheQuestionOfAnAgentEndsAllThatAsk(t *testing.T) {
	c := twoAsk(t, say("nothing was done"))
	c.requested(3)
	c.types("\x03")
	c.sees("interrupted")
	c.types("what happened?\r")
	c.sees("nothing was done")
	last := len(c.server.Requests())
	for _, id := range []string{"t1", "t2"} {
		contains(t, c.result(last, id), "interrupted", "agent session 20")
	}
	if last != 4 || c.exists("one") || c.exists("two") {
		t.Errorf("%d requests", last)
	}
	c.types("\x04")
	c.ends()
	c.census()
}

func TestTheQuestionOfAnAgentThatHasEndedIsVoid(t *testing.T) {
	p := newProduct(t, script.Say(shell("c1", `oneloop 'do one' & sub=$!; until [ -e over ]; do sleep 0.05; done; kill $sub; wait $sub; echo ended`)), say("it has ended"))
	p.server.Route("do one", script.Say(shell("c2", "touch one")), say("never said"))
	c := p.converse(guarded...)
	c.types("begin\r")
	c.sees("Run this command?", "n REASON")
	c.types("y\r")
	c.sees("Run this command?", "touch one", "the agent /1 asks", "n REASON")
	if err := os.WriteFile(filepath.Join(p.dir, "over"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.sees("the question is void", "it has ended")
	if c.exists("one") {
		t.Error("the command ran")
	}
	c.types("\x04")
	c.ends()
	c.census()
}
