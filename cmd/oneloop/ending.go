package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/policy"
)

// ending is why the session ends, and why the next one starts, as hooks call
// it.
type ending struct {
	reason string // empty: "other"
	began  bool
	source string // of the next one; empty: "startup"
}

func (e *ending) start(ctx context.Context, h *policy.Hooks) error {
	if err := h.Start(ctx, cmp.Or(e.source, "startup")); err != nil {
		return err
	}
	e.began = true
	return nil
}

func (e *ending) end(ctx context.Context, h *policy.Hooks) error {
	reason := cmp.Or(e.reason, "other")
	if e.reason = ""; reason == "clear" {
		e.source = "clear"
	}
	return h.End(ctx, reason)
}

// patience is how long the end of a session may take without a word.
const patience = time.Second

// leave ends the session, with the hooks that run then. Nobody has to wait for
// them: Ctrl-C goes without. say is for what they have to tell where those who
// listened are gone; nil: they are there.
func (p *program) leave(a *agent, say func(oneloop.Event)) error {
	if say != nil {
		a.hear.Store(&say)
	}
	ctx := context.Background()
	if !signal.Ignored(os.Interrupt) {
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt)
		defer stop()
	}
	slow := time.AfterFunc(patience, func() { fmt.Fprintf(p.stderr, "oneloop: %s\n", p.words.HooksWait) })
	defer slow.Stop()
	err := a.Session.Close(ctx)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(p.stderr, "oneloop: %s\n", p.words.HooksLeft)
		return nil
	}
	return err
}

// aside prints what users should know on standard error.
func (p *program) aside(e oneloop.Event) {
	if n, ok := e.(oneloop.Notice); ok {
		fmt.Fprintf(p.stderr, "oneloop: %s\n", tui.Visible(oneLine(n.Text)))
	}
}
