package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"oneloop"
	"oneloop/looptest"
	"oneloop/session"
	"oneloop/trace"
)

func words(text string) *oneloop.Text { return &oneloop.Text{Text: text} }

func do(id, name string) *oneloop.ToolUse { return looptest.Call(id, name, `{"of":"`+id+`"}`) }

// kit are tools that answer with their name, side by side; one that fails, one
// that asks, and one that ends the turn.
func kit() *oneloop.Toolbox {
	look := func(_ context.Context, c *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		emit(oneloop.ToolOutput{ID: c.ID, Text: "looking"})
		return oneloop.TextResult("seen " + string(c.Input)), nil
	}
	tool := func(name string, run oneloop.ToolFunc) oneloop.Tool {
		return oneloop.Tool{ToolDef: oneloop.ToolDef{Name: name, Schema: json.RawMessage(`{"type":"object"}`)}, Run: run}
	}
	beside := tool("Look", look)
	beside.Parallel = true
	return &oneloop.Toolbox{Tools: []oneloop.Tool{
		beside,
		tool("Same", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return oneloop.TextResult("the same"), nil
		}),
		tool("Fail", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return nil, errors.New("it failed")
		}),
		tool("Ask", func(ctx context.Context, c *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
			q := oneloop.Question{Kind: "tool", Title: "Ask?", Call: c}
			a, _ := session.Put(ctx, func(context.Context, oneloop.Question) (oneloop.Answer, error) {
				return oneloop.Answer{Reason: "better not"}, nil
			}, q, emit)
			emit(oneloop.Denied{Call: c, Reason: a.Reason})
			return nil, errors.New(a.Reason)
		}),
		tool("End", func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			r := oneloop.TextResult("that is all")
			r.EndTurn = true
			return r, nil
		}),
	}}
}

// taken is a session that is kept in a file, and its events.
type taken struct {
	*session.Session
	t      *testing.T
	log    *session.Log
	path   string
	mu     sync.Mutex
	events []oneloop.Event
}

func keep(t *testing.T, replies ...looptest.Reply) *taken {
	path := filepath.Join(t.TempDir(), "s1.jsonl")
	k := &taken{t: t, path: path, log: session.NewLog(path, session.LogOptions{})}
	k.Session = &session.Session{Model: looptest.Script(t, replies...), Tools: k.tools(kit()), Transcript: k.log, Inbox: new(session.Inbox)}
	return k
}

func (k *taken) tools(box *oneloop.Toolbox) *oneloop.Toolbox {
	for i, t := range box.Tools {
		box.Tools[i] = k.log.Intend(t)
	}
	k.log.Use(session.Setup{Model: "m", System: []oneloop.Block{words("Be brief.")}, Tools: box.Defs()})
	return box
}

func (k *taken) say(ctx context.Context, text string) error {
	return k.Turn(ctx, k.hear, words(text))
}

func (k *taken) hear(e oneloop.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e)
}

func (k *taken) close() {
	k.t.Helper()
	if err := k.log.Close(); err != nil {
		k.t.Fatal(err)
	}
}

