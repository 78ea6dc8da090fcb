package trace

import (
	"encoding/json"
	"fmt"

	"oneloop"
	"oneloop/internal/mask"
)

// pieces hides secrets in texts that arrive as one event after the other. An
// event that ends with what could be the beginning of a secret is cut there,
// and the rest comes with the next one of that text, or before whatever ends
// it. Order stays as it was.
type pieces struct {
	hide   *mask.Mask
	agents map[string]*spoken
}

// spoken are the texts of one agent.
type spoken struct {
	deltas  *text            // what the model says: one text at a time
	streams *text            // the same as the provider's events have it
	printed map[string]*text // what calls print, by their id
}

// text is one text in pieces.
type text struct {
	key    string // tells it from others
	pieces *mask.Pieces
	event  func(piece string) oneloop.Event // puts a piece into an event
}

func newPieces(hide *mask.Mask) *pieces {
	return &pieces{hide: hide, agents: map[string]*spoken{}}
}

// pass hands e to write, in the form it may be written in, and before it what
// was held back of a text that e ends.
func (p *pieces) pass(e oneloop.Event, write func(oneloop.Event)) {
	if p.hide == nil {
		write(e)
		return
	}
	agent, path := "", []string(nil)
	inner := e
	for {
		c, ok := inner.(oneloop.Child)
		if !ok {
			break
		}
		agent, path, inner = agent+"/"+c.Agent, append(path, c.Agent), c.Event
	}
	a := p.agents[agent]
	if a == nil {
		a = &spoken{printed: map[string]*text{}}
		p.agents[agent] = a
	}
	a.pass(p.hide, inner, func(e oneloop.Event) {
		for i := len(path) - 1; i >= 0; i-- {
			e = oneloop.Child{Agent: path[i], Event: e}
		}
		write(e)
	})
	if _, over := inner.(oneloop.TurnEnd); over {
		delete(p.agents, agent)
	}
}

func (a *spoken) pass(hide *mask.Mask, e oneloop.Event, write func(oneloop.Event)) {
	switch e := e.(type) {
	case oneloop.TextDelta:
		say(&a.deltas, hide, "text", e.Text, write, e, func(s string) oneloop.Event { return oneloop.TextDelta{Text: s} })
	case oneloop.ThinkingDelta:
		say(&a.deltas, hide, "thinking", e.Text, write, e, func(s string) oneloop.Event { return oneloop.ThinkingDelta{Text: s} })
	case oneloop.InputDelta:
		say(&a.deltas, hide, "input "+e.ID, e.JSON, write, e, func(s string) oneloop.Event {
			return oneloop.InputDelta{ID: e.ID, Name: e.Name, JSON: s}
		})
	case oneloop.Stream:
		a.stream(hide, e, write)
	case oneloop.ToolOutput:
		t := a.printed[e.ID]
		if t == nil {
			t = &text{pieces: hide.Pieces(), event: func(s string) oneloop.Event { return oneloop.ToolOutput{ID: e.ID, Text: s} }}
			a.printed[e.ID] = t
		}
		t.next(e.Text, e, write)
	case oneloop.ToolEnd:
		if e.Call != nil {
			a.printed[e.Call.ID].end(write)
			delete(a.printed, e.Call.ID)
		}
		write(e)
	case oneloop.MessageAdded, oneloop.Discard, oneloop.RequestSent, oneloop.TurnEnd:
		a.silence(write)
		write(e)
	default:
		write(e)
	}
}

// say takes a piece of what the model says. A piece of another text ends the
// one before.
func say(at **text, hide *mask.Mask, key, piece string, write func(oneloop.Event), whole oneloop.Event, event func(string) oneloop.Event) {
	if *at == nil || (*at).key != key {
		(*at).end(write)
		*at = &text{key: key, pieces: hide.Pieces(), event: event}
	}
	(*at).next(piece, whole, write)
}

// silence ends what the model says.
func (a *spoken) silence(write func(oneloop.Event)) {
	a.streams.end(write)
	a.deltas.end(write)
	a.streams, a.deltas = nil, nil
}

// next writes what can be written; whole is the event the piece is from.
func (t *text) next(piece string, whole oneloop.Event, write func(oneloop.Event)) {
	switch shown := t.pieces.Next(piece); shown {
	case piece:
		write(whole)
	case "": // all of it is held back
	default:
		write(t.event(shown))
	}
}

func (t *text) end(write func(oneloop.Event)) {
	if t == nil {
		return
	}
	if rest := t.pieces.End(); rest != "" {
		write(t.event(rest))
	}
}

// stream takes an event of a provider's stream. One that adds to a text in the
// form of the Messages API is treated as the delta that it is.
func (a *spoken) stream(hide *mask.Mask, e oneloop.Stream, write func(oneloop.Event)) {
	var d struct {
		Type  string          `json:"type"`
		Index int             `json:"index"`
		Delta json.RawMessage `json:"delta"`
	}
	var kind struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		Thinking *string `json:"thinking"`
		Input    *string `json:"partial_json"`
	}
	if json.Unmarshal(e.Data, &d) != nil || d.Type != "content_block_delta" || json.Unmarshal(d.Delta, &kind) != nil {
		if d.Type == "content_block_stop" || d.Type == "message_stop" || d.Type == "message_delta" {
			a.streams.end(write)
			a.streams = nil
		}
		write(e)
		return
	}
	field, piece := "text", kind.Text
	switch {
	case kind.Thinking != nil:
		field, piece = "thinking", kind.Thinking
	case kind.Input != nil:
		field, piece = "partial_json", kind.Input
	}
	if piece == nil {
		write(e)
		return
	}
	say(&a.streams, hide, fmt.Sprintf("stream %d %s", d.Index, field), *piece, write, e, func(s string) oneloop.Event {
		return oneloop.Stream{Data: fmt.Appendf(nil, `{"type":"content_block_delta","index":%d,"delta":{"type":%s,%q:%s}}`,
			d.Index, encode(kind.Type), field, encode(s))}
	})
}
