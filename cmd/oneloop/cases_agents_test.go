//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"oneloop/looptest/script"
)

// asks is a call of Agent.
func asks(id, prompt string, more ...string) script.Block {
	return script.Tool(id, "Agent", fmt.Sprintf(`{"description":"a part","prompt":%q%s}`, prompt, strings.Join(more, "")))
}

// hasAgents reports whether whoever asks is offered agents.
func hasAgents(r script.Request) bool {
	for _, d := range r.Tools {
		if d.Name == "Agent" {
			return true
		}
	}
	return false
}

// three answers everybody who has agents with three calls of them.
func three(r script.Request) script.Reply {
	if !hasAgents(r) {
		return say("ok")
	}
	id := fmt.Sprint("r", r.N)
	return script.Say(asks(id+"a", "part "+id+"a"), asks(id+"b", "part "+id+"b"), asks(id+"c", "part "+id+"c"))
}

func TestCaseSub01AnAgentThatStartsOthersForEverIsStopped(t *testing.T) {
	p := newProduct(t, script.Reply{Repeat: true, React: three})
	o := p.run("do it all")
	requests := p.server.Requests()
	if n := len(requests); o.code != exitLimit || n >= 20 {
		t.Errorf("exit code %d after %d requests\n%s", o.code, n, o.stderr)
	}
	contains(t, o.stderr, "the limit on agents is reached: 12 of 12 in one turn")
	var last script.Request
	for _, r := range requests {
		if hasAgents(r) {
			last = r
		}
	}
	for _, r := range last.Results() {
		if !r.IsError {
			t.Error("a refusal is no error")
		}
		contains(t, r.FullText(), "No agent was started", "12 in one turn", "say what is left")
	}
	p.census()
}

func TestCaseSub01AgentsThatMayStartAgentsAreStoppedTogether(t *testing.T) {
	p := newProduct(t, script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		reply := three(r)
		for i := range 3 {
			if id := fmt.Sprint("r", r.N, i); hasAgents(r) {
				reply.Blocks[i] = asks(id, "part "+id, `,"subagent_type":"lead"`)
			}
		}
		return reply
	}})
	p.define("lead", "---\ntools: Agent\n---\n")
	o := p.run("do it all")
	if n := len(p.server.Requests()); o.code != exitLimit || n > 40 {
		t.Errorf("exit code %d after %d requests\n%s", o.code, n, o.stderr)
	}
	p.census()
}

func TestCaseSub01AnInterruptReachesAllAgents(t *testing.T) {
	var children atomic.Int64
	all := make(chan struct{})
	p := newProduct(t, script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		if hasAgents(r) {
			return three(r)
		}
		if children.Add(1) == 3 {
			close(all)
		}
		slow := say("ok")
		slow.Wait = script.Forever
		return slow
	}})
	cmd := exec.Command(p.bin, "do it all")
	cmd.Dir, cmd.Env = p.dir, p.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-all:
	case <-time.After(30 * time.Second):
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatal("the three were not started")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupt && code != -1 { // -1: by the signal
		t.Errorf("exit code %d", code)
	}
	if n := len(p.server.Requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
	p.census()
}

func TestCaseSub03EveryChildEndsWithAResultThatSaysHow(t *testing.T) {
	broken := script.Reply{Repeat: true, React: func(script.Request) script.Reply {
		return script.Reply{Blocks: []script.Block{script.Text("half of it")}, Cut: &script.Cut{Events: 2}}
	}}
	cases := []struct {
		name    string
		replies []script.Reply
		want    []string
	}{
		{"empty", []script.Reply{script.Say()}, []string{"gave no result", "ended without an answer"}},
		{"cut", []script.Reply{{Repeat: true, React: func(script.Request) script.Reply {
			return script.Reply{Blocks: []script.Block{script.Text("a long story")}, Stop: "max_tokens"}
		}}}, []string{"was cut", "output limit", "a long story"}},
		{"refusal", []script.Reply{{Stop: "refusal", StopDetails: json.RawMessage(`{"type":"refusal","category":"cyber","explanation":"no"}`)}}, []string{"was refused", "cyber"}},
		{"reset", []script.Reply{broken}, []string{"failed"}},
		{"limit", []script.Reply{circling("echo same")}, []string{"was stopped", "repetition"}},
		{"fine", []script.Reply{say("well done")}, []string{"well done"}},
	}
	var calls []script.Block
	for _, c := range cases {
		calls = append(calls, asks("call_"+c.name, "task "+c.name))
	}
	p := newProduct(t, script.Say(calls...), say("all are back"))
	p.env = append(p.env, "ONELOOP_MAX_RETRIES=1")
	for _, c := range cases {
		p.server.Route("task "+c.name, c.replies...)
	}
	if o := p.done("go"); o.stdout != "all are back\n" {
		t.Errorf("%q %s", o.stdout, o.stderr)
	}
	requests := p.server.Requests()
	last := requests[len(requests)-1]
	for _, c := range cases {
		r, ok := last.Result("call_" + c.name)
		if !ok || r.IsError == (c.name == "fine") {
			t.Errorf("%s: an error: %v", c.name, r.IsError)
		}
		contains(t, r.FullText(), append(c.want, "[agent session 20")...)
	}
	p.census()
}

