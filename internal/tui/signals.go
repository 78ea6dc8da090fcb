package tui

import (
	"context"
	"os"
	"os/signal"
	"sync"
)

// Signals returns a context that ends with a [*SignalError] when one of the
// signals that end a program comes: terminate, hang up, quit where they exist,
// and those in also. A conversation takes care of the interrupt itself; one
// task passes [os.Interrupt]. A signal that was ignored when the program
// started, as by nohup, stays ignored. The second signal ends the program at
// once. When everything is tidied up, the program ends with [Die].
func Signals(ctx context.Context, also ...os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var sigs []os.Signal
	for _, s := range append(deadly(), also...) {
		if !signal.Ignored(s) {
			sigs = append(sigs, s)
		}
	}
	if len(sigs) == 0 {
		return ctx, func() { cancel(nil) }
	}
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, sigs...)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		var first os.Signal
		for {
			select {
			case s := <-ch:
				if first != nil {
					Die(s)
				}
				first = s
				cancel(&SignalError{s})
			case <-done:
				return
			}
		}
	})
	return ctx, sync.OnceFunc(func() {
		signal.Stop(ch)
		close(done)
		wg.Wait()
		cancel(nil)
	})
}