func replay(t *testing.T, path string, o trace.ReplayOptions) *trace.Replayed {
	t.Helper()
	r, err := trace.Replay(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// told is what happened, without what is not compared: times, pieces, and which
// of several calls was quicker.
func told(events []oneloop.Event) (list []string) {
	var order []string // of the calls of the last reply
	tools := map[string][]string{}
	add := func(id string, e oneloop.Event) {
		text, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		line := string(e.Kind()) + " " + string(text)
		if id != "" {
			tools[id] = append(tools[id], line)
			return
		}
		for _, id := range order {
			list = append(list, tools[id]...)
		}
		clear(tools)
		list = append(list, line)
	}
	for _, e := range events {
		switch e := e.(type) {
		case oneloop.RequestSent, oneloop.ResponseStarted, oneloop.Received, oneloop.TextDelta, oneloop.ToolOutput:
		case oneloop.ToolStart:
			add(e.Call.ID, e)
		case oneloop.ToolEnd:
			e.Duration = 0
			add(e.Call.ID, e)
		case oneloop.Asked:
			if e.Question.Kind == "tool" {
				add(e.Question.Call.ID, e)
				continue
			}
			add("", e)
		case oneloop.Answered:
			if e.Question.Kind == "tool" {
				add(e.Question.Call.ID, e)
				continue
			}
			add("", e)
		case oneloop.Denied:
			add(e.Call.ID, e)
		case oneloop.TurnEnd:
			e.Duration, e.Requests = 0, 0
			add("", e)
		case oneloop.MessageAdded:
			add("", e)
			order = nil
			for _, c := range e.Message.ToolUses() {
				order = append(order, c.ID)
			}
		default:
			add("", e)
		}
	}
	return list
}

// sessions are the ways in which conversations go.
var sessions = map[string]func(t *testing.T) *taken{
	"calls side by side, and their failures": func(t *testing.T) *taken {
		k := keep(t,
			looptest.Answer(words("I look."), do("a", "Look"), do("b", "Look"), do("c", "Look")),
			looptest.Answer(do("d", "Fail"), do("e", "Ask"), do("f", "Nothing"), do("g", "Ask")),
			looptest.Reply{Message: &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Blocks: []oneloop.Block{
				&oneloop.ToolUse{ID: "h", Name: "Look", Input: json.RawMessage(`{}`), Broken: "the input was cut"}}}},
			looptest.Say("done"),
			looptest.Answer(do("i", "End")))
		k.say(t.Context(), "one")
		k.say(t.Context(), "two")
		return k
	},
	"a failure, and the same again": func(t *testing.T) *taken {
		k := keep(t, looptest.Reply{Events: []oneloop.Event{oneloop.Discard{Reason: "cut"}, oneloop.Retry{Attempt: 1, Of: 2, Wait: 5, Error: "busy"}}, Err: errors.New("busy again")},
			looptest.Say("done"))
		k.say(t.Context(), "one")
		if err := k.log.Append(t.Context(), session.Aside(words("done by hand"))); err != nil {
			t.Fatal(err)
		}
		k.say(t.Context(), "one")
		return k
	},
	"a refusal, a cut, and a cut in a call": func(t *testing.T) *taken {
		cut := func(stop oneloop.StopReason, blocks ...oneloop.Block) looptest.Reply {
			return looptest.Reply{Message: &oneloop.Message{Role: oneloop.Assistant, Stop: stop, Blocks: blocks}}
		}
		k := keep(t, cut(oneloop.StopMaxTokens, words("I begin")), cut(oneloop.StopMaxTokens, words("and"), do("a", "Look")), looptest.Say("end"),
			cut(oneloop.StopRefusal, words("no")), cut(oneloop.StopPause, words("wait")), cut("other", words(" "), do("b", "Look")))
		for _, text := range []string{"one", "two", "three", "four"} {
			k.say(t.Context(), text)
		}
		return k
	},
	"cut too often, at the output limit and at the window's end": func(t *testing.T) *taken {
		cut := func(stop oneloop.StopReason) looptest.Reply {
			return looptest.Reply{Message: &oneloop.Message{Role: oneloop.Assistant, Stop: stop, Blocks: []oneloop.Block{words("and")}}}
		}
		k := keep(t, cut(oneloop.StopContextWindow), cut(oneloop.StopMaxTokens), cut(oneloop.StopMaxTokens), cut(oneloop.StopMaxTokens), looptest.Say("the end"))
		k.say(t.Context(), "one")
		k.say(t.Context(), "two")
		return k
	},
	"interrupted in a reply, and in a call": func(t *testing.T) *taken {
		begun := make(chan struct{})
		k := keep(t, looptest.Reply{Message: &oneloop.Message{Role: oneloop.Assistant, Blocks: []oneloop.Block{words("I am about")}}, Started: begun, Hang: true},
			looptest.Answer(do("a", "Look")), looptest.Say("done"))
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { <-begun; cancel(oneloop.ErrShutdown) }()
		k.say(ctx, "one")
		ctx, stop := context.WithCancel(t.Context())
		k.Turn(ctx, func(e oneloop.Event) {
			if k.hear(e); e.Kind() == oneloop.KindToolStart {
				stop()
			}
		}, words("two"))
		k.say(t.Context(), "three")
		return k
	},
	"limits, in a reply and before one": func(t *testing.T) *taken {
		limit := oneloop.Limited{What: "time", Limit: "1m", Used: "1m"}
		err := &oneloop.LimitError{What: "turns", Limit: "2", Used: "2"}
		k := keep(t, looptest.Reply{Events: []oneloop.Event{limit}, Message: &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopInterrupted, Blocks: []oneloop.Block{words("I am")}}},
			looptest.Answer(do("a", "Look")), looptest.Reply{Events: []oneloop.Event{oneloop.Limited{What: "turns", Limit: "2", Used: "2"}}, Err: err})
		k.say(t.Context(), "one")
		k.say(t.Context(), "two")
		return k
	},
	"what was typed meanwhile, and hooks": func(t *testing.T) *taken {
		k := keep(t, looptest.Answer(do("a", "Look")), looptest.Say("one"), looptest.Say("two"), looptest.Say("three"), looptest.Say("four"))
		urged := false
		k.AtStop = func(context.Context, *oneloop.Message) ([]oneloop.Block, error) {
			if urged {
				return nil, errors.New("the hook broke")
			}
			urged = true
			return []oneloop.Block{words("go on")}, nil
		}
		k.BeforePrompt = func(_ context.Context, m *oneloop.Message) error {
			if m.Text() == "not this" {
				return errors.New("no")
			}
			m.Blocks = append(m.Blocks, words("by the hook"))
			return nil
		}
		k.Inbox.Put(session.BeforeModel, words("typed before"))
		k.Inbox.Put(session.AtTurnEnd, words("typed for the end"), words("in two"))
		k.Turn(t.Context(), func(e oneloop.Event) {
			if k.hear(e); e.Kind() == oneloop.KindToolEnd {
				k.Inbox.Put(session.BeforeModel, words("not this"))
			}
		}, words("begin"))
		k.say(t.Context(), "more")
		return k
	},
	"round in circles, nobody there": func(t *testing.T) *taken {
		k := keep(t, circle(6)...)
		k.Repeats = session.Repeats{Tell: 3, End: 6}
		k.say(t.Context(), "one")
		return k
	},
	"round in circles, and asked": func(t *testing.T) *taken {
		k := keep(t, append(circle(18), looptest.Say("well"))...)
		answers := []oneloop.Answer{{Allow: true}, {Reason: "look elsewhere"}, {}}
		k.Repeats = session.Repeats{Tell: 3, End: 6, Ask: func(context.Context, oneloop.Question) (oneloop.Answer, error) {
			a := answers[0]
			answers = answers[1:]
			return a, nil
		}}
		k.say(t.Context(), "one")
		k.say(t.Context(), "two")
		return k
	},
	"round in circles, and stopped at the question": func(t *testing.T) *taken {
		k := keep(t, circle(18)...)
		for _, why := range []error{oneloop.ErrInterrupted, io.EOF, nil} {
			ctx, stop := context.WithCancelCause(t.Context())
			k.Repeats = session.Repeats{Tell: 3, End: 6, Ask: func(context.Context, oneloop.Question) (oneloop.Answer, error) {
				stop(oneloop.ErrInterrupted)
				return oneloop.Answer{}, why
			}}
			k.say(ctx, "one")
		}
		return k
	},
	"what an API refused, and a summary": func(t *testing.T) *taken {
		image := &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte("png")}
		k := keep(t, looptest.Reply{Err: &oneloop.APIError{Class: oneloop.ErrInvalidRequest, Message: "the image is none"}}, looptest.Say("fine"), looptest.Say("well"),
			looptest.Say("a summary"), looptest.Say("and on"))
		k.Turn(t.Context(), k.hear, words("look "+strings.Repeat("at everything ", 2000)), image)
		k.say(t.Context(), "and")
		if err := k.Compact(t.Context(), k.hear, ""); err != nil {
			t.Fatal(err)
		}
		k.say(t.Context(), "more")
		return k
	},
	"what the user did in between": func(t *testing.T) *taken {
		k := keep(t, looptest.Reply{Err: errors.New("down")}, looptest.Say("one"), looptest.Say("two"))
		aside := func(text string) {
			if err := k.log.Append(t.Context(), session.Aside(words(text))); err != nil {
				t.Fatal(err)
			}
		}
		aside("before")
		k.Turn(t.Context(), k.hear, words("first"))
		aside("between the tries")
		k.say(t.Context(), "first")
		aside("between the turns")
		k.say(t.Context(), "second")
		aside("at the end")
		return k
	},
	"a way back, and a copy": func(t *testing.T) *taken {
		k := keep(t, looptest.Say("one"), looptest.Say("two"), looptest.Say("again two"))
		k.say(t.Context(), "first")
		k.say(t.Context(), "second")
		if err := k.log.Rewind(k.log.Prompts()[1].N - 1); err != nil {
			t.Fatal(err)
		}
		k.say(t.Context(), "other second")
		k.close()
		fork, err := session.Fork(k.path, k.log.Prompts()[1].N-1, session.LogOptions{})
		if err != nil {
			t.Fatal(err)
		}
		more := keep(t, looptest.Say("three"))
		more.events = k.events
		if more.log, _, err = session.OpenLog(fork, session.LogOptions{}); err != nil {
			t.Fatal(err)
		}
		more.path, more.Transcript = fork, more.log
		more.say(t.Context(), "third")
		return more
	},
}

