package session_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/session"
)

func ok() *oneloop.Message { return says(oneloop.StopEndTurn, text("ok")) }

func TestATurnBeginsWhenItIsRangedOverAndIsTakenOnce(t *testing.T) {
	m := &model{replies: []*oneloop.Message{ok(), ok()}}
	s := &session.Session{Model: m}
	turn := s.Send(t.Context(), text("hi"))
	if len(m.requests) != 0 || s.Transcript != nil {
		t.Fatal("something happened before the range")
	}
	for _, err := range turn {
		if err != nil {
			t.Fatal(err)
		}
	}
	var events int
	var second error
	for e, err := range turn {
		if e != nil {
			events++
		}
		second = err
	}
	if events != 0 || !errors.Is(second, session.ErrSpent) || len(m.requests) != 1 {
		t.Errorf("the second range gave %d events and %v; %d requests", events, second, len(m.requests))
	}
}

// leaveAt breaks off a turn at its first event of a kind.
func leaveAt(s *session.Session, kind oneloop.Kind) (seen bool) {
	for e := range s.Send(context.Background(), text("hi")) {
		if e.Kind() == kind {
			return true
		}
	}
	return false
}

func TestWhoBreaksOffFindsTheTurnEndedAndItsCallsAnswered(t *testing.T) {
	for _, at := range []oneloop.Kind{oneloop.KindTurnStart, oneloop.KindRequest, oneloop.KindMessage, oneloop.KindToolStart, oneloop.KindToolOutput, oneloop.KindToolEnd} {
		t.Run(string(at), func(t *testing.T) {
			looptest.Census(t)
			m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, text("I look"), call("1", "T"), call("2", "T")), ok(), ok()}}
			running := 0
			s := &session.Session{Model: m, Tools: tools(func(ctx context.Context, c *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
				running++
				defer func() { running-- }()
				emit(oneloop.ToolOutput{ID: c.ID, Text: "at work"})
				if at == oneloop.KindToolOutput {
					<-ctx.Done() // the one who leaves ends the call
					return nil, context.Cause(ctx)
				}
				return oneloop.TextResult("r" + c.ID), nil
			})}
			if !leaveAt(s, at) {
				t.Fatal("there was no such event")
			}
			if running != 0 {
				t.Error("a call still ran when the range was left")
			}
			if _, err := send(t, t.Context(), s, text("next")); err != nil {
				t.Fatalf("the next turn: %v", err)
			}
			next := m.requests[len(m.requests)-1]
			if err := looptest.CheckRequest(next); err != nil {
				t.Errorf("an API would refuse what comes next: %v", err)
			}
			if at == oneloop.KindToolOutput {
				results := next.Messages[2].Blocks
				if first := results[0].(*oneloop.ToolResult).Text(); len(results) != 2 || !strings.Contains(first, "may have changed") {
					t.Errorf("the calls were answered with %d results, the first %q", len(results), first)
				}
			}
		})
	}
}

func TestOfTwoWhoSendAtOnceOneIsTold(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	m := &model{replies: []*oneloop.Message{ok()}, during: func(context.Context, int) { close(began); <-release }}
	s := &session.Session{Model: m, AtEnd: func(context.Context) error { return nil }}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if _, err := send(t, t.Context(), s, text("one")); err != nil {
			t.Error(err)
		}
	})
	<-began
	defer close(release)
	kinds, err := send(t, t.Context(), s, text("two"))
	if !errors.Is(err, session.ErrBusy) || kinds != "" {
		t.Errorf("the second gave %q and %v", kinds, err)
	}
	if err := s.Close(t.Context()); !errors.Is(err, session.ErrBusy) {
		t.Errorf("closing meanwhile gave %v", err)
	}
}

func TestASessionThatLacksSomethingSaysWhat(t *testing.T) {
	var zero session.Session
	if _, err := send(t, t.Context(), &zero, text("hi")); !errors.Is(err, session.ErrNoModel) {
		t.Errorf("without a model: %v", err)
	}
	if err := zero.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}

	m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, call("1", "T")), ok()}}
	s := &session.Session{Model: m}
	var none *oneloop.Text
	if err := s.Turn(t.Context(), nil, nil, none, text("hi")); err != nil {
		t.Fatalf("without tools, emit and with a nil block: %v", err)
	}
	if got := m.requests[1].Messages[2].Blocks[0].(*oneloop.ToolResult).Text(); !strings.Contains(got, "There are no tools") {
		t.Errorf("the call was answered %q", got)
	}
	if said := m.requests[0].Messages[0].Blocks; len(said) != 1 {
		t.Errorf("%d blocks were said", len(said))
	}

	s = &session.Session{Model: oneloop.ModelFunc(func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
		return nil, nil
	})}
	if _, err := send(t, t.Context(), s, text("hi")); err == nil || !strings.Contains(err.Error(), "neither a message nor an error") {
		t.Errorf("a model that returns nothing: %v", err)
	}

	var kinds []string
	a, err := session.Put(t.Context(), nil, oneloop.Question{Title: "?"}, func(e oneloop.Event) { kinds = append(kinds, string(e.Kind())) })
	if err == nil || a.Allow || a.Reason == "" || strings.Join(kinds, " ") != "question answer" {
		t.Errorf("a question to nobody: %+v, %v, %v", a, err, kinds)
	}
}

func TestATurnAfterCloseStartsTheSessionAnew(t *testing.T) {
	m := &model{replies: []*oneloop.Message{ok(), ok(), ok()}}
	starts := 0
	s := &session.Session{Model: m, AtStart: func(context.Context) error { starts++; return nil }}
	for _, want := range []int{1, 1, 2} {
		if _, err := send(t, t.Context(), s, text("hi")); err != nil || starts != want {
			t.Errorf("started %d times, want %d; %v", starts, want, err)
		}
		if want == 1 && len(m.requests) == 2 {
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTheToolsOfAToolboxAreOffered(t *testing.T) {
	m := &model{replies: []*oneloop.Message{ok()}}
	s := &session.Session{Model: m, Tools: tools(nil)}
	if _, err := send(t, t.Context(), s, text("hi")); err != nil {
		t.Fatal(err)
	}
	if offered := m.requests[0].Tools; len(offered) != 1 || offered[0].Name != "T" {
		t.Errorf("offered are %v", offered)
	}
}
