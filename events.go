package oneloop

import (
	"context"
	"iter"
	"sync"
)

// Sink returns emit or, when it is nil, a function that takes events from
// nobody to nobody. Whoever offers to be called with a nil emit calls it first.
func Sink(emit func(Event)) func(Event) {
	if emit == nil {
		return func(Event) {}
	}
	return emit
}

// Events runs a turn and yields its events, one at a time and in the order
// they were emitted. The last pair carries the error of run, if there is one,
// and no event.
//
// A consumer that stops early cancels the turn with [ErrInterrupted] and
// waits for it to end. The end of ctx does not stop the events: those that
// tell how the turn ended are still delivered. A panic of run is one of whoever
// takes the events.
func Events(ctx context.Context, run func(ctx context.Context, emit func(Event)) error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		var (
			events = make(chan Event)
			gone   = make(chan struct{}) // closed when the consumer has left
			err    error
			broken any // what run panicked with
			wg     sync.WaitGroup
		)
		wg.Go(func() {
			defer close(events)
			defer func() { broken = recover() }()
			err = run(ctx, func(e Event) {
				select {
				case events <- e:
				case <-gone:
				}
			})
		})
		defer func() {
			if wg.Wait(); broken != nil {
				panic(broken)
			}
		}()
		leave := sync.OnceFunc(func() { cancel(ErrInterrupted); close(gone) })
		defer leave() // also when the consumer panics
		for e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}
