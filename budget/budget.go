// Package budget counts what agents use and holds them to limits. A [Ledger]
// belongs to one agent; the ledgers of its children charge it too, so that a
// limit on an agent is a limit on everything it starts. Part of what is left
// can be set aside for a child ([Ledger.Reserve]), so that those beside it
// cannot use up what it needs.
package budget

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"oneloop"
	"oneloop/model/catalog"
)

// Limits bound an agent and its children together. A zero field is no limit.
type Limits struct {
	Requests int           // model calls; a call tried again counts once
	Tokens   int64         // read and written, as the API reports them
	Cost     float64       // US dollars
	Time     time.Duration // since the first model call
}

// Totals are what a ledger was charged.
type Totals struct {
	Requests int
	Usage    oneloop.Usage // Reported only when every reply was
	Cost     float64       // US dollars, of the replies whose cost is known
	Known    bool          // Cost is all of it
}

// Ledger counts what an agent and its children use. It is safe for concurrent
// use.
//
// Limits are looked at before a request. Tokens and cost are known only after
// it, so they may be overshot. Requests of several agents do not overshoot
// them together: each that is under way has as much reserved for it as the
// dearest reply so far used.
type Ledger struct {
	*tree
	parent *Ledger
	limits Limits
	began  time.Time // of the first request
	spent  Totals
	flying int     // requests under way
	cost   float64 // of the dearest reply
	tokens int64   // of the longest
	priced int     // replies in spent
	blind  bool    // one of them did not say what it used

	earlier Totals    // of runs before this one
	share   amounts   // set aside for it in its ancestors, less what it may no longer count on
	kids    []*Ledger // children for which, or below which, something is set aside, oldest first
}

// tree is what the ledgers of an agent and its children share.
type tree struct {
	mu    sync.Mutex
	ended chan struct{} // closed, and made anew, when a request has ended
	price func(model string) catalog.Price
}

// known is the price that the catalogue knows, today.
func known(model string) catalog.Price {
	m, _ := catalog.Find(model)
	return m.Price.On(time.Now().UTC().Format(time.DateOnly))
}

// New returns the ledger of an agent that has no parent.
func New(l Limits) *Ledger {
	return &Ledger{tree: &tree{ended: make(chan struct{}), price: known}, limits: l, spent: Totals{Known: true}}
}

// Child returns the ledger of an agent that l's agent starts. What it is
// charged is charged to l and its ancestors as well, and their limits hold
// beside its own.
func (l *Ledger) Child(limits Limits) *Ledger {
	return &Ledger{tree: l.tree, parent: l, limits: limits, spent: Totals{Known: true}}
}

// Use has prices come from another place than the catalogue. It is for the
// whole tree of ledgers, before the first request.
func (l *Ledger) Use(price func(model string) catalog.Price) { l.price = price }

// Begin counts one request in l and all its ancestors, which is under way until
// end is called. When a limit of any of them is reached it counts nothing and
// returns an [*oneloop.LimitError], whose What is "turns", "tokens", "cost" or
// "time". Where a limit would be reached by what others under way have
// reserved, it waits until one of them has ended, or ctx has.
func (l *Ledger) Begin(ctx context.Context) (end func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		now, wait := time.Now(), false
		for a, others := range l.ancestry() {
			if err := a.reached(now, others); err != nil {
				return nil, err
			}
			wait = wait || a.underway(others)
		}
		if !wait {
			break
		}
		ended := l.ended
		l.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		l.mu.Lock()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	for a := l; a != nil; a = a.parent {
		if a.began.IsZero() {
			a.began = time.Now()
		}
		a.spent.Requests++
		a.flying++
	}
	return sync.OnceFunc(l.end), nil
}

func (l *Ledger) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for a := l; a != nil; a = a.parent {
		a.flying--
	}
	close(l.ended)
	l.ended = make(chan struct{})
}

// underway reports whether requests under way, with what is set aside for
// others, reach one of l's own limits.
func (l *Ledger) underway(others []*Ledger) bool {
	if l.flying == 0 {
		return false
	}
	dearest := amounts{tokens: float64(l.tokens), cost: l.cost}
	for _, k := range []int{tokens, cost} {
		limit := l.limits.amounts()[k]
		if limit <= 0 {
			continue
		}
		all, flying := l.used(k), l.flying
		for _, c := range others {
			all += max(c.held(k), float64(c.flying)*dearest[k])
			flying -= c.flying
		}
		if all+float64(flying)*dearest[k] >= limit {
			return true
		}
	}
	return false
}

// reached looks at l's own limits. What is set aside for others is not there
// for who asks. A limit that cannot be watched, because a reply came without
// usage, counts as reached: going on could cost anything.
func (l *Ledger) reached(now time.Time, others []*Ledger) error {
	lim := &l.limits
	switch {
	case l.left(turns, others) <= 0:
		return l.limit(turns, others)
	case lim.Time > 0 && !l.began.IsZero() && now.Sub(l.began) >= lim.Time:
		return limit("time", lim.Time.String(), now.Sub(l.began).Round(time.Second).String())
	}
	return l.usedUp(others)
}

