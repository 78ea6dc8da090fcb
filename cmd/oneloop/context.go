package main

import (
	"context"
	"errors"
	"fmt"

	"oneloop"
	"oneloop/policy"
	"oneloop/session"
)

// fitted has the conversation of s made shorter when it outgrows the model's
// window, unless a hook says no.
func (a *agent) fitted(s *session.Session) {
	s.Window = session.Window{Tokens: a.model.Context}
	s.BeforeCompact = func(ctx context.Context, o session.Occasion) error {
		return a.hooks.BeforeCompact(ctx, policy.Compaction{Trigger: o.Trigger, Instructions: o.Focus})
	}
}

// compact makes the conversation shorter now. The person can stop it.
func (c *conversation) compact(ctx context.Context, focus string) {
	turn, end := c.front.Turn(ctx)
	err := c.agent.Compact(turn, c.hearing(c.agent, c.front.Show, c.trace.show), focus)
	end()
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, session.ErrNothing):
		c.front.Say(c.words.NothingShorter)
	case errors.Is(err, oneloop.ErrInterrupted):
		c.front.Say(c.words.Interrupted)
	default:
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, c.explain(err)))
	}
}

// window shows what fills the model's window.
func (c *conversation) window(ctx context.Context) {
	fill, err := c.agent.Fill(ctx)
	if err != nil {
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, c.explain(err)))
		return
	}
	c.front.Say(c.words.Window(fill))
}
