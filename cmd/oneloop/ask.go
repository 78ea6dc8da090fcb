package main

import (
	"context"

	"oneloop"
	"oneloop/session"
)

// askFor is the ask of an agent. The questions of a child say whose they are.
func (p *program) askFor(s spec) oneloop.Ask {
	if p.ask == nil || s.parent == nil || s.child == nil {
		return p.ask
	}
	return func(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
		q.Agent = s.path()
		return p.ask(ctx, q)
	}
}

// path is that of a child; empty: the first agent.
func (s spec) path() string {
	if s.parent == nil || s.child == nil {
		return ""
	}
	return "/" + s.child.Path
}

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
