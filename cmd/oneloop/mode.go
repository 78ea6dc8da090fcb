package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"oneloop"
	"oneloop/policy"
	"oneloop/session"
)

// modes is the permission mode of a run. The person at the terminal can change
// it at any time; it counts from the next call on.
type modes struct {
	mu   sync.Mutex
	now  policy.Mode
	told policy.Mode // what the model takes it to be
}

// begin is the mode that the system prompt was written for.
func (m *modes) begin(mode policy.Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.told = mode, mode
}

func (m *modes) mode() policy.Mode {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *modes) set(mode policy.Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = mode
}

// approved ends the mode plan, which the model hears by other means.
func (m *modes) approved() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.told = policy.Default, policy.Default
}

// heard is what the model has heard of the mode last.
func (m *modes) heard(mode policy.Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = mode
}

// news is what the model takes the mode to be and what it must be told, once:
// the same, then there is nothing to tell.
func (m *modes) news() (told, now policy.Mode) {
	m.mu.Lock()
	defer m.mu.Unlock()
	told, m.told = m.told, m.now
	return told, m.now
}

// next goes on to the mode that a key leads to. What takes more than that out
// of the person's hands is typed.
func (m *modes) next() {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch m.now {
	case policy.Default:
		m.now = policy.AcceptEdits
	case policy.AcceptEdits:
		m.now = policy.Plan
	default:
		m.now = policy.Default
	}
}

// mode is the permission mode now.
func (p *program) mode() policy.Mode { return p.modes.mode() }

// standing is the mode as it stands above what is typed: the usual one needs
// no word.
func (p *program) standing() string {
	if m := p.mode(); m != policy.Default {
		return fmt.Sprintf(p.words.ModeStands, m)
	}
	return ""
}

// setMode is /mode: what there is, or the mode that is named.
func (c *conversation) setMode(name string) {
	w := c.words
	if name == "" {
		lines := []string{c.modeLine(c.mode()), w.ModesHead}
		for m := policy.Default; m <= policy.Bypass; m++ {
			lines = append(lines, fmt.Sprintf("  %-18s %s", m, w.Modes[m]))
		}
		c.front.Say(strings.Join(append(lines, w.ModesKey), "\n"))
		return
	}
	m, err := policy.ParseMode(name)
	if err != nil {
		c.front.Say(fmt.Sprintf(w.ModeNone, name))
		return
	}
	was := c.mode()
	c.modes.set(m)
	lines := []string{c.modeLine(m)}
	switch {
	case m == policy.Bypass && c.agent.box == nil:
		lines = append(lines, w.BypassNone)
	case m == policy.Bypass:
		lines = append(lines, w.BypassSandbox)
	case m == policy.Plan && c.agent.box == nil:
		lines = append(lines, w.PlanNone)
	case m == policy.Plan:
		lines = append(lines, w.SandboxPlan)
	case was == policy.Plan && c.agent.box != nil:
		lines = append(lines, w.SandboxOn)
	}
	if (was == policy.Plan) != (m == policy.Plan) && c.agent.box != nil && c.agent.jobs != nil && len(c.agent.jobs.Running()) > 0 {
		lines = append(lines, w.ModeJobs)
	}
	c.front.Say(strings.Join(lines, "\n"))
}

// remind tells the model, with its next request, that the mode is another one:
// what it has read of it at the beginning stays as it is. The trace is told
// too.
func (p *program) remind(a *agent, traced func(oneloop.Event)) func(oneloop.Event) {
	return func(e oneloop.Event) {
		switch e.(type) {
		case oneloop.TurnStart, oneloop.ToolEnd:
		default:
			return
		}
		told, now := p.modes.news()
		if told == now {
			return
		}
		a.Inbox.Put(session.WithNext, &oneloop.Text{Text: modeNote(told, now, func(tool string) bool { return slices.Contains(a.offered, tool) })})
		if a.box == nil || a.box.Status().Backend != "" { // else it is told when it is known
			traced(p.boundary(a.ws))
		}
	}
}

// heard finds out what the model of a conversation takes the mode to be: what
// the system prompt was written for, unless it was told of another one since,
// perhaps in an earlier run.
func (p *program) heard(log *session.Log) {
	mode := p.settings.Mode
	req, err := log.Request(context.Background())
	if err != nil {
		return // only for a context that has ended
	}
	for _, m := range slices.Backward(req.Messages) {
		if noted, is := notedMode(m); is {
			mode = noted
			break
		}
	}
	p.modes.heard(mode)
}