var agentSession = regexp.MustCompile(`\[agent session ([0-9TZa-f-]+); resume`)

func TestAnAgentCanBeGoneOnWith(t *testing.T) {
	p := newProduct(t, script.Say(asks("t1", "look around")), say("it looked"))
	p.server.Route("look around", say("two files"), say("the second is longer"), say("I was asked twice"))
	p.done("go")
	told, _ := p.server.Requests()[2].Result("t1")
	id := agentSession.FindStringSubmatch(told.FullText())
	if id == nil {
		t.Fatalf("no session is named in %q", told.FullText())
	}
	p.server.Add(script.Say(asks("t2", "which is longer?", `,"resume":"`+id[1]+`"`)), script.Say(asks("t3", "what?", `,"resume":"20200101T000000-00000000"`)), say("the second"))
	p.done("-c", "and then?")
	requests := p.server.Requests()
	child := requests[4]
	if child.FirstText() != "look around" || child.Last().Text() != "which is longer?" || len(child.Messages) != 3 || child.SystemText() != requests[1].SystemText() {
		t.Errorf("it goes on with %d messages, the last %q", len(child.Messages), child.Last().Text())
	}
	again, _ := requests[5].Result("t2")
	contains(t, again.FullText(), "the second is longer", id[1])
	unknown, _ := requests[6].Result("t3")
	contains(t, unknown.FullText(), "was not started", "no agent of this conversation")
	// Another conversation cannot.
	p.server.Add(script.Say(asks("t4", "go on", `,"resume":"`+id[1]+`"`)), say("well"))
	p.done("a conversation of its own")
	contains(t, p.result(9, "t4"), "was not started", "no agent of this conversation")
	// A person can, too.
	if o := p.done("-r", id[1], "how often?"); o.stdout != "I was asked twice\n" {
		t.Errorf("%q", o.stdout)
	}
	if n := len(p.request(10).Messages); n != 5 {
		t.Errorf("the person's request has %d messages", n)
	}
}

func TestWhatASessionCostBeforeCountsForItsLimit(t *testing.T) {
	p := newProduct(t, script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		reply := say("ok")
		reply.Usage = &script.Usage{Input: 10, Output: 60_000} // 0.6 dollars
		return reply
	}})
	p.done("--model", "claude-sonnet-5", "--max-cost", "1", "first")
	p.done("--model", "claude-sonnet-5", "--max-cost", "1", "-c", "second")
	o := p.run("--model", "claude-sonnet-5", "--max-cost", "1", "-c", "third")
	if o.code != exitLimit || len(p.server.Requests()) != 2 {
		t.Errorf("exit code %d after %d requests", o.code, len(p.server.Requests()))
	}
	contains(t, o.stderr, "$1.20 of $1.00")
	p.done("--model", "claude-sonnet-5", "--max-cost", "1", "a new one")
}

func TestAModelWithoutAPriceIsNoChildsUnderALimitOnCost(t *testing.T) {
	p := newProduct(t, script.Say(asks("t1", "look", `,"model":"nobody-knows-it"`), asks("t2", "look", `,"effort":"extreme"`)), say("well"))
	p.done("--max-cost", "5", "go")
	if n := len(p.server.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	contains(t, p.result(2, "t1"), "was not started", `price of model "nobody-knows-it" is not known`)
	contains(t, p.result(2, "t2"), "was not started", `no effort "extreme", only low`)
}

// define writes a definition of an agent.
func (p *product) define(name, text string) {
	p.t.Helper()
	dir := filepath.Join(p.home(), ".config/oneloop/agents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func TestWhatADefinitionTakesAwayNoAgentBelowGetsBack(t *testing.T) {
	p := newProduct(t, script.Say(asks("t1", "lead", `,"subagent_type":"lead"`)), say("well"))
	p.define("lead", "---\ntools: Bash, Read, Agent\ndisallowedTools: Read\n---\n")
	p.server.Route("lead", script.Say(asks("t2", "by a tool", `,"subagent_type":"general-purpose"`)), script.Say(shell("t3", "oneloop 'by a command'")), say("well"))
	for _, task := range []string{"by a tool", "by a command"} {
		p.server.Route(task, script.Reply{React: func(r script.Request) script.Reply {
			if len(r.Tools) != 1 || r.Tools[0].Name != "Bash" {
				t.Errorf("%s: %d tools", task, len(r.Tools))
			}
			return say("done")
		}})
	}
	p.done("go")
	if n := len(p.server.Requests()); n != 7 {
		t.Errorf("%d requests", n)
	}
}

func TestADefinitionLimitsTheTurnsOfItsAgents(t *testing.T) {
	p := newProduct(t, script.Say(asks("t1", "for ever", `,"subagent_type":"short"`)), say("well"))
	p.server.Route("for ever", script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		return script.Say(script.Text("not yet"), shell(fmt.Sprint("c", r.N), fmt.Sprint("echo ", r.N)))
	}})
	p.define("short", "---\nmaxTurns: 3\ntools: Bash, Read\n---\nYou are short.\n")
	p.done("--permission-mode", "bypassPermissions", "--system-prompt", "You are long.", "go")
	if main, child := p.request(1).SystemText(), p.request(2).SystemText(); main != "You are long." || !strings.HasPrefix(child, "You are short.") {
		t.Errorf("the prompts are %q and %q", main, child)
	}
	if n := len(p.server.Requests()); n != 5 {
		t.Errorf("%d requests", n)
	}
	told := p.result(5, "t1")
	contains(t, told, "was stopped: the limit on turns is reached: 3 of 3", "not yet")
	// A person who goes on with it has the same agent.
	p.run("--permission-mode", "bypassPermissions", "--max-turns", "1", "-r", agentSession.FindStringSubmatch(told)[1], "and now?")
	if r := p.request(6); r.SystemText() != p.request(2).SystemText() || len(r.Tools) != 2 {
		t.Errorf("it has %d tools and the prompt %q", len(r.Tools), r.SystemText())
	}
}

