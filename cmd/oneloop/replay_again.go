package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"oneloop"
	"oneloop/budget"
	"oneloop/internal/tui"
	"oneloop/model"
	"oneloop/session"
	"oneloop/trace"
)

// askAgain says what was said in a session to a model again, and compares. Unlike a
// plain replay it sends requests.
func (p *program) askAgain(ctx context.Context, path string) error {
	var prompt []oneloop.Block
	if p.opts.promptFile != "" {
		text, err := os.ReadFile(p.opts.promptFile)
		if err != nil {
			return usagef(p.words.BadFile, p.opts.promptFile, plain(err))
		}
		if words := strings.TrimSpace(string(text)); words != "" { // an empty one is none
			prompt = []oneloop.Block{&oneloop.Text{Text: words}}
		}
	}
	l, _, _, err := session.Look(path)
	if err != nil {
		return &codeError{exitConfig, err}
	}
	if p.opts.model == "" { // else another prompt alone
		p.opts.model = l.Model
	}
	dir, err := p.folder()
	if err != nil {
		return err
	}
	if err := p.load(ctx, dir, nil); err != nil {
		return err
	}
	p.sayNotices()
	ledger := budget.New(budget.Limits{Requests: p.opts.maxTurns, Cost: p.opts.maxCost})
	ledger.Use(p.price)
	m, err := p.asker(ledger)
	if err != nil {
		return &codeError{exitConfig, err}
	}
	fmt.Fprintf(p.stderr, p.words.ReplayAsks+"\n", tui.Visible(p.modelName()))
	c, err := trace.Again(ctx, path, trace.AgainOptions{
		Model: m, From: p.opts.from, Window: session.Window{Tokens: p.catalogue().Context},
		Setup: func(s session.Setup) session.Setup {
			s.Model = p.modelName()
			s.Params.MaxTokens = min(s.Params.MaxTokens, p.catalogue().MaxOutput)
			if p.settings.Effort != "" {
				s.Params.Effort = p.settings.Effort
			}
			if p.opts.promptFile != "" {
				s.System = prompt
			}
			return s
		},
		Emit: p.shown(),
	})
	if errors.Is(err, trace.ErrNoTurn) {
		return usagef("%v", err)
	}
	if err != nil {
		return &codeError{exitConfig, err}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprint(p.stdout, tui.Table(p.compared(c)))
	return err
}

// sayNotices says what came up while the settings were read.
func (p *program) sayNotices() {
	for _, n := range p.settings.Notices {
		fmt.Fprintf(p.stderr, "oneloop: %s\n", tui.Visible(n))
	}
}

// asker is the model that is asked again, within limits of its own.
func (p *program) asker(l *budget.Ledger) (oneloop.Model, error) {
	if p.opts.maxCost > 0 {
		if err := l.Priced(p.modelName()); err != nil {
			return nil, err
		}
	}
	m, err := p.adapter(nil, p.modelName())
	if err != nil {
		return nil, err
	}
	m = model.Stall(m, model.StallOptions{Idle: p.settings.IdleTimeout, Progress: p.settings.ProgressTimeout})
	m = model.Pause(m, model.PauseOptions{})
	m = model.Retry(m, p.retries())
	return model.Budget(m, l, p.modelName()), nil
}

// shown shows a person at a terminal what happens.
func (p *program) shown() func(oneloop.Event) {
	if !tui.IsTerminal(p.stderr) {
		return nil
	}
	return tui.NewProgress(p.stderr, tui.ProgressOptions{Words: p.words, Color: tui.Color(p.stderr, p.variable)}).Show
}

// compared are the rows of a table: what it was, and what it is.
func (p *program) compared(c *trace.Compared) [][]string {
	labels := p.words.ReplayTable
	cost := func(x trace.Course) string {
		if !x.Known {
			return "?"
		}
		return fmt.Sprintf("$%.4f", x.Cost)
	}
	calls := func(x trace.Course) string {
		if x.NotRun > 0 {
			return fmt.Sprintf(p.words.ReplayNotRun, x.Calls, x.NotRun)
		}
		return fmt.Sprint(x.Calls)
	}
	row := func(label string, of func(trace.Course) string) []string {
		return []string{label, tui.Visible(of(c.Was)), tui.Visible(of(c.Is))}
	}
	return [][]string{
		{"", labels[0], labels[1]},
		row(labels[2], func(x trace.Course) string { return x.Model }),
		row(labels[3], func(x trace.Course) string { return fmt.Sprint(x.Turns) }),
		row(labels[4], func(x trace.Course) string { return fmt.Sprint(x.Replies) }),
		row(labels[5], calls),
		row(labels[6], cost),
		row(labels[7], func(x trace.Course) string { return tui.Head(x.End) }),
		row(labels[8], func(x trace.Course) string { return tui.Head(x.Answer) }),
	}
}
