package model

import (
	"context"
	"sync"
	"time"

	"oneloop"
)

// FallbackOptions say how long a model that was given up on is left alone, and
// what is said then.
type FallbackOptions struct {
	Rest time.Duration // 0: 5 min
	// Notice words why the other model goes on; nil: in English.
	Notice func(err error) string
}

// Fallback asks next when m stays overloaded: when it fails because the API is
// overloaded, limits the rate or has a fault of its own. For some time after
// that next is asked at once. What m had said of its reply by then is void.
//
// Put it outside of [Retry], so that m has had all its tries, and of [Budget],
// so that each model is charged at its own price:
//
//	m = model.Fallback(model.Budget(model.Retry(a, …), ledger, idA), model.Budget(model.Retry(b, …), ledger, idB), …)
func Fallback(m, next oneloop.Model, o FallbackOptions) oneloop.Model {
	if o.Rest <= 0 {
		o.Rest = 5 * time.Minute
	}
	if o.Notice == nil {
		o.Notice = func(err error) string { return "another model goes on: " + err.Error() }
	}
	var mu sync.Mutex
	var until time.Time
	return oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		emit = oneloop.Sink(emit)
		mu.Lock()
		resting := time.Now().Before(until)
		mu.Unlock()
		if resting {
			return next.Generate(ctx, req, emit)
		}
		msg, err := m.Generate(ctx, req, emit)
		if err == nil || ctx.Err() != nil || !overloaded(err) {
			return msg, err
		}
		mu.Lock()
		until = time.Now().Add(o.Rest)
		mu.Unlock()
		emit(oneloop.Notice{Text: o.Notice(err)})
		return next.Generate(ctx, req, emit)
	})
}

// overloaded reports whether another API may well answer what this one did
// not. A limit on what may be spent is for the user to hear of.
func overloaded(err error) bool {
	api := transient(err)
	if api == nil {
		return false
	}
	switch api.Class {
	case oneloop.ErrOverloaded, oneloop.ErrRateLimited, oneloop.ErrServer:
		return true
	}
	return false
}
