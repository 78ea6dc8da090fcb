package model_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oneloop"
	"oneloop/budget"
	"oneloop/model"
)

// answers is a model that fails with what wrong returns, or says its name.
func answers(name string, asked *int, wrong func() error) oneloop.Model {
	return oneloop.ModelFunc(func(ctx context.Context, _ *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		*asked++
		if err := wrong(); err != nil {
			return nil, err
		}
		return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn, Blocks: []oneloop.Block{&oneloop.Text{Text: name}},
			Usage: oneloop.Usage{Reported: true, Input: 1000}}, nil
	})
}

func TestAfterTheLastTryAnOverloadedModelIsFollowedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first, second int
		busy := true
		ledger := budget.New(budget.Limits{})
		a := answers("a", &first, func() error {
			if busy {
				return &oneloop.APIError{Class: oneloop.ErrOverloaded, Status: 529}
			}
			return nil
		})
		b := answers("b", &second, func() error { return nil })
		m := model.Fallback(
			model.Budget(model.Retry(a, model.RetryOptions{Retries: 2}), ledger, "claude-opus-4-8"),
			model.Budget(model.Retry(b, model.RetryOptions{}), ledger, "deepseek/deepseek-v4-pro"),
			model.FallbackOptions{Notice: func(err error) string { return "b goes on: " + err.Error() }})
		var said, charged []string
		ask := func() string {
			msg, err := m.Generate(t.Context(), &oneloop.Request{}, func(e oneloop.Event) {
				switch e := e.(type) {
				case oneloop.Notice:
					said = append(said, e.Text)
				case oneloop.Spend:
					charged = append(charged, e.Model)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			return msg.Text()
		}
		if got := ask(); got != "b" || first != 3 || second != 1 || len(said) != 1 || !strings.Contains(said[0], "b goes on: gave up after 3 tries") {
			t.Errorf("%q after %d and %d; said %q", got, first, second, said)
		}
		if len(charged) != 1 || charged[0] != "deepseek/deepseek-v4-pro" {
			t.Errorf("charged: %q", charged)
		}
		busy = false
		if got := ask(); got != "b" || first != 3 {
			t.Errorf("a is asked again at once: %q", got)
		}
		time.Sleep(5*time.Minute + time.Second)
		if got := ask(); got != "a" || len(said) != 1 {
			t.Errorf("after its rest: %q, %q", got, said)
		}
	})
}

func TestWhatNoOtherModelMendsIsNoReasonForOne(t *testing.T) {
	for name, err := range map[string]error{
		"key":     &oneloop.APIError{Class: oneloop.ErrAuth, Status: 401},
		"request": &oneloop.APIError{Class: oneloop.ErrInvalidRequest, Status: 400},
		"window":  &oneloop.APIError{Class: oneloop.ErrContextOverflow, Status: 400},
		"network": &oneloop.APIError{Class: oneloop.ErrNetwork},
		"limit":   &oneloop.LimitError{What: "cost"},
		"spent":   &oneloop.APIError{Class: oneloop.ErrRateLimited, Status: 429, Code: "enforced_spend_limit_reached"},
	} {
		var first, second int
		m := model.Fallback(answers("a", &first, func() error { return err }), answers("b", &second, func() error { return nil }), model.FallbackOptions{})
		if _, got := m.Generate(t.Context(), &oneloop.Request{}, nil); !errors.Is(got, err) || second != 0 {
			t.Errorf("%s: %v, the other was asked %d times", name, got, second)
		}
	}
}

func TestWhoStopsAnOverloadedRequestAsksNobodyElse(t *testing.T) {
	var first, second int
	ctx, stop := context.WithCancel(t.Context())
	a := answers("a", &first, func() error { stop(); return &oneloop.APIError{Class: oneloop.ErrOverloaded} })
	m := model.Fallback(a, answers("b", &second, func() error { return nil }), model.FallbackOptions{})
	if _, err := m.Generate(ctx, &oneloop.Request{}, nil); err == nil || second != 0 {
		t.Errorf("%v, the other was asked %d times", err, second)
	}
}
