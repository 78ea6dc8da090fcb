package oneloop_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"oneloop"
)

var update = flag.Bool("update", false, "write testdata/events.golden anew")

func notice(n int) oneloop.Event { return oneloop.Notice{Text: strconv.Itoa(n)} }

func TestEventsComeInOrderAndTheErrorLast(t *testing.T) {
	boom := errors.New("boom")
	var got []string
	for e, err := range oneloop.Events(t.Context(), func(_ context.Context, emit func(oneloop.Event)) error {
		for n := range 3 {
			emit(notice(n))
		}
		return boom
	}) {
		got = append(got, fmt.Sprint(e, err))
	}
	if diff := cmp.Diff([]string{"{0} <nil>", "{1} <nil>", "{2} <nil>", "<nil> boom"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEventsOfSeveralGoroutinesComeOneAtATime(t *testing.T) {
	count := 0 // unguarded: the race detector sees two at once
	for range oneloop.Events(t.Context(), func(_ context.Context, emit func(oneloop.Event)) error {
		var wg sync.WaitGroup
		for n := range 20 {
			wg.Go(func() { emit(notice(n)) })
		}
		wg.Wait()
		return nil
	}) {
		count++
	}
	if count != 20 {
		t.Errorf("%d events, want 20", count)
	}
}

// TestAConsumerThatStopsCancelsAndWaits runs in a bubble, which fails when a
// goroutine is left.
func TestAConsumerThatStopsCancelsAndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		for range oneloop.Events(t.Context(), func(ctx context.Context, emit func(oneloop.Event)) error {
			emit(notice(1))
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), oneloop.ErrInterrupted) {
				t.Errorf("the cause is %v", context.Cause(ctx))
			}
			time.Sleep(time.Hour) // of the bubble: cleaning up takes its time
			for n := range 100 {
				emit(notice(n)) // nobody listens any more
			}
			ended = true
			return context.Cause(ctx)
		}) {
			break
		}
		if !ended {
			t.Error("the turn was not waited for")
		}
	})
}

func TestTheEndOfTheContextStillDeliversHowTheTurnEnded(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var got []string
	for e, err := range oneloop.Events(ctx, func(ctx context.Context, emit func(oneloop.Event)) error {
		cancel(oneloop.ErrShutdown)
		<-ctx.Done()
		emit(notice(1))
		emit(notice(2))
		return context.Cause(ctx)
	}) {
		got = append(got, fmt.Sprint(e, err))
	}
	if diff := cmp.Diff([]string{"{1} <nil>", "{2} <nil>", "<nil> " + oneloop.ErrShutdown.Error()}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPanicOfTheConsumerLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		func() {
			defer func() {
				if v := recover(); v != "consumer" {
					t.Errorf("recovered %v", v)
				}
			}()
			for range oneloop.Events(t.Context(), func(ctx context.Context, emit func(oneloop.Event)) error {
				emit(notice(1))
				<-ctx.Done()
				emit(notice(2))
				ended = true
				return nil
			}) {
				panic("consumer")
			}
		}()
		if !ended {
			t.Error("the turn was not waited for")
		}
	})
}

func TestAPanicOfTheTurnIsOneOfWhoeverTakesItsEvents(t *testing.T) {
	turn := func(_ context.Context, emit func(oneloop.Event)) error {
		emit(oneloop.TextDelta{Text: "so far"})
		panic("oh")
	}
	for _, name := range []string{"to the end", "early"} {
		got := 0
		func() {
			defer func() {
				if v := recover(); v != "oh" {
					t.Errorf("%s: recovered %v", name, v)
				}
			}()
			for range oneloop.Events(t.Context(), turn) {
				if got++; name == "early" {
					break
				}
			}
		}()
		if got != 1 {
			t.Errorf("%s: %d events came before it", name, got)
		}
	}
}

func TestEventsCanBePulled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next, stop := iter.Pull2(oneloop.Events(t.Context(), func(ctx context.Context, emit func(oneloop.Event)) error {
			for n := range 100 {
				emit(notice(n))
			}
			return ctx.Err()
		}))
		e, err, ok := next()
		if e != notice(0) || err != nil || !ok {
			t.Errorf("first: %v, %v, %v", e, err, ok)
		}
		stop()
	})
}

