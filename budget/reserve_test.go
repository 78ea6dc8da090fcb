package budget_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oneloop"
	"oneloop/budget"

	"pgregory.net/rapid"
)

// tree is a tree of ledgers in which agents are started, work, fail and return
// in any order.
type tree struct {
	ledgers []*budget.Ledger
	under   []func() // requests under way
}

func (s *tree) draw(t *rapid.T) *budget.Ledger {
	return s.ledgers[rapid.IntRange(0, len(s.ledgers)-1).Draw(t, "ledger")]
}

func limits(t *rapid.T, what string) budget.Limits {
	l := budget.Limits{}
	if rapid.Bool().Draw(t, what+" has turns") {
		l.Requests = rapid.IntRange(1, 40).Draw(t, what+" turns")
	}
	if rapid.Bool().Draw(t, what+" has tokens") {
		l.Tokens = rapid.Int64Range(1, 5000).Draw(t, what+" tokens")
	}
	if rapid.Bool().Draw(t, what+" has cost") {
		l.Cost = rapid.Float64Range(0.0001, 0.1).Draw(t, what+" cost")
	}
	return l
}

const rounding = 1e-9

func TestSharesNeverExceedWhatIsLeft(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel() // who would wait is told so
	rapid.Check(t, func(t *rapid.T) {
		s := &tree{ledgers: []*budget.Ledger{budget.New(limits(t, "root"))}}
		t.Repeat(map[string]func(*rapid.T){
			"spawn": func(t *rapid.T) {
				c, err := s.draw(t).Reserve(limits(t, "child"), rapid.IntRange(1, 9).Draw(t, "parts"))
				if err == nil {
					s.ledgers = append(s.ledgers, c)
				} else if !errors.As(err, new(*oneloop.LimitError)) {
					t.Fatal(err)
				}
			},
			"plain child": func(t *rapid.T) {
				s.ledgers = append(s.ledgers, s.draw(t).Child(limits(t, "child")))
			},
			"begin": func(t *rapid.T) {
				if end, err := s.draw(t).Begin(gone); err == nil {
					s.under = append(s.under, end)
				}
			},
			"end": func(t *rapid.T) {
				if n := len(s.under); n > 0 {
					s.under[n-1]()
					s.under = s.under[:n-1]
				}
			},
			"use": func(t *rapid.T) {
				s.draw(t).Charge(sonnet, used(rapid.Int64Range(0, 2000).Draw(t, "in"), rapid.Int64Range(0, 500).Draw(t, "out")))
			},
			"return": func(t *rapid.T) {
				if i := rapid.IntRange(0, len(s.ledgers)-1).Draw(t, "ledger"); i > 0 {
					s.ledgers[i].Return()
				}
			},
			"": func(t *rapid.T) { s.check(t) },
		})
	})
}

func (s *tree) check(t *rapid.T) {
	for i, l := range s.ledgers {
		for k := range budget.Kinds {
			if limit := l.Limit(k); limit > 0 && l.Aside(k) > max(limit-l.Used(k), 0)+rounding {
				t.Fatalf("ledger %d, kind %d: %v is set aside for its children, %v of %v is used", i, k, l.Aside(k), l.Used(k), limit)
			}
		}
	}
}

// A share is there for its child whatever others do within what a ledger lets
// them: the child is let begin as long as something of every share is left.
func TestAShareCanBeCountedOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := budget.New(budget.Limits{Requests: rapid.IntRange(1, 60).Draw(t, "turns"), Tokens: rapid.Int64Range(100, 9000).Draw(t, "tokens")})
		ledgers := []*budget.Ledger{root}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			at := rapid.IntRange(0, len(ledgers)-1).Draw(t, "ledger")
			l := ledgers[at]
			if rapid.Bool().Draw(t, "spawn") {
				if c, err := l.Reserve(budget.Limits{}, rapid.IntRange(2, 9).Draw(t, "parts")); err == nil {
					ledgers = append(ledgers, c)
				}
				continue
			}
			counted := at > 0 && l.Held(budget.Turns) >= 1 && l.Held(budget.Tokens) >= 1 && l.Aside(budget.Turns) == 0 && l.Aside(budget.Tokens) == 0
			err := begin(l)
			if counted && err != nil {
				t.Fatalf("%v turns and %v tokens are set aside for it: %v", l.Held(budget.Turns), l.Held(budget.Tokens), err)
			}
			if err == nil {
				l.Charge(sonnet, used(1, 0))
			}
		}
	})
}

func TestAnAgentThatUsesAllItCanLeavesTheOthersTheirShares(t *testing.T) {
	root := budget.New(budget.Limits{Requests: 30})
	var kids []*budget.Ledger
	for i := range 2 {
		c, err := root.Reserve(budget.Limits{}, 3-i)
		if err != nil {
			t.Fatal(err)
		}
		kids = append(kids, c)
	}
	n := 0
	var err error
	for ; err == nil && n < 100; n++ {
		err = begin(kids[0])
	}
	if n-1 != 20 { // its own ten and the ten that nobody has
		t.Errorf("it made %d requests", n-1)
	}
	if want := "the limit on turns is reached: 20, and 10 set aside for other agents, of 30"; err.Error() != want {
		t.Errorf("it is told %q", err)
	}
	for range 10 {
		if err := begin(kids[1]); err != nil {
			t.Fatal(err)
		}
	}
	what(t, begin(kids[1]))
}

