package budget_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"oneloop"
	"oneloop/budget"

	"pgregory.net/rapid"
)

const sonnet = "claude-sonnet-4-6" // 3 and 15 dollars per million tokens

func used(in, out int64) oneloop.Usage {
	return oneloop.Usage{Reported: true, Input: in, Output: out}
}

// what returns the name of the limit err is about.
func what(t *testing.T, err error) string {
	t.Helper()
	var limit *oneloop.LimitError
	if !errors.As(err, &limit) {
		t.Fatalf("got %v, want a *LimitError", err)
	}
	return limit.What
}

// begin has a request begin and end.
func begin(l *budget.Ledger) error {
	end, err := l.Begin(context.Background())
	if err == nil {
		end()
	}
	return err
}

func TestRequestsSideBySideDoNotOvershootALimitTogether(t *testing.T) {
	for name, limits := range map[string]budget.Limits{
		"tokens": {Tokens: 1000},
		"cost":   {Cost: 0.003},
	} {
		synctest.Test(t, func(t *testing.T) {
			root := budget.New(limits)
			if err := begin(root); err != nil {
				t.Fatal(err)
			}
			root.Charge(sonnet, used(300, 0))
			var under, most, done atomic.Int64
			var wg sync.WaitGroup
			for range 10 {
				l := root.Child(budget.Limits{})
				wg.Go(func() {
					end, err := l.Begin(t.Context())
					if err != nil {
						if got := what(t, err); got != name {
							t.Errorf("limit on %q, want %q", got, name)
						}
						return
					}
					defer end()
					most.Store(max(most.Load(), under.Add(1)))
					time.Sleep(time.Second)
					under.Add(-1)
					done.Add(1)
					l.Charge(sonnet, used(300, 0))
				})
			}
			wg.Wait()
			if total := root.Totals().Usage.Total(); total != 1200 || most.Load() < 2 {
				t.Errorf("%s: %d requests used %d together, %d at once; want 1200, and 2 at once", name, done.Load()+1, total, most.Load())
			}
		})
	}
}

func TestWhoWaitsForOthersCanGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := budget.New(budget.Limits{Tokens: 100})
		if err := begin(l); err != nil {
			t.Fatal(err)
		}
		l.Charge(sonnet, used(90, 0))
		end, err := l.Begin(t.Context())
		if err != nil {
			t.Fatalf("nothing is under way: %v", err)
		}
		defer end()
		ctx, stop := context.WithCancelCause(t.Context())
		gone := errors.New("the user left")
		time.AfterFunc(time.Minute, func() { stop(gone) })
		if _, err := l.Begin(ctx); err != gone {
			t.Errorf("got %v, want that the user left", err)
		}
		if n := l.Totals().Requests; n != 2 {
			t.Errorf("counted %d requests, want 2", n)
		}
	})
}

func TestALimitOnRequestsAllowsExactlyThatMany(t *testing.T) {
	l := budget.New(budget.Limits{Requests: 3})
	for range 3 {
		if err := begin(l); err != nil {
			t.Fatal(err)
		}
	}
	if got := what(t, begin(l)); got != "turns" {
		t.Errorf("limit on %q", got)
	}
	if n := l.Totals().Requests; n != 3 {
		t.Errorf("counted %d requests, a refused one must not count", n)
	}
}

func TestTokensAndCostStopTheRequestAfterTheOneThatReachedThem(t *testing.T) {
	for name, limits := range map[string]budget.Limits{
		"tokens": {Tokens: 1000},
		"cost":   {Cost: 0.003},
	} {
		l := budget.New(limits)
		if err := begin(l); err != nil {
			t.Fatal(err)
		}
		l.Charge(sonnet, used(999, 0))
		if err := begin(l); err != nil {
			t.Fatalf("%s: below the limit: %v", name, err)
		}
		l.Charge(sonnet, used(1, 100))
		if got := what(t, begin(l)); got != name {
			t.Errorf("limit on %q, want %q", got, name)
		}
	}
}

func TestALimitOnTimeRunsFromTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := budget.New(budget.Limits{Time: time.Minute})
		l := root.Child(budget.Limits{})
		time.Sleep(time.Hour)
		if _, up := l.Deadline(); up != nil {
			t.Error("a deadline before the first request")
		}
		if err := begin(l); err != nil {
			t.Fatal(err)
		}
		at, up := l.Deadline()
		if up == nil || !at.Equal(time.Now().Add(time.Minute)) || up.What != "time" {
			t.Errorf("deadline %v %v", at, up)
		}
		time.Sleep(time.Minute - 1)
		if err := begin(l); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1)
		if got := what(t, begin(l)); got != "time" {
			t.Errorf("limit on %q", got)
		}
	})
}

