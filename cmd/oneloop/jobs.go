package main

import (
	"fmt"
	"strings"

	"oneloop"
	"oneloop/session"
	"oneloop/tool"
)

// background gives an agent commands in the background. That of the seeds, and
// those of the series, have none.
func (p *program) background(s spec, a *agent) *tool.Jobs {
	if p.opts.tools == "bash" || p.opts.series != "" {
		return nil
	}
	var within *tool.Jobs
	if s.parent != nil {
		within = s.parent.jobs
	}
	return tool.NewJobs(tool.JobsOptions{Within: within, Tell: a.told, Note: func(text string) { a.tell(oneloop.Notice{Text: text}) }})
}

// told hands on that a command in the background has ended: to the model with
// the next request, and to whoever listens.
func (a *agent) told(text string) {
	a.Session.Inbox.Put(session.WithNext, &oneloop.Text{Text: text})
	a.tell(oneloop.Notice{Text: text})
	a.late()
}

// endJobs ends what runs in the background and names it; empty: nothing did.
func (a *agent) endJobs() string {
	if a.jobs == nil {
		return ""
	}
	return strings.Join(a.jobs.End(), ", ")
}

// leaveJobs is endJobs at the end of a conversation, which is said.
func (p *program) leaveJobs(a *agent) {
	if left := a.endJobs(); left != "" {
		a.tell(oneloop.Notice{Text: fmt.Sprintf(p.words.BackgroundEnded, left)})
	}
}

// sayJobs says how many commands run in the background.
func (c *conversation) sayJobs() {
	if c.agent.jobs == nil {
		return
	}
	if n := len(c.agent.jobs.Running()); n > 0 {
		c.front.Say(c.words.InBackground(n))
	}
}
