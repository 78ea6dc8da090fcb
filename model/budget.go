package model

import (
	"context"
	"errors"

	"oneloop"
	"oneloop/budget"
)

// Budget counts requests and what they use in a ledger, prices them as those
// of the model with this id, and holds to the ledger's limits: a request that
// may not begin fails with an [*oneloop.LimitError], one whose beginning could
// overshoot a limit waits for those under way ([budget.Ledger.Begin]), and one
// that is under way when the time is up is interrupted. It emits [oneloop.Spend] after every
// reply and [oneloop.Limited] when a limit is reached.
//
// Tries that failed are on the bill, too: what a [oneloop.Discard] says was
// used is charged, and no further try is made once that reaches a limit.
//
// Under a limit on cost, a model without a known price is refused.
func Budget(m oneloop.Model, l *budget.Ledger, id string) oneloop.Model {
	return oneloop.ModelFunc(func(outer context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		emit = oneloop.Sink(emit)
		if err := l.Priced(id); err != nil {
			return nil, err
		}
		end, err := l.Begin(outer)
		if err != nil {
			limited(err, emit)
			return nil, err
		}
		defer end()
		ctx, stop := context.WithCancelCause(outer)
		defer stop(nil)
		if at, timeUp := l.Deadline(); timeUp != nil {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadlineCause(ctx, at, timeUp)
			defer cancel()
		}
		msg, err := m.Generate(ctx, req, func(e oneloop.Event) {
			emit(e)
			if void, ok := e.(oneloop.Discard); ok && void.Usage.Reported {
				emit(l.Charge(id, void.Usage))
				if err := l.UsedUp(); err != nil {
					stop(err)
				}
			}
		})
		if msg != nil {
			emit(l.Charge(id, msg.Usage))
		}
		ours := outer.Err() == nil && ctx.Err() != nil
		if ours && (err != nil || msg.Stop == oneloop.StopInterrupted) {
			limited(context.Cause(ctx), emit)
			if err != nil {
				err = context.Cause(ctx)
			}
		}
		return msg, err
	})
}

func limited(err error, emit func(oneloop.Event)) {
	if e, ok := errors.AsType[*oneloop.LimitError](err); ok {
		emit(oneloop.Limited{What: e.What, Limit: e.Limit, Used: e.Used})
	}
}
