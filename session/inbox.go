package session

import (
	"slices"
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
// the next one. As long as something waits it can be seen, changed and taken
// back; a [Log] keeps it, but for what is [WithNext], so that it is not lost
// with the process.
type Inbox struct {
	mu    sync.Mutex
	items []Waiting
	taken []Waiting // last
	id    int       // of the newest
	keep  func([]Waiting)
}

// Waiting is something that waits in an [Inbox].
type Waiting struct {
	ID     int // 1 for the first thing that was put there, never given twice
	When   When
	Blocks []oneloop.Block
}

// Text is the words in it.
func (w Waiting) Text() string { return lines(w.Blocks) }

// Put adds blocks and returns their number; 0: there was nothing to add. Those
// put for the same point are taken out together, in the order they came, as
// one user message. Blank text is left out.
func (x *Inbox) Put(when When, blocks ...oneloop.Block) int {
	if blocks = said(blocks); len(blocks) == 0 {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.id++
	x.items = append(x.items, Waiting{x.id, when, blocks})
	if when != WithNext {
		x.kept()
	}
	return x.id
}

// List is what waits to be said, in the order in which it came; without what
// is [WithNext].
func (x *Inbox) List() []Waiting {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.steering()
}

func (x *Inbox) steering() []Waiting {
	return slices.DeleteFunc(slices.Clone(x.items), func(w Waiting) bool { return w.When == WithNext })
}

// Edit has other blocks wait in the place of those with the number id. It
// reports false when those do not wait any more, or there is nothing in blocks.
func (x *Inbox) Edit(id int, blocks ...oneloop.Block) bool {
	if blocks = said(blocks); len(blocks) == 0 {
		return false
	}
	return x.change(id, func(i int) { x.items[i].Blocks = blocks })
}

// Drop takes back what has the number id. It reports false when that does not
// wait any more.
func (x *Inbox) Drop(id int) bool {
	return x.change(id, func(i int) { x.items = slices.Delete(slices.Clone(x.items), i, i+1) })
}

func (x *Inbox) change(id int, do func(i int)) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.items, func(w Waiting) bool { return w.ID == id })
	if i < 0 {
		return false
	}
	do(i)
	x.kept()
	return true
}

// Waiting is the number of blocks that wait for a point.
func (x *Inbox) Waiting(when When) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, w := range x.items {
		if w.When == when {
			n += len(w.Blocks)
		}
	}
	return n
}

// bind has keep told of what waits, now and whenever that changes other than by
// being taken.
func (x *Inbox) bind(keep func([]Waiting)) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.keep == nil && len(x.steering()) > 0 {
		defer x.kept()
	}
	x.keep = keep
}

func (x *Inbox) kept() {
	if x.keep != nil {
		x.keep(x.steering())
	}
}

// take empties the inbox for one point, and for the points before it: what is
// to be said, and the notes that go with it.
func (x *Inbox) take(when When) (said, notes []oneloop.Block) {
	if x == nil {
		return nil, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var left []Waiting
	x.taken = nil
	for _, w := range x.items {
		if w.When > when {
			left = append(left, w)
			continue
		}
		x.taken = append(x.taken, w)
	}
	slices.SortStableFunc(x.taken, func(a, b Waiting) int { return int(a.When) - int(b.When) })
	for _, w := range x.taken {
		said = append(said, w.Blocks...)
	}
	x.items = left
	if when == BeforeModel || len(said) > 0 {
		for _, w := range left {
			if w.When == WithNext {
				notes = append(notes, w.Blocks...)
				x.taken = append(x.taken, w)
			}
		}
		x.items = slices.DeleteFunc(left, func(w Waiting) bool { return w.When == WithNext })
	}
	return said, notes
}

// speak takes out what is to be said, whenever.
func (x *Inbox) speak() (said []oneloop.Block) {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.taken = x.steering()
	for _, w := range x.taken {
		said = append(said, w.Blocks...)
	}
	x.items = slices.DeleteFunc(x.items, func(w Waiting) bool { return w.When != WithNext })
	return said
}

// back puts in again what was taken last, in front of what came since.
func (x *Inbox) back() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.items = append(x.taken, x.items...)
	x.taken = nil
}
