package crew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"oneloop/internal/alive"
	"oneloop/team/mail"
)

// Kind is what is asked for.
type Kind string

// Kinds of requests.
const (
	Shutdown Kind = "shutdown"      // that the other ends
	Plan     Kind = "plan_approval" // that the other approves a plan
)

// asks and answers are the kinds of the messages.
func (k Kind) asks() mail.Kind    { return mail.Kind(k + "_request") }
func (k Kind) answers() mail.Kind { return mail.Kind(k + "_response") }

// Status is the state of a request.
type Status string

// States of a request; all but the first are ends.
const (
	Pending   Status = "pending"
	Approved  Status = "approved"
	Rejected  Status = "rejected"
	Expired   Status = "expired"
	Withdrawn Status = "withdrawn"
	Left      Status = "gone" // the one it was asked of
)

// Request is what one member formally asks of another.
type Request struct {
	ID     string    `json:"id"`
	From   string    `json:"from"` // set by the program that runs the member
	To     string    `json:"to"`
	Kind   Kind      `json:"kind"`
	Text   string    `json:"text,omitempty"` // why, or the plan
	Made   time.Time `json:"made"`
	Until  time.Time `json:"until"`           // then it expires
	Waits  bool      `json:"waits,omitempty"` // From waits for the answer, and is sent no message with it
	Status Status    `json:"status"`
	Answer string    `json:"answer,omitempty"` // in words, of To
	Ended  time.Time `json:"ended,omitzero"`
	ToSeat string    `json:"seat"` // of To, when it was asked
}

// What a request or an answer is refused for. The text of the error says more.
var (
	ErrUnknown = errors.New("there is no such request")
	ErrForeign = errors.New("this was asked of somebody else")
	ErrKind    = errors.New("this is no answer to that")
	ErrOver    = errors.New("the request is over")
	ErrOpen    = errors.New("the same is asked already")
	ErrAway    = errors.New("nobody is there to answer")
)

// refusal is one of the errors above in its own words.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.kind }

func refuse(kind error, format string, args ...any) error {
	return &refusal{kind, fmt.Sprintf(format, args...)}
}

// mostOpen is how many requests of one member may be pending.
const mostOpen = 20

// Ask asks something of a member: From, To, Kind, Text and Waits of r count, and Until
// where it is set. The request is kept, and then a message tells To of it; when that
// cannot be sent the request is withdrawn again.
func (c *Crew) Ask(ctx context.Context, r Request) (Request, error) {
	if err := mail.CheckName(r.From); err != nil {
		return r, fmt.Errorf("the sender: %w", err)
	}
	if r.From == r.To {
		return r, refuse(ErrForeign, "you are %s: nobody asks for leave of itself", r.To)
	}
	if r.Kind != Shutdown && r.Kind != Plan {
		return r, refuse(ErrKind, "%.60q is nothing that can be asked for", r.Kind)
	}
	if err := words(r.Text, r.Kind == Plan); err != nil {
		return r, err
	}
	err := c.update(ctx, func(now time.Time) ([]line, error) {
		m := c.member(r.To)
		if m == nil || m.State.ended() {
			return nil, c.nobody(r.To, m)
		}
		open := 0
		for _, other := range c.requests {
			if other.Status != Pending || other.From != r.From {
				continue
			}
			if open++; other.To == r.To && other.Kind == r.Kind {
				return nil, refuse(ErrOpen, "request %s asks %s for the same and is pending until %s. Wait for its answer, which comes by itself", other.ID, r.To, other.Until.Format(time.TimeOnly))
			}
		}
		if open >= mostOpen {
			return nil, refuse(ErrOpen, "%d requests of %s are pending, and that is the most. Wait for their answers", open, r.From)
		}
		expiry := c.opts.Expiry
		if expiry <= 0 {
			expiry = DefaultExpiry
		}
		r.ID, r.Made, r.Status, r.Answer, r.Ended, r.ToSeat = mail.NewID(c.lastID(), now), now, Pending, "", time.Time{}, m.Seat
		if r.Until.IsZero() {
			r.Until = now.Add(expiry)
		}
		return []line{{Op: opAsk, Request: &r}}, nil
	})
	if err != nil {
		return r, err
	}
	text := r.Text
	if strings.TrimSpace(text) == "" {
		text = "Please shut down."
	}
	if _, err := c.post.Send(ctx, r.To, mail.Message{From: r.From, Kind: r.Kind.asks(), Text: text, Request: r.ID}); err != nil {
		return r, errors.Join(err, c.Withdraw(context.WithoutCancel(ctx), r.ID, r.From))
	}
	return r, nil
}

