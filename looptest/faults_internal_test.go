package looptest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/looptest/wires"
	"oneloop/model/anthropic"
	"oneloop/model/ollama"
)

const noFault = "does nothing wrong"

// fault is an error of an adapter, and the law that finds it.
type fault struct {
	name string
	law  func(*testing.T, bench)
	ask  func(*oneloop.Request)                                                   // what it does to a request
	emit func(oneloop.Event) oneloop.Event                                        // and to an event; nil: it is lost
	end  func(*oneloop.Message, error, []oneloop.Event) (*oneloop.Message, error) // and to what comes out
}

func faults() []fault {
	return []fault{
		{name: noFault, law: crosses},
		{name: "loses a delta", law: deltasAddUp, emit: func(e oneloop.Event) oneloop.Event {
			if d, ok := e.(oneloop.TextDelta); ok && strings.Contains(d.Text, "🌍") {
				return nil
			}
			return e
		}},
		{name: "tears a character", law: aText, end: changed(func(m *oneloop.Message) {
			for _, b := range m.Blocks {
				if t, ok := b.(*oneloop.Text); ok {
					t.Text = strings.ReplaceAll(t.Text, "你", "\ufffd")
				}
			}
		})},
		{name: "shows another text in pieces", law: splits, emit: func(e oneloop.Event) oneloop.Event {
			if r, ok := e.(oneloop.Received); ok && r.Bytes == 1 {
				return oneloop.TextDelta{Text: "."}
			}
			return e
		}},
		{name: "takes a cut for an end", law: prefixes, end: func(m *oneloop.Message, err error, _ []oneloop.Event) (*oneloop.Message, error) {
			if errors.Is(err, oneloop.ErrStreamCut) {
				return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn}, nil
			}
			return m, err
		}},
		{name: "leaves out reasoning", law: reasoning, ask: each(func(b oneloop.Block) oneloop.Block {
			if oneloop.Reasoning(b) {
				return nil
			}
			return b
		})},
		{name: "writes numbers anew", law: goesBack, ask: each(func(b oneloop.Block) oneloop.Block {
			c, ok := b.(*oneloop.ToolUse)
			var v any
			if !ok || json.Unmarshal(c.Input, &v) != nil {
				return b
			}
			input, err := json.Marshal(v)
			if err != nil {
				return b
			}
			return &oneloop.ToolUse{ID: c.ID, Name: c.Name, Input: input}
		})},
		{name: "loses images", law: imageResult, ask: each(func(b oneloop.Block) oneloop.Block {
			r, ok := b.(*oneloop.ToolResult)
			if !ok {
				return b
			}
			return &oneloop.ToolResult{ID: r.ID, Content: []oneloop.Block{&oneloop.Text{Text: r.Text() + "."}}}
		})},
		{name: "runs broken calls", law: brokenArguments, end: changed(func(m *oneloop.Message) {
			for _, c := range m.ToolUses() {
				c.Broken = ""
			}
		})},
		{name: "gives every call one id", law: missingIDs, end: changed(func(m *oneloop.Message) {
			for _, c := range m.ToolUses() {
				c.ID = "t1"
			}
		})},
		{name: "swaps calls", law: parallel, end: changed(func(m *oneloop.Message) { slices.Reverse(m.Blocks) })},
		{name: "invents usage", law: oddUsage, end: changed(func(m *oneloop.Message) { m.Usage.Reported = true })},
		{name: "forgets the cache", law: usage, end: changed(func(m *oneloop.Message) { m.Usage.CacheRead = 0 })},
		{name: "voids nothing", law: voids, emit: func(e oneloop.Event) oneloop.Event {
			if e.Kind() == oneloop.KindDiscard {
				return nil
			}
			return e
		}},
		{name: "knows one class", law: classes, end: func(m *oneloop.Message, err error, _ []oneloop.Event) (*oneloop.Message, error) {
			var api *oneloop.APIError
			if errors.As(err, &api) {
				api.Class = oneloop.ErrServer
			}
			return m, err
		}},
		{name: "never says when to come back", law: comeBack, end: func(m *oneloop.Message, err error, _ []oneloop.Event) (*oneloop.Message, error) {
			var api *oneloop.APIError
			if errors.As(err, &api) {
				api.RetryAfter = 0
			}
			return m, err
		}},
		{name: "keeps calls of a reply that was interrupted", law: interrupted, end: changed(func(m *oneloop.Message) {
			if m.Stop == oneloop.StopInterrupted {
				m.Blocks = append(m.Blocks, Call("t1", "Bash", "{}"))
			}
		})},
		{name: "tells the time", law: onlyGrows, ask: func(r *oneloop.Request) {
			r.System = []oneloop.Block{&oneloop.Text{Text: "be brief at " + strings.Repeat("I", len(r.Messages))}}
		}},
		{name: "asks for no limit", law: wholeRequest, ask: func(r *oneloop.Request) { r.Params.MaxTokens = 0 }},
		{name: "tells of no failure", law: crosses, ask: each(func(b oneloop.Block) oneloop.Block {
			r, ok := b.(*oneloop.ToolResult)
			if !ok {
				return b
			}
			return &oneloop.ToolResult{ID: r.ID, Content: r.Content}
		})},
		{name: "loses a text of another API", law: crosses, ask: func(r *oneloop.Request) {
			each(func(b oneloop.Block) oneloop.Block {
				if t, ok := b.(*oneloop.Text); ok && t.Text == "B looks" {
					return nil
				}
				return b
			})(r)
		}},
	}
}

