package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/policy"
	"oneloop/session"
)

// converse talks with the user until they leave.
func (p *program) converse(ctx context.Context) (err error) {
	p.ready() // from here on there may be a terminal to give back
	if p.opts.schema != "" {
		return usagef(p.words.FlagTogether, "--json-schema", p.words.OneTask)
	}
	dir, err := p.folder()
	if err != nil {
		return err
	}
	defer func() { p.leaveTree(ctx) }()
	if dir, err = p.enter(ctx, dir, p.askTrust()); err != nil {
		return err
	}
	resume, dir, err := p.resumed(ctx, dir)
	if err != nil {
		return err
	}
	if err := p.checkTools(); err != nil {
		return err
	}
	if err := p.load(ctx, dir, p.askTrust()); err != nil {
		return err
	}
	if err := p.stay(ctx, dir); err != nil {
		return err
	}
	var front tui.Front
	p.ask = session.Queue(func(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) { return front.Ask(ctx, q) })
	a, err := p.newAgent(spec{dir: dir, resume: resume})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.leave(a, p.aside), a.Close()) }()
	c := &conversation{program: p, agent: a}
	front, err = tui.Open(tui.Options{
		In: p.stdin, Out: p.stdout, Err: p.stderr, Words: p.words, Env: p.variable,
		History: p.historyFile(), LeaveOnBlank: p.profile(a.dir).leaveOn,
		Standing: p.standing, BackTab: p.modes.next, Complete: c.complete, Bell: p.settings.Bell,
	})
	if err != nil {
		return err
	}
	defer front.Close()
	a.says = mentionsSaid{front.Say, front.Say}
	traced, err := p.tracer(a, front)
	if err != nil {
		return err
	}
	for _, e := range p.before {
		traced.show(e)
	}
	front.Say(fmt.Sprintf(p.words.Welcome, version(), a.model.ID, a.dir))
	front.Say(p.words.WelcomeHint)
	for _, line := range p.opening(a) {
		front.Say(line)
	}
	for _, n := range p.notices() {
		front.Say(n)
	}
	c.front, c.trace = front, traced
	p.tree.begin()
	if resume != "" {
		c.recap()
	}
	c.takeUp()
	defer c.hint()
	if err = c.run(ctx); err == nil {
		a.ends.reason = "prompt_input_exit"
	}
	c.left()
	p.leaveJobs(a)
	return errors.Join(err, traced.done())
}

// askTrust puts the question about what the folder brings along, before the
// conversation begins.
func (p *program) askTrust() oneloop.Ask {
	return func(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
		front, err := tui.Open(tui.Options{In: p.stdin, Out: p.stdout, Err: p.stderr, Words: p.words, Env: p.variable})
		if err != nil {
			return oneloop.Answer{}, err
		}
		defer front.Close()
		return front.Ask(ctx, q)
	}
}

// trustQuestion is that question in the user's language.
func (p *program) trustQuestion(dir string, found []policy.Finding) oneloop.Question {
	q := policy.TrustQuestion(dir, found)
	found = slices.Clone(found)
	for i, f := range found {
		f.Items = append(slices.Clone(f.Items), skillItems(dir, f)...)
		found[i].Items = slices.Clone(f.Items)
		for j, item := range f.Items {
			found[i].Items[j] = p.words.Item(item)
		}
	}
	q.Title, q.Reason = fmt.Sprintf(p.words.TrustTitle, dir), p.words.TrustReason
	q.Detail = policy.TrustDetail(dir, found, func(k policy.FindingKind) string { return p.words.TrustKinds[k] }, p.words.TrustChanged)
	return q
}

// historyFile keeps prompts between runs; empty when nothing can be kept.
func (p *program) historyFile() string {
	if p.settings.StateDir == "" {
		return ""
	}
	return filepath.Join(p.settings.StateDir, "prompts")
}

// conversation is a program talking with a person.
type conversation struct {
	*program
	agent *agent
	front tui.Front
	trace tracer
	waits waits
}

func (c *conversation) run(ctx context.Context) error {
	for {
		line, err := c.next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		word := strings.TrimSpace(line)
		switch {
		case word == "q" || word == "exit":
			return nil
		case word == "!":
			c.front.Say(c.words.OwnHow)
			continue
		}
		if name, args, ok := slash(line); ok && !c.theirs(name) {
			c.command(ctx, name, args)
			continue
		}
		if command, ok := own(line); ok {
			c.runOwn(ctx, command)
			continue
		}
		if err := c.checkPrompt(line); err != nil {
			c.front.Say(err.Error())
			continue
		}
		if err := c.turn(ctx, line); err != nil {
			return err
		}
	}
}

