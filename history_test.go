package oneloop_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
)

func request(t *testing.T, h *oneloop.History) *oneloop.Request {
	t.Helper()
	r, err := h.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnEmptyHistoryIsReadyForUse(t *testing.T) {
	var h oneloop.History
	if r := request(t, &h); len(r.Messages) != 0 || h.Last() != nil || len(h.Messages()) != 0 {
		t.Errorf("request %+v, last %v", r, h.Last())
	}
}

func TestARequestHoldsWhatWasSetAndSaid(t *testing.T) {
	h := oneloop.History{
		System: []oneloop.Block{&oneloop.Text{Text: "be brief"}},
		Tools:  []oneloop.ToolDef{{Name: "Bash"}},
		Params: oneloop.Params{MaxTokens: 5},
	}
	hi := oneloop.UserText("hi")
	h.Append(t.Context(), hi)
	r := request(t, &h)
	if len(r.Messages) != 1 || r.Messages[0] != hi || len(r.System) != 1 || len(r.Tools) != 1 || r.Params.MaxTokens != 5 {
		t.Errorf("got %+v", r)
	}
}

func TestARequestDoesNotChangeWhenTheConversationGoesOn(t *testing.T) {
	var h oneloop.History
	for n := range 20 { // the list of messages has room left behind many of these
		h.Append(t.Context(), oneloop.UserText(fmt.Sprint(n)))
		r := request(t, &h)
		h.Append(t.Context(), oneloop.UserText("next"))
		_ = append(r.Messages, oneloop.UserText("not in the history"))
		if len(r.Messages) != 2*n+1 {
			t.Errorf("the older request has %d messages", len(r.Messages))
		}
		if got := h.Last().Text(); got != "next" {
			t.Errorf("the last message is %q", got)
		}
		if later := request(t, &h); later.Messages[2*n+1].Text() != "next" {
			t.Errorf("message %d is %q", 2*n+1, later.Messages[2*n+1].Text())
		}
	}
	all := h.Messages()
	all[0] = nil
	if h.Messages()[0] == nil {
		t.Error("Messages gives the history's own list")
	}
}

func TestWhatNoAPITakesIsKeptAndNotSent(t *testing.T) {
	text, thinking, opaque := &oneloop.Text{Text: "x"}, &oneloop.Thinking{Text: "x"}, &oneloop.Opaque{Type: "x"}
	tool := use("1", "echo", "{}")
	for _, c := range []struct {
		name string
		msg  *oneloop.Message
		sent bool
	}{
		{"user text", oneloop.UserText("x"), true},
		{"no content", oneloop.NewMessage(oneloop.User), false},
		{"an answer", done("x"), true},
		{"an empty answer", &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn}, false},
		{"a refusal", &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopRefusal, Blocks: []oneloop.Block{text}}, false},
		{"calls", calls(text, tool), true},
		{"cut text", &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopMaxTokens, Blocks: []oneloop.Block{thinking, text}}, true},
		{"a cut call", &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopMaxTokens, Blocks: []oneloop.Block{text, tool}}, false},
		{"cut reasoning", &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopMaxTokens, Blocks: []oneloop.Block{text, thinking}}, false},
		{"interrupted text", &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopInterrupted, Blocks: []oneloop.Block{text}}, true},
		{"a block of a later time", &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn, Blocks: []oneloop.Block{opaque}}, true},
	} {
		var h oneloop.History
		if err := h.Append(t.Context(), c.msg); err != nil {
			t.Fatal(err)
		}
		if sent := len(request(t, &h).Messages) == 1; sent != c.sent {
			t.Errorf("%s: sent %v, want %v", c.name, sent, c.sent)
		}
		if h.Last() != c.msg || len(h.Messages()) != 1 {
			t.Errorf("%s is not kept", c.name)
		}
	}
}

func TestARequestAfterTheEndGivesTheCause(t *testing.T) {
	var h oneloop.History
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(oneloop.ErrShutdown)
	if _, err := h.Request(ctx); err != oneloop.ErrShutdown {
		t.Errorf("got %v", err)
	}
}

func TestAHistoryMayBeUsedFromSeveralGoroutines(t *testing.T) {
	var h oneloop.History
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			h.Append(t.Context(), oneloop.UserText(fmt.Sprint(n)))
			h.Request(t.Context())
			h.Last()
			h.Messages()
		})
	}
	wg.Wait()
	if n := len(h.Messages()); n != 8 {
		t.Errorf("%d messages", n)
	}
}

func TestUsageAddsUp(t *testing.T) {
	a := oneloop.Usage{Reported: true, Input: 1, CacheRead: 2, CacheWrite: 3, CacheWrite1h: 1, Output: 4, Thinking: 2}
	b := oneloop.Usage{Reported: true, Input: 10, CacheRead: 20, CacheWrite: 30, CacheWrite1h: 10, Output: 40, Thinking: 20, Context: 7}
	want := oneloop.Usage{Reported: true, Input: 11, CacheRead: 22, CacheWrite: 33, CacheWrite1h: 11, Output: 44, Thinking: 22, Context: 7}
	if diff := cmp.Diff(want, a.Add(b)); diff != "" {
		t.Error(diff)
	}
	if a.Total() != 10 || a.Window() != 10 || b.Window() != 7 {
		t.Errorf("total %d, windows %d and %d", a.Total(), a.Window(), b.Window())
	}
	if a.Add(oneloop.Usage{}).Reported {
		t.Error("a sum with an unknown part is known")
	}
}
