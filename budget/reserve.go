package budget

import (
	"iter"
	"math"
	"slices"
)

// Kinds of what is used up, in [amounts].
const (
	turns = iota
	tokens
	cost
	kinds
)

// amounts are one number for each kind of what is used up.
type amounts [kinds]float64

func (l *Limits) amounts() amounts {
	return amounts{float64(l.Requests), float64(l.Tokens), l.Cost}
}

// Reserve is [Ledger.Child] with a part of what is left set aside for the
// child: of every limit on turns, tokens and cost that l or an ancestor has,
// one in parts of what nobody has used or reserved. That much the child can
// count on until it returns it, whatever agents beside it do; it may use more,
// as long as it lies aside for nobody. Time is not divided: the child's ends
// with that of its ancestors.
//
// It returns an [*oneloop.LimitError] when nothing is left. What one request
// uses beyond all that is left is taken from the shares of others, the newest
// first: together they never exceed what is there.
func (l *Ledger) Reserve(limits Limits, parts int) (*Ledger, error) {
	c := l.Child(limits)
	l.mu.Lock()
	defer l.mu.Unlock()
	free, most := amounts{math.Inf(1), math.Inf(1), math.Inf(1)}, limits.amounts()
	for a, others := range l.ancestry() {
		for k := range free {
			left := a.left(k, others)
			if left <= 0 {
				return nil, a.limit(k, others)
			}
			free[k] = min(free[k], left)
		}
	}
	for k := range c.share {
		if math.IsInf(free[k], 1) {
			continue
		}
		part := free[k] / float64(max(parts, 1))
		if most[k] > 0 {
			part = min(part, most[k])
		}
		if k != cost { // of half a turn both would have a whole one
			part = math.Floor(part)
		}
		c.share[k] = part
	}
	if c.share != (amounts{}) {
		c.enlist()
	}
	return c, nil
}

// Return gives back what was set aside for l and for its children, and is not
// used. What l was charged stays with its ancestors. l may be used further, as
// a child without a share.
func (l *Ledger) Return() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range l.share {
		l.cut(k, 0)
	}
	l.share = amounts{}
	for a := l; a.parent != nil && len(a.kids) == 0 && a.share == (amounts{}); a = a.parent {
		p := a.parent
		p.kids = slices.DeleteFunc(p.kids, func(c *Ledger) bool { return c == a })
	}
	close(l.ended) // who waits for what was set aside looks again
	l.ended = make(chan struct{})
}

// Began says what runs before this one used. It counts for the limits on
// tokens and cost as what l is charged does, and is not in its [Totals].
func (l *Ledger) Began(earlier Totals) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.earlier = earlier
}

// enlist makes l known to its ancestors as one for which something is set
// aside.
func (l *Ledger) enlist() {
	for a := l; a.parent != nil && !slices.Contains(a.parent.kids, a); a = a.parent {
		a.parent.kids = append(a.parent.kids, a)
	}
}

// used is what counts for l's limit on k.
func (l *Ledger) used(k int) float64 {
	switch k {
	case turns:
		return float64(l.spent.Requests)
	case tokens:
		return float64(l.spent.Usage.Total() + l.earlier.Usage.Total())
	}
	return l.spent.Cost + l.earlier.Cost
}

// ancestry yields l and its ancestors, the nearest first, each with all for
// whom something is set aside that is not there for l: the children, up to
// there, that do not lead to l.
func (l *Ledger) ancestry() iter.Seq2[*Ledger, []*Ledger] {
	return func(yield func(*Ledger, []*Ledger) bool) {
		var others []*Ledger
		for a, branch := l, (*Ledger)(nil); a != nil; a, branch = a.parent, a {
			for _, c := range a.kids {
				if c != branch {
					others = append(others, c)
				}
			}
			if !yield(a, others) {
				return
			}
		}
	}
}

// held is what is set aside for l and its children and not used yet.
func (l *Ledger) held(k int) float64 {
	return max(l.share[k]-l.used(k), aside(k, l.kids), 0)
}

// aside is what is held for all of these.
func aside(k int, others []*Ledger) (sum float64) {
	for _, c := range others {
		sum += c.held(k)
	}
	return sum
}

// left is what l's own limit on k leaves for who asks.
func (l *Ledger) left(k int, others []*Ledger) float64 {
	limit := l.limits.amounts()[k]
	if limit <= 0 {
		return math.Inf(1)
	}
	return limit - l.used(k) - aside(k, others)
}

// squeeze takes from the shares below l and its ancestors, the newest first,
// what is no longer there.
func (l *Ledger) squeeze() {
	for a := l; a != nil; a = a.parent {
		for k, limit := range a.limits.amounts() {
			if limit > 0 && len(a.kids) > 0 {
				a.fit(k, max(limit-a.used(k), 0))
			}
		}
	}
}

// fit makes what is set aside for children of l at most so much.
func (l *Ledger) fit(k int, most float64) {
	over := aside(k, l.kids) - most
	for _, c := range slices.Backward(l.kids) {
		if over <= 0 {
			return
		}
		held := c.held(k)
		c.cut(k, max(held-over, 0))
		over -= held - c.held(k)
	}
}

// cut makes what is set aside for l and its children at most so much.
func (l *Ledger) cut(k int, most float64) {
	if l.share[k]-l.used(k) > most {
		l.share[k] = l.used(k) + most
	}
	l.fit(k, most)
}
