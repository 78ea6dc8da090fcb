package oneloop

import (
	"context"
	"slices"
	"sync"
)

// History is a [Transcript] in memory. The zero value is an empty one. System,
// Tools and Params are sent with every request and are not to be changed once
// the first was made. It is safe for concurrent use.
type History struct {
	System []Block
	Tools  []ToolDef
	Params Params

	mu   sync.Mutex
	log  []*Message
	view []*Message
}

// Request returns the messages that may be sent, oldest first. It costs the
// same however long the conversation is.
func (h *History) Request(ctx context.Context) (*Request, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return &Request{
		System:   h.System,
		Messages: h.view[:len(h.view):len(h.view)],
		Tools:    h.Tools,
		Params:   h.Params,
	}, nil
}

// Append keeps msgs. Those that are not [Message.Sendable] are kept too, but
// left out of requests. It never fails.
func (h *History) Append(_ context.Context, msgs ...*Message) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, msgs...)
	for _, m := range msgs {
		if m.Sendable() {
			h.view = append(h.view, m)
		}
	}
	return nil
}

// Messages returns everything that was appended.
func (h *History) Messages() []*Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.log)
}

// Last returns the newest message, nil when there is none.
func (h *History) Last() *Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.log) == 0 {
		return nil
	}
	return h.log[len(h.log)-1]
}
