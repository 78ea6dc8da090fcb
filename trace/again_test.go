package trace_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/session"
	"oneloop/trace"
)

// original is a session of three turns, the second of which was taken back and
// said otherwise.
func original(t *testing.T) string {
	spent := oneloop.Spend{Model: "m", Usage: oneloop.Usage{Reported: true, Input: 10, Output: 2}, Cost: 0.5, Known: true}
	paid := func(r looptest.Reply) looptest.Reply {
		r.Events = append(r.Events, spent)
		return r
	}
	k := keep(t, looptest.Say("hello"), looptest.Say("taken back"),
		paid(looptest.Answer(&oneloop.Thinking{Text: "hm", Signature: "s"}, do("a", "Look"))), paid(looptest.Answer(words("It is"), do("b", "Look"))), paid(looptest.Say("done")), looptest.Say("and done"))
	k.say(t.Context(), "one")
	k.say(t.Context(), "two")
	if err := k.log.Rewind(k.log.Prompts()[1].N - 1); err != nil {
		t.Fatal(err)
	}
	k.say(t.Context(), "second")
	k.say(t.Context(), "third")
	k.close()
	return k.path
}

func TestATurnIsAskedAgainAndCompared(t *testing.T) {
	path := original(t)
	model := looptest.Script(t,
		looptest.Answer(looptest.Call("x", "Look", `{ "of": "b" }`), looptest.Call("y", "Look", `{"of":"z"}`)),
		looptest.Reply{Message: &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn, Blocks: []oneloop.Block{words("quickly done")}},
			Events: []oneloop.Event{oneloop.Spend{Model: "n", Cost: 0.25, Known: true}}},
		looptest.Reply{Err: errors.New("no more")})
	c, err := trace.Again(t.Context(), path, trace.AgainOptions{Model: model, From: 2, Setup: func(s session.Setup) session.Setup {
		s.Model, s.System = "n", []oneloop.Block{words("Be quick.")}
		return s
	}})
	if err != nil {
		t.Fatal(err)
	}
	was, is := c.Was, c.Is
	if was.Model != "m" || was.Turns != 2 || was.Replies != 4 || was.Calls != 2 || was.Cost != 1.5 || !was.Known || was.End != "end_turn" || was.Answer != "and done" || was.Usage.Input != 30 {
		t.Errorf("it was %+v", was)
	}
	if is.Model != "n" || is.Turns != 2 || is.Replies != 2 || is.Calls != 2 || is.NotRun != 1 || is.Cost != 0.25 || is.End != "no more" || is.Answer != "quickly done" {
		t.Errorf("it is %+v", is)
	}
	asked := model.Requests()
	first := asked[0]
	if len(first.Messages) != 3 || first.Messages[2].Text() != "second" || first.System[0].(*oneloop.Text).Text != "Be quick." || len(first.Tools) == 0 {
		t.Errorf("the first request: %+v", first)
	}
	answers := asked[1].Messages[4].Blocks
	if got := answers[0].(*oneloop.ToolResult); got.ID != "x" || got.Text() != `seen {"of":"b"}` {
		t.Errorf("the call that was made before got %+v", got)
	}
	if got := answers[1].(*oneloop.ToolResult); !got.IsError || !strings.Contains(got.Text(), "not run") {
		t.Errorf("the other one got %+v", got)
	}
	if _, err := trace.Again(t.Context(), path, trace.AgainOptions{Model: model, From: 4}); !errors.Is(err, trace.ErrNoTurn) {
		t.Errorf("%v", err)
	}
}

func TestReasoningIsNotSentToAnotherModel(t *testing.T) {
	path := original(t)
	model := oneloop.ModelFunc(func(_ context.Context, req *oneloop.Request, _ func(oneloop.Event)) (*oneloop.Message, error) {
		for _, m := range req.Messages {
			for _, b := range m.Blocks {
				if oneloop.Reasoning(b) {
					t.Errorf("%v is sent", b)
				}
			}
		}
		if err := looptest.CheckRequest(req); err != nil {
			t.Error(err)
		}
		return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn, Blocks: []oneloop.Block{words("so")}}, nil
	})
	c, err := trace.Again(t.Context(), path, trace.AgainOptions{Model: model, From: 3})
	if err != nil || c.Is.Turns != 1 || c.Was.Turns != 1 {
		t.Errorf("%+v %v", c, err)
	}
}
