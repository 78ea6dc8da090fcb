package wire

import (
	"slices"
	"sync"

	"oneloop"
)

// Conversation is the JSON of messages, one text that only grows: a turn
// renders its new messages and nothing else, and no earlier byte changes unless
// its messages were replaced.
type Conversation struct {
	Run  Run
	msgs []*oneloop.Message // what Run was made of
	ends []int              // where each of msgs ends
}

// Messages are those that Run was made of.
func (c *Conversation) Messages() []*oneloop.Message { return c.msgs }

// Grow makes Run that of msgs. add renders one message: it appends to Run.Tail,
// or shares with Run what never changes.
func (c *Conversation) Grow(msgs []*oneloop.Message, add func(*Run, *oneloop.Message) error) error {
	n := Common(c.msgs, msgs)
	if n < len(c.msgs) {
		c.cut(n)
	}
	for _, m := range msgs[n:] {
		c.Run.Next()
		if err := add(&c.Run, m); err != nil {
			c.cut(len(c.msgs)) // what it added is not on record
			return err
		}
		c.msgs = append(c.msgs, m)
		c.ends = append(c.ends, c.Run.Len())
	}
	return nil
}

// cut goes back to the first n messages, in new memory.
func (c *Conversation) cut(n int) {
	old := *c
	*c = Conversation{}
	if n > 0 {
		c.Run = old.Run.UpTo(old.ends[n-1])
		c.msgs, c.ends = slices.Clone(old.msgs[:n]), slices.Clone(old.ends[:n])
	}
}

// Common is the number of messages that both begin with.
func Common(a, b []*oneloop.Message) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// encoders is how many conversations are remembered. One that is not among
// them is rendered from its beginning.
const encoders = 4

// Idle keeps what was rendered of conversations between their requests. The
// zero value is ready.
type Idle[E interface{ Messages() []*oneloop.Message }] struct {
	mu  sync.Mutex
	all []E // the last used at the end
}

// Take returns the encoder that knows most of msgs, or a fresh one; never one
// that would have to forget more than half of what it knows. It is the
// caller's alone until it is given back.
func (i *Idle[E]) Take(msgs []*oneloop.Message, fresh func() E) E {
	i.mu.Lock()
	defer i.mu.Unlock()
	best, most := -1, 0
	for at, e := range i.all {
		known := e.Messages()
		if n := Common(known, msgs); n > most && 2*n >= len(known) {
			best, most = at, n
		}
	}
	if best < 0 {
		return fresh()
	}
	e := i.all[best]
	i.all = append(i.all[:best], i.all[best+1:]...)
	return e
}

// Give gives an encoder back.
func (i *Idle[E]) Give(e E) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.all) == encoders {
		i.all = append(i.all[:0], i.all[1:]...)
	}
	i.all = append(i.all, e)
}
