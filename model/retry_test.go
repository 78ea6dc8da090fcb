package model_test

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oneloop"
	"oneloop/model"
)

func apiError(class error, status int) *oneloop.APIError {
	return &oneloop.APIError{Class: class, Status: status}
}

func TestWhatMayPassIsTriedAgainAndWhatMayNotIsNot(t *testing.T) {
	forged := &tls.CertificateVerificationError{Err: errors.New("unknown authority")}
	for _, c := range []struct {
		name  string
		err   error
		again bool
	}{
		{"overloaded", apiError(oneloop.ErrOverloaded, 529), true},
		{"rate limit", apiError(oneloop.ErrRateLimited, 429), true},
		{"spend limit", &oneloop.APIError{Class: oneloop.ErrRateLimited, Status: 429, Code: "enforced_spend_limit_reached"}, false},
		{"server", apiError(oneloop.ErrServer, 500), true},
		{"not implemented", apiError(oneloop.ErrServer, 501), false},
		{"network", apiError(oneloop.ErrNetwork, 0), true},
		{"bad certificate", &oneloop.APIError{Class: oneloop.ErrNetwork, Err: forged}, false},
		{"cut", apiError(oneloop.ErrStreamCut, 200), true},
		{"stalled", apiError(oneloop.ErrStalled, 0), true},
		{"page with 200", apiError(oneloop.ErrNotAPI, 200), true},
		{"page with 502", apiError(oneloop.ErrNotAPI, 502), true},
		{"page with 404", apiError(oneloop.ErrNotAPI, 404), false},
		{"no HTTP", apiError(oneloop.ErrNotAPI, 0), true},
		{"timeout", apiError(oneloop.ErrInvalidRequest, 408), true},
		{"conflict", apiError(oneloop.ErrInvalidRequest, 409), true},
		{"credentials", apiError(oneloop.ErrAuth, 401), false},
		{"billing", apiError(oneloop.ErrBilling, 402), false},
		{"not found", apiError(oneloop.ErrNotFound, 404), false},
		{"invalid", apiError(oneloop.ErrInvalidRequest, 400), false},
		{"too large", apiError(oneloop.ErrTooLarge, 413), false},
		{"overflow", apiError(oneloop.ErrContextOverflow, 400), false},
		{"the API says yes", &oneloop.APIError{Class: oneloop.ErrInvalidRequest, Status: 400, Retry: oneloop.RetryYes}, true},
		{"the API says no", &oneloop.APIError{Class: oneloop.ErrOverloaded, Status: 529, Retry: oneloop.RetryNo}, false},
		{"no API error", errors.New("broken"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := script(fail(c.err), say(oneloop.StopEndTurn, "ok"))
				req := &oneloop.Request{}
				msg, err := model.Retry(m, model.RetryOptions{}).Generate(t.Context(), req, nothing)
				if !c.again {
					if !errors.Is(err, c.err) || len(m.reqs) != 1 {
						t.Fatalf("%d requests, error %v", len(m.reqs), err)
					}
					return
				}
				if err != nil || msg.Text() != "ok" || len(m.reqs) != 2 || m.reqs[1] != req {
					t.Fatalf("%d requests, error %v", len(m.reqs), err)
				}
			})
		})
	}
}

func TestTriesAreBoundedVisibleAndFurtherAndFurtherApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		overloaded := apiError(oneloop.ErrOverloaded, 529)
		m, s := script(fail(overloaded)), &sink{}
		_, err := model.Retry(m, model.RetryOptions{}).Generate(t.Context(), &oneloop.Request{}, s.emit)
		if !errors.Is(err, oneloop.ErrOverloaded) || !strings.Contains(err.Error(), "9 tries") {
			t.Errorf("error %v", err)
		}
		gaps := m.gaps()
		if len(gaps) != 8 || gaps[0] < 500*time.Millisecond || gaps[0] > 625*time.Millisecond {
			t.Fatalf("gaps %v", gaps)
		}
		for i, g := range gaps {
			e := s.events[i].(oneloop.Retry)
			if e.Wait != g || e.Attempt != i+1 || e.Of != 9 || e.Error == "" {
				t.Errorf("announced %+v before a gap of %v", e, g)
			}
			if i > 0 && g < gaps[i-1] || i < 6 && i > 0 && g == gaps[i-1] || g > 30*time.Second {
				t.Errorf("gap %d of %v", i, gaps)
			}
		}
	})
}

func TestWaitsDifferFromClientToClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := func() time.Duration {
			m := script(fail(apiError(oneloop.ErrOverloaded, 529)), say(oneloop.StopEndTurn, "ok"))
			model.Retry(m, model.RetryOptions{}).Generate(t.Context(), &oneloop.Request{}, nothing)
			return m.gaps()[0]
		}
		a := first()
		for range 20 {
			if first() != a {
				return
			}
		}
		t.Error("twenty clients waited exactly as long")
	})
}

func TestWaitsAreAtLeastAsLongAsTheAPIAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := apiError(oneloop.ErrRateLimited, 429)
		busy.RetryAfter = 3 * time.Second
		m := script(fail(busy), fail(busy), say(oneloop.StopEndTurn, "ok"))
		if _, err := model.Retry(m, model.RetryOptions{}).Generate(t.Context(), &oneloop.Request{}, nothing); err != nil {
			t.Fatal(err)
		}
		for _, g := range m.gaps() {
			if g < 3*time.Second || g > 4*time.Second {
				t.Errorf("gaps %v", m.gaps())
			}
		}
	})
}

func TestAnAnswerThatAsksForNoWaitGetsTheNormalOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := apiError(oneloop.ErrRateLimited, 429)
		busy.RetryAfter = -5 * time.Second
		m := script(fail(busy), fail(busy), say(oneloop.StopEndTurn, "ok"))
		model.Retry(m, model.RetryOptions{}).Generate(t.Context(), &oneloop.Request{}, nothing)
		if g := m.gaps(); g[0] < 500*time.Millisecond || g[1] <= g[0] {
			t.Errorf("gaps %v", g)
		}
	})
}

func TestAWaitThatIsTooLongEndsAtOnceAndNamesTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := apiError(oneloop.ErrRateLimited, 429)
		busy.RetryAfter = 2 * time.Hour
		began := time.Now()
		m := script(fail(busy))
		_, err := model.Retry(m, model.RetryOptions{}).Generate(t.Context(), &oneloop.Request{}, nothing)
		until := began.Add(2 * time.Hour).Format(time.DateTime)
		if !errors.Is(err, oneloop.ErrRateLimited) || !strings.Contains(err.Error(), "2h0m0s") || !strings.Contains(err.Error(), until) {
			t.Errorf("error %v", err)
		}
		if time.Since(began) != 0 || len(m.reqs) != 1 {
			t.Errorf("%d requests in %v", len(m.reqs), time.Since(began))
		}
	})
}

func TestCancelEndsAWaitAtOnceWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		time.AfterFunc(100*time.Millisecond, func() { cancel(oneloop.ErrInterrupted) })
		m := script(fail(apiError(oneloop.ErrOverloaded, 529)))
		_, err := model.Retry(m, model.RetryOptions{}).Generate(ctx, &oneloop.Request{}, nothing)
		if err != oneloop.ErrInterrupted || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestAnErrorAfterTheCancelIsTheCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(oneloop.ErrShutdown)
	m := script(fail(apiError(oneloop.ErrNetwork, 0)))
	if _, err := model.Retry(m, model.RetryOptions{}).Generate(ctx, &oneloop.Request{}, nothing); err != oneloop.ErrShutdown {
		t.Errorf("error %v", err)
	}
}

func TestWhatAFailedTryStreamedIsDeclaredVoidOnce(t *testing.T) {
	for _, said := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			half := func(_ context.Context, _ *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
				emit(oneloop.TextDelta{Text: "half"})
				if said {
					emit(oneloop.Discard{Reason: "cut"})
				}
				return nil, apiError(oneloop.ErrStreamCut, 200)
			}
			s := &sink{}
			model.Retry(script(half, say(oneloop.StopEndTurn, "ok")), model.RetryOptions{}).Generate(t.Context(), &oneloop.Request{}, s.emit)
			want := []oneloop.Kind{oneloop.KindTextDelta, oneloop.KindDiscard, oneloop.KindRetry, oneloop.KindTextDelta}
			if !slices.Equal(s.kinds(), want) {
				t.Errorf("events %v, want %v", s.kinds(), want)
			}
		})
	}
}

func TestNoRetriesMeansOneRequest(t *testing.T) {
	m := script(fail(apiError(oneloop.ErrOverloaded, 529)))
	if _, err := model.Retry(m, model.RetryOptions{Retries: -1}).Generate(t.Context(), &oneloop.Request{}, nothing); err == nil || len(m.reqs) != 1 {
		t.Errorf("%d requests, error %v", len(m.reqs), err)
	}
}
