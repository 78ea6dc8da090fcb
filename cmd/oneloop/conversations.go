package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"oneloop"
	"oneloop/session"
)

// resume has the user choose another conversation of the folder, or takes the
// one that is named.
func (c *conversation) resume(ctx context.Context, ref string) {
	store := c.store()
	if store == nil {
		c.front.Say(c.words.NothingKept)
		return
	}
	var l session.Listed
	var err error
	if ref != "" {
		if l, err = store.Find(realPath(c.agent.dir), ref); err != nil {
			err = c.noSession(ref, err)
		} else if l.Dir != realPath(c.agent.dir) {
			err = usagef(c.words.OtherFolder, l.ID, l.Dir)
		}
	} else {
		l, err = c.choose(ctx, *store, c.agent.dir, c.agent.id, c.front.Ask)
	}
	if err == nil && l.Path != "" && l.Series != c.opts.series {
		err = usagef(c.words.OtherSeries, l.ID, chapterOf(c.words, l.Series))
	}
	if err == nil && l.Path != "" && l.ID != c.agent.id {
		err = c.goTo(ctx, l.Path)
	}
	if err != nil {
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, c.explain(err)))
	}
}

// fork goes on with a copy of the conversation; the one so far stays as it is.
func (c *conversation) fork(ctx context.Context) {
	log := c.agent.log.Load()
	path := log.Path()
	if err := log.Kept(); err != nil || path == "" || len(log.Prompts()) == 0 {
		if err == nil {
			err = errors.New(c.words.NothingKept)
			if path != "" {
				err = errors.New(c.words.NotSaid)
			}
		}
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, c.explain(err)))
		return
	}
	made, err := session.Fork(path, 0, c.forked())
	if err == nil {
		err = c.goTo(ctx, made)
	}
	if err != nil {
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, c.explain(err)))
		return
	}
	c.front.Say(fmt.Sprintf(c.words.Forked, c.agent.id))
}

// goTo ends this conversation and goes on with another one.
func (c *conversation) goTo(ctx context.Context, path string) error {
	log, damage, err := c.openLog(path, c.logOptions(c.agent, spec{dir: c.agent.dir}))
	if err != nil {
		return c.inUse(err, path)
	}
	c.endSession(ctx, "other")
	old := c.agent.log.Load()
	c.agent.take(log)
	c.agent.ends.source = "resume"
	c.agent.Session = c.agent.build()
	c.trace.clear()
	if err := old.Close(); err != nil {
		c.front.Say(fmt.Sprintf(c.words.LogTrouble, err))
	}
	for _, d := range damage {
		c.front.Say(c.damaged(log.ID(), d))
	}
	c.recap()
	c.takeUp()
	return nil
}

// rename gives the conversation a name.
func (c *conversation) rename(name string) {
	name = strings.Join(strings.Fields(name), " ")
	if name == "" {
		c.front.Say(c.words.RenameHow)
		return
	}
	c.agent.log.Load().SetInfo(func(i *session.Info) { i.Name = name })
	c.front.Say(fmt.Sprintf(c.words.Renamed, name))
}

// recapLines is how much of the last answer is shown again.
const recapLines = 12

// recap shows how the conversation stands that is gone on with.
func (c *conversation) recap() {
	log := c.agent.log.Load()
	info := log.Info()
	title := info.Name
	if title == "" {
		title = info.Title
	}
	c.front.Say(fmt.Sprintf(c.words.Resumed, title, c.words.Turns(info.Turns)))
	req, err := log.Request(context.Background())
	if err != nil {
		return
	}
	var said, answer string
	for _, m := range req.Messages {
		switch text := strings.TrimSpace(m.Text()); {
		case text == "":
		case m.Role == oneloop.Assistant:
			answer = text
		case m.Meta.Source == "":
			said, answer = text, ""
		}
	}
	if said != "" {
		c.front.Say("> " + session.Title(said))
	}
	if lines := strings.Split(answer, "\n"); answer != "" {
		c.front.Say(strings.Join(lines[max(0, len(lines)-recapLines):], "\n"))
	}
	if c.agent.todos != nil {
		if open := c.agent.todos.Open(); open != "" {
			c.front.Say(open)
		}
	}
}

// hint says how the conversation can be gone on with, once the terminal is
// given back. What is not kept is not offered.
func (c *conversation) hint() {
	if log := c.agent.log.Load(); log.Kept() == nil && len(log.Prompts()) > 0 {
		c.front.Close()
		id := c.agent.id
		if c.tree != nil && c.tree.own { // which may be gone by then
			id += " --worktree " + c.tree.Name
		}
		fmt.Fprintf(c.stderr, c.words.ResumeHint+"\n", id)
	}
}
