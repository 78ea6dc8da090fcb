package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest/script"
	wrap "oneloop/model"
	"oneloop/model/anthropic"
	"oneloop/session"

	"pgregory.net/rapid"
)

// answers are what a server may say, in shapes that have made conversations
// unsendable. The n-th request of a conversation gets n, for names and ids.
var answers = map[string]func(n int) script.Reply{
	"text":            func(int) script.Reply { return script.Say(script.Text("fine")) },
	"text and spaces": func(int) script.Reply { return script.Say(script.Text("Done.\n\n  ")) },
	"nothing":         func(int) script.Reply { return script.Say() },
	"empty text":      func(int) script.Reply { return script.Say(script.Text("")) },
	"blank text":      func(int) script.Reply { return script.Say(script.Text("\n \n")) },
	"only thinking":   func(n int) script.Reply { return script.Say(thought(n)) },
	"unknown stop":    func(int) script.Reply { return stop("tired", script.Text("so"), script.Tool("u1", "T", `{}`)) },
	"sequence":        func(int) script.Reply { return stop("stop_sequence", script.Text("a")) },
	"call":            func(n int) script.Reply { return script.Say(thought(n), script.Text("look"), tool(n, 1)) },
	"thought between": func(n int) script.Reply {
		return script.Say(tool(n, 1), thought(n), script.Text("and now the other one"), tool(n, 2))
	},
	"silent call": func(n int) script.Reply { return script.Say(tool(n, 1)) },
	"three calls": func(n int) script.Reply { return script.Say(tool(n, 1), tool(n, 2), tool(n, 3)) },
	"taken ids": func(int) script.Reply {
		return script.Say(script.Tool("call_0", "T", `{}`), script.Tool("call_0", "T", `{}`))
	},
	"no id":        func(int) script.Reply { return script.Say(script.Tool("", "T", `{}`)) },
	"odd id":       func(int) script.Reply { return script.Say(script.Tool("T:0/北", "T", `{}`)) },
	"unknown tool": func(n int) script.Reply { return script.Say(script.Tool(id(n, 1), "no_such", `{}`), tool(n, 2)) },
	"odd name":     func(n int) script.Reply { return script.Say(script.Tool(id(n, 1), "T<|x|>json", `{}`)) },
	"no arguments": func(n int) script.Reply { return script.Say(script.ToolPieces(id(n, 1), "T")) },
	"broken": func(n int) script.Reply {
		return script.Say(script.Tool(id(n, 1), "T", `{"a":"b`), script.Tool(id(n, 2), "T", `[1]`), script.Tool(id(n, 3), "T", `null`))
	},
	"cut text":     func(n int) script.Reply { return stop("max_tokens", thought(n), script.Text("and so on ")) },
	"cut call":     func(n int) script.Reply { return stop("max_tokens", script.Text("I write"), tool(n, 1)) },
	"cut thinking": func(n int) script.Reply { return stop("max_tokens", thought(n)) },
	"full window":  func(int) script.Reply { return stop("model_context_window_exceeded", script.Text("and")) },
	"refusal":      func(n int) script.Reply { return stop("refusal", script.Text("I can"), tool(n, 1)) },
	"pause":        func(n int) script.Reply { return stop("pause_turn", script.Text("searching"), searching(n)) },
	"broken off": func(n int) script.Reply {
		return script.Reply{Blocks: []script.Block{script.Text("half"), tool(n, 1)}, Cut: &script.Cut{Events: 5}}
	},
	"error inside": func(int) script.Reply {
		return script.Reply{Blocks: []script.Block{script.Text("half")}, Error: &script.Error{Type: "overloaded_error", Message: "busy"}}
	},
	"overloaded": func(int) script.Reply { return script.Fail(529, "overloaded_error", "busy") },
	"page":       func(int) script.Reply { return script.HTML(http.StatusOK, "<p>hello") },
	"invalid":    func(int) script.Reply { return script.Fail(400, "invalid_request_error", "no") },
}

func id(n, i int) string         { return fmt.Sprintf("toolu_%d_%d", n, i) }
func tool(n, i int) script.Block { return script.Tool(id(n, i), "T", `{}`) }
func thought(n int) script.Block { return script.Thinking("hm", fmt.Sprint("sig", n)) }
func stop(why string, blocks ...script.Block) script.Reply {
	return script.Reply{Blocks: blocks, Stop: why}
}

func searching(n int) script.Block {
	return script.Raw(fmt.Appendf(nil, `{"type":"server_tool_use","id":"srvtoolu_%d","name":"web_search","input":{"query":"q"}}`, n))
}

// outcomes are what a tool may do.
var outcomes = []oneloop.ToolFunc{
	func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return oneloop.TextResult("r"), nil
	},
	func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return nil, nil
	},
	func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return oneloop.TextResult(" \n"), nil
	},
	func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return nil, errors.New("it broke; try something else")
	},
	func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) { panic("oh") },
	func(_ context.Context, _ *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return &oneloop.ToolResult{EndTurn: true, Content: []oneloop.Block{&oneloop.Text{Text: "over"}}}, nil
	},
}

// play is a server that gives the named answers in this order, and plain text
// from then on or once it is over.
func play(t interface{ Fatal(...any) }, names []string, over *atomic.Bool) *script.Server {
	var n atomic.Int64
	server := script.New(script.Reply{Repeat: true, React: func(script.Request) script.Reply {
		if i := int(n.Add(1)); i <= len(names) && !over.Load() {
			return answers[names[i-1]](i)
		}
		return script.Say(script.Text("ok"))
	}})
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	return server
}

