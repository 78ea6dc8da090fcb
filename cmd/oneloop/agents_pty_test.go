//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"oneloop/looptest/script"
)

func TestAPersonSeesTheAgentsAtWorkAndAfterwards(t *testing.T) {
	begun, hold := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	p := newProduct(t, script.Say(script.Tool("t1", "Agent", `{"description":"Count the lines","prompt":"how many are there?"}`)), say("it says 3"), say("bye"))
	p.server.Route("how many are there?", script.Say(shell("c1", "true")), script.Reply{React: func(script.Request) script.Reply {
		close(begun)
		<-hold
		return say("three lines")
	}})
	defer release()
	p.defines("idle", "tools: LS, NotebookEdit")
	p.defines("odd", "description: some tools\ntools: LS, Read")
	c := p.converse("--permission-mode", "bypassPermissions")
	c.types("begin\r")
	c.sees("Agent Count the lines", "subtask /1: Count the lines [20")
	<-begun
	c.sees("/1 Count the lines · 1 call · ")
	c.types("/agents\r") // at once
	c.sees("agents that are defined", "agents of this conversation", "how many are there?")
	release()
	c.sees("it says 3")
	c.types("/agents\r")
	c.sees("agents that are defined", "has no tools at all", "idle.md: it has no description", "odd.md: these tools are not known here: LS",
		"agents of this conversation", "how many are there?")
	c.types("\x04")
	c.ends()
}

// defines writes a definition of the user's own.
func (p *product) defines(name, fields string) {
	p.t.Helper()
	dir := filepath.Join(p.home(), ".claude/agents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte("---\n"+fields+"\n---\nYou help.\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func TestInPlanAnAgentChangesNothing(t *testing.T) {
	p := newProduct(t, script.Say(script.Tool("t1", "Agent", `{"description":"a part","prompt":"write it"}`)), say("the plan"))
	p.server.Route("write it", script.Say(script.Tool("c1", "Write", `{"file_path":"new","content":"x"}`)), say("I could not"))
	p.run("--permission-mode", "plan", "go")
	contains(t, p.result(3, "c1"), "plan")
	contains(t, p.result(4, "t1"), "I could not")
	if p.exists("new") {
		t.Error("the file is there")
	}
}

func TestARuleForAgentsHolds(t *testing.T) {
	p := newProduct(t, script.Say(script.Tool("t1", "Agent", `{"description":"a part","prompt":"write it","subagent_type":"Explore"}`)), say("well"))
	conf := filepath.Join(p.home(), ".config/oneloop")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, "settings.json"), []byte(`{"permissions":{"deny":["Agent(Explore)"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run("go")
	if n := len(p.server.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	contains(t, p.result(2, "t1"), "Agent(Explore)")
}

func TestARuleAgainstAgentsHoldsForThoseThatAreGoneOnWith(t *testing.T) {
	p := newProduct(t, script.Say(script.Tool("t1", "Agent", `{"description":"a part","prompt":"look","subagent_type":"Explore"}`)), say("well"))
	p.server.Route("look", say("I looked"), say("I looked again"))
	p.done("go")
	id := agentSession.FindStringSubmatch(p.result(3, "t1"))[1]
	p.server.Add(script.Say(script.Tool("t2", "Agent", `{"description":"more","prompt":"look again","resume":"`+id+`"}`),
		script.Tool("t3", "Agent", `{"description":"more","prompt":"look again","subagent_type":"general-purpose","resume":"`+id+`"}`)), say("well"))
	p.settles(`{"permissions":{"deny":["Agent(Explore)"]}}`)
	p.run("-c", "go on")
	if n := len(p.server.Requests()); n != 5 {
		t.Errorf("%d requests", n)
	}
	for _, call := range []string{"t2", "t3"} {
		contains(t, p.result(5, call), "Agent(Explore)")
	}
}

func TestStreamJSONShowsWhatAgentsDoAndWhatCanBeCalled(t *testing.T) {
	p := newProduct(t, script.Say(script.Tool("t1", "Agent", `{"description":"a part","prompt":"look"}`)), say("well"))
	p.server.Route("look", script.Say(shell("c1", "true")), say("I looked"))
	command := filepath.Join(p.home(), ".claude", "commands", "ship.md")
	if err := os.MkdirAll(filepath.Dir(command), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(command, []byte("Ship it.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := p.done("--output-format", "stream-json", "go")
	contains(t, o.stdout, `"slash_commands":["ship"]`, `"agents":["general-purpose","Explore"]`)
	if n := strings.Count(o.stdout, `"parent_tool_use_id":"t1"`); n != 3 {
		t.Errorf("%d lines of the agent in\n%s", n, o.stdout)
	}
}

func TestAChildsConversationIsMadeShorterToo(t *testing.T) {
	p := newProduct(t, script.Say(script.Tool("t1", "Agent", `{"description":"a part","prompt":"Read it all"}`)), say("well"))
	p.server.Route("Read it all", reading(6, 1, func(round int) *script.Usage {
		if round == 3 {
			return &script.Usage{CacheRead: 16_500, Input: 50, Output: 9}
		}
		return &script.Usage{}
	}))
	p.files(6, strings.Repeat("four thousand bytes of it ", 154))
	p.env = append(p.env, "ONELOOP_CONTEXT_WINDOW=20000")
	p.done("go")
	if sums := p.summed(); len(sums) != 1 {
		t.Errorf("summaries were asked for in %v", sums)
	}
	last := len(p.server.Requests())
	contains(t, p.result(last, "t1"), "all done")
	if body := string(p.request(last).Body); strings.Contains(body, "SUM") {
		t.Errorf("the parent sees the child's summary: %.2000s", body)
	}
}

func TestAMessageWithAgentsAndWhatCannotBeRunIsAnsweredInOrder(t *testing.T) {
	agent := func(i int) script.Block {
		return script.Tool(fmt.Sprint("t", i), "Agent", fmt.Sprintf(`{"description":"a part","prompt":"part %d"}`, i))
	}
	p := newProduct(t, script.Say(agent(1), script.Tool("t2", "Agent", `{"prompt":`), script.Tool("t3", "NoSuchTool", `{}`), agent(4)), say("well"))
	p.server.Route("part 1", say("one"))
	p.server.Route("part 4", say("four"))
	p.done("go")
	last := len(p.server.Requests())
	for id, want := range map[string]string{"t1": "one", "t2": "", "t3": "no tool named", "t4": "four"} {
		contains(t, p.result(last, id), want)
	}
}
