package oneloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"oneloop"
)

func tool(name string, run oneloop.ToolFunc) oneloop.Tool {
	return oneloop.Tool{ToolDef: oneloop.ToolDef{Name: name}, Run: run}
}

// answers runs the calls and returns the results.
func answers(t *testing.T, ctx context.Context, box *oneloop.Toolbox, calls ...*oneloop.ToolUse) []*oneloop.ToolResult {
	t.Helper()
	msg := box.Run(ctx, calls, ignore)
	if msg.Role != oneloop.User || len(msg.Blocks) != len(calls) {
		t.Fatalf("%d calls, answered by a message of %s with %d blocks", len(calls), msg.Role, len(msg.Blocks))
	}
	var out []*oneloop.ToolResult
	for i, b := range msg.Blocks {
		r, ok := b.(*oneloop.ToolResult)
		if !ok || r.ID != calls[i].ID {
			t.Fatalf("block %d is %T %+v, want the answer to %s", i, b, b, calls[i].ID)
		}
		out = append(out, r)
	}
	return out
}

func TestCallsRunInOrderOneByOne(t *testing.T) {
	var order []string // unguarded: the race detector sees two at once
	log := tool("log", func(_ context.Context, c *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
		order = append(order, c.ID)
		return oneloop.TextResult("result of " + c.ID), nil
	})
	side := log
	side.Name, side.Parallel = "side", true
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{log, side}}
	got := answers(t, t.Context(), box, use("a", "side", "{}"), use("b", "log", "{}"), use("c", "side", "{}"))
	if diff := cmp.Diff([]string{"a", "b", "c"}, order); diff != "" {
		t.Error(diff)
	}
	for _, r := range got {
		if r.Text() != "result of "+r.ID {
			t.Errorf("%s is answered %q", r.ID, r.Text())
		}
	}
}

func TestParallelCallsRunSideBySide(t *testing.T) {
	var all sync.WaitGroup // passed only when all three are inside
	all.Add(3)
	meet := tool("meet", func(_ context.Context, c *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
		all.Done()
		all.Wait()
		return oneloop.TextResult(c.ID), nil
	})
	meet.Parallel = true
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{meet}}
	done := make(chan []*oneloop.ToolResult, 1)
	go func() {
		done <- answers(t, t.Context(), box, use("a", "meet", "{}"), use("b", "meet", "{}"), use("c", "meet", "{}"))
	}()
	select {
	case got := <-done:
		for i, id := range []string{"a", "b", "c"} {
			if got[i].Text() != id {
				t.Errorf("%s is answered %q", id, got[i].Text())
			}
		}
	case <-time.After(time.Minute):
		t.Fatal("the calls wait for each other")
	}
}