func TestAnAgentWhoseProgramWasKilledCanBeGoneOnWith(t *testing.T) {
	begun := make(chan struct{})
	dear := func(r script.Reply) script.Reply {
		r.Usage = &script.Usage{Input: 10, Output: 60_000} // 0.6 dollars
		return r
	}
	p := newProduct(t, dear(script.Say(asks("t1", "look around"))), script.Reply{React: func(r script.Request) script.Reply {
		id := regexp.MustCompile(`agent session ([0-9TZa-f-]+)`).FindSubmatch(r.Body)
		return script.Say(asks("t2", "go on", `,"resume":"`+string(id[1])+`"`))
	}}, say("it saw all"))
	slow := say("too late")
	slow.Wait = script.Forever
	p.server.Route("look around", dear(script.Say(script.Text("I see"), shell("c1", "echo seen"))), script.Reply{React: func(script.Request) script.Reply {
		close(begun)
		return slow
	}}, say("I saw all"))
	cmd := exec.Command(p.bin, "--model", "claude-sonnet-5", "--permission-mode", "bypassPermissions", "go")
	cmd.Dir, cmd.Env = p.dir, p.env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-begun:
	case <-time.After(30 * time.Second):
		t.Error("the child did not come to its second request")
	}
	cmd.Process.Kill()
	cmd.Wait()
	if t.Failed() {
		return
	}
	// What the child cost counts, though its parent had no reply after it.
	o := p.run("--model", "claude-sonnet-5", "--max-cost", "1", "-c", "what became of it?")
	if n := len(p.server.Requests()); o.code != exitLimit || n != 3 {
		t.Errorf("exit code %d after %d requests", o.code, n)
	}
	contains(t, o.stderr, "$1.20 of $1.00")
	p.done("-c", "what became of it?")
	told, _ := p.server.Requests()[3].Result("t1")
	contains(t, told.FullText(), "outcome unknown", "agent session 20")
}

func TestAnAgentOfAnotherModelIsNotAskedForAnEffortThatItDoesNotKnow(t *testing.T) {
	p := newProduct(t, script.Say(asks("t1", "look", `,"model":"claude-sonnet-4-6"`)), say("well"))
	p.server.Route("look", say("I looked"))
	p.done("--model", "claude-opus-4-8", "--effort", "xhigh", "go")
	contains(t, p.result(3, "t1"), "I looked")
}

func TestNoLinkLeadsToDefinitionsOutOfTheFolder(t *testing.T) {
	p := newProduct(t, say("ok"))
	out := t.TempDir()
	for name, text := range map[string]string{
		filepath.Join(out, "a.md"):                         "---\ndescription: lies elsewhere\n---\n",
		filepath.Join(p.dir, ".oneloop", "agents", "b.md"): "---\ndescription: lies here\n---\n",
		filepath.Join(p.dir, ".claude", "settings.json"):   "{}",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(out, filepath.Join(p.dir, ".claude", "agents")); err != nil {
		t.Fatal(err)
	}
	o := p.done("--trust", "go")
	contains(t, string(p.request(1).Body), "lies here")
	lacks(t, string(p.request(1).Body), "lies elsewhere")
	contains(t, o.stderr, "the agents in .claude/agents are not read")
}

func TestAnAgentThatIsAtWorkIsNotGoneOnWith(t *testing.T) {
	p := newProduct(t, script.Say(asks("t1", "work", `,"subagent_type":"lead"`)), script.Reply{React: func(r script.Request) script.Reply {
		told, _ := r.Result("t1")
		id := agentSession.FindStringSubmatch(told.FullText())[1]
		return script.Say(asks("t2", id, `,"resume":"`+id+`"`))
	}}, say("well"))
	p.define("lead", "---\ntools: Agent\n---\n")
	p.server.Route("work", say("I worked"), script.Reply{React: func(r script.Request) script.Reply {
		return script.Say(asks("t3", "more", `,"resume":"`+r.Last().Text()+`"`)) // with itself
	}}, say("I did not"))
	p.done("go")
	told := p.result(5, "t3")
	contains(t, told, "was not started", "is at work. Wait for its answer")
	lacks(t, told, "--fork")
}
