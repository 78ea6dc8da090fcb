package session

import (
	"sync"

	"oneloop"
)

// When says at which point of a turn something in an [Inbox] is taken out.
type When int

const (
	// BeforeModel is before the next request of the turn that runs, behind
	// the results the model waits for.
	BeforeModel When = iota
	// AtTurnEnd is when the model is done; the turn then goes on with it.
	AtTurnEnd
	// WithNext is before the next request too, of whatever turn, but is no
	// reason to make one: a turn that is done ends.
	WithNext
)

// fromInbox is the source of messages that were taken from an inbox.
const fromInbox = "inbox"

// Inbox holds what is to be said to an agent at work. The zero value is an
// empty one; it is safe for concurrent use. What no turn took is there for
// the next one.
type Inbox struct {
	mu    sync.Mutex
	items [3][]oneloop.Block
}

// Put adds blocks. Those put for the same point are taken out together, in
// the order they came, as one user message. Blank text is left out.
func (x *Inbox) Put(when When, blocks ...oneloop.Block) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.items[when] = append(x.items[when], said(blocks)...)
}

// Waiting is the number of blocks that wait for a point.
func (x *Inbox) Waiting(when When) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.items[when])
}

// take empties the inbox for one point, and for the points before it.
func (x *Inbox) take(when When) *oneloop.Message {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var blocks []oneloop.Block
	for w := BeforeModel; w <= when; w++ {
		blocks = append(blocks, x.items[w]...)
		x.items[w] = nil
	}
	if when == BeforeModel || len(blocks) > 0 {
		blocks = append(blocks, x.items[WithNext]...)
		x.items[WithNext] = nil
	}
	if len(blocks) == 0 {
		return nil
	}
	m := oneloop.NewMessage(oneloop.User, blocks...)
	m.Meta.Source = fromInbox
	return m
}

// back takes m in again, in front of what came since.
func (x *Inbox) back(m *oneloop.Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.items[BeforeModel] = append(m.Blocks, x.items[BeforeModel]...)
}
