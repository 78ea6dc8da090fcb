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
//		… // the turn runs while this loop does, and only then
//	}
package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"oneloop"
)

// Errors of [Session.Send] beside those of the model and the transcript.
var (
	ErrBusy    = errors.New("a turn of this session is running already; wait for its end, or put what is to be said into the Inbox")
	ErrBlank   = errors.New("there is nothing to send: the prompt is blank")
	ErrSpent   = errors.New("this turn was taken already; call Send again to say the same again")
	ErrNoModel = errors.New("the session has no Model; set it before the first turn")
)

// Bounds of what a turn does by itself.
const (
	Continuations = 3  // how often in a row it goes on after the model reached its output limit
	Urgings       = 20 // how often AtStop may make it go on
	Repairs       = 8  // how often it leaves out what an API refused, at most 3 times for one request
)

// Session is one conversation. Model is needed, the rest may be left zero. Its
// fields are not to be changed once the first turn began. Its methods are safe
// for concurrent use; it is not to be copied.
type Session struct {
	Model oneloop.Model
	// Tools answer calls; nil: there are none, and a call is answered so.
	Tools oneloop.Tools
	// Transcript keeps the conversation and says what the model is told of the
	// tools; one with a method Event(oneloop.Event), as a [Log] is, gets the
	// events of turns too. Nil: the first turn puts a [oneloop.History] here,
	// which offers the tools if Tools is a [*oneloop.Toolbox].
	Transcript oneloop.Transcript
	Inbox      *Inbox // what comes in while a turn runs; nil: nothing does
	// Window is what the model takes in at once. A conversation that outgrows
	// it is made shorter if the Transcript can be, as a [Log] can.
	Window Window
	// Repeats says what becomes of a turn that goes round in circles.
	Repeats Repeats

	// AtStart is called before the first turn. An error ends the turn before
	// anything was kept; the next one calls it again.
	AtStart func(ctx context.Context) error
	// BeforePrompt is called with what is about to be added to the
	// transcript, also from the Inbox. It may add blocks. An error ends the turn
	// before anything was kept; what came from the Inbox during a turn is left
	// out then, and the turn goes on.
	BeforePrompt func(ctx context.Context, prompt *oneloop.Message) error
	// AtStop is called when the model is done and nothing waits in the inbox,
	// with the model's last message. What it returns is added as a user
	// message and the turn goes on; nothing lets it end. A turn that goes on
	// more than [Urgings] times ends with a [*oneloop.LimitError]. A turn
	// that a tool ended, or an error, is not asked about.
	AtStop func(ctx context.Context, last *oneloop.Message) ([]oneloop.Block, error)
	// BeforeCompact is called before a conversation is made shorter. An error
	// keeps it from happening.
	BeforeCompact func(ctx context.Context, o Occasion) error
	// AtEnd is called by Close, with the ctx that Close got.
	AtEnd func(ctx context.Context) error

	busy    atomic.Bool
	started bool
	fitting fitting
}

// Send returns a turn; nothing happens until it is ranged over. The range says
// blocks to the agent and yields what happens until it is done. The last pair
// carries the error that ended the turn, if one did, and no event:
// [*oneloop.RefusedError], [*oneloop.TruncatedError], [*oneloop.LimitError],
// the cause of ctx (which is at least [oneloop.ErrInterrupted]), or that of
// the model or the transcript. What was said is kept in any case but
// [ErrBlank], [ErrBusy], [ErrSpent], [ErrNoModel], an error of a hook, and a
// ctx that had ended before.
//
// A consumer that breaks off interrupts the turn, and waits in the break for
// its end: what the model had said is kept, its calls are answered, and the
// next turn goes on from there. The error is not told to one who has left.
//
// A turn is taken once: a second range yields [ErrSpent] alone. Turns of one
// session do not overlap: while one runs, another yields [ErrBusy] alone.
//
// Without blocks, the turn says what waits in the Inbox.
//
// Blocks that are those of the turn before, which got no answer, are not said
// twice: the turn is that one's second try.
//
// A model that stops without a word has ended the turn: it is not asked again
// with the same conversation, and a [oneloop.Notice] says so.
func (s *Session) Send(ctx context.Context, blocks ...oneloop.Block) iter.Seq2[oneloop.Event, error] {
	var spent atomic.Bool
	return oneloop.Events(ctx, func(ctx context.Context, emit func(oneloop.Event)) error {
		if spent.Swap(true) {
			return ErrSpent
		}
		return s.Turn(ctx, emit, blocks...)
	})
}