func TestWhatGoesWrongIsTheAnswerOfThatCallAlone(t *testing.T) {
	fine := tool("fine", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return oneloop.TextResult("fine"), nil
	})
	fine.Check = func(in json.RawMessage) error {
		if strings.Contains(string(in), "shock") {
			panic("Check fell over")
		}
		if strings.Contains(string(in), "wrong") {
			return errors.New(`there is no field "wrong"`)
		}
		return nil
	}
	mishaps := []oneloop.Tool{fine,
		tool("panics", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			panic("index out of luck")
		}),
		tool("fails", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return nil, errors.New("no such file; list the folder first")
		}),
		tool("partly", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return oneloop.TextResult("first half"), errors.New("then it broke")
		}),
	}
	broken := use("x", "fine", "{}")
	broken.Broken = "the input was cut off"
	for _, c := range []struct {
		name string
		call *oneloop.ToolUse
		want []string // in the answer
	}{
		{"panic", use("x", "panics", "{}"), []string{"panics", "index out of luck"}},
		{"error", use("x", "fails", "{}"), []string{"no such file; list the folder first"}},
		{"result and error", use("x", "partly", "{}"), []string{"first half", "then it broke"}},
		{"unknown tool", use("x", "no_such_tool", "{}"), []string{`"no_such_tool"`, "fine, panics, fails, partly"}},
		{"input that is no JSON", use("x", "fine", `{"a":`), []string{"no valid JSON", "not run"}},
		{"no input", use("x", "fine", ""), []string{"no valid JSON", "not run"}},
		{"a list", use("x", "fine", `[1]`), []string{"no JSON object", "not run"}},
		{"null", use("x", "fine", `null`), []string{"no JSON object", "not run"}},
		{"a key twice", use("x", "fine", `{"a":1,"b":{"c":1,"c":2}}`), []string{`names "c" twice`, "not run"}},
		{"a key twice, once escaped", use("x", "fine", `{"a":1,"\u0061":2}`), []string{`names "a" twice`, "not run"}},
		{"half a character", use("x", "fine", `{"a":"b\ud800"}`), []string{`"a" has half of a surrogate pair`, "not run"}},
		{"half a character for an alias", use("x", "other", `{"a":"b\ud800"}`), []string{`"a" has half of a surrogate pair`, "not run"}},
		{"something after the object", use("x", "fine", `{} {}`), []string{"something follows", "not run"}},
		{"refused by Check", use("x", "fine", `{"wrong":1}`), []string{`no field "wrong"`, "not run"}},
		{"Check panics", use("x", "fine", `{"shock":1}`), []string{"Check fell over", "not run"}},
		{"broken on arrival", broken, []string{"the input was cut off"}},
	} {
		for _, parallel := range []bool{false, true} {
			anew := func(in json.RawMessage) (json.RawMessage, error) {
				var v any
				err := json.Unmarshal(in, &v)
				out, _ := json.Marshal(v)
				return out, err
			}
			box := &oneloop.Toolbox{Tools: slices.Clone(mishaps), Aliases: map[string]oneloop.Alias{"other": {Tool: "fine", Input: anew}}}
			for i := range box.Tools {
				box.Tools[i].Parallel = parallel
			}
			got := answers(t, t.Context(), box, use("1", "fine", "{}"), c.call, use("2", "fine", "{}"))
			if got[0].Text() != "fine" || got[2].Text() != "fine" || got[0].IsError || got[2].IsError {
				t.Errorf("%s: the others are answered %q and %q", c.name, got[0].Text(), got[2].Text())
			}
			if !got[1].IsError {
				t.Errorf("%s: the answer is no error", c.name)
			}
			for _, part := range c.want {
				if !strings.Contains(got[1].Text(), part) {
					t.Errorf("%s: no %q in the answer %q", c.name, part, got[1].Text())
				}
			}
		}
	}
}

func TestWrappersSeeCanonicalCallsAndTheMessageKeepsItsOwn(t *testing.T) {
	var seen []string
	read := tool("Read", func(_ context.Context, c *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
		seen = append(seen, c.Name+" "+string(c.Input)+" "+c.ID)
		return nil, nil
	})
	read.Check = func(in json.RawMessage) error {
		if !strings.Contains(string(in), "file_path") {
			return errors.New("file_path is missing")
		}
		return nil
	}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{read}, Aliases: map[string]oneloop.Alias{
		"read_file": {Tool: "Read", Input: func(in json.RawMessage) (json.RawMessage, error) {
			if strings.Contains(string(in), "shock") {
				panic("the alias fell over")
			}
			if strings.Contains(string(in), "bad") {
				return nil, errors.New("bad path")
			}
			return json.RawMessage(strings.Replace(string(in), "path", "file_path", 1)), nil
		}},
		"read": {Tool: "Read"},
		"Read": {Tool: "nothing"}, // a tool's own name comes first
		"open": {Tool: "gone"},
	}}
	call := use("1", "read_file", `{"path":"a"}`)
	call.Raw = json.RawMessage(`{"type":"tool_use"}`)
	var events []string
	box.Run(t.Context(), []*oneloop.ToolUse{call, use("2", "read", `{"file_path":"b"}`), use("3", "Read", `{"file_path":"c"}`)},
		func(e oneloop.Event) {
			switch e := e.(type) {
			case oneloop.ToolStart:
				events = append(events, "start "+e.Call.Name)
			case oneloop.ToolEnd:
				events = append(events, "end "+e.Call.Name)
			}
		})
	if diff := cmp.Diff([]string{`Read {"file_path":"a"} 1`, `Read {"file_path":"b"} 2`, `Read {"file_path":"c"} 3`}, seen); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"start Read", "end Read", "start Read", "end Read", "start Read", "end Read"}, events); diff != "" {
		t.Error(diff)
	}
	if call.Name != "read_file" || string(call.Input) != `{"path":"a"}` || call.Raw == nil {
		t.Errorf("the call of the message became %+v", call)
	}
	got := answers(t, t.Context(), box, use("4", "read_file", `{"path":"bad"}`), use("5", "read", `{"path":"b"}`), use("6", "open", `{}`), use("7", "read_file", `{"shock":1}`))
	for i, want := range []string{"bad path", "file_path is missing", `no tool named "open"`, "the alias fell over"} {
		if !got[i].IsError || !strings.Contains(got[i].Text(), want) {
			t.Errorf("answer %d is %q, want %q in it", i, got[i].Text(), want)
		}
	}
	if len(box.Defs()) != 1 || box.Defs()[0].Name != "Read" {
		t.Errorf("offered are %v", box.Defs())
	}
}