// everyEvent has one event of each kind, filled so that every JSON name shows.
func everyEvent() []oneloop.Event {
	msg := &oneloop.Message{Role: oneloop.Assistant, Blocks: []oneloop.Block{&oneloop.Text{Text: "a < b && c"}},
		Stop: oneloop.StopEndTurn, ID: "msg_1", Origin: oneloop.Origin{API: "anthropic", Model: "m"},
		Usage: oneloop.Usage{Reported: true, Input: 1, CacheRead: 2, CacheWrite: 3, CacheWrite1h: 4, Output: 5, Thinking: 6, Context: 7},
		Meta: oneloop.Meta{RequestID: "req_1", StopDetails: []byte(`{"x":1}`), Source: "driver",
			Repairs: []oneloop.Repair{{Block: 1, What: "id", From: "a", To: "b"}}}}
	call := use("t1", "Bash", `{"command":"ls 2>&1"}`)
	result := oneloop.ErrorResult("no")
	result.ID = "t1"
	q := oneloop.Question{Kind: "tool", Title: "run?", Detail: "ls", Reason: "asked", Rule: "Bash(ls)", Call: call}
	a := oneloop.Answer{Allow: true, Always: true, Reason: "fine"}
	u := oneloop.Usage{Reported: true, Input: 1, Output: 2}
	return []oneloop.Event{
		oneloop.TurnStart{Messages: []*oneloop.Message{oneloop.UserText("你好 <b>")}},
		oneloop.TurnEnd{Stop: oneloop.StopEndTurn, Error: "e", Requests: 2, Duration: time.Second},
		oneloop.RequestSent{Method: "POST", URL: "http://localhost/v1/messages", Header: http.Header{"X-Api-Key": {"***"}}, Body: oneloop.Parts{[]byte(`{"model":`), []byte(`"m"}`)}},
		oneloop.ResponseStarted{Status: 200, Header: http.Header{"Request-Id": {"req_1"}}, RequestID: "req_1"},
		oneloop.Received{Bytes: 10},
		oneloop.Stream{Data: []byte(`{"type":"ping"}`)},
		oneloop.TextDelta{Text: "t"},
		oneloop.ThinkingDelta{Text: "t"},
		oneloop.InputDelta{ID: "t1", Name: "Bash", JSON: `{"a`},
		oneloop.Discard{Reason: "cut", Usage: u},
		oneloop.Retry{Attempt: 1, Of: 8, Wait: time.Second, Error: "e"},
		oneloop.MessageAdded{Message: msg},
		oneloop.ToolStart{Call: call},
		oneloop.ToolOutput{ID: "t1", Text: "out"},
		oneloop.ToolEnd{Call: call, Result: result, Duration: time.Millisecond},
		oneloop.Asked{Question: q},
		oneloop.Answered{Question: q, Answer: a},
		oneloop.Denied{Call: call, Reason: "r", Rule: "Bash(ls)", Nobody: true},
		oneloop.Spend{Model: "m", Usage: u, Cost: 0.5, Known: true, TotalUsage: u, TotalCost: 1.5, TotalKnown: true, Requests: 3},
		oneloop.Limited{What: "turns", Limit: "3", Used: "3"},
		oneloop.Notice{Text: "n"},
		oneloop.Boundary{Mode: "default", In: "ll, no network", Weaker: []string{"no loopback"}, Write: []string{"/w"}, Network: "none"},
		oneloop.ChildStart{Agent: "2", Prompt: "p"},
		oneloop.ChildEnd{Agent: "2", Error: "e"},
		oneloop.Compacted{Trigger: "auto", Before: 2, After: 1},
	}
}

func TestTheJSONOfEveryEventStays(t *testing.T) {
	var b []byte
	at := time.Date(2026, 11, 30, 4, 5, 6, 7000, time.UTC)
	for i, e := range everyEvent() {
		var err error
		if b, err = oneloop.NewEnvelope(uint64(i+1), at, "s1", e).AppendJSON(b); err != nil {
			t.Fatalf("%s: %v", e.Kind(), err)
		}
		b = append(b, '\n')
	}
	const golden = "testdata/events.golden"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(b), "\n")); diff != "" {
		t.Errorf("other programs read this form; a change needs a new version of the envelope:\n%s", diff)
	}
}

// TestTheListOfKindsIsClosed reads the constants from the source: each has an
// event in the golden file, and no two kinds share a name.
func TestTheListOfKindsIsClosed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		if kind, ok := v.Type.(*ast.Ident); ok && kind.Name == "Kind" {
			name, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil || declared[name] {
				t.Errorf("%s: %v, or there before", name, err)
			}
			declared[name] = true
		}
		return true
	})
	shown := map[string]bool{}
	for _, e := range everyEvent() {
		if shown[string(e.Kind())] {
			t.Errorf("two events of kind %q", e.Kind())
		}
		shown[string(e.Kind())] = true
	}
	if diff := cmp.Diff(declared, shown); diff != "" || len(declared) < 20 {
		t.Errorf("kinds in event.go and events in this test differ:\n%s", diff)
	}
}

func TestAnEnvelopeNamesTheChildAndHoldsItsEvent(t *testing.T) {
	e := oneloop.NewEnvelope(1, time.Time{}, "s", oneloop.Child{Agent: "2", Event: oneloop.Child{Agent: "1/3", Event: notice(7)}})
	if e.Agent != "/2/1/3" || e.Kind != oneloop.KindNotice || e.Data != notice(7) {
		t.Errorf("got %+v", e)
	}
	if e := oneloop.NewEnvelope(1, time.Time{}, "s", notice(7)); e.Agent != "/" {
		t.Errorf("the session's own agent is %q", e.Agent)
	}
	if k := (oneloop.Child{Event: notice(1)}).Kind(); k != oneloop.KindNotice {
		t.Errorf("a child's event is of kind %q", k)
	}
}

func TestPartsThatAreNoJSONBecomeAString(t *testing.T) {
	for body, want := range map[string]string{`{"a":1}`: `{"a":1}`, `{"a":`: `"{\"a\":"`, ``: `""`} {
		got, err := oneloop.Parts{[]byte(body)}.MarshalJSON()
		if err != nil || string(got) != want {
			t.Errorf("%q gives %s, %v", body, got, err)
		}
	}
}
