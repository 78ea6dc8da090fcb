package team_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"oneloop"
	"oneloop/session"
	"oneloop/team"

	"pgregory.net/rapid"
)

// agents are those of an agent whose children do what run says.
func agents(o team.Options, a team.AgentOptions) *team.Agents {
	a.Broker = func() (*team.Broker, error) { return team.NewBroker(o), nil }
	return team.NewAgents(a)
}

// calls answers calls of Agent with these inputs.
func calls(t *testing.T, box *oneloop.Toolbox, inputs ...string) []*oneloop.ToolResult {
	t.Helper()
	var uses []*oneloop.ToolUse
	for i, in := range inputs {
		uses = append(uses, &oneloop.ToolUse{ID: fmt.Sprint("c", i), Name: "Agent", Input: json.RawMessage(in)})
	}
	var results []*oneloop.ToolResult
	for _, b := range box.Run(t.Context(), uses, nil).Blocks {
		results = append(results, b.(*oneloop.ToolResult))
	}
	return results
}

func TestEveryEndOfAChildIsToldInWords(t *testing.T) {
	for name, c := range map[string]struct {
		said string
		err  error
		want []string
		fine bool
	}{
		"done":        {said: "two files", want: []string{"two files"}, fine: true},
		"empty":       {want: []string{"gave no result", "without an answer", "said nothing"}},
		"refused":     {said: "half", err: &oneloop.RefusedError{Category: "cyber"}, want: []string{"was refused", "cyber", "half"}},
		"cut":         {said: "half", err: &oneloop.TruncatedError{Stop: oneloop.StopMaxTokens}, want: []string{"was cut", "output limit", "half"}},
		"limit":       {said: "half", err: &oneloop.LimitError{What: "turns", Limit: "3", Used: "3"}, want: []string{"was stopped", "turns", "3 of 3", "half"}},
		"network":     {err: &oneloop.APIError{Class: oneloop.ErrNetwork}, want: []string{"failed", "could not be reached"}},
		"interrupted": {said: "half", err: oneloop.ErrInterrupted, want: []string{"was interrupted", "half"}},
		"panic":       {err: errors.New("panic"), want: []string{"failed", "broke down", "oh"}},
		"not started": {err: &team.NotStarted{Err: errors.New("no such model")}, want: []string{"not started", "no such model"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := agents(team.Options{Run: func(context.Context, team.Task, func(oneloop.Event)) (string, error) {
				if name == "panic" {
					panic("oh")
				}
				return c.said, c.err
			}}, team.AgentOptions{})
			r := calls(t, &oneloop.Toolbox{Tools: []oneloop.Tool{a.Tool()}}, `{"description":"look","prompt":"look around"}`)[0]
			var text strings.Builder
			for _, b := range r.Content {
				text.WriteString(b.(*oneloop.Text).Text + "\n")
			}
			for _, w := range c.want {
				if !strings.Contains(text.String(), w) {
					t.Errorf("%q is missing in %q", w, &text)
				}
			}
			if r.IsError == c.fine || strings.Contains(text.String(), "[agent session 2") == (name == "not started") {
				t.Errorf("an error: %v; %q", r.IsError, &text)
			}
		})
	}
}

func TestACallThatCannotBeAChildStartsNone(t *testing.T) {
	a := agents(team.Options{Run: func(context.Context, team.Task, func(oneloop.Event)) (string, error) {
		t.Error("a child was started")
		return "", nil
	}}, team.AgentOptions{Kinds: []team.Kind{{Name: "reviewer", Description: "reads changes"}}})
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{a.Tool()}}
	for in, want := range map[string]string{
		`{"prompt":" "}`: "blank",
		`{"prompt":"x","subagent_type":"nobody"}`:    `no agent of type "nobody"`,
		`{"prompt":"x","isolation":"worktree"}`:      "isolation",
		`{"description":"x"}`:                        "prompt",
		`{"prompt":"x","subagent_type":"Reviewer"}`:  "The types are: reviewer",
		`{"prompt":"x","run_in_background":"maybe"}`: "run_in_background",
	} {
		if r := calls(t, box, in)[0]; !r.IsError || !strings.Contains(r.Text(), want) {
			t.Errorf("%s: told is %q", in, r.Text())
		}
	}
}

