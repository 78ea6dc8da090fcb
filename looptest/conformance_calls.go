package looptest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest/script"
)

var callLaws = []law{
	{"calls arrive whole and are answered", calls},
	{"calls beside each other keep apart", parallel},
	{"a call without arguments", noArguments},
	{"broken arguments are told and never run", brokenArguments},
	{"a call without an id gets one", missingIDs},
	{"no two calls have one id", sameIDs},
	{"a name that is none can go back", badName},
	{"a cut call is never run", cutCall},
}

// round sends a reply, answers its calls, and returns the reply and the
// request that brought both back.
func (b bench) round(t *testing.T, reply script.Reply, before ...*oneloop.Message) (*oneloop.Message, script.Request) {
	t.Helper()
	s, m := b.serve(t, reply, script.Say(script.Text("ok")))
	_, msg, err := generate(t.Context(), m, asking(before...))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := generate(t.Context(), m, asking(append(before, msg, results(msg))...)); err != nil {
		t.Fatalf("the calls and their results were refused: %v\n%s", err, s.Requests()[1].Body)
	}
	back := s.Requests()[1]
	matched(t, back)
	return msg, back
}

// matched compares the calls of the last reply in a request with the results
// after it: one for each, in order.
func matched(t *testing.T, r script.Request) {
	t.Helper()
	var calls []script.Content
	if n := len(r.Messages); n >= 2 {
		for _, c := range r.Messages[n-2].Content {
			if c.Type == "tool_use" {
				calls = append(calls, c)
			}
		}
	}
	answers := r.Results()
	if len(answers) != len(calls) {
		t.Fatalf("%d results for %d calls:\n%s", len(answers), len(calls), r.Body)
	}
	for i, a := range answers {
		if a.ID != calls[i].ID || !strings.Contains(a.FullText(), fmt.Sprint("result ", i)) {
			t.Errorf("call %d %q has the result of %q: %q", i, calls[i].ID, a.ID, a.FullText())
		}
	}
}

// inputs are the inputs of the calls of m, which it stopped to have run.
func inputs(t *testing.T, m *oneloop.Message) string {
	t.Helper()
	var out []string
	seen := map[string]bool{}
	for _, c := range m.ToolUses() {
		out = append(out, c.Name+string(c.Input))
		if c.ID == "" || seen[c.ID] {
			t.Errorf("the id %q is empty or taken", c.ID)
		}
		seen[c.ID] = true
		if c.Broken != "" {
			t.Errorf("call %s is broken: %s", c.ID, c.Broken)
		}
	}
	if m.Stop != oneloop.StopToolUse {
		t.Errorf("stop %q", m.Stop)
	}
	return strings.Join(out, " ")
}

const lsPwd = `Bash{"command":"ls -l"} Bash{"command":"pwd"}`

func calls(t *testing.T, b bench) {
	msg, _ := b.round(t, script.Say(script.Text("I look"), script.Tool("t1", "Bash", `{"command":"ls -l"}`)))
	if got := inputs(t, msg); got != `Bash{"command":"ls -l"}` || msg.Text() != "I look" {
		t.Errorf("text %q, calls %s", msg.Text(), got)
	}
	msg, _ = b.round(t, script.Say(script.ToolPieces("t1", "Bash", `{"command":"ls -l"}`), script.ToolPieces("t2", "Bash", `{"comm`, `and":"p`, `wd"}`)))
	if got := inputs(t, msg); got != lsPwd {
		t.Errorf("calls %s", got)
	}
	if !b.speaks().Traits.NoIDs && (msg.ToolUses()[0].ID != "t1" || msg.ToolUses()[1].ID != "t2") {
		t.Errorf("ids %q and %q are not the API's", msg.ToolUses()[0].ID, msg.ToolUses()[1].ID)
	}
}

func parallel(t *testing.T, b bench) {
	for _, interleave := range []bool{false, true} {
		if interleave && b.speaks().Traits.InOrder {
			continue
		}
		reply := script.Say(script.Tool("t1", "Bash", `{"command":"ls -l"}`), script.Tool("t2", "Bash", `{"command":"pwd"}`))
		reply.Interleave = interleave
		msg, _ := b.round(t, reply)
		if got := inputs(t, msg); got != lsPwd {
			t.Errorf("interleaved %v: calls %s", interleave, got)
		}
	}
}

func noArguments(t *testing.T, b bench) {
	for _, call := range []script.Block{script.Tool("t1", "Bash", ""), script.ToolPieces("t1", "Bash"), script.Tool("t1", "Bash", "{}")} {
		msg, _ := b.round(t, script.Say(call, script.Tool("t2", "Bash", `{"command":"pwd"}`)))
		if got := inputs(t, msg); got != `Bash{} Bash{"command":"pwd"}` {
			t.Errorf("calls %s", got)
		}
	}
}

func brokenArguments(t *testing.T, b bench) {
	for _, input := range []string{`{"command": "ls`, `["ls"]`, `"ls"`, `ls -l`} {
		msg, _ := b.round(t, script.Say(script.Text("x"), script.ToolPieces("t1", "Bash", input), script.Tool("t2", "Bash", `{"command":"pwd"}`)))
		uses := msg.ToolUses()
		if len(uses) != 2 || uses[0].Broken == "" || uses[1].Broken != "" || msg.Stop != oneloop.StopToolUse {
			t.Errorf("arguments %s: stop %q, calls %+v", input, msg.Stop, uses)
			continue
		}
		if in := uses[0].Input; !json.Valid(in) || in[0] != '{' {
			t.Errorf("arguments %s became %s", input, in)
		}
	}
}

func missingIDs(t *testing.T, b bench) {
	msg, _ := b.round(t, script.Say(script.Tool("", "Bash", `{"command":"ls -l"}`), script.Tool("", "Bash", `{"command":"pwd"}`)))
	if got := inputs(t, msg); got != lsPwd {
		t.Errorf("calls %s", got)
	}
}

func sameIDs(t *testing.T, b bench) {
	twice := script.Say(script.Tool("t1", "Bash", `{"command":"ls -l"}`), script.Tool("t1", "Bash", `{"command":"pwd"}`))
	if !b.speaks().Traits.InOrder { // else two with one id are one
		msg, _ := b.round(t, twice)
		if got := inputs(t, msg); got != lsPwd {
			t.Errorf("calls %s", got)
		}
	}
	first := Answer(Call("t1", "Bash", `{"command":"id"}`)).Message
	msg, _ := b.round(t, script.Say(script.Tool("t1", "Bash", `{"command":"pwd"}`)), first, results(first))
	if got := inputs(t, msg); got != `Bash{"command":"pwd"}` || msg.ToolUses()[0].ID == "t1" {
		t.Errorf("calls %s with the id %q", got, msg.ToolUses()[0].ID)
	}
}

func badName(t *testing.T, b bench) {
	for _, name := range []string{"Bash.run it", strings.Repeat("x", 70)} {
		msg, back := b.round(t, script.Say(script.Tool("t1", name, `{"command":"ls"}`)))
		uses := msg.ToolUses()
		if len(uses) != 1 || uses[0].Name == "Bash" || uses[0].Name == "" {
			t.Errorf("%s: calls %+v, back %s", name, uses, back.Body)
		}
	}
}

func cutCall(t *testing.T, b bench) {
	limit := script.Say(script.Text("x"), script.ToolPieces("t1", "Bash", `{"command":"rm -r bui`))
	limit.Stop = "max_tokens"
	if msg := b.ask(t, limit); msg.Stop != oneloop.StopMaxTokens {
		t.Errorf("stop is %q", msg.Stop)
	}
}
