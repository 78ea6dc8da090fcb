package session

import (
	"context"
	"errors"

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

var errNobody = errors.New("nobody is there to answer")

// Put asks q and emits the question and how it ended, so that whoever listens
// knows what was asked. A question that nobody answered, and one to a nil ask,
// ends as a no.
func Put(ctx context.Context, ask oneloop.Ask, q oneloop.Question, emit func(oneloop.Event)) (oneloop.Answer, error) {
	emit(oneloop.Asked{Question: q})
	var a oneloop.Answer
	err := errNobody
	if ask != nil {
		a, err = ask(ctx, q)
	}
	if err != nil {
		a = oneloop.Answer{Reason: err.Error()}
	}
	emit(oneloop.Answered{Question: q, Answer: a})
	return a, err
}
