package model_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"oneloop"
	"oneloop/model"
)

// every emits e once per pause, n times, and then ends as the step does.
func every(pause time.Duration, n int, e oneloop.Event, then step) step {
	return func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		for range n {
			select {
			case <-time.After(pause):
				emit(e)
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		return then(ctx, req, emit)
	}
}

func TestSilenceEndsARequest(t *testing.T) {
	ping := oneloop.Received{Bytes: 30}
	text := oneloop.TextDelta{Text: "half"}
	for _, c := range []struct {
		name  string
		step  step
		after time.Duration
		voids bool
	}{
		{"before the head", speak(), 5 * time.Minute, false},
		{"after some text", speak(ping, text), 5 * time.Minute, true},
		{"with nothing but pings", every(4*time.Minute, 100, ping, say(oneloop.StopEndTurn, "late")), 10 * time.Minute, false},
		{"pings, then nothing", every(4*time.Minute, 1, ping, speak()), 9 * time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, s := time.Now(), &sink{}
				msg, err := model.Stall(script(c.step), model.StallOptions{}).Generate(t.Context(), &oneloop.Request{}, s.emit)
				if _, api := errors.AsType[*oneloop.APIError](err); !api || !errors.Is(err, oneloop.ErrStalled) || msg != nil {
					t.Errorf("%v, %v", msg, err)
				}
				if time.Since(began) != c.after {
					t.Errorf("ended after %v, want %v", time.Since(began), c.after)
				}
				if s.has(oneloop.KindDiscard) != c.voids {
					t.Errorf("events %v", s.kinds())
				}
			})
		})
	}
}

func TestAReplyThatKeepsComingMayTakeHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script(every(4*time.Minute, 60, oneloop.ThinkingDelta{Text: "hm"}, say(oneloop.StopEndTurn, "ok")))
		msg, err := model.Stall(m, model.StallOptions{}).Generate(t.Context(), &oneloop.Request{}, nothing)
		if err != nil || msg.Text() != "ok" {
			t.Errorf("%v, %v", msg, err)
		}
	})
}

func TestNegativeBoundsAreNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script(every(time.Hour, 1, oneloop.Received{}, say(oneloop.StopEndTurn, "ok")))
		if _, err := model.Stall(m, model.StallOptions{Idle: -1, Progress: -1}).Generate(t.Context(), &oneloop.Request{}, nothing); err != nil {
			t.Error(err)
		}
	})
}

func TestCancelIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, text := range []bool{false, true} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(oneloop.ErrInterrupted) })
			st := speak()
			if text {
				st = speak(oneloop.TextDelta{Text: "half"})
			}
			msg, err := model.Stall(script(st), model.StallOptions{}).Generate(ctx, &oneloop.Request{}, nothing)
			if text && (err != nil || msg.Stop != oneloop.StopInterrupted || msg.Text() != "half") {
				t.Errorf("with text: %v, %v", msg, err)
			}
			if !text && err != oneloop.ErrInterrupted {
				t.Errorf("without text: %v", err)
			}
		}
	})
}

func TestTheTimeAListenerHoldsUpAnEventDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script(func(_ context.Context, _ *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
			emit(oneloop.Received{Bytes: 1})
			return say(oneloop.StopEndTurn, "ok")(nil, nil, emit)
		})
		slow := func(oneloop.Event) { time.Sleep(time.Hour) }
		if msg, err := model.Stall(m, model.StallOptions{}).Generate(t.Context(), &oneloop.Request{}, slow); err != nil || msg.Text() != "ok" {
			t.Errorf("%v, %v", msg, err)
		}
	})
}

func TestAStalledRequestIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script(speak(oneloop.TextDelta{Text: "half"}), say(oneloop.StopEndTurn, "ok"))
		s := &sink{}
		stalling := model.Stall(m, model.StallOptions{Idle: 3 * time.Second})
		msg, err := model.Retry(stalling, model.RetryOptions{}).Generate(t.Context(), &oneloop.Request{}, s.emit)
		if err != nil || msg.Text() != "ok" || len(m.reqs) != 2 || m.reqs[0] != m.reqs[1] {
			t.Fatalf("%v, %v", msg, err)
		}
		if g := m.gaps()[0]; g < 3*time.Second || g > 10*time.Second {
			t.Errorf("sent again after %v", g)
		}
	})
}

func TestSilenceForEverEndsAfterTheLastTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := script(speak())
		stalling := model.Stall(m, model.StallOptions{})
		_, err := model.Retry(stalling, model.RetryOptions{Retries: 2}).Generate(t.Context(), &oneloop.Request{}, nothing)
		if !errors.Is(err, oneloop.ErrStalled) || len(m.reqs) != 3 {
			t.Errorf("%d requests, error %v", len(m.reqs), err)
		}
	})
}

func TestAStallTellsWhereItWasAndWhatTheReplyUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := oneloop.Usage{Reported: true, Input: 10}
		m := script(func(ctx context.Context, _ *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
			emit(oneloop.RequestSent{URL: "https://api.example/v1/messages"})
			<-ctx.Done()
			return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopInterrupted, Usage: used}, nil
		})
		s := &sink{}
		_, err := model.Stall(m, model.StallOptions{}).Generate(t.Context(), &oneloop.Request{}, s.emit)
		e, _ := errors.AsType[*oneloop.APIError](err)
		if !errors.Is(err, oneloop.ErrStalled) || e.URL != "https://api.example/v1/messages" || len(s.events) != 2 || s.events[1].(oneloop.Discard).Usage != used {
			t.Errorf("%v, %v", err, s.events)
		}
	})
}