// crosses is a crossing to an adapter without a fault.
func crosses(t *testing.T, b bench) {
	TestCrossing(t, b.Subject, Subject{
		Wire: func() *script.Wire { return wires.Ollama(wires.OllamaServer{}) },
		Open: func(t testing.TB, url string) oneloop.Model {
			m, err := ollama.New(ollama.Config{BaseURL: url, Key: Key, Model: "scripted-model"})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
	})
}

func changed(change func(*oneloop.Message)) func(*oneloop.Message, error, []oneloop.Event) (*oneloop.Message, error) {
	return func(m *oneloop.Message, err error, _ []oneloop.Event) (*oneloop.Message, error) {
		if m != nil {
			change(m)
		}
		return m, err
	}
}

// each changes every block of a request; nil leaves one out.
func each(change func(oneloop.Block) oneloop.Block) func(*oneloop.Request) {
	return func(r *oneloop.Request) {
		var msgs []*oneloop.Message
		for _, m := range r.Messages {
			other := *m
			other.Blocks = nil
			for _, b := range m.Blocks {
				if b = change(b); b != nil {
					other.Blocks = append(other.Blocks, b)
				}
			}
			msgs = append(msgs, &other)
		}
		r.Messages = msgs
	}
}

// wrap gives an adapter the fault.
func (f fault) wrap(m oneloop.Model) oneloop.Model {
	return oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		asked := *req
		if f.ask != nil {
			f.ask(&asked)
		}
		var events []oneloop.Event
		msg, err := m.Generate(ctx, &asked, func(e oneloop.Event) {
			if f.emit != nil {
				e = f.emit(e)
			}
			if e != nil {
				events = append(events, e)
				emit(e)
			}
		})
		if f.end != nil {
			return f.end(msg, err, events)
		}
		return msg, err
	})
}

const faulty = "LOOPTEST_FAULTY"

func TestFaultsOfAdaptersAreFound(t *testing.T) {
	if os.Getenv(faulty) != "" {
		for _, f := range faults() {
			t.Run(f.name, func(t *testing.T) {
				f.law(t, bench{Subject{Open: func(t testing.TB, url string) oneloop.Model {
					m, err := anthropic.New(anthropic.Config{BaseURL: url, Key: Key, Model: "claude-sonnet-5"})
					if err != nil {
						t.Fatal(err)
					}
					return f.wrap(m)
				}}})
			})
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestFaultsOfAdaptersAreFound$", "-test.v")
	cmd.Env = append(os.Environ(), faulty+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err == nil {
		t.Errorf("no fault was found")
	}
	for _, f := range faults() {
		verdict := "--- FAIL"
		if f.name == noFault {
			verdict = "--- PASS"
		}
		if !strings.Contains(out.String(), verdict+": TestFaultsOfAdaptersAreFound/"+strings.ReplaceAll(f.name, " ", "_")) {
			t.Errorf("of an adapter that %s the verdict is not %s", f.name, verdict)
		}
	}
	if t.Failed() {
		t.Logf("%s", out.Bytes())
	}
}
