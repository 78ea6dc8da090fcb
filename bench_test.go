package oneloop_test

import (
	"context"
	"fmt"
	"testing"

	"oneloop"
)

// BenchmarkRun is what the loop itself costs: a turn of 100 calls of a tool
// that does nothing, with a model that answers at once.
func BenchmarkRun(b *testing.B) {
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{echo}}
	call, end := calls(use("1", "echo", `{"command":"true"}`)), done("ok")
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		model := oneloop.ModelFunc(func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
			if n++; n > 100 {
				return end, nil
			}
			return call, nil
		})
		var h oneloop.History
		if err := oneloop.Run(b.Context(), model, box, &h, ignore); err != nil {
			b.Fatal(err)
		}
		if n != 101 {
			b.Fatalf("the model was asked %d times", n)
		}
	}
}

// BenchmarkToolbox is what a call costs beside the tool itself.
func BenchmarkToolbox(b *testing.B) {
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{echo}}
	uses := []*oneloop.ToolUse{use("1", "echo", `{"command":"true","timeout":1000}`)}
	b.ReportAllocs()
	for b.Loop() {
		box.Run(b.Context(), uses, ignore)
	}
}

// BenchmarkHistory makes a request of conversations of different length; the
// cost is the same.
func BenchmarkHistory(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var h oneloop.History
			for range n {
				h.Append(b.Context(), oneloop.UserText("x"))
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.Request(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestARequestCostsTheSameHoweverLongTheConversationIs(t *testing.T) {
	cost := func(n int) float64 {
		var h oneloop.History
		for range n {
			h.Append(t.Context(), oneloop.UserText("x"))
		}
		return testing.AllocsPerRun(100, func() {
			if _, err := h.Request(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
	if short, long := cost(10), cost(10_000); long > short || short > 2 {
		t.Errorf("allocations per request: %v with 10 messages, %v with 10,000", short, long)
	}
}