// turn takes one turn. Its error ends the conversation.
func (c *conversation) turn(ctx context.Context, line string) error {
	c.agent.newTurn()
	turn, end := c.front.Turn(ctx)
	var meanwhile sync.WaitGroup
	typing, enough := context.WithCancel(turn)
	meanwhile.Go(func() { c.attend(typing) })
	began := false
	err := c.listen(turn, c.agent, c.speak(line), c.front.Show, c.delivered, c.trace.show, c.remind(c.agent, c.trace.show),
		func(e oneloop.Event) { began = began || e.Kind() == oneloop.KindTurnStart })
	enough()
	meanwhile.Wait()
	end()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	defer c.sayJobs()
	c.waits.held = false
	switch {
	case err == nil:
	case errors.Is(err, oneloop.ErrInterrupted):
		c.front.Say(c.words.Interrupted)
		if !began { // in a hook: what waits would only come into it again
			c.hold()
		}
	default:
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, c.explain(err)))
		c.front.Say(c.words.PromptKept)
		c.hold()
	}
	return nil
}

// slash splits a line that is meant for the program and not for the model: one
// line, whose first word begins with / and has no other one, as a path would.
func slash(line string) (name, args string, ok bool) {
	line = strings.TrimRightFunc(line, unicode.IsSpace)
	name = line
	if i := strings.IndexFunc(line, unicode.IsSpace); i >= 0 {
		name, args = line[:i], line[i:]
	}
	ok = strings.HasPrefix(name, "/") && strings.Count(name, "/") == 1 && !strings.Contains(line, "\n")
	return name, args, ok
}

// clear ends the session and begins another. The person can stop hooks that
// take their time at the end.
func (c *conversation) clear(ctx context.Context) {
	c.endSession(ctx, "clear")
	c.renew(c.agent)
	c.trace.clear()
	c.takeUp()
	c.front.Say(c.words.Cleared)
}

// endSession ends a conversation that another follows.
func (c *conversation) endSession(ctx context.Context, reason string) {
	c.leaveJobs(c.agent) // the new one knows nothing of them
	c.agent.ends.reason = reason
	turn, end := c.front.Turn(ctx)
	slow := time.AfterFunc(patience, func() { c.front.Say(c.words.HooksWait) })
	err := c.agent.Session.Close(turn)
	slow.Stop()
	end()
	if err != nil && turn.Err() == nil {
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, c.explain(err)))
	}
}

// diff shows what the session changed.
func (c *conversation) diff() {
	changed := c.agent.files.Diff()
	if len(changed) == 0 {
		c.front.Say(c.words.NoDiff)
	}
	for _, f := range changed {
		c.front.Say(fmt.Sprintf("%s  +%d -%d", f.Path, f.Added, f.Removed))
		if text := strings.TrimRight(f.Diff+f.Note, "\n"); text != "" {
			c.front.Say(text)
		}
	}
}

// commands are those that begin with /. Those that take words get them; others
// stand alone, for the words are perhaps for the model, and /clear must not
// take them.
func (c *conversation) commands(ctx context.Context) (alone map[string]func(), withWords map[string]func(words string)) {
	alone = map[string]func(){
		"/help":        func() { c.front.Say(c.words.Help) },
		"/cost":        func() { c.front.Say(c.words.Bill(c.agent.spent(), c.agent.log.Load().Bill())) },
		"/context":     func() { c.window(ctx) },
		"/diff":        c.diff,
		"/todo":        c.todo,
		"/agents":      c.subagents,
		"/jobs":        c.listJobs,
		"/permissions": func() { c.front.Say(c.permissions()) },
		"/sandbox":     func() { c.front.Say(c.sandbox()) },
		"/clear":       func() { c.clear(ctx) },
		"/fork":        func() { c.fork(ctx) },
		"/rewind":      func() { c.rewind(ctx) },
		"/init":        func() { c.initiate(ctx) },
		"/skills":      c.listSkills,
	}
	withWords = map[string]func(words string){
		"/resume":    func(words string) { c.resume(ctx, words) },
		"/compact":   func(words string) { c.compact(ctx, words) },
		"/rename":    c.rename,
		"/memory":    func(words string) { c.notes(ctx, words) },
		"/mode":      c.setMode,
		"/model":     func(words string) { c.chooseModel(ctx, words) },
		"/queue":     c.queue,
		"/worktrees": func(words string) { c.worktreesLine(ctx, words) },
	}
	return alone, withWords
}

// command does what a line that begins with / says.
func (c *conversation) command(ctx context.Context, name, args string) {
	alone, withWords := c.commands(ctx)
	words := strings.TrimSpace(args)
	switch {
	case withWords[name] != nil:
		withWords[name](words)
	case alone[name] == nil:
		c.front.Say(fmt.Sprintf(c.words.UnknownSlash, name))
	case words != "":
		c.front.Say(fmt.Sprintf(c.words.SlashAlone, name))
	default:
		alone[name]()
	}
}