// words checks text that goes with a request or an answer.
func words(text string, needed bool) error {
	switch {
	case needed && strings.TrimSpace(text) == "":
		return refuse(ErrKind, "the plan is blank, so nobody was asked. Say what you are going to do")
	case len(text) > mail.DefaultText:
		return refuse(ErrKind, "the text has %d bytes, the most is %d, so nothing was sent. Say it shorter, or put it into a file and say where that is", len(text), mail.DefaultText)
	case !utf8.ValidString(text):
		return refuse(ErrKind, "the text is not valid UTF-8, so nothing was sent")
	}
	return nil
}

// nobody says that a member is not there, and who is.
func (c *Crew) nobody(name string, m *Member) error {
	var names []string
	for _, other := range c.members {
		if !other.State.ended() {
			names = append(names, other.Name)
		}
	}
	there := "Nobody is there"
	if len(names) > 0 {
		there = "There are: " + strings.Join(names, ", ")
	}
	if m != nil {
		return refuse(ErrAway, "%s %s, so nobody was asked. %s", name, recipient(name, m.State).Away, there)
	}
	return refuse(ErrAway, "there is no agent named %.60q, so nobody was asked. %s", name, there)
}

// lastID is the largest id of a request.
func (c *Crew) lastID() (last string) {
	for _, r := range c.requests {
		last = max(last, r.ID)
	}
	return last
}

// Answer answers a request as the member from, which only the one it was asked of can,
// once, as long as it is pending. Kind is what from takes it to be. The one who asked is
// told by a message, unless it waits.
func (c *Crew) Answer(ctx context.Context, from, id string, kind Kind, status Status, text string) (Request, error) {
	var r Request
	if status != Approved && status != Rejected {
		return r, refuse(ErrKind, "an answer approves or rejects; %.60q is neither", status)
	}
	if err := words(text, false); err != nil {
		return r, err
	}
	err := c.update(ctx, func(now time.Time) ([]line, error) {
		known := c.request(id)
		if known == nil {
			return nil, refuse(ErrUnknown, "there is no request %.60q. %s", id, c.open(from))
		}
		switch r = *known; {
		case r.To != from:
			return nil, refuse(ErrForeign, "request %s was asked of %s, not of %s. %s", id, r.To, from, c.open(from))
		case r.Kind != kind:
			return nil, refuse(ErrKind, "request %s is a %s request; answer it by %s, not by %s", id, r.Kind, r.Kind.answers(), kind.answers())
		case r.Status == Pending && !now.Before(r.Until):
			return nil, refuse(ErrOver, "request %s has expired at %s, so the answer came too late", id, r.Until.Format(time.TimeOnly))
		case r.Status != Pending:
			return nil, refuse(ErrOver, "request %s is %s since %s, and is answered once", id, r.Status, r.Ended.Format(time.TimeOnly))
		}
		r.Status, r.Answer, r.Ended = status, text, now
		return []line{{Op: opEnd, ID: id, Status: status, Answer: text}}, nil
	})
	if err != nil || r.Waits {
		return r, err
	}
	if to, known, err := c.Recipient(r.From); err != nil || !known || to.Away != "" {
		return r, err // the answer is kept for who comes and asks
	}
	if strings.TrimSpace(text) == "" {
		text = string(status)
	}
	if _, err := c.post.Send(ctx, r.From, mail.Message{From: from, Kind: kind.answers(), Text: text, Request: id, Verdict: string(status)}); err != nil {
		return r, fmt.Errorf("the answer counts, and %s could not be told by a message: %w", r.From, err)
	}
	return r, nil
}

