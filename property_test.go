package oneloop_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"oneloop"
)

// mishaps are what a call in the property below may do.
var mishaps = []string{"fine", "fails", "partly", "panics", "cancels", "unknown", "broken", "list", "twice", "nothing", "ends", "blank"}

// TestWhateverHappensEveryCallIsAnsweredOnceInOrder drives Run over turns
// with any mix of mishaps and checks the law of the history: each call of a
// message is answered once, in order, by the message after it.
func TestWhateverHappensEveryCallIsAnsweredOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		ids, turns := 0, rapid.IntRange(1, 4).Draw(t, "turns")
		model := oneloop.ModelFunc(func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
			if turns--; turns < 0 {
				return done("ok"), nil
			}
			var blocks []oneloop.Block
			for _, what := range rapid.SliceOfN(rapid.SampledFrom(mishaps), 1, 6).Draw(t, "calls") {
				ids++
				blocks = append(blocks, mishapCall(fmt.Sprintf("t%d", ids), what))
			}
			return calls(blocks...), nil
		})
		box := mishapBox(rapid.Bool().Draw(t, "parallel"), func() { cancel(oneloop.ErrInterrupted) })
		var h oneloop.History
		h.Append(ctx, oneloop.UserText("go"))
		if err := oneloop.Run(ctx, model, box, &h, ignore); err != nil && !errors.Is(err, oneloop.ErrInterrupted) {
			t.Fatal(err)
		}
		checkHistory(t, h.Messages())
	})
}

func mishapCall(id, what string) *oneloop.ToolUse {
	c := use(id, what, `{"a":1}`)
	switch what {
	case "broken":
		c.Broken = "it was cut off"
	case "list":
		c.Name, c.Input = "fine", []byte(`[1]`)
	case "twice":
		c.Name, c.Input = "fine", []byte(`{"a":1,"a":2}`)
	}
	return c
}

func mishapBox(parallel bool, cancel func()) *oneloop.Toolbox {
	var box oneloop.Toolbox
	add := func(name string, run func() (*oneloop.ToolResult, error)) {
		x := tool(name, func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return run()
		})
		x.Parallel = parallel
		box.Tools = append(box.Tools, x)
	}
	text := func() *oneloop.ToolResult { return oneloop.TextResult("text") }
	add("fine", func() (*oneloop.ToolResult, error) { return text(), nil })
	add("fails", func() (*oneloop.ToolResult, error) { return nil, errors.New("no") })
	add("partly", func() (*oneloop.ToolResult, error) { return text(), errors.New("no") })
	add("panics", func() (*oneloop.ToolResult, error) { panic("ouch") })
	add("cancels", func() (*oneloop.ToolResult, error) { cancel(); return text(), context.Canceled })
	add("nothing", func() (*oneloop.ToolResult, error) { return nil, nil })
	add("ends", func() (*oneloop.ToolResult, error) { r := text(); r.EndTurn = true; return r, nil })
	add("blank", func() (*oneloop.ToolResult, error) { return oneloop.TextResult(" \n"), nil })
	return &box
}

func checkHistory(t *rapid.T, log []*oneloop.Message) {
	for i, m := range log {
		uses := m.ToolUses()
		if len(uses) == 0 {
			continue
		}
		if i+1 == len(log) {
			t.Fatalf("message %d: its calls were never answered", i)
		}
		next := log[i+1]
		if next.Role != oneloop.User || len(next.Blocks) != len(uses) {
			t.Fatalf("message %d: %d calls, answered by %d blocks of %s", i, len(uses), len(next.Blocks), next.Role)
		}
		for j, b := range next.Blocks {
			r, ok := b.(*oneloop.ToolResult)
			if !ok || r.ID != uses[j].ID || r.Text() == "" {
				t.Fatalf("message %d: call %s is answered by %+v", i, uses[j].ID, b)
			}
			if ran := uses[j].Name; !r.IsError && ran != "fine" && ran != "nothing" && ran != "ends" && ran != "blank" {
				t.Fatalf("message %d: %s went well", i, ran)
			}
		}
	}
}
