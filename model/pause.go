package model

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"oneloop"
)

// PauseOptions bound continuations.
type PauseOptions struct {
	Continuations int // of one reply; 0: 5, negative: none
}

// Pause lets a reply go on that its server paused ([oneloop.StopPause]): it
// sends the request again with what there is of the reply at its end, and
// returns one message with the blocks of all parts in order and the sum of
// their usage. After the last continuation that is allowed, a message that is
// still paused is returned as it is.
func Pause(m oneloop.Model, o PauseOptions) oneloop.Model {
	if o.Continuations == 0 {
		o.Continuations = 5
	}
	return oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		emit = oneloop.Sink(emit)
		d := &draft{emit: emit} // a failed part voids those before it, too
		msg, err := m.Generate(ctx, req, d.event)
		for n := 0; err == nil && msg.Stop == oneloop.StopPause && n < o.Continuations; n++ {
			again := *req
			if len(msg.Blocks) > 0 {
				again.Messages = append(slices.Clip(req.Messages), msg)
			}
			part, failed := m.Generate(ctx, &again, d.event)
			switch {
			case failed == nil:
				msg = join(msg, part)
			case ctx.Err() != nil:
				// The parts before it have come whole.
				msg = join(msg, &oneloop.Message{Stop: oneloop.StopInterrupted})
			default:
				d.void(failed.Error(), msg.Usage) // that of the parts before it
				return nil, failed
			}
		}
		if err != nil {
			d.void(err.Error(), oneloop.Usage{})
		}
		return msg, err
	})
}

// join returns the reply that part continues.
func join(msg, part *oneloop.Message) *oneloop.Message {
	out := *msg
	out.Blocks = append(slices.Clip(msg.Blocks), part.Blocks...)
	out.Stop = part.Stop
	out.Usage = addUsage(msg.Usage, part.Usage)
	if part.ID != "" {
		out.ID, out.Meta.RequestID = part.ID, part.Meta.RequestID
	}
	out.Meta.StopDetails = part.Meta.StopDetails
	out.Meta.Repairs = slices.Clip(msg.Meta.Repairs)
	for _, r := range part.Meta.Repairs {
		r.Block += len(msg.Blocks)
		out.Meta.Repairs = append(out.Meta.Repairs, r)
	}
	if part.Stop == oneloop.StopInterrupted {
		out.Blocks = finished(out.Blocks)
	}
	return &out
}

func addUsage(u, v oneloop.Usage) oneloop.Usage {
	if v == (oneloop.Usage{}) {
		return u // an interrupted part that had not begun
	}
	return u.Add(v)
}

// finished leaves out what an API refuses in a reply that did not go on: calls
// of ours, calls of the server's own tools that have no result, reasoning at
// the end, and reasoning behind anything left out, since it is sealed together
// with what stood before it.
func finished(blocks []oneloop.Block) []oneloop.Block {
	done := map[string]bool{}
	for _, b := range blocks {
		done[serverCall(b).Result] = true
	}
	var kept []oneloop.Block
	whole := true
	for _, b := range blocks {
		_, ours := b.(*oneloop.ToolUse)
		call := serverCall(b).ID
		if ours || call != "" && !done[call] || oneloop.Reasoning(b) && !whole {
			whole = false
			continue
		}
		kept = append(kept, b)
	}
	for len(kept) > 0 && oneloop.Reasoning(kept[len(kept)-1]) {
		kept = kept[:len(kept)-1]
	}
	return kept
}

// ids say which call of a server's tool a block makes, or answers.
type ids struct {
	ID     string `json:"id"`
	Result string `json:"tool_use_id"`
}

func serverCall(b oneloop.Block) (x ids) {
	o, ok := b.(*oneloop.Opaque)
	if !ok || json.Unmarshal(o.Raw, &x) != nil || !strings.HasSuffix(o.Type, "_tool_use") {
		x.ID = ""
	}
	return x
}
