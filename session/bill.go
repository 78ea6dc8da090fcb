package session

import (
	"slices"

	"oneloop"
)

// Bill is what a conversation used, in all its runs. In each Spend the numbers
// are the totals; those of subtasks are in Total and Turns, and in no model.
type Bill struct {
	Total  oneloop.Spend
	Models []oneloop.Spend // of each model that was asked, in the order of first use
	Turns  []oneloop.Spend // oldest first; what is asked for between two is in the second
}

// Bill is what the session used so far.
func (l *Log) Bill() Bill {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Bill{l.view.spentAll(), slices.Clone(l.view.models), slices.Clone(l.view.turns)}
}

// charge makes the totals of s, which are those of a run and may be of other
// conversations too, those of the session.
func (l *Log) charge(s oneloop.Spend) oneloop.Spend {
	was, told := l.ledger, s
	l.ledger = &told
	more := oneloop.Spend{TotalUsage: s.Usage, TotalCost: s.Cost, TotalKnown: s.Known, Requests: 1}
	if was != nil && s.Requests >= was.Requests { // and not another ledger
		more = oneloop.Spend{TotalUsage: minus(s.TotalUsage, was.TotalUsage), TotalCost: s.TotalCost - was.TotalCost,
			TotalKnown: s.TotalKnown || !was.TotalKnown && s.Known, Requests: s.Requests - was.Requests}
	}
	all := plus(l.view.spentAll(), more)
	s.TotalUsage, s.TotalCost, s.TotalKnown, s.Requests = all.TotalUsage, all.TotalCost, all.TotalKnown, all.Requests
	l.view.spend(s)
	return s
}

// charged takes what one reply used into account. One without a model is a
// subtask's, whose totals alone count here.
func (v *view) charged(s oneloop.Spend) {
	if s.Model == "" {
		return
	}
	one := oneloop.Spend{Model: s.Model, TotalUsage: s.Usage, TotalCost: s.Cost, TotalKnown: s.Known, Requests: 1}
	i := slices.IndexFunc(v.models, func(m oneloop.Spend) bool { return m.Model == s.Model })
	if i < 0 {
		v.models = append(v.models, one)
		return
	}
	v.models[i] = plus(v.models[i], one)
}

// endTurn closes the account of a turn.
func (v *view) endTurn() {
	all, was := v.spentAll(), v.closed
	v.closed = all
	v.turns = append(v.turns, oneloop.Spend{TotalUsage: minus(all.TotalUsage, was.TotalUsage), TotalCost: all.TotalCost - was.TotalCost,
		TotalKnown: all.TotalKnown || all.Requests == was.Requests, Requests: all.Requests - was.Requests})
}

// plus has the totals of both; the name is a's.
func plus(a, b oneloop.Spend) oneloop.Spend {
	if a.Requests == 0 {
		b.Model = a.Model
		return b
	}
	a.TotalUsage = a.TotalUsage.Add(b.TotalUsage)
	a.TotalCost += b.TotalCost
	a.TotalKnown = a.TotalKnown && (b.TotalKnown || b.Requests == 0)
	a.Requests += b.Requests
	return a
}

// minus is what u has more than v.
func minus(u, v oneloop.Usage) oneloop.Usage {
	return oneloop.Usage{
		Reported:     u.Reported,
		Input:        u.Input - v.Input,
		CacheRead:    u.CacheRead - v.CacheRead,
		CacheWrite:   u.CacheWrite - v.CacheWrite,
		CacheWrite1h: u.CacheWrite1h - v.CacheWrite1h,
		Output:       u.Output - v.Output,
		Thinking:     u.Thinking - v.Thinking,
		Searches:     u.Searches - v.Searches,
	}
}