// agent is a session over HTTP, with the wrappers a program uses.
func agent(t interface{ Fatal(...any) }, server *script.Server, run oneloop.ToolFunc) *session.Session {
	api, err := anthropic.New(anthropic.Config{BaseURL: server.URL(), Key: "k", Model: "claude-sonnet-4-6"})
	if err != nil {
		t.Fatal(err)
	}
	m := wrap.Retry(wrap.Pause(wrap.Stall(api, wrap.StallOptions{}), wrap.PauseOptions{Continuations: 2}),
		wrap.RetryOptions{Retries: 2, Delay: time.Microsecond})
	box := tools(run)
	box.Tools[0].Schema = json.RawMessage(`{"type":"object"}`)
	return &session.Session{Model: m, Tools: box, Inbox: new(session.Inbox),
		Transcript: &oneloop.History{Tools: box.Defs(), System: []oneloop.Block{&oneloop.Text{Text: "Be brief."}}}}
}

// known reports whether a turn may end with err: every end has a type.
func known(err error) bool {
	_, refused := errors.AsType[*oneloop.RefusedError](err)
	_, truncated := errors.AsType[*oneloop.TruncatedError](err)
	_, api := errors.AsType[*oneloop.APIError](err)
	return err == nil || refused || truncated || api || errors.Is(err, oneloop.ErrInterrupted)
}

func TestWhateverHappenedTheNextRequestIsAccepted(t *testing.T) {
	names := slices.Sorted(maps.Keys(answers))
	rapid.Check(t, func(t *rapid.T) {
		plan := rapid.SliceOfN(rapid.SampledFrom(names), 0, 8).Draw(t, "answers")
		does := rapid.SliceOfN(rapid.IntRange(0, len(outcomes)-1), 1, 6).Draw(t, "outcomes")
		var over atomic.Bool
		server := play(t, plan, &over)
		defer server.Close()
		var calls int
		s := agent(t, server, func(ctx context.Context, c *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
			calls++
			return outcomes[does[calls%len(does)]](ctx, c, emit)
		})
		for i := range rapid.IntRange(1, 4).Draw(t, "turns") {
			at := rapid.IntRange(0, 60).Draw(t, "interrupted at event")
			leave := rapid.Bool().Draw(t, "by leaving")
			if rapid.Bool().Draw(t, "steered") {
				s.Inbox.Put(session.When(rapid.IntRange(0, 2).Draw(t, "when")), text("also this"), text(" "))
			}
			if err := turnUntil(s, at, leave, fmt.Sprint("turn ", i)); !known(err) {
				t.Fatalf("the turn ended with %v", err)
			}
		}
		over.Store(true)
		if err := turnUntil(s, 0, false, "the last one"); err != nil {
			t.Fatalf("the last turn ended with %v", err)
		}
		for _, b := range server.Breaches() {
			t.Fatal(b)
		}
		grewOnly(t, server.Requests())
	})
}

// grewOnly checks that what was sent once is sent again as it was. A request
// that was interrupted may arrive after the next one, so their order is that
// of their length; those that carry the beginning of a reply at their end are
// left out.
func grewOnly(t *rapid.T, requests []script.Request) {
	size := func(r script.Request) (n int) {
		for _, m := range r.Messages {
			n += len(m.Content)
		}
		return n
	}
	requests = slices.DeleteFunc(requests, func(r script.Request) bool { return r.Last().Role != "user" })
	slices.SortStableFunc(requests, func(a, b script.Request) int { return size(a) - size(b) })
	var before []script.Message
	for i, r := range requests {
		if len(r.Messages) < len(before) {
			t.Fatalf("request %d left out %d messages", i+1, len(before)-len(r.Messages))
		}
		for k := range before {
			old, now := before[k], r.Messages[k]
			if old.Role != now.Role || len(old.Content) > len(now.Content) {
				t.Fatalf("request %d changed message %d", i+1, k)
			}
			for b := range old.Content {
				if old.Content[b].FullText() != now.Content[b].FullText() || old.Content[b].Type != now.Content[b].Type {
					t.Fatalf("request %d changed block %d of message %d", i+1, b, k)
				}
			}
		}
		before = r.Messages
	}
}

// turnUntil runs a turn and interrupts it at the event with this number, from
// 1, by its ctx or by leaving.
func turnUntil(s *session.Session, at int, leave bool, prompt string) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	n := 0
	for _, err := range s.Send(ctx, &oneloop.Text{Text: prompt}) {
		if err != nil {
			return err
		}
		if n++; n == at {
			if leave {
				break
			}
			cancel(oneloop.ErrInterrupted)
		}
	}
	return nil
}

func TestReasoningBehindADroppedCallIsDroppedWithIt(t *testing.T) {
	stuck := script.Say(script.Text("first"), tool(1, 1), thought(1), script.Text("then this"))
	stuck.Pauses = []script.Pause{{After: 18, For: script.Forever}} // in the middle of the last text
	server := script.New(stuck, script.Say(script.Text("ok")))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	s := agent(t, server, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for e := range s.Send(ctx, text("hi")) {
		if d, ok := e.(oneloop.TextDelta); ok && d.Text == "then" {
			cancel(oneloop.ErrInterrupted)
		}
	}
	if err := turnUntil(s, 0, false, "next"); err != nil {
		t.Fatal(err)
	}
	if got := server.Requests()[1].Messages[1].Text(); !strings.HasPrefix(got, "firstthen") {
		t.Errorf("of what was shown, %q is left", got)
	}
}
