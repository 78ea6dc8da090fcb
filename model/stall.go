package model

import (
	"context"
	"fmt"
	"sync"
	"time"

	"oneloop"
)

// StallOptions bound silence.
type StallOptions struct {
	Idle     time.Duration // without any byte of the answer; 0: 5 min, negative: no bound
	Progress time.Duration // with bytes but nothing of the message, e.g. only pings; 0: 10 min, negative: no bound
}

// Stall ends a request whose answer falls silent, before its head or at any
// time after, with an [*oneloop.APIError] of class [oneloop.ErrStalled]. What
// was streamed is void then; what it used is told in a [oneloop.Discard].
//
// The time in which a listener holds up an event does not count: it is not
// the API that is silent.
func Stall(m oneloop.Model, o StallOptions) oneloop.Model {
	if o.Idle == 0 {
		o.Idle = 5 * time.Minute
	}
	if o.Progress == 0 {
		o.Progress = 10 * time.Minute
	}
	return oneloop.ModelFunc(func(outer context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		emit = oneloop.Sink(emit)
		ctx, cancel := context.WithCancelCause(outer)
		defer cancel(nil)
		d := &draft{emit: emit}
		w := &watch{emit: d.event}
		w.idle = w.timer(o.Idle, func() { cancel(w.stalled("no byte came for %v", o.Idle)) })
		w.progress = w.timer(o.Progress, func() { cancel(w.stalled("nothing but keep-alive came for %v", o.Progress)) })
		defer w.stop()

		msg, err := m.Generate(ctx, req, w.event)
		silent, ours := context.Cause(ctx).(*oneloop.APIError)
		switch {
		case !ours, err == nil && msg.Stop != oneloop.StopInterrupted:
			return msg, err
		case outer.Err() == nil:
			var used oneloop.Usage
			if msg != nil {
				used = msg.Usage
			}
			d.void(silent.Error(), used)
			return nil, silent
		case err != nil: // the user left while it was stopping
			return nil, context.Cause(outer)
		}
		return msg, nil
	})
}

func (w *watch) stalled(format string, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &oneloop.APIError{Class: oneloop.ErrStalled, URL: w.url, Message: fmt.Sprintf(format, d)}
}

// watch is two timers that events set back.
type watch struct {
	emit           func(oneloop.Event)
	idle, progress *alarm

	mu   sync.Mutex
	busy int    // events on their way to the listener
	url  string // of the request
}

type alarm struct {
	*time.Timer
	after time.Duration
}

// timer calls ring once, after a time in which it was not reset and no event
// was on its way. It is nil when after is no bound.
func (w *watch) timer(after time.Duration, ring func()) *alarm {
	if after < 0 {
		return nil
	}
	a := &alarm{after: after}
	w.mu.Lock() // the function must not run before a is whole
	defer w.mu.Unlock()
	a.Timer = time.AfterFunc(after, func() {
		w.mu.Lock()
		held := w.busy > 0
		if held {
			a.Reset(after)
		}
		w.mu.Unlock()
		if !held {
			ring()
		}
	})
	return a
}

func (a *alarm) restart() {
	if a != nil {
		a.Reset(a.after)
	}
}

func (w *watch) event(e oneloop.Event) {
	w.mu.Lock()
	w.busy++
	w.mu.Unlock()
	w.emit(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	switch e := e.(type) {
	case oneloop.RequestSent:
		w.url = e.URL
	case oneloop.Received, oneloop.ResponseStarted:
		w.idle.restart()
	case oneloop.TextDelta, oneloop.ThinkingDelta, oneloop.InputDelta:
		w.idle.restart()
		w.progress.restart()
	}
}

func (w *watch) stop() {
	for _, a := range []*alarm{w.idle, w.progress} {
		if a != nil {
			a.Stop()
		}
	}
}