func TestAnEndedContextSaysWhatIsKnown(t *testing.T) {
	var cancel context.CancelCauseFunc
	begin := func() context.Context {
		ctx, c := context.WithCancelCause(t.Context())
		cancel = c
		return ctx
	}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{
		tool("wait", func(ctx context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
			cancel(oneloop.ErrInterrupted)
			<-ctx.Done()
			return oneloop.TextResult("half a line"), fmt.Errorf("wait: %w", context.Cause(ctx))
		}),
		tool("own", func(ctx context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
			cancel(oneloop.ErrInterrupted)
			return nil, errors.New("the disk is full")
		}),
		tool("finishes", func(ctx context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
			cancel(oneloop.ErrInterrupted)
			return oneloop.TextResult("all done"), nil
		}),
	}}
	got := answers(t, begin(), box, use("1", "wait", "{}"), use("2", "wait", "{}"), use("3", "nobody", "{}"))
	if text := got[0].Text(); !got[0].IsError || !strings.Contains(text, "half a line") || !strings.Contains(text, "may have changed") || strings.Contains(text, "not") {
		t.Errorf("the running call is answered %q", text)
	}
	for _, r := range got[1:] {
		if text := r.Text(); !r.IsError || !strings.Contains(text, "not started") && !strings.Contains(text, "nothing was run") {
			t.Errorf("call %s is answered %q", r.ID, text)
		}
	}
	if got := answers(t, begin(), box, use("1", "own", "{}")); got[0].Text() != "the disk is full" {
		t.Errorf("an error of its own under an ended context: %q", got[0].Text())
	}
	if got := answers(t, begin(), box, use("1", "finishes", "{}")); got[0].Text() != "all done" || got[0].IsError {
		t.Errorf("a call that finished: %q", got[0].Text())
	}
}

func TestResultsAreWhatEveryAPITakes(t *testing.T) {
	image := &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte{1}}
	text := func(s string) oneloop.Block { return &oneloop.Text{Text: s} }
	for _, c := range []struct {
		name    string
		result  *oneloop.ToolResult
		err     error
		want    []oneloop.Block
		isError bool
	}{
		{"nothing", nil, nil, []oneloop.Block{text("(no output)")}, false},
		{"no content", &oneloop.ToolResult{}, nil, []oneloop.Block{text("(no output)")}, false},
		{"blank", oneloop.TextResult(" \n\t"), nil, []oneloop.Block{text("(no output)")}, false},
		{"blank beside text", &oneloop.ToolResult{Content: []oneloop.Block{text(""), text(" a ")}}, nil, []oneloop.Block{text(" a ")}, false},
		{"an image", &oneloop.ToolResult{Content: []oneloop.Block{image}}, nil, []oneloop.Block{image}, false},
		{"an image in an error", &oneloop.ToolResult{IsError: true, Content: []oneloop.Block{image, text("no")}}, nil, []oneloop.Block{text("no")}, true},
		{"an image alone in an error", &oneloop.ToolResult{IsError: true, Content: []oneloop.Block{image}}, nil, []oneloop.Block{text("(no output)")}, true},
		{"an image before an error", &oneloop.ToolResult{Content: []oneloop.Block{image}}, errors.New("no"), []oneloop.Block{text("no")}, true},
		{"a blank error", nil, errors.New(" "), []oneloop.Block{text("(no output)")}, true},
	} {
		box := &oneloop.Toolbox{Tools: []oneloop.Tool{tool("t", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return c.result, c.err
		})}}
		got := answers(t, t.Context(), box, use("1", "t", "{}"))[0]
		if diff := cmp.Diff(c.want, got.Content); diff != "" || got.IsError != c.isError {
			t.Errorf("%s: is_error %v\n%s", c.name, got.IsError, diff)
		}
	}
}

func TestAResultAToolGivesTwiceKeepsEachID(t *testing.T) {
	same := oneloop.TextResult("same")
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{tool("t", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return same, nil
	})}}
	box.Tools[0].Parallel = true
	answers(t, t.Context(), box, use("1", "t", "{}"), use("2", "t", "{}"))
	if same.ID != "" || len(same.Content) != 1 {
		t.Errorf("the tool's own result became %+v", same)
	}
}

