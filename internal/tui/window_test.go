package tui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/session"
)

func TestTheWindowIsShownPartByPart(t *testing.T) {
	f := session.Fill{Window: 200_000, Limit: 180_000, Used: 50_100, Counted: true,
		Parts: []session.Part{{Name: "system", Tokens: 1_600}, {Name: "results", Tokens: 48_500}, {Name: "new", Tokens: 3}}}
	want := []string{
		"the window: 50,100 of 200,000 tokens, 25%; its parts are estimates",
		"  system prompt               1,600    1%",
		"  results of calls           48,500   24%",
		"  new                             3    0%",
		"  free                      149,900   75%",
		"beyond 180,000 tokens the conversation is made shorter; /compact does it now",
	}
	if diff := cmp.Diff(want, strings.Split(english.Window(f), "\n")); diff != "" {
		t.Error(diff)
	}
	f = session.Fill{Used: 1000, Parts: []session.Part{{Name: "results", Tokens: 1000}}}
	want = []string{
		"窗口：已用 约 1,000 词元；不知道模型一共能接受多少。各部分是估计值",
		"  调用结果                    1,000  100%",
		"接口认为太长时，对话会自动缩短；/compact 可以现在就做",
	}
	if diff := cmp.Diff(want, strings.Split(chinese.Window(f), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestTheBillIsByModelAndTurn(t *testing.T) {
	spend := func(model string, in, cached int64, cost float64, requests int) oneloop.Spend {
		return oneloop.Spend{Model: model, TotalUsage: oneloop.Usage{Input: in, CacheRead: cached, Output: 5 * int64(requests)},
			TotalCost: cost, TotalKnown: cost > 0, Requests: requests}
	}
	b := session.Bill{
		Total:  spend("", 1000, 500, 0.75, 10),
		Models: []oneloop.Spend{spend("big", 400, 500, 0.5, 5), spend("new", 100, 0, 0, 1)},
		Turns:  []oneloop.Spend{spend("", 1, 0, 0.1, 1)},
	}
	for range 8 {
		b.Turns = append(b.Turns, spend("", 2, 1, 0.2, 1))
	}
	run := spend("", 10, 0, 0.1, 1) // the rest is of an earlier run
	want := []string{
		"session · tokens: 1,500 in (500 from the cache), 50 out · 10 requests · $0.750",
		"  big · tokens: 900 in (500 from the cache), 25 out · 5 requests · $0.500",
		"  new · tokens: 100 in, 5 out · 1 request · price unknown",
		"  subtasks · tokens: 500 in, 20 out · 4 requests · $0.250",
		"  turn 2 · tokens: 3 in (1 from the cache), 5 out · 1 request · $0.200",
	}
	got := strings.Split(english.Bill(run, b), "\n")
	if diff := cmp.Diff(want, got[:min(5, len(got))]); diff != "" || len(got) != 4+shownTurns {
		t.Errorf("%d lines; %s", len(got), diff)
	}
	run.Requests = 40 // of other conversations too
	if got := english.Bill(run, session.Bill{}); got != "session · tokens: 10 in, 5 out · 40 requests · $0.100" {
		t.Errorf("the run is told as %q", got)
	}
}