func TestWhatAChildDidNotUseIsThereAgainOnceItReturned(t *testing.T) {
	root := budget.New(budget.Limits{Cost: 1})
	c, err := root.Reserve(budget.Limits{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := root.Reserve(budget.Limits{}, 1); err == nil || !strings.Contains(err.Error(), "$1.00 set aside for other agents") {
		t.Errorf("a second child of what is another's: %v", err)
	}
	c.Charge(sonnet, used(100_000, 0)) // 0.3
	c.Return()
	again, err := root.Reserve(budget.Limits{}, 1)
	if err != nil || again.Held(budget.Cost) < 0.7-rounding || again.Held(budget.Cost) > 0.7+rounding {
		t.Fatalf("%v is set aside, %v", again.Held(budget.Cost), err)
	}
}

func TestWhoHasReturnedIsForgotten(t *testing.T) {
	root := budget.New(budget.Limits{Requests: 10})
	child, _ := root.Reserve(budget.Limits{}, 2)
	below, _ := child.Reserve(budget.Limits{}, 2)
	if err := begin(below); err != nil { // what was used of a share is no more there
		t.Fatal(err)
	}
	child.Return()
	if root.Children() != 1 {
		t.Error("a child is forgotten that has one at work")
	}
	below.Return()
	if n := root.Children() + child.Children(); n != 0 {
		t.Errorf("%d are still known", n)
	}
}

func TestAGrandchildsShareIsPartOfItsParents(t *testing.T) {
	root := budget.New(budget.Limits{Tokens: 900})
	a, err := root.Reserve(budget.Limits{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.Reserve(budget.Limits{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	if a.Held(budget.Tokens) != 300 || b.Held(budget.Tokens) != 300 || root.Aside(budget.Tokens) != 300 {
		t.Errorf("set aside are %v and of it %v, in all %v", a.Held(budget.Tokens), b.Held(budget.Tokens), root.Aside(budget.Tokens))
	}
	b.Charge(sonnet, used(250, 0))
	if a.Held(budget.Tokens) != 50 || root.Totals().Usage.Total() != 250 {
		t.Errorf("after 250 tokens %v are left of it", a.Held(budget.Tokens))
	}
}

func TestWhatEarlierRunsUsedCounts(t *testing.T) {
	l := budget.New(budget.Limits{Cost: 1})
	l.Began(budget.Totals{Requests: 3, Usage: used(9, 9), Cost: 0.9, Known: true})
	if err := begin(l); err != nil {
		t.Fatal(err)
	}
	l.Charge(sonnet, used(40_000, 0))
	err := begin(l)
	if what(t, err) != "cost" || !strings.Contains(err.Error(), "$1.02 of $1.00") {
		t.Error(err)
	}
	if got := l.Totals(); got.Cost > 0.13 || got.Requests != 1 {
		t.Errorf("the totals of this run are %+v", got)
	}
	l = budget.New(budget.Limits{Tokens: 100})
	l.Began(budget.Totals{Requests: 1, Usage: used(90, 10)})
	if err := begin(l); err == nil || what(t, err) != "tokens" {
		t.Errorf("all tokens were used before: %v", err)
	}
	l = budget.New(budget.Limits{Tokens: 100})
	l.Began(budget.Totals{Requests: 1})
	if err := begin(l); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("how many tokens were used before is not known: %v", err)
	}
	l = budget.New(budget.Limits{Cost: 1})
	l.Began(budget.Totals{Requests: 1, Known: false})
	if err := begin(l); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("what was used before is not known: %v", err)
	}
}

// reserve is Reserve where something is left.
func reserve(t *testing.T, l *budget.Ledger, parts int) *budget.Ledger {
	t.Helper()
	c, err := l.Reserve(budget.Limits{}, parts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatOneRequestUsesTooMuchIsTakenFromTheNewestShare(t *testing.T) {
	root := budget.New(budget.Limits{Tokens: 900})
	older, newer := reserve(t, root, 3), reserve(t, root, 2)
	root.Charge(sonnet, used(400, 0))
	if older.Held(budget.Tokens) != 300 || newer.Held(budget.Tokens) != 200 {
		t.Errorf("%v and %v are set aside", older.Held(budget.Tokens), newer.Held(budget.Tokens))
	}
}

// The longest reply used 400 of 1100 tokens. Beside the request of an agent with
// a small share, of which as much is expected, another fits; a third waits.
func TestRequestsOfAgentsWithSharesDoNotOvershootALimitTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := budget.New(budget.Limits{Tokens: 1100})
		root.Charge(sonnet, used(400, 0))
		sharing := reserve(t, root, 9) // 77
		var ends []func()
		for i, l := range []*budget.Ledger{sharing, root.Child(budget.Limits{})} {
			waiting, cancel := context.WithTimeout(t.Context(), time.Minute) // which is over as soon as it waits
			defer cancel()
			end, err := l.Begin(waiting)
			if err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
			ends = append(ends, end)
		}
		began, done := false, make(chan struct{})
		go func() {
			defer close(done)
			end, err := root.Child(budget.Limits{}).Begin(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			began = true
			end()
		}()
		synctest.Wait()
		if began {
			t.Error("a third request begins though the two under way may use all")
		}
		ends[0]()
		ends[1]()
		<-done
	})
}

func TestWhoWaitsForASharedAmountGoesOnWhenItIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := budget.New(budget.Limits{Tokens: 1000})
		root.Charge(sonnet, used(100, 0))
		aside := reserve(t, root, 1)
		if err := begin(root); err == nil {
			t.Error("all of it is set aside")
		}
		aside.Return()
		aside = reserve(t, root, 2) // 450
		end, err := root.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		root.Charge(sonnet, used(400, 0)) // what is under way may use as much again
		began, done := false, make(chan struct{})
		go func() {
			defer close(done)
			end, err := root.Child(budget.Limits{}).Begin(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			began = true
			end()
		}()
		synctest.Wait()
		if began {
			t.Error("it did not wait")
		}
		aside.Return()
		synctest.Wait()
		if !began {
			t.Error("it waits on")
		}
		end()
		<-done
	})
}
