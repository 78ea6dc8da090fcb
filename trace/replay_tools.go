package trace

import (
	"context"
	"fmt"
	"slices"

	"oneloop"
	"oneloop/session"
)

// Run answers calls as the log does. What a real toolbox answers by itself, such
// as broken input, it answers here too.
func (p *player) Run(ctx context.Context, calls []*oneloop.ToolUse, emit func(oneloop.Event)) *oneloop.Message {
	p.out.Calls += len(calls)
	logged := p.answers()
	box := &oneloop.Toolbox{}
	for _, c := range calls {
		if !slices.ContainsFunc(box.Tools, func(t oneloop.Tool) bool { return t.Name == c.Name }) {
			box.Tools = append(box.Tools, p.tool(c.Name, calls, logged))
		}
	}
	m := box.Run(ctx, calls, emit)
	reminding(m, logged)
	if p.o.Tools != nil && logged != nil && !p.over() {
		p.beside(ctx, calls, logged)
	}
	return m
}

// reminding adds to results what stands behind them in the log: the agent was
// reminded of something.
func reminding(m, logged *oneloop.Message) {
	if logged == nil {
		return
	}
	m.Meta = logged.Meta
	for _, b := range logged.Blocks {
		if _, is := b.(*oneloop.ToolResult); !is {
			m.Blocks = append(m.Blocks, b)
		}
	}
}

// answers are the results the log has next; nil: it has none.
func (p *player) answers() *oneloop.Message {
	e := p.upcoming()
	if e != nil && e.Message != nil && e.Message.Role == oneloop.User && !speaks(e.Message) {
		return e.Message
	}
	p.differ(e, "calls to be run")
	return nil
}

// tool answers calls of one name.
func (p *player) tool(name string, calls []*oneloop.ToolUse, logged *oneloop.Message) oneloop.Tool {
	return oneloop.Tool{ToolDef: oneloop.ToolDef{Name: name}, Run: func(_ context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		p.tellOf(calls, call.ID, emit)
		r := answerTo(logged, call.ID)
		if r == nil {
			return nil, fmt.Errorf("the log has no answer to the call %s", call.ID)
		}
		r = session.Unremarked(r)
		if last := calls[len(calls)-1]; logged.Stop == oneloop.StopEndTurn && call.ID == last.ID && !p.circle() {
			end := *r
			end.EndTurn = true
			return &end, nil
		}
		return r, nil
	}}
}

func answerTo(m *oneloop.Message, id string) *oneloop.ToolResult {
	if m == nil {
		return nil
	}
	for _, b := range m.Blocks {
		if r, ok := b.(*oneloop.ToolResult); ok && r.ID == id {
			return r
		}
	}
	return nil
}

// tellOf tells what happened while the call ran, and before it. What is told of
// calls behind it waits for them.
func (p *player) tellOf(calls []*oneloop.ToolUse, id string, emit func(oneloop.Event)) {
	at := slices.IndexFunc(calls, func(c *oneloop.ToolUse) bool { return c.ID == id })
	for p.pos < p.end && !p.over() {
		e := p.entries[p.pos]
		if e.Message != nil || e.Kind == string(oneloop.KindTurnEnd) || asksForLimit(e) || repetition(e) {
			return
		}
		of := callOf(e)
		if behind := slices.IndexFunc(calls, func(c *oneloop.ToolUse) bool { return of != "" && c.ID == of }); behind > at {
			return
		}
		p.tell(emit)
	}
}

// circle reports whether the turn was ended here for going round in circles,
// which the loop says by itself.
func (p *player) circle() bool {
	for _, e := range p.entries[p.pos:p.end] {
		if e.Message != nil {
			return false
		}
		if repetition(e) {
			return true
		}
	}
	return false
}

// cutShort reports whether the turn was ended in these calls, so that their
// answers are not what they would have been.
func (p *player) cutShort() bool {
	results := false
	for _, e := range p.entries[p.pos:p.end] {
		switch {
		case e.Kind == string(oneloop.KindTurnEnd):
			return endOf(e).Error != ""
		case e.Message != nil && results:
			return false
		case e.Message != nil:
			results = true
		}
	}
	return true
}

// beside runs the calls with real tools and notes which answers are others.
func (p *player) beside(ctx context.Context, calls []*oneloop.ToolUse, logged *oneloop.Message) {
	same := p.o.Same
	if same == nil {
		same = func(_ *oneloop.ToolUse, was, is *oneloop.ToolResult) bool {
			return was != nil && is != nil && sameBlock(was, is)
		}
	}
	calls = slices.DeleteFunc(slices.Clone(calls), func(c *oneloop.ToolUse) bool { return p.denied[c.ID] })
	if len(calls) == 0 || p.cutShort() {
		return
	}
	live := p.o.Tools.Run(ctx, calls, func(oneloop.Event) {})
	for _, c := range calls {
		was, is := answerTo(logged, c.ID), answerTo(live, c.ID)
		if was != nil {
			was = session.Unremarked(was)
		}
		if !same(c, was, is) {
			p.out.Answers = append(p.out.Answers, OtherAnswer{p.turn, c, was, is})
		}
	}
}