// Turn takes a turn at once and returns its error: Send for those who have
// somewhere to emit to, such as a tool that runs an agent of its own. It calls
// emit, possibly from several goroutines, until it returns. A nil emit is for
// those who do not listen.
func (s *Session) Turn(ctx context.Context, emit func(oneloop.Event), blocks ...oneloop.Block) error {
	if s.Model == nil {
		return ErrNoModel
	}
	if !s.busy.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer s.busy.Store(false)
	if ctx.Err() != nil {
		return ended(ctx)
	}
	prompt := oneloop.NewMessage(oneloop.User, said(blocks)...)
	waited := len(prompt.Blocks) == 0
	if waited {
		prompt.Blocks = s.Inbox.speak()
	}
	if len(prompt.Blocks) == 0 {
		return ErrBlank
	}
	if err := s.begin(ctx, prompt); err != nil {
		if waited {
			s.Inbox.back()
		}
		return err
	}
	emit = s.keeping(oneloop.Sink(emit))
	t := &turn{session: s, emit: emit}
	began := time.Now()
	emit(oneloop.TurnStart{Messages: []*oneloop.Message{prompt}})
	first := prompt
	if s.waiting(ctx, prompt) {
		first = nil
	}
	err := t.run(ctx, first)
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

// keeping is emit for a transcript that keeps events too.
func (s *Session) keeping(emit func(oneloop.Event)) func(oneloop.Event) {
	k, ok := s.Transcript.(interface{ Event(oneloop.Event) })
	if !ok {
		return emit
	}
	return func(e oneloop.Event) {
		k.Event(e) // first: what is shown is kept
		emit(e)
	}
}

// Close ends the session: it calls AtEnd if the session was started, which its
// first turn does. A turn after that starts it anew. Close returns [ErrBusy]
// while a turn runs.
func (s *Session) Close(ctx context.Context) error {
	if !s.busy.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer s.busy.Store(false)
	started := s.started
	s.started = false
	if !started || s.AtEnd == nil {
		return nil
	}
	return s.AtEnd(ctx)
}

func (s *Session) begin(ctx context.Context, prompt *oneloop.Message) error {
	if s.Tools == nil {
		s.Tools = new(oneloop.Toolbox)
	}
	if s.Transcript == nil {
		h := new(oneloop.History)
		if box, ok := s.Tools.(*oneloop.Toolbox); ok {
			h.Tools = box.Defs()
		}
		s.Transcript = h
	}
	if !s.started && s.AtStart != nil {
		if err := s.AtStart(ctx); err != nil {
			return fmt.Errorf("start the session: %w", err)
		}
	}
	s.started = true
	if q, ok := s.Transcript.(interface{ queue([]Waiting) }); ok {
		s.Inbox.bind(q.queue)
	}
	if s.BeforePrompt == nil {
		return nil
	}
	if err := s.BeforePrompt(ctx, prompt); err != nil {
		return err
	}
	if prompt.Blocks = said(prompt.Blocks); len(prompt.Blocks) == 0 {
		return ErrBlank
	}
	return nil
}

// waiting reports whether prompt is what the conversation ends with already: a
// turn failed before any answer, and the user says the same again.
func (s *Session) waiting(ctx context.Context, prompt *oneloop.Message) bool {
	req, err := s.Transcript.Request(ctx)
	if err != nil {
		return false
	}
	n := len(req.Messages)
	for n > 0 && slices.Contains([]string{fromInbox, fromAside}, req.Messages[n-1].Meta.Source) { // what came in beside it
		n--
	}
	if n == 0 {
		return false
	}
	last := req.Messages[n-1]
	if last.Role != oneloop.User || len(last.Blocks) != len(prompt.Blocks) {
		return false
	}
	a, err := last.MarshalJSON()
	if err != nil {
		return false
	}
	b, err := prompt.MarshalJSON()
	return err == nil && bytes.Equal(a, b)
}

// ended is the cause of a ctx that has ended, as an error with a type of ours.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if cause == context.Canceled || cause == context.DeadlineExceeded {
		return fmt.Errorf("%w: %w", oneloop.ErrInterrupted, cause)
	}
	return cause
}