// open says which requests a member is to answer.
func (c *Crew) open(to string) string {
	var list []string
	for _, r := range c.requests {
		if r.To == to && r.Status == Pending {
			list = append(list, fmt.Sprintf("%s (%s, of %s)", r.ID, r.Kind, r.From))
		}
	}
	if len(list) == 0 {
		return "No request waits for you"
	}
	return "These wait for you: " + strings.Join(list, ", ")
}

// Withdraw takes back a request of from; what is over stays as it is.
func (c *Crew) Withdraw(ctx context.Context, id, from string) error {
	return c.update(ctx, func(time.Time) ([]line, error) {
		r := c.request(id)
		switch {
		case r == nil:
			return nil, refuse(ErrUnknown, "there is no request %.60q", id)
		case r.From != from:
			return nil, refuse(ErrForeign, "request %s is one of %s", id, r.From)
		case r.Status != Pending:
			return nil, nil
		}
		return []line{{Op: opEnd, ID: id, Status: Withdrawn}}, nil
	})
}

// Requests are all that are known, the oldest first: those that are pending, and those
// that are over and were not left out yet.
func (c *Crew) Requests(ctx context.Context) (list []Request, err error) {
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	err = c.journal.View(func() {
		for _, r := range c.requests {
			list = append(list, *r)
		}
	})
	return list, err
}

// Request is one of them.
func (c *Crew) Request(ctx context.Context, id string) (Request, error) {
	list, err := c.Requests(ctx)
	i := slices.IndexFunc(list, func(r Request) bool { return r.ID == id })
	if err == nil && i < 0 {
		err = refuse(ErrUnknown, "there is no request %.60q", id)
	}
	if err != nil {
		return Request{}, err
	}
	return list[i], nil
}

// errClosed is what waiting ends with when the crew is closed.
var errClosed = errors.New("the team was closed")

// Wait returns a request as soon as it is over, and the cause when ctx ends before. It
// takes no time meanwhile.
func (c *Crew) Wait(ctx context.Context, id string) (Request, error) {
	return c.wait(ctx, id, func([]Request) bool { return false })
}

// wait also ends, with a request that is pending, when enough says so.
func (c *Crew) wait(ctx context.Context, id string, enough func([]Request) bool) (Request, error) {
	folders := c.watch()
	var left chan error // the process of the one that was asked has ended
	for folders != nil {
		changed := folders.Next(c.path)
		list, err := c.Requests(ctx)
		i := slices.IndexFunc(list, func(r Request) bool { return r.ID == id })
		if err == nil && i < 0 {
			err = refuse(ErrUnknown, "there is no request %.60q", id)
		}
		if err != nil {
			return Request{}, err
		}
		r := list[i]
		if r.Status != Pending || enough(list) {
			return r, nil
		}
		if left == nil {
			left = make(chan error, 1)
			inner, stop := context.WithCancel(ctx)
			go func() { left <- alive.Wait(inner, c.alive(r.ToSeat)) }()
			defer func() { stop(); <-left }()
		}
		late := time.NewTimer(r.Until.Sub(c.now()))
		select {
		case <-changed:
		case <-late.C:
		case err := <-left:
			left <- err // for the end
			if err != nil && ctx.Err() == nil {
				return r, fmt.Errorf("look whether %s is there: %w", r.To, err)
			}
		case <-c.closed:
			return r, errClosed
		case <-ctx.Done():
		}
		late.Stop()
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
	}
	return Request{}, errClosed
}
