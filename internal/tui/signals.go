package tui

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"time"
)

// soon is how long a program may take to tidy up that was told to hurry.
const soon = 3 * time.Second

// Signals returns a context that ends with a [*SignalError] when one of the
// signals that end a program comes: terminate, hang up, quit where they exist,
// and those in also. A conversation takes care of the interrupt itself; one
// task passes [os.Interrupt]. A signal that was ignored when the program
// started, as by nohup, stays ignored. The second signal calls hurry, and ends
// the program if it has not ended soon; the third does at once. Both call last
// before, for what must not be left behind; it takes no time to speak of. When
// everything is tidied up, the program ends with [Die]. A write to a pipe that
// nobody reads is an error from then on, and no signal.
//
// Taking the signals over goes on while the caller begins its work, for each
// of them is a round trip between threads. One that comes before it is done
// ends the program as it does every other; whoever has something to give back
// by then, such as a terminal, calls ready first, which waits for it.
func Signals(ctx context.Context, hurry, last func(), also ...os.Signal) (_ context.Context, ready, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var sigs []os.Signal
	for _, s := range append(deadly(), also...) {
		if !signal.Ignored(s) {
			sigs = append(sigs, s)
		}
	}
	ch := make(chan os.Signal, 2)
	done, taken := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		dropPipe()
		if len(sigs) > 0 { // none would be all there are
			signal.Notify(ch, sigs...)
			defer signal.Stop(ch)
		}
		close(taken)
		var latest os.Signal
		var late <-chan time.Time
		for {
			select {
			case s := <-ch:
				switch {
				case late != nil:
					last()
					Die(s)
				case latest != nil:
					hurry()
					late = time.After(soon)
				default:
					cancel(&SignalError{s})
				}
				latest = s
			case <-late:
				last()
				Die(latest)
			case <-done:
				return
			}
		}
	})
	return ctx, func() { <-taken }, sync.OnceFunc(func() {
		close(done)
		wg.Wait()
		cancel(nil)
	})
}
