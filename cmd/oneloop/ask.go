package main

import (
	"context"

	"oneloop"
	"oneloop/session"
)

// traced is ask for tools, which emit nothing of what they ask: whoever
// listens to the agent is told of it.
func (a *agent) traced(ask oneloop.Ask) oneloop.Ask {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
		return session.Put(ctx, ask, q, a.tell)
	}
}