// usedUp looks at the limits on what is used up.
func (l *Ledger) usedUp(others []*Ledger) error {
	lim := &l.limits
	switch {
	case l.left(tokens, others) <= 0:
		return l.limit(tokens, others)
	case lim.Tokens > 0 && (l.blind || l.earlier.Requests > 0 && !l.earlier.Usage.Reported):
		return limit("tokens", fmt.Sprint(lim.Tokens), "unknown (a reply did not say what it used)")
	case l.left(cost, others) <= 0:
		return l.limit(cost, others)
	case lim.Cost > 0 && (!l.spent.Known || l.earlier.Requests > 0 && !l.earlier.Known):
		return limit("cost", dollars(lim.Cost), "unknown (a reply did not say what it used, or has no known price)")
	}
	return nil
}

// UsedUp returns the [*oneloop.LimitError] of a limit on tokens or cost that
// is reached in l or an ancestor, nil when there is more to use. It is for
// requests under way, which count already: whether another one may begin is
// for [Ledger.Begin] to say.
func (l *Ledger) UsedUp() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for a, others := range l.ancestry() {
		if err := a.usedUp(others); err != nil {
			return err
		}
	}
	return nil
}

// limit is the error for l's limit on k.
func (l *Ledger) limit(k int, others []*Ledger) error {
	show := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	if k == cost {
		show = dollars
	}
	used := show(l.used(k))
	if aside := aside(k, others); aside > 0 {
		used += ", and " + show(aside) + " set aside for other agents,"
	}
	return limit([...]string{"turns", "tokens", "cost"}[k], show(l.limits.amounts()[k]), used)
}

func limit(what, limit, used string) *oneloop.LimitError {
	return &oneloop.LimitError{What: what, Limit: limit, Used: used}
}

// dollars shows cents, and more digits where there are only those.
func dollars(v float64) string {
	if v > 0 && v < 0.001 {
		return "$" + strconv.FormatFloat(v, 'g', 2, 64)
	}
	if v < 1 {
		return fmt.Sprintf("$%.4f", v)
	}
	return fmt.Sprintf("$%.2f", v)
}

// Deadline is the moment at which the first limit on time among l and its
// ancestors is reached, and what says so then. It is nil when there is no such
// limit, or when no request has begun.
func (l *Ledger) Deadline() (time.Time, *oneloop.LimitError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var at time.Time
	var first *oneloop.LimitError
	for a := l; a != nil; a = a.parent {
		if a.limits.Time <= 0 || a.began.IsZero() {
			continue
		}
		if end := a.began.Add(a.limits.Time); first == nil || end.Before(at) {
			at, first = end, limit("time", a.limits.Time.String(), a.limits.Time.String())
		}
	}
	return at, first
}

// Priced returns an error when a limit on cost holds and the price of the
// model is not known: such a limit could not be kept. Ask before the first
// request.
func (l *Ledger) Priced(model string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for a := l; a != nil; a = a.parent {
		if a.limits.Cost <= 0 {
			continue
		}
		if !l.price(model).Known {
			return fmt.Errorf("a limit on cost cannot be kept: the price of model %q is not known; limit turns or tokens instead", model)
		}
	}
	return nil
}

// Charge adds what one reply of the model, or a try that failed, used to l and all its ancestors. A
// reply without reported usage, or of a model without a price, has a cost that
// is not Known.
func (l *Ledger) Charge(model string, u oneloop.Usage) oneloop.Spend {
	price := l.price(model)
	s := oneloop.Spend{Model: model, Usage: u, Known: u.Reported && price.Known}
	if s.Known {
		s.Cost = price.Cost(u.Input, u.CacheRead, u.CacheWrite-u.CacheWrite1h, u.CacheWrite1h, u.Output) + price.Search*float64(u.Searches)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for a := l; a != nil; a = a.parent {
		a.add(s)
	}
	l.squeeze()
	s.TotalUsage, s.TotalCost, s.TotalKnown, s.Requests = l.spent.Usage, l.spent.Cost, l.spent.Known, l.spent.Requests
	return s
}

func (l *Ledger) add(s oneloop.Spend) {
	t := &l.spent
	if l.priced++; l.priced == 1 {
		t.Usage = s.Usage
	} else {
		t.Usage = t.Usage.Add(s.Usage)
	}
	l.cost, l.tokens = max(l.cost, s.Cost), max(l.tokens, s.Usage.Total())
	t.Usage.Context = 0 // a sum stands in no window
	t.Cost += s.Cost
	t.Known = t.Known && s.Known
	l.blind = l.blind || !s.Usage.Reported
}

// Totals returns what l was charged so far, its children's use included.
func (l *Ledger) Totals() Totals {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}