func TestAChildGetsWhatItsCallAsksFor(t *testing.T) {
	var got team.Task
	var events []oneloop.Event
	a := agents(team.Options{Root: "/work", Run: func(_ context.Context, task team.Task, emit func(oneloop.Event)) (string, error) {
		got = task
		emit(oneloop.Notice{Text: "here"})
		return "ok", nil
	}}, team.AgentOptions{Kinds: []team.Kind{{Name: "reviewer", Description: "reads changes"}}})
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{a.Tool()}, Aliases: team.Aliases()}
	run := func(name, in string) {
		t.Helper()
		events = nil
		box.Run(t.Context(), []*oneloop.ToolUse{{ID: "c1", Name: name, Input: json.RawMessage(in)}}, func(e oneloop.Event) { events = append(events, e) })
	}
	run("Agent", `{"description":"Review it","prompt":"read the change","subagent_type":"reviewer","model":"haiku","effort":"low"}`)
	if got.Prompt != "read the change" || got.Title != "Review it" || got.Type != "reviewer" || got.Model != "haiku" || got.Effort != "low" ||
		got.Call != "c1" || got.Dir != "/work" || got.Depth != 1 || got.Agent != "/1" || got.Resume || got.Session == "" || got.Share != team.DefaultLive+1 {
		t.Errorf("it got %+v", got)
	}
	start := oneloop.ChildStart{Agent: "/1", Prompt: "read the change", Title: "Review it", Type: "reviewer", Session: got.Session, Call: "c1"}
	if len(events) != 6 || events[2] != start || events[3] != (oneloop.Child{Agent: "1", Event: oneloop.Notice{Text: "here"}}) || events[4] != (oneloop.ChildEnd{Agent: "/1"}) {
		t.Errorf("the events were %+v", events)
	}
	run("task", `{"prompt":"look","agent_type":"reviewer"}`)
	if got.Prompt != "look" || got.Title != "look" || got.Type != "reviewer" || got.Agent != "/2" {
		t.Errorf("by task it got %+v", got)
	}
	run("task", `{"description":"all of it"}`)
	if got.Prompt != "all of it" {
		t.Errorf("by a description alone it got %+v", got)
	}
	run("Agent", `{"prompt":"go on","resume":"20261130T000000-00000000"}`)
	if !got.Resume || got.Session != "20261130T000000-00000000" {
		t.Errorf("gone on with was %+v", got)
	}
}

func TestMoreCallsThanMayRunAtOnceWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var live, most atomic.Int64
		hold := make(chan struct{})
		a := agents(team.Options{Tree: &team.Tree{MaxLive: 3}, Run: func(context.Context, team.Task, func(oneloop.Event)) (string, error) {
			most.Store(max(most.Load(), live.Add(1)))
			<-hold
			live.Add(-1)
			return "ok", nil
		}}, team.AgentOptions{})
		var inputs []string
		for i := range 10 {
			inputs = append(inputs, fmt.Sprintf(`{"prompt":"part %d"}`, i))
		}
		go func() {
			synctest.Wait()
			close(hold)
		}()
		for i, r := range calls(t, &oneloop.Toolbox{Tools: []oneloop.Tool{a.Tool()}}, inputs...) {
			if r.IsError {
				t.Errorf("call %d: %s", i, r.Text())
			}
		}
		if most.Load() != 3 {
			t.Errorf("%d ran at once", most.Load())
		}
	})
}

// spawning is a model that calls Agent so many times in every reply until
// enough have been made, and then says that it is done.
func spawning(each, enough int) oneloop.Model {
	n := 0
	return oneloop.ModelFunc(func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
		m := &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopToolUse}
		if n >= enough {
			n, m.Stop, m.Blocks = 0, oneloop.StopEndTurn, []oneloop.Block{&oneloop.Text{Text: "done"}}
			return m, nil
		}
		for range each {
			n++
			m.Blocks = append(m.Blocks, &oneloop.ToolUse{ID: fmt.Sprint("c", n), Name: "Agent", Input: json.RawMessage(fmt.Sprintf(`{"prompt":"part %d"}`, n))})
		}
		return m, nil
	})
}

func TestAnAgentThatStartsOthersForEverIsStopped(t *testing.T) {
	for name, c := range map[string]struct {
		tree    *team.Tree
		perTurn int
		started int64
		word    string
	}{
		"in a turn": {started: 12, word: "the limit on agents is reached: 12 of 12 in one turn"},
		"in all":    {tree: &team.Tree{MaxTotal: 5}, perTurn: 100, started: 5, word: "5 of 5 in all"},
		"in depth":  {tree: &team.Tree{MaxDepth: -1}, word: "the limit on depth is reached: 0 of 0"},
	} {
		t.Run(name, func(t *testing.T) {
			var started, replies atomic.Int64
			a := agents(team.Options{Tree: c.tree, Run: func(context.Context, team.Task, func(oneloop.Event)) (string, error) {
				started.Add(1)
				return "ok", nil
			}}, team.AgentOptions{PerTurn: c.perTurn})
			inner := a.Model(spawning(3, 1000))
			s := &session.Session{Tools: &oneloop.Toolbox{Tools: []oneloop.Tool{a.Tool()}},
				Model: oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
					replies.Add(1)
					return inner.Generate(ctx, req, emit)
				})}
			notices, limits := 0, 0
			err := s.Turn(t.Context(), func(e oneloop.Event) {
				switch e.(type) {
				case oneloop.Notice:
					notices++
				case oneloop.Limited:
					limits++
				}
			}, &oneloop.Text{Text: "go"})
			if notices != 1 || limits != 1 {
				t.Errorf("it was said %d times that an agent was not started, and %d times that the limit is reached", notices, limits)
			}
			if l := new(oneloop.LimitError); !errors.As(err, &l) || !strings.Contains(err.Error(), c.word) {
				t.Errorf("it ended with %v", err)
			}
			if started.Load() != c.started || replies.Load() > 6 || replies.Load()+started.Load() >= 20 {
				t.Errorf("%d were started with %d replies", started.Load(), replies.Load())
			}
		})
	}
}