func circle(n int) (list []looptest.Reply) {
	for i := range n {
		list = append(list, looptest.Answer(looptest.Call(fmt.Sprint("c", i), "Same", `{}`)))
	}
	return list
}

func TestASessionThatIsPlayedBackDoesTheSameAgain(t *testing.T) {
	for name, play := range sessions {
		t.Run(name, func(t *testing.T) {
			k := play(t)
			k.close()
			before, err := os.ReadFile(k.path)
			if err != nil {
				t.Fatal(err)
			}
			var events []oneloop.Event
			r := replay(t, k.path, trace.ReplayOptions{Emit: func(e oneloop.Event) { events = append(events, e) }, Repeats: k.Repeats})
			if r.Differs != nil || len(r.LeftOut) > 0 {
				t.Fatalf("%v %q", r.Differs, r.LeftOut)
			}
			want, got := told(k.events), told(events)
			if strings.Contains(name, "copy") { // it does not have all of the turns of its parent
				want = got
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if r.Turns == 0 || r.Events == 0 {
				t.Errorf("%+v", r)
			}
			after, err := os.ReadFile(k.path)
			if err != nil || string(after) != string(before) {
				t.Errorf("the log was changed: %v", err)
			}
		})
	}
}

// change writes the log anew with each line as edit gives it; nothing: it goes.
func change(t *testing.T, path string, edit func(kind string, n int, line string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		var e struct{ K string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		seen[e.K]++
		out.WriteString(edit(e.K, seen[e.K], line))
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// swap replaces text in the nth line of a kind.
func swap(kind string, n int, old, new string) func(string, int, string) string {
	return func(k string, i int, line string) string {
		if k == kind && i == n {
			return strings.Replace(line, old, new, 1)
		}
		return line
	}
}

func TestALogThatWasChangedIsTold(t *testing.T) {
	for _, c := range []struct {
		session string
		edit    func(kind string, n int, line string) string
		want    string
	}{
		{"calls side by side, and their failures", swap("message", 3, `"tool_use_id":"b"`, `"tool_use_id":"x"`), `turn 1, entry 12: expected results .*"x".*, came results .*the log has no answer to the call b`},
		{"calls side by side, and their failures", swap("message", 7, `the input was cut`, `the input was fine`), `expected results .*was fine.*, came results .*was cut`},
		{"calls side by side, and their failures", swap("turn_end", 1, `"stop_reason":"end_turn"`, `"stop_reason":"refusal"`), `turn 1, entry \d+: expected the end of the turn after "refusal", came the end of the turn after "end_turn"`},
		{"a refusal, a cut, and a cut in a call", swap("turn_end", 2, "the model refused", "the model did"), `turn 2, .*expected .*the model did, came .*the model refused`},
		{"a refusal, a cut, and a cut in a call", swap("message", 3, "Go on exactly", "Go on roughly"), `turn 1, entry 6: expected .*Go on roughly.*, came .*Go on exactly`},
		{"a refusal, a cut, and a cut in a call", swap("message", 2, `"stop_reason":"max_tokens"`, `"stop_reason":"end_turn"`), `turn 1, entry 6: expected a message of the user \(driver\).*, came the end of the turn`},
		{"what was typed meanwhile, and hooks", swap("message", 6, `"source":"inbox"`, `"source":"box"`), `turn 1, entry \d+: expected .*\(box\).*, came `},
		{"round in circles, nobody there", swap("limit", 1, `"used":"6"`, `"used":"7"`), `turn 1, entry \d+: expected results.*, came limit .*"used":"6"`},
		{"round in circles, nobody there", swap("message", 7, `for the 3rd time`, `for the 4th time`), `expected .*4th time.*, came .*3rd time`},
	} {
		t.Run(c.session+": "+c.want, func(t *testing.T) {
			k := sessions[c.session](t)
			k.close()
			change(t, k.path, c.edit)
			r := replay(t, k.path, trace.ReplayOptions{Repeats: k.Repeats})
			if r.Differs == nil || !matches(t, c.want, r.Differs.Error()) {
				t.Errorf("the difference is: %v", r.Differs)
			}
		})
	}
}

// torn ends a log in the middle of its nth message.
func torn(n int) func(string, int, string) string {
	over := false
	return func(k string, i int, line string) string {
		switch {
		case over:
			return ""
		case k == "message" && i == n:
			over = true
			return line[:40]
		}
		return line
	}
}

func TestWhatIsLostOfALogIsLeftOutAndSaid(t *testing.T) {
	const name = "calls side by side, and their failures"
	lose := func(kind string, n int) func(string, int, string) string {
		return func(k string, i int, line string) string {
			if k == kind && i == n {
				return ""
			}
			return line
		}
	}
	for _, c := range []struct {
		what  string
		edit  func(kind string, n int, line string) string
		turns int
		want  string
	}{
		{"a reply", lose("message", 2), 1, `turn 1 \(entries 3 to \d+\) was not replayed: the entries 5 to 5 are lost`},
		{"the end of a turn", lose("turn_end", 1), 1, `turn 1 .* was not replayed`},
		{"the beginning of one", lose("turn_start", 1), 1, `the messages of entries 4 to \d+ were not replayed: the beginning of their turn`},
		{"a torn end", torn(10), 2, `the last entry was not written to its end.*turn 2 breaks off at entry \d+`}, // in the reply of the second turn
	} {
		t.Run(c.what, func(t *testing.T) {
			k := sessions[name](t)
			k.close()
			change(t, k.path, c.edit)
			r := replay(t, k.path, trace.ReplayOptions{})
			if r.Differs != nil || r.Turns != c.turns || !matches(t, c.want, strings.Join(r.LeftOut, "\n")) {
				t.Errorf("%v, %d turns, left out: %q", r.Differs, r.Turns, r.LeftOut)
			}
		})
	}
	if _, err := trace.Replay(t.Context(), filepath.Join(t.TempDir(), "none.jsonl"), trace.ReplayOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no log: %v", err)
	}
}

func TestATurnThatIsStillAtWorkIsSaidToBe(t *testing.T) {
	k := keep(t, looptest.Answer(do("a", "Look")), looptest.Say("done"))
	var meanwhile []string
	k.Turn(t.Context(), func(e oneloop.Event) {
		if e.Kind() == oneloop.KindToolStart {
			meanwhile = replay(t, k.path, trace.ReplayOptions{}).LeftOut
		}
	}, words("one"))
	k.close()
	if len(meanwhile) != 1 || !matches(t, `turn 1 breaks off at entry \d+: another oneloop is still at it`, meanwhile[0]) {
		t.Errorf("meanwhile: %q", meanwhile)
	}
	change(t, k.path, torn(3))
	left := replay(t, k.path, trace.ReplayOptions{}).LeftOut
	if len(left) == 0 || !matches(t, `turn 1 breaks off at entry \d+: the program was ended there$`, left[len(left)-1]) {
		t.Errorf("when it was ended: %q", left)
	}
}

func TestRealToolsAreRunBesideTheLogAndTheirOtherAnswersAreTold(t *testing.T) {
	k := sessions["calls side by side, and their failures"](t)
	k.close()
	var ran atomic.Int64 // they run side by side
	box := kit()
	box.Tools[0].Run = func(_ context.Context, c *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
		if c.ID == "b" {
			return oneloop.TextResult("something else"), nil
		}
		ran.Add(1)
		return oneloop.TextResult("seen " + string(c.Input)), nil
	}
	box.Tools[3].Run = func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		t.Error("what was denied is run")
		return nil, nil
	}
	r := replay(t, k.path, trace.ReplayOptions{Tools: box})
	if r.Differs != nil || ran.Load() != 2 {
		t.Fatalf("%v, ran %d", r.Differs, ran.Load())
	}
	interrupted := sessions["interrupted in a reply, and in a call"](t)
	interrupted.close()
	if r := replay(t, interrupted.path, trace.ReplayOptions{Tools: box}); r.Differs != nil || ran.Load() != 2 || len(r.Answers) > 0 {
		t.Errorf("%v, ran %d, %v", r.Differs, ran.Load(), r.Answers)
	}
	var others []string
	for _, a := range r.Answers {
		others = append(others, a.Call.ID+": "+a.Was.Text()+" / "+a.Is.Text())
	}
	if want := []string{`b: seen {"of":"b"} / something else`}; !reflect.DeepEqual(others, want) {
		t.Errorf("%q", others)
	}
}

func TestAReplayEndsWithItsContext(t *testing.T) {
	k := sessions["a failure, and the same again"](t)
	k.close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(oneloop.ErrShutdown)
	if _, err := trace.Replay(ctx, k.path, trace.ReplayOptions{}); !errors.Is(err, oneloop.ErrShutdown) {
		t.Errorf("%v", err)
	}
}

func matches(t *testing.T, pattern, text string) bool {
	t.Helper()
	return regexp.MustCompile("(?s)" + pattern).MatchString(text)
}

// Whatever is done to a log, its replay ends and says something: that it is
// no log, what is left out, where it differs, or that nothing does.
func TestAReplayOfAnythingEnds(t *testing.T) {
	var logs [][]string
	for _, name := range slices.Sorted(maps.Keys(sessions)) {
		if strings.Contains(name, "copy") {
			continue // it is in two files
		}
		k := sessions[name](t)
		k.close()
		text, err := os.ReadFile(k.path)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, slices.Collect(strings.Lines(string(text))))
	}
	path := filepath.Join(t.TempDir(), "s.jsonl")
	told := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		lines := slices.Clone(rapid.SampledFrom(logs).Draw(t, "log"))
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			i, j := rapid.IntRange(0, len(lines)-1).Draw(t, "i"), rapid.IntRange(0, len(lines)-1).Draw(t, "j")
			switch rapid.IntRange(0, 4).Draw(t, "change") {
			case 0:
				lines[i] = ""
			case 1:
				lines[i] = lines[j]
			case 2: // what they say, in the other's place
				a, b, _ := strings.Cut(lines[i], `,"t":`)
				c, d, _ := strings.Cut(lines[j], `,"t":`)
				lines[i], lines[j] = a+`,"t":`+d, c+`,"t":`+b
			case 3:
				at := rapid.IntRange(0, len(lines[i])).Draw(t, "at")
				lines[i] = lines[i][:at] + rapid.SampledFrom([]string{"", "x", `"`, "{}", "1", "null", "\n"}).Draw(t, "with") + lines[i][min(len(lines[i]), at+1):]
			case 4:
				words := []string{"user", "assistant", "tool_use", "end_turn", "interrupted", "max_tokens", "inbox", "hook", "driver", "mend", "repetition", "limit", "message", "notice", `"a"`, `"b"`}
				lines[i] = strings.Replace(lines[i], rapid.SampledFrom(words).Draw(t, "old"), rapid.SampledFrom(words).Draw(t, "new"), 1)
			}
		}
		if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := trace.Replay(context.Background(), path, trace.ReplayOptions{})
		switch {
		case err != nil:
			told["no log"]++
		case r.Differs != nil:
			told["differs"]++
		case len(r.LeftOut) > 0:
			told["left out"]++
		default:
			told["the same"]++
		}
	})
	if told["differs"] == 0 || told["left out"] == 0 || told["the same"] == 0 {
		t.Errorf("%v", told)
	}
}
