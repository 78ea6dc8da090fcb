// Package session drives an agent turn by turn.
//
// A [Session] is a model, tools and a transcript. [Session.Send] adds what
// somebody says, lets [oneloop.Run] work, and sees to what comes between the
// turns: going on after an output limit, what was queued meanwhile, what
// should still be done before the end. It is a loop of turns; the loop of
// calls is oneloop.Run and stays as it is.
//
//	s := &session.Session{Model: m, Tools: box}
//	for e, err := range s.Send(ctx, &oneloop.Text{Text: "make the tests pass"}) {
//		…
//	}
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"time"

	"oneloop"
)

// Errors of [Session.Send] beside those of the model and the transcript.
var (
	ErrBusy  = errors.New("a turn is running already")
	ErrBlank = errors.New("there is nothing to send: the prompt is blank")
)

// Continuations is how often in a row a turn goes on by itself after the
// model reached its output limit.
const Continuations = 3

// Session is one conversation. Model and Tools are needed, the rest may be
// left zero. Its fields are not to be changed once the first turn began.
type Session struct {
	Model      oneloop.Model
	Tools      oneloop.Tools
	Transcript oneloop.Transcript // nil: an empty [oneloop.History]
	Inbox      *Inbox             // what comes in while a turn runs; nil: nothing does

	// AtStart is called once, before the first turn. An error ends the turn
	// before anything was kept.
	AtStart func(ctx context.Context) error
	// BeforePrompt is called with what is about to be added to the
	// transcript. It may add blocks. An error ends the turn before anything
	// was kept.
	BeforePrompt func(ctx context.Context, prompt *oneloop.Message) error
	// AtStop is called when the model is done, with its last message. What it
	// returns is added as a user message and the turn goes on; nothing lets
	// it end.
	AtStop func(ctx context.Context, last *oneloop.Message) ([]oneloop.Block, error)
	// AtEnd is called by Close. Its ctx has not ended with the last turn.
	AtEnd func(ctx context.Context) error

	busy    atomic.Bool
	started bool
}

// Send says blocks to the agent and yields what happens until it is done. The
// last pair carries the error that ended the turn, if one did:
// [*oneloop.RefusedError], [*oneloop.TruncatedError], the cause of ctx (e.g.
// [oneloop.ErrInterrupted]), or that of the model or the transcript. What was
// said is kept in any case but [ErrBlank], [ErrBusy] and an error of a hook.
//
// Turns of one session do not overlap. A consumer that breaks off interrupts
// the turn and waits for its end.
func (s *Session) Send(ctx context.Context, blocks ...oneloop.Block) iter.Seq2[oneloop.Event, error] {
	return oneloop.Events(ctx, func(ctx context.Context, emit func(oneloop.Event)) error {
		return s.Turn(ctx, emit, blocks...)
	})
}

// Turn is Send for those who have somewhere to emit to, such as a tool that
// runs an agent of its own.
func (s *Session) Turn(ctx context.Context, emit func(oneloop.Event), blocks ...oneloop.Block) error {
	if !s.busy.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer s.busy.Store(false)
	prompt := oneloop.NewMessage(oneloop.User, said(blocks)...)
	if len(prompt.Blocks) == 0 {
		return ErrBlank
	}
	if err := s.begin(ctx, prompt); err != nil {
		return err
	}
	t := &turn{session: s, emit: emit}
	began := time.Now()
	emit(oneloop.TurnStart{Messages: []*oneloop.Message{prompt}})
	err := t.run(ctx, prompt)
	end := oneloop.TurnEnd{Requests: int(t.requests.Load()), Duration: time.Since(began)}
	if t.last != nil {
		end.Stop = t.last.Stop
	}
	if err != nil {
		end.Error = err.Error()
	}
	emit(end)
	return err
}

// Close ends the session. There is nothing to close when no turn began.
func (s *Session) Close(ctx context.Context) error {
	if !s.started || s.AtEnd == nil {
		return nil
	}
	s.started = false
	return s.AtEnd(ctx)
}

func (s *Session) begin(ctx context.Context, prompt *oneloop.Message) error {
	if s.Transcript == nil {
		s.Transcript = new(oneloop.History)
	}
	if !s.started && s.AtStart != nil {
		if err := s.AtStart(ctx); err != nil {
			return fmt.Errorf("start the session: %w", err)
		}
	}
	s.started = true
	if s.BeforePrompt != nil {
		return s.BeforePrompt(ctx, prompt)
	}
	return nil
}

