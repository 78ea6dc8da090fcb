package session

import (
	"context"

	"oneloop"
)

// Queue returns an [oneloop.Ask] that puts one question at a time, whoever
// asks at once. Who waits for a turn leaves when its ctx ends. A nil ask gives
// nil: nobody is there.
func Queue(ask oneloop.Ask) oneloop.Ask {
	if ask == nil {
		return nil
	}
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return oneloop.Answer{}, context.Cause(ctx)
		}
		defer func() { <-turn }()
		if err := context.Cause(ctx); err != nil {
			return oneloop.Answer{}, err
		}
		return ask(ctx, q)
	}
}

// Put asks q and emits the question and how it ended. A question that nobody
// answered ends as a no.
func Put(ctx context.Context, ask oneloop.Ask, q oneloop.Question, emit func(oneloop.Event)) (oneloop.Answer, error) {
	emit(oneloop.Asked{Question: q})
	a, err := ask(ctx, q)
	if err != nil {
		a = oneloop.Answer{Reason: err.Error()}
	}
	emit(oneloop.Answered{Question: q, Answer: a})
	return a, err
}
