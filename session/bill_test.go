package session_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/session"
)

func TestTheBillIsTheConversationsWhateverElseTheLedgerHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	total, requests := oneloop.Usage{Input: 500}, 40 // of a conversation before this one
	spend := func(l *session.Log, model string, in int64, others int) {
		total.Input += in + int64(others)*10
		requests += 1 + others
		l.Event(oneloop.Spend{Model: model, Usage: oneloop.Usage{Input: in, CacheRead: 1}, Cost: 0.5, Known: true,
			TotalUsage: total, TotalCost: float64(requests) / 2, TotalKnown: true, Requests: requests})
	}
	sum := func(list ...oneloop.Spend) (lines []string) {
		for _, s := range list {
			lines = append(lines, fmt.Sprintf("%s %d %d $%.1f %v", s.Model, s.Requests, s.TotalUsage.Input, s.TotalCost, s.TotalKnown))
		}
		return lines
	}
	check := func(l *session.Log, want ...string) {
		t.Helper()
		b := l.Bill()
		b.Total.Model = "all"
		if diff := cmp.Diff(want, append(append(sum(b.Total), sum(b.Models...)...), sum(b.Turns...)...)); diff != "" {
			t.Error(diff)
		}
	}
	l := session.NewLog(path, session.LogOptions{})
	spend(l, "big", 100, 0)
	spend(l, "small", 5, 2) // and a subtask's two
	l.Event(oneloop.TurnEnd{})
	check(l, "all 4 125 $2.0 true", "big 1 100 $0.5 true", "small 1 5 $0.5 true", " 4 125 $2.0 true")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, _, err := session.OpenLog(path, session.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	total, requests = oneloop.Usage{Input: 9000}, 900 // the ledger goes on, but not with this
	spend(l, "big", 7, 0)
	l.Event(oneloop.TurnEnd{})
	check(l, "all 5 132 $2.5 true", "big 2 107 $1.0 true", "small 1 5 $0.5 true", " 4 125 $2.0 true", " 1 7 $0.5 true")
	if got := l.Info(); got.Cost != 2.5 || !got.Known || got.Turns != 2 {
		t.Errorf("lists show %+v", got)
	}
	made, err := session.Fork(path, 0, session.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fork, _ := open(t, made)
	if got := fork.Info(); got.Cost != 0 || !got.Known || got.Turns != 2 {
		t.Errorf("lists show %+v of a fork, which has used nothing", got)
	}
}