// said leaves out blank text, which no API takes.
func said(blocks []oneloop.Block) []oneloop.Block {
	var kept []oneloop.Block
	for _, b := range blocks {
		if t, ok := b.(*oneloop.Text); ok && strings.TrimSpace(t.Text) == "" {
			continue
		}
		kept = append(kept, b)
	}
	return kept
}

// turn is one turn at work. It is the transcript that Run sees.
type turn struct {
	session  *Session
	emit     func(oneloop.Event)
	last     *oneloop.Message // the newest one of the assistant, or results that ended the turn
	requests atomic.Int64
	goneOn   int // continuations in a row
}

func (t *turn) run(ctx context.Context, next *oneloop.Message) error {
	watch := func(e oneloop.Event) {
		if e.Kind() == oneloop.KindRequest {
			if _, child := e.(oneloop.Child); !child {
				t.requests.Add(1)
			}
		}
		t.emit(e)
	}
	for next != nil {
		if err := t.Append(context.WithoutCancel(ctx), next); err != nil {
			return err
		}
		if err := oneloop.Run(ctx, t.session.Model, t.session.Tools, t, watch); err != nil {
			return err
		}
		var err error
		if next, err = t.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Request puts what came in for the model behind what is there already, as
// one message, and hands over the whole.
func (t *turn) Request(ctx context.Context) (*oneloop.Request, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if m := t.session.Inbox.take(BeforeModel); m != nil {
		if err := t.Append(context.WithoutCancel(ctx), m); err != nil {
			return nil, err
		}
	}
	return t.session.Transcript.Request(ctx)
}

func (t *turn) Append(ctx context.Context, msgs ...*oneloop.Message) error {
	if err := t.session.Transcript.Append(ctx, msgs...); err != nil {
		return err
	}
	for _, m := range msgs {
		if m.Role == oneloop.Assistant || m.Stop == oneloop.StopEndTurn {
			t.last = m
		}
		t.emit(oneloop.MessageAdded{Message: m})
	}
	return nil
}

// next is the message that another round begins with; nil ends the turn.
func (t *turn) next(ctx context.Context) (*oneloop.Message, error) {
	switch t.last.Stop {
	case oneloop.StopRefusal:
		return nil, refused(t.last)
	case oneloop.StopInterrupted:
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		return nil, oneloop.ErrInterrupted
	case oneloop.StopMaxTokens:
		if t.goneOn++; t.goneOn > Continuations {
			return nil, &oneloop.TruncatedError{Stop: t.last.Stop}
		}
		return goOn(t.last), nil
	case oneloop.StopContextWindow, oneloop.StopPause:
		return nil, &oneloop.TruncatedError{Stop: t.last.Stop}
	}
	t.goneOn = 0
	if t.session.AtStop != nil {
		more, err := t.session.AtStop(ctx, t.last)
		if err != nil {
			return nil, err
		}
		if more = said(more); len(more) > 0 {
			return driver(more...), nil
		}
	}
	return t.session.Inbox.take(AtTurnEnd), nil
}

func driver(blocks ...oneloop.Block) *oneloop.Message {
	m := oneloop.NewMessage(oneloop.User, blocks...)
	m.Meta.Source = "driver"
	return m
}

// goOn asks for the rest of a reply that was cut at the output limit.
func goOn(cut *oneloop.Message) *oneloop.Message {
	text := "Your reply was cut at the output limit. Go on exactly where it stopped, without repeating anything."
	if len(cut.ToolUses()) > 0 {
		text = "Your reply was cut at the output limit inside a call, so the call was not run. Do it in smaller steps, for example write a long file in several parts."
	} else if !cut.Sendable() {
		text = "Your reply was cut at the output limit before it said anything. Answer more briefly, or do the task in smaller steps."
	}
	return driver(&oneloop.Text{Text: text})
}

func refused(m *oneloop.Message) error {
	var details struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	}
	// Details are free in form; what cannot be read is not told.
	_ = json.Unmarshal(m.Meta.StopDetails, &details)
	return &oneloop.RefusedError{Category: details.Category, Explanation: details.Explanation}
}
