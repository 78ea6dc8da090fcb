package main

import (
	"fmt"
	"strings"
	"time"

	"oneloop"
	"oneloop/session"
	"oneloop/tool"
)

// background gives an agent commands in the background. That of the seeds, and
// those of the first chapters of the series, have none.
func (p *program) background(s spec, a *agent) *tool.Jobs {
	if p.opts.tools == "bash" || p.opts.series != "" && !p.wakes() {
		return nil
	}
	var within *tool.Jobs
	if s.parent != nil {
		within = s.parent.jobs
	}
	a.wakes = s.parent == nil && p.wakes()
	return tool.NewJobs(tool.JobsOptions{Within: within, Tell: a.told, Note: func(text string) { a.tell(oneloop.Notice{Text: text}) }})
}

// told hands on that a command in the background has ended: to the model with
// the next request, and to whoever listens.
func (a *agent) told(text string) {
	a.tell(oneloop.Notice{Text: text})
	if a.wakes {
		a.idle.tell(a.Session.Inbox, text)
	} else {
		a.Session.Inbox.Put(session.WithNext, &oneloop.Text{Text: text})
	}
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

// listJobs is /jobs: what runs in the background, and what ran.
func (c *conversation) listJobs() {
	if c.agent.jobs == nil || len(c.agent.jobs.List()) == 0 {
		c.front.Say(c.words.NoJobs)
		return
	}
	for _, j := range c.agent.jobs.List() {
		if j.How == "" {
			c.front.Say(fmt.Sprintf(c.words.JobRuns, j.ID, time.Since(j.Begun).Round(time.Second), j.Title, j.Output))
		} else {
			c.front.Say(fmt.Sprintf(c.words.JobEnded, j.ID, j.Title, j.How))
		}
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
