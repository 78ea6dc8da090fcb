package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"oneloop"
	"oneloop/session"
)

// AgainOptions are those of [Again]. Model is needed.
type AgainOptions struct {
	// Model is asked, for real.
	Model oneloop.Model
	// Setup changes what is sent beside the messages: the name of the model, the
	// system prompt. Nil: it is as it was when the turn began.
	Setup func(session.Setup) session.Setup
	// From is the turn that is asked again first, as `oneloop sessions show`
	// numbers them, and all that follow it; 0: the first.
	From int
	// Tools answer calls. Nil: a call that the session made with the same input
	// gets the answer of the log, and the model is told that others are not run.
	Tools  oneloop.Tools
	Window session.Window
	Emit   func(oneloop.Event) // hears what happens; nil: nobody does
}

// Compared is how some turns of a session went, and how they went again.
type Compared struct {
	From    int // the first of them
	Was, Is Course
}

// Course is how turns went.
type Course struct {
	Model                 string
	Turns, Replies, Calls int
	NotRun                int // calls of them that the log has no answer for
	Usage                 oneloop.Usage
	Cost                  float64 // in US dollars
	Known                 bool    // all of it has a price
	End                   string  // how the last turn ended: an error, else why the model stopped
	Answer                string  // what the model said last
}

// ErrNoTurn says that a session has no turn of that number.
var ErrNoTurn = errors.New("the session has no such turn")

// Again says what the user said in a session to a model once more, from a turn
// on. What came before stays, but for reasoning, which an API may bind to the
// model and the system prompt it came with. What was typed into the middle of
// the work is not said again, and no hooks are run. A turn that fails is the
// last. The error is that of reading the log.
func Again(ctx context.Context, path string, o AgainOptions) (*Compared, error) {
	var entries []session.Entry
	var all session.Fold
	if _, _, err := session.Read(path, func(e session.Entry) error {
		entries = append(entries, e)
		_ = all.Take(e) // what cannot be used counts for nothing
		return nil
	}); err != nil {
		return nil, err
	}
	prompts := all.Prompts()
	from := max(o.From, 1)
	if from > len(prompts) {
		return nil, fmt.Errorf("turn %d of %d: %w", from, len(prompts), ErrNoTurn)
	}
	prompts = prompts[from-1:]
	var before session.Fold
	for _, e := range entries {
		if e.N < prompts[0].N {
			_ = before.Take(e)
		}
	}
	c := &Compared{From: from, Was: course(entries, prompts)}
	c.Was.Model = all.Setup().Model

	setup := before.Setup()
	if o.Setup != nil {
		setup = o.Setup(setup)
	}
	c.Is.Model, c.Is.Known = setup.Model, true
	log := session.NewLog("", session.LogOptions{})
	log.Use(setup)
	if err := log.Append(ctx, before.Request().Messages...); err != nil {
		return nil, err
	}
	log.Strip()
	tools := o.Tools
	if tools == nil {
		tools = &logged{answers: answersIn(entries), course: &c.Is}
	}
	s := &session.Session{Model: o.Model, Tools: tools, Transcript: log, Window: o.Window}
	emit := oneloop.Sink(o.Emit)
	for _, q := range prompts {
		err := s.Turn(ctx, func(e oneloop.Event) {
			c.Is.hear(e)
			emit(e)
		}, promptIn(entries, q.N)...)
		if c.Is.Turns++; err != nil {
			c.Is.End = err.Error()
			break
		}
	}
	return c, nil
}

func promptIn(entries []session.Entry, n int64) []oneloop.Block {
	for _, e := range entries {
		if e.N == n && e.Message != nil {
			return e.Message.Blocks
		}
	}
	return nil
}

// course is how the turns went that begin with these prompts.
func course(entries []session.Entry, prompts []session.Prompt) (c Course) {
	c.Known = true
	begins := map[int64]bool{}
	for _, q := range prompts {
		begins[q.N] = true
	}
	in := false
	for _, e := range entries {
		switch {
		case begins[e.N]:
			in = true
			c.Turns++
		case !in:
		case e.Message != nil:
			c.hear(oneloop.MessageAdded{Message: e.Message})
		default:
			if event := eventOf(e); event != nil {
				c.hear(event)
			}
		}
		if e.Kind == string(oneloop.KindTurnEnd) || e.Kind == string(oneloop.KindTurnStart) {
			in = false
		}
	}
	return c
}

// hear takes an event of a turn into account.
func (c *Course) hear(e oneloop.Event) {
	switch e := e.(type) {
	case oneloop.MessageAdded:
		if e.Message.Role == oneloop.Assistant {
			c.Replies++
			c.Calls += len(e.Message.ToolUses())
			if text := strings.TrimSpace(e.Message.Text()); text != "" {
				c.Answer = text
			}
		}
	case oneloop.Spend:
		c.Usage = c.Usage.Add(e.Usage)
		c.Cost += e.Cost
		c.Known = c.Known && e.Known
	case oneloop.TurnEnd:
		if c.End = e.Error; c.End == "" {
			c.End = string(e.Stop)
		}
	}
}

// logged are tools that know what a log has: the answers to calls, by what is
// called with which input. Of several answers to the same call each is given
// once, and the last from then on.
type logged struct {
	answers map[string][]*oneloop.ToolResult
	course  *Course
}

func answersIn(entries []session.Entry) map[string][]*oneloop.ToolResult {
	calls := map[string]string{}
	answers := map[string][]*oneloop.ToolResult{}
	for _, e := range entries {
		if e.Message == nil {
			continue
		}
		for _, c := range e.Message.ToolUses() {
			calls[c.ID] = called(c)
		}
		for _, b := range e.Message.Blocks {
			if r, ok := b.(*oneloop.ToolResult); ok && calls[r.ID] != "" && e.Message.Meta.Source != "mend" {
				of := calls[r.ID]
				answers[of] = append(answers[of], session.Unremarked(r))
			}
		}
	}
	return answers
}

// called is a call without its id. How its input is written makes no difference.
func called(c *oneloop.ToolUse) string {
	var v any
	if json.Unmarshal(c.Input, &v) != nil {
		return c.Name + " " + string(c.Input)
	}
	return c.Name + " " + string(encode(v))
}

func (l *logged) Run(ctx context.Context, calls []*oneloop.ToolUse, emit func(oneloop.Event)) *oneloop.Message {
	box := &oneloop.Toolbox{}
	have := map[string]bool{}
	for _, c := range calls {
		if !have[c.Name] {
			have[c.Name] = true
			box.Tools = append(box.Tools, oneloop.Tool{ToolDef: oneloop.ToolDef{Name: c.Name}, Run: l.answer})
		}
	}
	return box.Run(ctx, calls, emit)
}

func (l *logged) answer(_ context.Context, call *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
	list := l.answers[called(call)]
	if len(list) == 0 {
		l.course.NotRun++
		return nil, errors.New("not run: this conversation is played again, and the call was not made in it with this input, so what it would give is not known. Nothing was changed. Go on without it, or say what you would need to know.")
	}
	if len(list) > 1 {
		l.answers[called(call)] = list[1:]
	}
	r := *list[0]
	r.Raw = nil // it has the id of another call
	return &r, nil
}