func TestANewPromptMayStartAgentsAgain(t *testing.T) {
	var started atomic.Int64
	a := agents(team.Options{Run: func(context.Context, team.Task, func(oneloop.Event)) (string, error) {
		started.Add(1)
		return "ok", nil
	}}, team.AgentOptions{PerTurn: 4})
	s := &session.Session{Model: a.Model(spawning(2, 4)), Tools: &oneloop.Toolbox{Tools: []oneloop.Tool{a.Tool()}}}
	for range 3 {
		if err := s.Turn(t.Context(), nil, &oneloop.Text{Text: "go"}); err != nil {
			t.Fatal(err)
		}
	}
	if started.Load() != 12 {
		t.Errorf("%d were started", started.Load())
	}
}

func TestAStuckChildTakesNothingFromTheOthers(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	var others sync.WaitGroup // all are at work
	others.Add(3)
	a := agents(team.Options{Run: func(ctx context.Context, task team.Task, _ func(oneloop.Event)) (string, error) {
		others.Done()
		if task.Prompt != "stuck" {
			return "did " + task.Prompt, nil
		}
		<-ctx.Done()
		return "I was waiting", context.Cause(ctx)
	}}, team.AgentOptions{})
	go func() {
		others.Wait()
		stop(oneloop.ErrInterrupted)
	}()
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{a.Tool()}}
	var uses []*oneloop.ToolUse
	for i, p := range []string{"one", "stuck", "two"} {
		uses = append(uses, &oneloop.ToolUse{ID: fmt.Sprint("c", i), Name: "Agent", Input: json.RawMessage(fmt.Sprintf(`{"prompt":%q}`, p))})
	}
	m := box.Run(ctx, uses, nil)
	for i, want := range []string{"did one", "was interrupted: interrupted. What it had said:\nI was waiting", "did two"} {
		if r := m.Blocks[i].(*oneloop.ToolResult); !strings.Contains(r.Text(), want) {
			t.Errorf("call %d: %q", i, r.Text())
		}
	}
}

func TestTheToolIsSmallAndNamesItsTypes(t *testing.T) {
	size := func(d oneloop.ToolDef) int {
		text, err := json.Marshal(map[string]any{"name": d.Name, "description": d.Description, "input_schema": d.Schema})
		if err != nil {
			t.Fatal(err)
		}
		return len(text)
	}
	if d := agents(team.Options{}, team.AgentOptions{Kinds: []team.Kind{{Name: "Explore"}}}).Tool().ToolDef; size(d) > 380 || strings.Contains(string(d.Schema), "subagent_type") {
		t.Errorf("%d bytes: %s %s", size(d), d.Description, d.Schema)
	}
	d := agents(team.Options{}, team.AgentOptions{Kinds: []team.Kind{{Name: "reviewer", Description: "reads changes"}}}).Tool().ToolDef
	if !strings.HasSuffix(d.Description, "\n- reviewer: reads changes") || !strings.Contains(string(d.Schema), "subagent_type") {
		t.Errorf("%s %s", d.Description, d.Schema)
	}
}

func TestALongAnswerIsHandedOnByItsEnds(t *testing.T) {
	a := agents(team.Options{Run: func(context.Context, team.Task, func(oneloop.Event)) (string, error) {
		return "first" + strings.Repeat("é", 100_000) + "last", nil
	}}, team.AgentOptions{})
	r := calls(t, &oneloop.Toolbox{Tools: []oneloop.Tool{a.Tool()}}, `{"prompt":"x"}`)[0]
	text := r.Content[0].(*oneloop.Text).Text
	if len(text) > 49_000 || !strings.HasPrefix(text, "firsté") || !strings.HasSuffix(text, "élast") || !strings.Contains(text, "bytes are left out") {
		t.Errorf("%d bytes: %.20s", len(text), text)
	}
}

func TestNoOrderOfComingAndGoingPassesTheLimitsOfATree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := &team.Tree{MaxDepth: rapid.IntRange(1, 4).Draw(t, "depth"), MaxLive: rapid.IntRange(1, 5).Draw(t, "live"), MaxTotal: rapid.IntRange(1, 30).Draw(t, "total")}
		var leave []func()
		var since int // children that came since the tree was renewed, or were there
		t.Repeat(map[string]func(*rapid.T){
			"come": func(t *rapid.T) {
				depth := rapid.IntRange(1, 5).Draw(t, "at depth")
				gone, err := tree.Take(depth)
				fits := depth <= tree.MaxDepth && since < tree.MaxTotal && len(leave) < tree.MaxLive
				if (err == nil) != fits {
					t.Fatalf("at depth %d with %d of %d there: %v", depth, len(leave), since, err)
				}
				if err == nil {
					leave, since = append(leave, gone), since+1
				}
			},
			"go": func(t *rapid.T) {
				if n := len(leave); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "who")
					leave[i]()
					leave[i]() // twice is once
					leave = append(leave[:i], leave[i+1:]...)
				}
			},
			"renew": func(*rapid.T) { tree.Renew(); since = len(leave) },
		})
	})
}
