package model_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"oneloop"
	"oneloop/budget"
	"oneloop/model"
)

// step is what a scripted model does with one request.
type step func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error)

// scripted takes one step per request and keeps what it was asked and when.
type scripted struct {
	steps []step // the last one repeats
	reqs  []*oneloop.Request
	at    []time.Time
}

func script(steps ...step) *scripted { return &scripted{steps: steps} }

func (s *scripted) Generate(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	n := min(len(s.reqs), len(s.steps)-1)
	s.reqs, s.at = append(s.reqs, req), append(s.at, time.Now())
	return s.steps[n](ctx, req, emit)
}

// gaps are the times between requests.
func (s *scripted) gaps() []time.Duration {
	var gaps []time.Duration
	for i := range s.at[1:] {
		gaps = append(gaps, s.at[i+1].Sub(s.at[i]))
	}
	return gaps
}

func say(stop oneloop.StopReason, texts ...string) step {
	return func(_ context.Context, _ *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		msg := &oneloop.Message{Role: oneloop.Assistant, Stop: stop, Usage: oneloop.Usage{Reported: true, Input: 10, Output: 1}}
		for _, t := range texts {
			emit(oneloop.TextDelta{Text: t})
			msg.Blocks = append(msg.Blocks, &oneloop.Text{Text: t})
		}
		return msg, nil
	}
}

func fail(err error) step {
	return func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
		return nil, err
	}
}

// speak emits events and then falls silent until ctx ends, as an adapter does
// whose connection stays open. What was said is returned as interrupted, or
// the cause when nothing was.
func speak(events ...oneloop.Event) step {
	return func(ctx context.Context, _ *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		msg := &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopInterrupted}
		for _, e := range events {
			emit(e)
			if t, ok := e.(oneloop.TextDelta); ok {
				msg.Blocks = append(msg.Blocks, &oneloop.Text{Text: t.Text})
			}
		}
		<-ctx.Done()
		if len(msg.Blocks) == 0 {
			return nil, context.Cause(ctx)
		}
		return msg, nil
	}
}

// sink keeps events.
type sink struct {
	mu     sync.Mutex
	events []oneloop.Event
}

func (s *sink) emit(e oneloop.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

func (s *sink) kinds() []oneloop.Kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kinds []oneloop.Kind
	for _, e := range s.events {
		kinds = append(kinds, e.Kind())
	}
	return kinds
}

func (s *sink) has(k oneloop.Kind) bool { return slices.Contains(s.kinds(), k) }

func nothing(oneloop.Event) {}

func TestNobodyNeedListen(t *testing.T) {
	for name, wrap := range map[string]func(oneloop.Model) oneloop.Model{
		"retry":  func(m oneloop.Model) oneloop.Model { return model.Retry(m, model.RetryOptions{}) },
		"stall":  func(m oneloop.Model) oneloop.Model { return model.Stall(m, model.StallOptions{}) },
		"pause":  func(m oneloop.Model) oneloop.Model { return model.Pause(m, model.PauseOptions{}) },
		"budget": func(m oneloop.Model) oneloop.Model { return model.Budget(m, budget.New(budget.Limits{}), sonnet) },
	} {
		if msg, err := wrap(script(say(oneloop.StopEndTurn, "ok"))).Generate(t.Context(), &oneloop.Request{}, nil); err != nil || msg.Text() != "ok" {
			t.Errorf("%s: %v, %v", name, msg, err)
		}
	}
}