// said leaves out nothing and blank text, which no API takes.
func said(blocks []oneloop.Block) []oneloop.Block {
	var kept []oneloop.Block
	for _, b := range blocks {
		if b == nil {
			continue
		}
		if t, ok := b.(*oneloop.Text); ok && (t == nil || strings.TrimSpace(t.Text) == "") {
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
	limited  atomic.Pointer[oneloop.Limited] // the limit that was reached
	goneOn   int                             // continuations in a row
	urged    int                             // by AtStop
	asked    *oneloop.Request                // the newest
	repairs  int                             // requests that were sent again without what was refused
	inARow   int                             // of these, since the last reply
	full     bool                            // the window is, to its end
}

func (t *turn) run(ctx context.Context, next *oneloop.Message) error {
	tools := t.session.Repeats.brake(t.session.Tools)
	for {
		if next != nil {
			if err := t.add(ctx, next); err != nil {
				return err
			}
		}
		if err := oneloop.Run(ctx, oneloop.ModelFunc(t.answer), tools, t, t.watch); err != nil {
			if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
				return ended(ctx)
			}
			if next = nil; !t.repaired(err) {
				return err
			}
			continue
		}
		var err error
		if next, err = t.next(ctx); err != nil || next == nil {
			return err
		}
	}
}

var errNoMessage = errors.New("the Model broke its contract: Generate returned neither a message nor an error")

// watch is emit for what Run calls.
func (t *turn) watch(e oneloop.Event) {
	switch e := e.(type) {
	case oneloop.RequestSent:
		t.requests.Add(1)
	case oneloop.Limited:
		t.limited.Store(&e)
	}
	t.emit(e)
}

// ask is the session's model, held to its contract.
func (t *turn) ask(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	t.asked = req
	m, err := t.session.Model.Generate(ctx, req, emit)
	if m == nil && err == nil {
		return nil, errNoMessage
	}
	return m, err
}

// Request puts what came in for the model behind what is there already, as
// one message, and hands over the whole.
func (t *turn) Request(ctx context.Context) (*oneloop.Request, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if m := t.steer(ctx, BeforeModel); m != nil {
		if err := t.add(ctx, m); err != nil {
			return nil, err
		}
	}
	return t.fit(ctx)
}

// steer is what came in for the model, nil when nothing did. What a hook does
// not let through is left out, and said.
func (t *turn) steer(ctx context.Context, when When) *oneloop.Message {
	said, notes := t.session.Inbox.take(when)
	m := oneloop.NewMessage(oneloop.User, said...)
	m.Meta.Source = fromInbox
	if len(said) > 0 && t.session.BeforePrompt != nil {
		if err := t.session.BeforePrompt(ctx, m); err != nil {
			t.emit(oneloop.Notice{Text: fmt.Sprintf("%q was not sent: %v", lines(said), err)})
			m.Blocks = nil
		}
	}
	if m.Blocks = append(m.Blocks, notes...); len(m.Blocks) == 0 {
		return nil
	}
	return m
}

// add appends a message that does not come from Run. What was taken from the
// inbox goes back there when it could not be kept.
func (t *turn) add(ctx context.Context, m *oneloop.Message) error {
	err := t.Append(context.WithoutCancel(ctx), m)
	if err != nil && m.Meta.Source == fromInbox {
		t.session.Inbox.back()
	}
	return err
}

func (t *turn) Append(ctx context.Context, msgs ...*oneloop.Message) error {
	if err := t.session.Transcript.Append(ctx, msgs...); err != nil {
		return err
	}
	for _, m := range msgs {
		if m.Role == oneloop.Assistant || m.Stop == oneloop.StopEndTurn {
			t.last, t.inARow = m, 0
		}
		t.emit(oneloop.MessageAdded{Message: m})
	}
	return nil
}

// next is the message that another round begins with; nil ends the turn.
func (t *turn) next(ctx context.Context) (*oneloop.Message, error) {
	last := t.last
	switch last.Stop {
	case oneloop.StopRefusal:
		return nil, refused(last)
	case oneloop.StopInterrupted:
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		if err := t.limit(); err != nil {
			return nil, err
		}
		return nil, oneloop.ErrInterrupted
	case oneloop.StopMaxTokens:
		if t.goneOn++; t.goneOn > Continuations {
			return nil, &oneloop.TruncatedError{Stop: last.Stop}
		}
		return goOn(last), nil
	case oneloop.StopContextWindow:
		if !t.spilled() {
			return nil, &oneloop.TruncatedError{Stop: last.Stop}
		}
		return goOn(last), nil
	case oneloop.StopPause:
		return nil, &oneloop.TruncatedError{Stop: last.Stop}
	}
	t.goneOn = 0
	if last.Role == oneloop.Assistant {
		t.surface(last)
	} else if err := t.limit(); err != nil { // which is why the results ended the turn
		return nil, err
	}
	if m := t.steer(ctx, AtTurnEnd); m != nil {
		return m, nil
	}
	if t.session.AtStop == nil || last.Role != oneloop.Assistant {
		return nil, nil
	}
	more, err := t.session.AtStop(ctx, last)
	if more = said(more); err != nil || len(more) == 0 {
		return nil, err
	}
	if t.urged++; t.urged > Urgings {
		t.watch(oneloop.Limited{What: "repetition", Limit: fmt.Sprint(Urgings), Used: fmt.Sprint(Urgings)})
		return nil, t.limit()
	}
	m := oneloop.NewMessage(oneloop.User, more...)
	m.Meta.Source = "hook"
	return m, nil
}

// limit is the error for a limit that was reached, nil when none was.
func (t *turn) limit() error {
	if l := t.limited.Load(); l != nil {
		return &oneloop.LimitError{What: l.What, Limit: l.Limit, Used: l.Used}
	}
	return nil
}

// surface says what an end leaves out that looks like any other.
func (t *turn) surface(last *oneloop.Message) {
	switch {
	case len(last.ToolUses()) > 0:
		t.emit(oneloop.Notice{Text: fmt.Sprintf("The model stopped for a reason that is not known here, %q; the call in its reply was not run.", last.Stop)})
	case strings.TrimSpace(last.Text()) == "":
		t.emit(oneloop.Notice{Text: "The model ended its turn without saying anything."})
	case !slices.Contains([]oneloop.StopReason{oneloop.StopEndTurn, oneloop.StopSequence, oneloop.StopToolUse, oneloop.StopCompaction, ""}, last.Stop):
		t.emit(oneloop.Notice{Text: fmt.Sprintf("The model stopped for a reason that is not known here, %.80q; what it said may not be all.", last.Stop)})
	}
}

// fromDriver is the source of messages that belong to the reply before them.
const fromDriver = "driver"

// driver is a message that belongs to the reply before it: what follows goes on
// with that reply.
func driver(blocks ...oneloop.Block) *oneloop.Message {
	m := oneloop.NewMessage(oneloop.User, blocks...)
	m.Meta.Source = fromDriver
	return m
}

// goOn asks for the rest of a reply that was cut at the output limit. One
// with a call in it is left out of requests, so that its words are told again.
func goOn(cut *oneloop.Message) *oneloop.Message {
	if len(cut.ToolUses()) > 0 {
		text := "Your reply was cut at the output limit inside a call, so the call was not run. Do it in smaller steps, for example write a long file in several parts."
		if words := strings.TrimSpace(cut.Text()); words != "" {
			text += "\nBefore the call you had said:\n" + words
		}
		return driver(&oneloop.Text{Text: text})
	}
	if !cut.Sendable() {
		return driver(&oneloop.Text{Text: "Your reply was cut at the output limit before it said anything. Answer more briefly, or do the task in smaller steps."})
	}
	return driver(&oneloop.Text{Text: "Your reply was cut at the output limit. Go on exactly where it stopped, without repeating anything."})
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
