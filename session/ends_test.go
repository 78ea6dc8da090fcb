package session_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"oneloop"
	"oneloop/session"
)

func TestATurnThatTheTimeInterruptedEndsWithThatLimit(t *testing.T) {
	late := oneloop.ModelFunc(func(_ context.Context, _ *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		emit(oneloop.Child{Agent: "1", Event: oneloop.Limited{What: "turns"}}) // a child's limit is not the turn's
		emit(oneloop.Limited{What: "time", Limit: "1m0s", Used: "1m0s"})
		return says(oneloop.StopInterrupted, text("half")), nil
	})
	_, err := send(t, t.Context(), &session.Session{Model: late}, text("hi"))
	if limit, ok := errors.AsType[*oneloop.LimitError](err); !ok || limit.What != "time" {
		t.Errorf("error is %v", err)
	}
}

func TestAnyEndOfTheContextIsAnInterruption(t *testing.T) {
	for _, inside := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, call("1", "T"))}}
		s := &session.Session{Model: m, Transcript: new(oneloop.History), Tools: tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			cancel()
			return nil, nil
		})}
		if !inside {
			cancel()
		}
		_, err := send(t, ctx, s, text("hi"))
		if !errors.Is(err, oneloop.ErrInterrupted) || !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		if n := len(s.Transcript.(*oneloop.History).Messages()); !inside && n != 0 {
			t.Errorf("a turn that could not begin kept %d messages", n)
		}
	}
}

func TestTheCauseOfTheContextIsTheErrorOfTheTurn(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(oneloop.ErrShutdown)
	if _, err := send(t, ctx, &session.Session{Model: new(model)}, text("hi")); err != oneloop.ErrShutdown {
		t.Errorf("error is %v", err)
	}
}

func TestAModelThatSaysNothingHasEndedTheTurn(t *testing.T) {
	m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, call("1", "T")), says(oneloop.StopEndTurn)}}
	s := &session.Session{Model: m, Tools: tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return nil, nil
	})}
	kinds, err := send(t, t.Context(), s, text("hi"))
	if err != nil || len(m.requests) != 2 || !strings.HasSuffix(kinds, "message notice turn_end") {
		t.Errorf("%d requests, error %v, events %s", len(m.requests), err, kinds)
	}
}

func TestAStopThatIsNeverAcceptedEndsAtALimit(t *testing.T) {
	m := oneloop.ModelFunc(func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
		return says(oneloop.StopEndTurn, text("done")), nil
	})
	asked := 0
	s := &session.Session{Model: m, AtStop: func(context.Context, *oneloop.Message) ([]oneloop.Block, error) {
		asked++
		return []oneloop.Block{text("not yet")}, nil
	}}
	_, err := send(t, t.Context(), s, text("hi"))
	if limit, ok := errors.AsType[*oneloop.LimitError](err); !ok || limit.What != "repetition" || asked != session.Urgings+1 {
		t.Errorf("asked %d times, error %v", asked, err)
	}
}

func TestStoppingIsAskedAboutOnceTheInboxIsEmpty(t *testing.T) {
	box := new(session.Inbox)
	m := &model{replies: []*oneloop.Message{says(oneloop.StopEndTurn, text("a")), says(oneloop.StopEndTurn, text("b"))}}
	m.during = func(_ context.Context, n int) {
		if n == 1 {
			box.Put(session.BeforeModel, text("too late for this request"))
		}
	}
	var asked []string
	s := &session.Session{Model: m, Inbox: box, AtStop: func(_ context.Context, last *oneloop.Message) ([]oneloop.Block, error) {
		asked = append(asked, last.Text())
		return nil, nil
	}}
	if _, err := send(t, t.Context(), s, text("hi")); err != nil || strings.Join(asked, "") != "b" {
		t.Errorf("asked after %v, error %v", asked, err)
	}
}

func TestATurnThatAToolEndedIsNotAskedToGoOn(t *testing.T) {
	m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, call("1", "T"))}}
	s := &session.Session{Model: m,
		AtStop: func(context.Context, *oneloop.Message) ([]oneloop.Block, error) {
			return []oneloop.Block{text("more")}, nil
		},
		Tools: tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return &oneloop.ToolResult{EndTurn: true}, nil
		})}
	if _, err := send(t, t.Context(), s, text("hi")); err != nil || len(m.requests) != 1 {
		t.Errorf("%d requests, error %v", len(m.requests), err)
	}
}

func TestTheWordsBeforeACutCallAreNotLost(t *testing.T) {
	m := &model{replies: []*oneloop.Message{says(oneloop.StopMaxTokens, text("I write the report."), call("1", "T")), says(oneloop.StopEndTurn, text("ok"))}}
	if _, err := send(t, t.Context(), &session.Session{Model: m}, text("hi")); err != nil {
		t.Fatal(err)
	}
	if got := m.requests[1].Messages[1].Text(); !strings.Contains(got, "I write the report.") {
		t.Errorf("the model is told %q", got)
	}
}

func TestAPromptThatAHookEmptiedIsBlank(t *testing.T) {
	s := &session.Session{Model: new(model), BeforePrompt: func(_ context.Context, p *oneloop.Message) error { p.Blocks = nil; return nil }}
	if _, err := send(t, t.Context(), s, text("hi")); !errors.Is(err, session.ErrBlank) {
		t.Errorf("error is %v", err)
	}
}

// faulty is a transcript that keeps no message containing a text.
type faulty struct {
	oneloop.History
	refuse string
}

func (f *faulty) Append(ctx context.Context, msgs ...*oneloop.Message) error {
	for _, m := range msgs {
		if f.refuse != "" && strings.Contains(m.Text(), f.refuse) {
			return errors.New("disk full")
		}
	}
	return f.History.Append(ctx, msgs...)
}

func TestWhatCouldNotBeKeptStaysInTheInbox(t *testing.T) {
	for _, when := range []session.When{session.BeforeModel, session.AtTurnEnd} {
		box, log := new(session.Inbox), &faulty{refuse: "steer"}
		m := &model{replies: []*oneloop.Message{says(oneloop.StopEndTurn, text("a")), says(oneloop.StopEndTurn, text("b")), says(oneloop.StopEndTurn, text("c"))}}
		s := &session.Session{Model: m, Inbox: box, Transcript: log}
		box.Put(when, text("steer"))
		if _, err := send(t, t.Context(), s, text("hi")); err == nil || err.Error() != "disk full" {
			t.Fatalf("error is %v", err)
		}
		log.refuse = ""
		if _, err := send(t, t.Context(), s, text("again")); err != nil {
			t.Fatal(err)
		}
		last := m.requests[len(m.requests)-1]
		found := 0
		for _, msg := range last.Messages {
			if msg.Text() == "steer" {
				found++
			}
		}
		if found != 1 {
			t.Errorf("taken at %d: it was said %d times", when, found)
		}
	}
}
