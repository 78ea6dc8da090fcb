package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"oneloop"
	"oneloop/session"
)

// errRoused ends the sleep of an agent that something was told to.
var errRoused = errors.New("there is something to say")

// idle lets an agent that has nothing to do go on when something happens, such
// as the end of a command in the background.
type idle struct {
	mu    sync.Mutex
	texts map[string]bool         // that nobody typed, until they are said
	rouse context.CancelCauseFunc // nil: the agent is at work
}

// tell has a text wait for the next request of an agent, and is a reason for one.
func (i *idle) tell(box *session.Inbox, text string) {
	i.mu.Lock()
	if i.texts == nil {
		i.texts = map[string]bool{}
	}
	i.texts[text] = true
	i.mu.Unlock()
	box.Put(session.BeforeModel, &oneloop.Text{Text: text})
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rouse != nil {
		i.rouse(errRoused)
	}
}

// sleep begins a time in which what is told ends ctx, with [errRoused]. What was
// told before is in the inbox, where one looks first.
func (i *idle) sleep(ctx context.Context) (_ context.Context, up func()) {
	ctx, rouse := context.WithCancelCause(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.rouse = rouse
	return ctx, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.rouse = nil
		rouse(nil)
	}
}

// said reports whether text was told and not typed, and forgets it.
func (i *idle) said(text string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	told := i.texts[text]
	delete(i.texts, text)
	return told
}

// work is listen until nothing is left that a task waits for.
func (p *program) work(ctx context.Context, a *agent, blocks []oneloop.Block, to ...func(oneloop.Event)) error {
	for left := p.settings.BackgroundWait; ; blocks = nil {
		err := p.listen(ctx, a, blocks, to...)
		if err != nil || !p.rest(ctx, a, &left) {
			return err
		}
	}
}

// rest waits, when a task is done, for the end of what runs in the background: it
// reports whether there is something to say. It waits for Settings.BackgroundWait
// in all, of which left is what is left.
func (p *program) rest(ctx context.Context, a *agent, left *time.Duration) bool {
	if !p.wakes() || a.jobs == nil {
		return false
	}
	begin := time.Now()
	defer func() { *left -= time.Since(begin) }()
	ctx, up := a.idle.sleep(ctx)
	defer up()
	if len(a.Inbox.List()) > 0 {
		return true
	}
	if len(a.jobs.Running()) == 0 || *left <= 0 {
		return false
	}
	late := time.NewTimer(*left)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return errors.Is(context.Cause(ctx), errRoused)
	case <-late.C:
		return false
	}
}

// wakes reports whether what is told to an agent that has nothing to do makes it
// go on.
func (p *program) wakes() bool { return findChapter(p.opts.series).wakes }
