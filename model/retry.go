package model

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"oneloop"
)

// RetryOptions say how often and after which waits a request is sent again.
type RetryOptions struct {
	Retries int           // further tries after the first; 0: 8, negative: none
	Delay   time.Duration // the first wait; 0: 500 ms. Each further one is about twice as long
	Longest time.Duration // what waits grow to; 0: 30 s
	Patient time.Duration // the longest wait an API may ask for; 0: 10 min
}

// jitter is the largest part by which a wait is lengthened at random, so that
// clients that failed together do not come back together. It is small enough
// for every wait to be longer than the one before.
const jitter = 0.25

// Retry sends a request again that failed for a reason that may pass: the API
// is overloaded, limits the rate or breaks down, cannot be reached, cuts the
// reply or falls silent, or something else answered in its place. What the
// API says about another try ([oneloop.APIError].Retry) counts more.
//
// A wait is at least as long as the API asks for. When that is longer than
// Patient, Generate fails at once with an error that names the time. Every
// wait is announced by [oneloop.Retry] and ends at once with ctx.
func Retry(m oneloop.Model, o RetryOptions) oneloop.Model {
	o = o.filled()
	return oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		emit = oneloop.Sink(emit)
		var wait time.Duration
		for try := 1; ; try++ {
			d := &draft{emit: emit}
			msg, err := m.Generate(ctx, req, d.event)
			if err == nil {
				return msg, nil
			}
			d.void(err.Error(), oneloop.Usage{}) // the model told what it used
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			api := transient(err)
			if api == nil || o.Retries < 0 {
				return nil, err
			}
			if try > o.Retries {
				return nil, fmt.Errorf("gave up after %d tries: %w", try, err)
			}
			if api.RetryAfter > o.Patient {
				at := time.Now().Add(api.RetryAfter).Format(time.DateTime)
				return nil, fmt.Errorf("the API asks to be left alone for %v, until %s, and waits end at %v; try again then: %w",
					api.RetryAfter, at, o.Patient, err)
			}
			wait = max(wait, o.backoff(try), stretch(api.RetryAfter, 0.1))
			emit(oneloop.Retry{Attempt: try, Of: o.Retries + 1, Wait: wait, Error: err.Error()})
			if !sleep(ctx, wait) {
				return nil, context.Cause(ctx)
			}
		}
	})
}

func (o RetryOptions) filled() RetryOptions {
	if o.Retries == 0 {
		o.Retries = 8
	}
	if o.Delay <= 0 {
		o.Delay = 500 * time.Millisecond
	}
	if o.Longest <= 0 {
		o.Longest = 30 * time.Second
	}
	if o.Patient <= 0 {
		o.Patient = 10 * time.Minute
	}
	return o
}

// backoff is the wait after a try that failed, when nobody said how long.
func (o RetryOptions) backoff(try int) time.Duration {
	top := max(o.Delay, time.Duration(float64(o.Longest)/(1+jitter)))
	d := o.Delay
	for range try - 1 {
		if d *= 2; d >= top {
			d = top
			break
		}
	}
	return stretch(d, jitter)
}

// stretch lengthens d at random by at most the given part.
func stretch(d time.Duration, part float64) time.Duration {
	if d <= 0 {
		return 0
	}
	return d + time.Duration(rand.Float64()*part*float64(d))
}

// sleep reports whether it slept to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// transient returns the API's error when the same request may succeed later,
// else nil.
func transient(err error) *oneloop.APIError {
	e, ok := errors.AsType[*oneloop.APIError](err)
	if !ok {
		return nil
	}
	switch e.Retry {
	case oneloop.RetryYes:
		return e
	case oneloop.RetryNo:
		return nil
	}
	if !passing(e) {
		return nil
	}
	return e
}

func passing(e *oneloop.APIError) bool {
	switch e.Class {
	case oneloop.ErrAuth, oneloop.ErrBilling, oneloop.ErrNotFound, oneloop.ErrTooLarge, oneloop.ErrContextOverflow:
		return false
	case oneloop.ErrRateLimited:
		return !strings.HasSuffix(e.Code, "_spend_limit_reached") // passes with the month, or when somebody pays
	case oneloop.ErrNetwork:
		_, forged := errors.AsType[*tls.CertificateVerificationError](e)
		return !forged
	case oneloop.ErrOverloaded, oneloop.ErrStreamCut, oneloop.ErrStalled:
		return true
	case oneloop.ErrServer:
		return e.Status != http.StatusNotImplemented
	case oneloop.ErrNotAPI:
		if e.Status == 0 || e.Status == http.StatusOK || e.Status >= 500 {
			return true // no HTTP, a gateway's page, or nothing at all
		}
	}
	return e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict
}
