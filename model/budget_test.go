package model_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"oneloop"
	"oneloop/budget"
	"oneloop/model"
)

const sonnet = "claude-sonnet-4-6"

func TestBudgetCountsRequestsAndSaysWhatTheyCost(t *testing.T) {
	l, s := budget.New(budget.Limits{Requests: 2}), &sink{}
	m := script(say(oneloop.StopEndTurn, "ok"))
	b := model.Budget(m, l, sonnet)
	for range 2 {
		if _, err := b.Generate(t.Context(), &oneloop.Request{}, s.emit); err != nil {
			t.Fatal(err)
		}
	}
	spend := s.events[len(s.events)-1].(oneloop.Spend)
	if spend.Requests != 2 || !spend.TotalKnown || spend.TotalCost != 2*spend.Cost || spend.Cost <= 0 {
		t.Errorf("%+v", spend)
	}
	_, err := b.Generate(t.Context(), &oneloop.Request{}, s.emit)
	if _, ok := errors.AsType[*oneloop.LimitError](err); !ok || len(m.reqs) != 2 {
		t.Errorf("%d requests, error %v", len(m.reqs), err)
	}
	if e, ok := s.events[len(s.events)-1].(oneloop.Limited); !ok || e.What != "turns" || e.Limit != "2" {
		t.Errorf("events %v", s.kinds())
	}
}

func TestACostLimitOnAModelWithoutAPriceIsRefusedBeforeTheFirstRequest(t *testing.T) {
	m := script(say(oneloop.StopEndTurn, "ok"))
	_, err := model.Budget(m, budget.New(budget.Limits{Cost: 1}), "no-such-model").Generate(t.Context(), &oneloop.Request{}, nothing)
	if err == nil || len(m.reqs) != 0 {
		t.Errorf("%d requests, error %v", len(m.reqs), err)
	}
}

func TestTriesOfOneRequestCountOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := budget.New(budget.Limits{Requests: 1})
		m := script(fail(apiError(oneloop.ErrOverloaded, 529)), say(oneloop.StopEndTurn, "ok"))
		if _, err := model.Budget(model.Retry(m, model.RetryOptions{}), l, sonnet).Generate(t.Context(), &oneloop.Request{}, nothing); err != nil {
			t.Error(err)
		}
		if n := l.Totals().Requests; n != 1 {
			t.Errorf("counted %d", n)
		}
	})
}

func TestTimeThatIsUpInterruptsTheRequestUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, text := range []bool{false, true} {
			st := speak()
			if text {
				st = speak(oneloop.TextDelta{Text: "half"})
			}
			began, s := time.Now(), &sink{}
			b := model.Budget(script(st), budget.New(budget.Limits{Time: time.Minute}), sonnet)
			msg, err := b.Generate(t.Context(), &oneloop.Request{}, s.emit)
			if time.Since(began) != time.Minute || !slices.Contains(s.kinds(), oneloop.KindLimit) {
				t.Errorf("ended after %v with %v", time.Since(began), s.kinds())
			}
			if limit, ok := errors.AsType[*oneloop.LimitError](err); !text && (!ok || limit.What != "time") {
				t.Errorf("without text: %v", err)
			}
			if text && (err != nil || msg.Stop != oneloop.StopInterrupted) {
				t.Errorf("with text: %v, %v", msg, err)
			}
		}
	})
}

// wasted is a try that was billed and came to nothing.
func wasted(input int64) step {
	return func(_ context.Context, _ *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		emit(oneloop.Discard{Reason: "cut", Usage: oneloop.Usage{Reported: true, Input: input}})
		return nil, apiError(oneloop.ErrStreamCut, 200)
	}
}

func TestTriesThatFailAreOnTheBill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := budget.New(budget.Limits{}), &sink{}
		m := model.Retry(script(wasted(1000), wasted(100), fail(apiError(oneloop.ErrOverloaded, 529)), say(oneloop.StopEndTurn, "ok")), model.RetryOptions{})
		if _, err := model.Budget(m, l, sonnet).Generate(t.Context(), &oneloop.Request{}, s.emit); err != nil {
			t.Fatal(err)
		}
		spends := 0
		for _, e := range s.events {
			if _, ok := e.(oneloop.Spend); ok {
				spends++
			}
		}
		if sum := l.Totals(); sum.Usage.Input != 1110 || sum.Requests != 1 || !sum.Known || spends != 3 {
			t.Errorf("charged %+v in %d events", sum, spends)
		}
	})
}

func TestNoFurtherTryIsMadeOnceTheFailedOnesReachedALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, limits := range []budget.Limits{{Tokens: 1500, Requests: 1}, {Cost: 0.004}} {
			s := &sink{}
			m := script(wasted(1000))
			_, err := model.Budget(model.Retry(m, model.RetryOptions{}), budget.New(limits), sonnet).Generate(t.Context(), &oneloop.Request{}, s.emit)
			limit, ok := errors.AsType[*oneloop.LimitError](err)
			if len(m.reqs) != 2 || !ok || limit.What == "turns" || !s.has(oneloop.KindLimit) {
				t.Errorf("%+v: %d tries, %v, %v", limits, len(m.reqs), err, s.kinds())
			}
		}
	})
}

func TestWhatAnInterruptedReplyUsedIsCharged(t *testing.T) {
	l := budget.New(budget.Limits{Cost: 1})
	ctx, cancel := context.WithCancelCause(t.Context())
	half := func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
		cancel(oneloop.ErrInterrupted)
		return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopInterrupted, Usage: oneloop.Usage{Reported: true, Input: 1000, Output: 1}}, nil
	}
	b := model.Budget(script(half, say(oneloop.StopEndTurn, "ok")), l, sonnet)
	if msg, err := b.Generate(ctx, &oneloop.Request{}, nothing); err != nil || msg.Stop != oneloop.StopInterrupted {
		t.Errorf("%v, %v", msg, err)
	}
	if sum := l.Totals(); sum.Cost <= 0 || !sum.Known {
		t.Errorf("charged %+v", sum)
	}
	if _, err := b.Generate(t.Context(), &oneloop.Request{}, nothing); err != nil {
		t.Errorf("the next request: %v", err)
	}
}