func TestAnErrorIsNotWrittenIntoTheToolsOwnList(t *testing.T) {
	room := make([]oneloop.Block, 1, 4)
	room[0] = &oneloop.Text{Text: "so far"}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{tool("t", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return &oneloop.ToolResult{Content: room}, errors.New("no")
	})}}
	answers(t, t.Context(), box, use("1", "t", "{}"))
	if room[:2][1] != nil {
		t.Errorf("the list went on with %+v", room[:2][1])
	}
}

func TestEveryStartHasAnEnd(t *testing.T) {
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{tool("p", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) { panic("x") })}}
	open := 0
	box.Run(t.Context(), []*oneloop.ToolUse{use("1", "p", "{}"), use("2", "q", "{}"), use("3", "p", "[]")}, func(e oneloop.Event) {
		switch e := e.(type) {
		case oneloop.ToolStart:
			open++
		case oneloop.ToolEnd:
			if open--; e.Result == nil || e.Result.ID != e.Call.ID {
				t.Errorf("the end of %s holds %+v", e.Call.ID, e.Result)
			}
		}
		if open < 0 || open > 1 {
			t.Errorf("%d calls are open", open)
		}
	})
	if open != 0 {
		t.Errorf("%d calls have no end", open)
	}
}

func TestNoCallsGiveAnEmptyMessage(t *testing.T) {
	if msg := (&oneloop.Toolbox{}).Run(t.Context(), nil, ignore); msg == nil || msg.Role != oneloop.User || len(msg.Blocks) != 0 {
		t.Errorf("got %+v", msg)
	}
}

func TestAToolThatEndsItsGoroutineIsAnswered(t *testing.T) {
	gone := oneloop.Tool{ToolDef: oneloop.ToolDef{Name: "gone"}, Parallel: true,
		Run: func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			runtime.Goexit()
			return nil, nil
		}}
	fine := oneloop.Tool{ToolDef: oneloop.ToolDef{Name: "fine"}, Parallel: true,
		Run: func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return oneloop.TextResult("here"), nil
		}}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{gone, fine}}
	var ends atomic.Int64
	msg := box.Run(t.Context(), []*oneloop.ToolUse{{ID: "1", Name: "gone", Input: []byte("{}")}, {ID: "2", Name: "fine", Input: []byte("{}")}}, func(e oneloop.Event) {
		if e.Kind() == oneloop.KindToolEnd {
			ends.Add(1)
		}
	})
	first, second := msg.Blocks[0].(*oneloop.ToolResult), msg.Blocks[1].(*oneloop.ToolResult)
	if first.ID != "1" || !first.IsError || second.ID != "2" || second.Text() != "here" || ends.Load() != 2 {
		t.Errorf("%+v, %+v, %d ends", first, second, ends.Load())
	}
}

func TestBlocksThatAreNoneAreLeftOutOfResults(t *testing.T) {
	odd := oneloop.Tool{ToolDef: oneloop.ToolDef{Name: "odd"},
		Run: func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return &oneloop.ToolResult{Content: []oneloop.Block{nil, (*oneloop.Text)(nil), (*oneloop.Media)(nil), (*oneloop.Opaque)(nil),
				&oneloop.Thinking{Text: "hm"}, &oneloop.ToolUse{ID: "x"}, &oneloop.Text{Text: "kept"}}}, nil
		}}
	msg := (&oneloop.Toolbox{Tools: []oneloop.Tool{odd}}).Run(t.Context(), []*oneloop.ToolUse{{ID: "1", Name: "odd", Input: []byte("{}")}}, func(oneloop.Event) {})
	r := msg.Blocks[0].(*oneloop.ToolResult)
	if len(r.Content) != 1 || r.Text() != "kept" || r.IsError {
		t.Errorf("%+v", r)
	}
}

func TestNobodyNeedListen(t *testing.T) {
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{tool("speaks", func(_ context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		emit(oneloop.ToolOutput{ID: call.ID, Text: "x"})
		return oneloop.TextResult("fine"), nil
	})}}
	asked := 0
	m := oneloop.ModelFunc(func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
		if asked++; asked > 1 {
			return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn}, nil
		}
		return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Blocks: []oneloop.Block{use("1", "speaks", "{}")}}, nil
	})
	h := new(oneloop.History)
	if err := oneloop.Run(t.Context(), m, box, h, nil); err != nil {
		t.Fatal(err)
	}
	if r := h.Messages()[1].Blocks[0].(*oneloop.ToolResult); r.IsError || r.Text() != "fine" {
		t.Errorf("answered %q", r.Text())
	}
}
