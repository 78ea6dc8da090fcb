package tui

import (
	"fmt"
	"time"

	"oneloop"
)

// silence is how long nothing must have been shown before the time is.
const silence = 2 * time.Second

// pulse knows what a turn waits for, so that a wait in which nothing is shown
// can be seen to go on. The zero value waits for nothing.
type pulse struct {
	shown   time.Time            // when something was shown
	asked   time.Time            // when the model was; zero: it is not its turn
	replies bool                 // its answer has begun
	calls   map[string]time.Time // when those that run began
}

func (p *pulse) hear(e oneloop.Event) {
	switch e := e.(type) {
	case oneloop.TurnStart, oneloop.TurnEnd:
		*p = pulse{shown: p.shown}
	case oneloop.RequestSent, oneloop.Retry:
		p.asked, p.replies = time.Now(), false
	case oneloop.ResponseStarted:
		p.replies = true
	case oneloop.MessageAdded:
		if e.Message.Role == oneloop.Assistant {
			p.asked = time.Time{}
		}
	case oneloop.ToolStart:
		if p.calls == nil {
			p.calls = map[string]time.Time{}
		}
		p.calls[e.Call.ID] = time.Now()
	case oneloop.ToolEnd:
		delete(p.calls, e.Call.ID)
	case oneloop.Answered: // the person's time is not the call's
		if call := e.Question.Call; call != nil && !p.calls[call.ID].IsZero() {
			p.calls[call.ID] = time.Now()
		}
	}
}

// since is when what is waited for began; zero: nothing is waited for.
func (p *pulse) since() time.Time {
	since := p.asked
	for _, began := range p.calls {
		if since.IsZero() || began.Before(since) {
			since = began
		}
	}
	return since
}

// due is when the time is shown first.
func (p *pulse) due() time.Time {
	due := p.since()
	if p.shown.After(due) {
		due = p.shown
	}
	return due.Add(silence)
}

// text says what is waited for and how long already; empty: there is nothing
// to say.
func (p *pulse) text(x *Text) string {
	now, since := time.Now(), p.since()
	if since.IsZero() || now.Before(p.due()) {
		return ""
	}
	long := now.Sub(since).Truncate(time.Second)
	switch {
	case len(p.calls) > 1:
		return fmt.Sprintf(x.WaitsCalls, len(p.calls), long)
	case len(p.calls) == 1:
		return fmt.Sprintf(x.WaitsCall, long)
	case p.replies:
		return fmt.Sprintf(x.WaitsReply, long)
	}
	return fmt.Sprintf(x.WaitsModel, long)
}

// next is how long text stays as it is.
func (p *pulse) next() time.Duration {
	now, since := time.Now(), p.since()
	if since.IsZero() {
		return time.Second
	}
	if due := p.due(); now.Before(due) {
		return due.Sub(now)
	}
	return time.Second - now.Sub(since)%time.Second
}
