package looptest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"oneloop"
)

// Reply is what a scripted [Model] does when it is asked. The fields apply
// from top to bottom.
type Reply struct {
	Check   func(*oneloop.Request) error // what the request has to be
	Events  []oneloop.Event              // emitted before the answer
	Started chan<- struct{}              // closed once the events are out
	Hang    bool                         // wait for the end of the context, then answer what is finished of Message
	Err     error                        // the answer, instead of a message
	Message *oneloop.Message             // the answer; nil: an empty message
}

// Say is the reply whose message says text and ends the turn. The text is
// streamed in one piece.
func Say(text string) Reply {
	r := Answer(&oneloop.Text{Text: text})
	r.Events = []oneloop.Event{oneloop.TextDelta{Text: text}}
	return r
}

// Answer is the reply whose message has these blocks. It stops to use tools
// when one of them is a call. Nothing of it is streamed: see Reply.Events.
func Answer(blocks ...oneloop.Block) Reply {
	m := &oneloop.Message{Role: oneloop.Assistant, Blocks: blocks, Stop: oneloop.StopEndTurn}
	if len(m.ToolUses()) > 0 {
		m.Stop = oneloop.StopToolUse
	}
	return Reply{Message: m}
}

// Call is one call of a tool; input is its JSON.
func Call(id, name, input string) *oneloop.ToolUse {
	return &oneloop.ToolUse{ID: id, Name: name, Input: []byte(input)}
}

// Model is a [oneloop.Model] that plays replies in order. It is safe for
// concurrent use.
type Model struct {
	t        testing.TB
	mu       sync.Mutex
	replies  []Reply
	requests []*oneloop.Request
}

// Script returns a model that plays replies in order. The test fails when a
// request is not one that every API takes (see [CheckRequest]), when one comes
// for which nothing is scripted, and when a reply was never asked for.
func Script(t testing.TB, replies ...Reply) *Model {
	t.Helper()
	m := &Model{t: t, replies: replies}
	t.Cleanup(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if n := len(m.replies); n > 0 {
			t.Errorf("%d scripted replies were never asked for", n)
		}
	})
	return m
}

// Requests returns what the model was asked, as it was at that time.
func (m *Model) Requests() []*oneloop.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

func (m *Model) Generate(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	emit = oneloop.Sink(emit)
	reply, err := m.next(req)
	if err != nil {
		m.t.Error(err)
		return nil, err
	}
	for _, e := range reply.Events {
		emit(e)
	}
	if reply.Started != nil {
		close(reply.Started)
	}
	msg := reply.Message
	if msg == nil {
		msg = &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn}
	}
	if reply.Hang {
		<-ctx.Done()
		return finished(msg), nil
	}
	if reply.Err != nil {
		return nil, reply.Err
	}
	return msg, nil
}

// next records the request and takes the reply to it.
func (m *Model) next(req *oneloop.Request) (Reply, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := *req
	kept.Messages = slices.Clone(req.Messages)
	m.requests = append(m.requests, &kept)
	n := len(m.requests)
	if len(m.replies) == 0 {
		return Reply{}, fmt.Errorf("request %d is not scripted", n)
	}
	reply := m.replies[0]
	m.replies = m.replies[1:]
	err := CheckRequest(req)
	if err == nil && reply.Check != nil {
		err = reply.Check(req)
	}
	if err != nil {
		return Reply{}, fmt.Errorf("request %d: %w", n, err)
	}
	return reply, nil
}

// finished is what is left of msg when the context ends while it is said.
func finished(msg *oneloop.Message) *oneloop.Message {
	out := *msg
	out.Blocks, out.Stop = nil, oneloop.StopInterrupted
	for _, b := range msg.Blocks {
		if _, ok := b.(*oneloop.Text); ok {
			out.Blocks = append(out.Blocks, b)
		}
	}
	return &out
}

// CheckRequest returns what an API would refuse in the conversation of req:
// it begins with the user, no message is without content, no text is blank,
// ids are unique, and every call is answered once, in the next message of the
// user, before anything else.
func CheckRequest(req *oneloop.Request) error {
	if len(req.Messages) == 0 {
		return errors.New("there is no message")
	}
	if req.Messages[0].Role != oneloop.User {
		return errors.New("the first message is not the user's")
	}
	taken := map[string]bool{}
	for i, m := range req.Messages {
		if len(m.Blocks) == 0 {
			return fmt.Errorf("message %d has no content", i)
		}
		if err := checkBlocks(m.Blocks); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		for _, c := range m.ToolUses() {
			if taken[c.ID] || c.ID == "" {
				return fmt.Errorf("message %d: the id %q of a call is empty or taken", i, c.ID)
			}
			taken[c.ID] = true
		}
		if err := checkAnswers(req.Messages, i); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

func checkBlocks(blocks []oneloop.Block) error {
	for _, b := range blocks {
		switch b := b.(type) {
		case *oneloop.Text:
			if strings.TrimSpace(b.Text) == "" {
				return errors.New("a text is blank")
			}
		case *oneloop.ToolUse:
			if in := strings.TrimSpace(string(b.Input)); in != "" && in[0] != '{' {
				return fmt.Errorf("the input of call %s is no object", b.ID)
			}
		case *oneloop.ToolResult:
			if err := checkBlocks(b.Content); err != nil {
				return fmt.Errorf("the result of call %s: %w", b.ID, err)
			}
			for _, c := range b.Content {
				if _, ok := c.(*oneloop.Text); b.IsError && !ok {
					return fmt.Errorf("the result of call %s is an error and holds %T", b.ID, c)
				}
			}
		}
	}
	return nil
}

// checkAnswers compares the results in message i with the calls before it,
// and sees that calls in it are not the last thing said.
func checkAnswers(all []*oneloop.Message, i int) error {
	if len(all[i].ToolUses()) > 0 && (i+1 == len(all) || all[i+1].Role != oneloop.User) {
		return errors.New("its calls are not answered by the next message")
	}
	var open []*oneloop.ToolUse
	if i > 0 && all[i].Role == oneloop.User {
		open = all[i-1].ToolUses()
	}
	n := 0
	for j, b := range all[i].Blocks {
		r, ok := b.(*oneloop.ToolResult)
		if !ok {
			continue
		}
		if j != n {
			return fmt.Errorf("the result of %s comes after something else", r.ID)
		}
		if !slices.ContainsFunc(open, func(c *oneloop.ToolUse) bool { return c.ID == r.ID }) {
			return fmt.Errorf("the result of %s answers no open call", r.ID)
		}
		open = slices.DeleteFunc(slices.Clone(open), func(c *oneloop.ToolUse) bool { return c.ID == r.ID })
		n++
	}
	if len(open) > 0 {
		return fmt.Errorf("call %s is not answered", open[0].ID)
	}
	return nil
}