func TestAChildIsHeldToTheLimitsOfAllItsAncestors(t *testing.T) {
	root := budget.New(budget.Limits{Requests: 3})
	a := root.Child(budget.Limits{Requests: 2})
	b := root.Child(budget.Limits{})
	deep := a.Child(budget.Limits{})
	for _, l := range []*budget.Ledger{deep, a} {
		if err := begin(l); err != nil {
			t.Fatal(err)
		}
	}
	what(t, begin(deep))
	if err := begin(b); err != nil {
		t.Errorf("a's limit held b back: %v", err)
	}
	what(t, begin(b))
	if n := root.Totals().Requests; n != 3 {
		t.Errorf("the root counted %d", n)
	}
}

func TestWhatAChildSpendsIsInItsParentsTotals(t *testing.T) {
	root := budget.New(budget.Limits{})
	child := root.Child(budget.Limits{})
	root.Charge(sonnet, used(1_000_000, 0))
	s := child.Charge(sonnet, oneloop.Usage{Reported: true, CacheWrite: 2_000_000, CacheWrite1h: 1_000_000, Output: 1_000_000})
	if want := 3.75 + 6 + 15; math.Abs(s.Cost-want) > 1e-9 || s.TotalCost != s.Cost || !s.TotalKnown {
		t.Errorf("child: %+v, want a cost of %v", s, want)
	}
	got := root.Totals()
	if want := 3 + 3.75 + 6 + 15; math.Abs(got.Cost-want) > 1e-9 || !got.Known || !got.Usage.Reported || got.Usage.Total() != 4_000_000 {
		t.Errorf("root: %+v, want a cost of %v", got, want)
	}
}

func TestAnUnknownCostIsNeverShownAsZero(t *testing.T) {
	l := budget.New(budget.Limits{})
	if s := l.Charge("no-such-model", used(5, 5)); s.Known || s.TotalKnown {
		t.Errorf("unknown price: %+v", s)
	}
	l = budget.New(budget.Limits{})
	if s := l.Charge(sonnet, oneloop.Usage{}); s.Known || s.TotalUsage.Reported {
		t.Errorf("unreported usage: %+v", s)
	}
	if s := l.Charge(sonnet, used(5, 5)); !s.Known || s.TotalKnown || s.TotalUsage.Reported {
		t.Errorf("after a reply without usage: %+v", s)
	}
}

func TestALimitThatCannotBeWatchedStopsTheAgent(t *testing.T) {
	for name, limits := range map[string]budget.Limits{"tokens": {Tokens: 1e6}, "cost": {Cost: 10}} {
		root := budget.New(limits)
		l := root.Child(budget.Limits{})
		l.Charge(sonnet, oneloop.Usage{})
		if got := what(t, begin(l)); got != name {
			t.Errorf("limit on %q, want %q", got, name)
		}
	}
}

func TestAModelWithoutAPriceIsRefusedOnlyUnderALimitOnCost(t *testing.T) {
	if err := budget.New(budget.Limits{Tokens: 1}).Priced("no-such-model"); err != nil {
		t.Error(err)
	}
	child := budget.New(budget.Limits{Cost: 1}).Child(budget.Limits{})
	if err := child.Priced("no-such-model"); err == nil {
		t.Error("a cost limit on a model without a price was accepted")
	}
	if err := child.Priced(sonnet); err != nil {
		t.Error(err)
	}
}

func TestConcurrentAgentsNeverPassALimitOnRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 20).Draw(t, "limit")
		root := budget.New(budget.Limits{Requests: limit})
		ledgers := []*budget.Ledger{root}
		for i := range rapid.IntRange(1, 6).Draw(t, "children") {
			parent := ledgers[rapid.IntRange(0, i).Draw(t, "parent")]
			ledgers = append(ledgers, parent.Child(budget.Limits{}))
		}
		var wg sync.WaitGroup
		began := make([]int, len(ledgers))
		for i, l := range ledgers {
			wg.Go(func() {
				for begin(l) == nil {
					began[i]++
					l.Charge(sonnet, used(1, 1))
				}
			})
		}
		wg.Wait()
		sum := 0
		for _, n := range began {
			sum += n
		}
		if sum != limit || root.Totals().Usage.Total() != int64(2*limit) {
			t.Fatalf("%d requests began under a limit of %d; totals %+v", sum, limit, root.Totals())
		}
	})
}

func TestSearchesOfTheWebAreOnTheBill(t *testing.T) {
	l := budget.New(budget.Limits{Cost: 0.05})
	u := used(0, 0)
	u.Searches = 6
	if s := l.Charge(sonnet, u); s.Cost < 0.0599 || s.Cost > 0.0601 || !s.Known {
		t.Errorf("six searches cost %v", s.Cost)
	}
	if err := l.UsedUp(); what(t, err) != "cost" {
		t.Error(err)
	}
}
