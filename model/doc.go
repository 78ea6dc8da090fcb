// Package model wraps models with what every one of them needs: [Retry] sends
// a request again that failed for a passing reason, [Stall] ends one that
// fell silent, [Pause] lets a paused reply go on, [Budget] holds an agent
// to its limits, and [Fallback] asks another model when one stays overloaded. Each turns a [oneloop.Model] into another that keeps the
// contract of Generate.
//
// They are meant to be put around an adapter in this order:
//
//	m = model.Budget(model.Retry(model.Pause(model.Stall(adapter, …), …), …), ledger, id)
//
// with [Fallback] around two of these, so that every try and every continuation has timeouts of its own, and a
// request counts once however often it is tried.
package model

import (
	"sync"

	"oneloop"
)

// draft passes events on and knows whether pieces of a message were among
// them that nobody has declared void.
type draft struct {
	emit func(oneloop.Event)
	mu   sync.Mutex
	open bool
}

func (d *draft) event(e oneloop.Event) {
	switch e.(type) {
	case oneloop.TextDelta, oneloop.ThinkingDelta, oneloop.InputDelta:
		d.set(true)
	case oneloop.Discard:
		d.set(false)
	}
	d.emit(e)
}

func (d *draft) set(open bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open = open
}

// void says that the pieces are void, unless it has been said, and what was
// used for them, unless it was nothing or has been said.
func (d *draft) void(reason string, used oneloop.Usage) {
	d.mu.Lock()
	was := d.open
	d.open = false
	d.mu.Unlock()
	if was || used.Reported {
		d.emit(oneloop.Discard{Reason: reason, Usage: used})
	}
}
