package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/looptest"
	"oneloop/session"
)

// model plays messages and keeps the requests.
type model struct {
	replies  []*oneloop.Message
	requests []*oneloop.Request
	during   func(ctx context.Context, n int)
}

func (m *model) Generate(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	m.requests = append(m.requests, req)
	emit(oneloop.RequestSent{})
	n := len(m.requests)
	if m.during != nil {
		m.during(ctx, n)
	}
	if n > len(m.replies) {
		return nil, errors.New("nothing is scripted")
	}
	return m.replies[n-1], nil
}

func says(stop oneloop.StopReason, blocks ...oneloop.Block) *oneloop.Message {
	return &oneloop.Message{Role: oneloop.Assistant, Stop: stop, Blocks: blocks}
}

func text(s string) oneloop.Block { return &oneloop.Text{Text: s} }

func call(id, name string) oneloop.Block {
	return &oneloop.ToolUse{ID: id, Name: name, Input: json.RawMessage(`{}`)}
}

func tools(run oneloop.ToolFunc) *oneloop.Toolbox {
	return &oneloop.Toolbox{Tools: []oneloop.Tool{{ToolDef: oneloop.ToolDef{Name: "T"}, Run: run}}}
}

// send runs a turn and returns its kinds of event and its error.
func send(t *testing.T, ctx context.Context, s *session.Session, blocks ...oneloop.Block) (string, error) {
	t.Helper()
	var kinds []string
	var last error
	for e, err := range s.Send(ctx, blocks...) {
		if err != nil {
			last = err
			continue
		}
		kinds = append(kinds, string(e.Kind()))
	}
	return strings.Join(kinds, " "), last
}

func roles(req *oneloop.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		b.WriteByte(string(m.Role)[0])
	}
	return b.String()
}

func TestATurnIsFramedByItsEvents(t *testing.T) {
	m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, call("1", "T")), says(oneloop.StopEndTurn, text("ok"))}}
	s := &session.Session{Model: m, Tools: tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return oneloop.TextResult("r"), nil
	})}
	kinds, err := send(t, t.Context(), s, text("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "turn_start message request message tool_start tool_end message request message turn_end"; kinds != want {
		t.Errorf("events are\n%s\nwant\n%s", kinds, want)
	}
}

func TestBlankPromptsAreRefusedAndNotKept(t *testing.T) {
	m := &model{replies: []*oneloop.Message{says(oneloop.StopEndTurn, text("ok"))}}
	s := &session.Session{Model: m}
	if _, err := send(t, t.Context(), s, text(" \n")); !errors.Is(err, session.ErrBlank) {
		t.Errorf("error is %v", err)
	}
	if _, err := send(t, t.Context(), s, text(""), text("hi")); err != nil {
		t.Error(err)
	}
	if n := len(m.requests[0].Messages[0].Blocks); n != 1 {
		t.Errorf("%d blocks were sent", n)
	}
}

func TestEmptyRepliesAreKeptOutOfTheNextRequest(t *testing.T) {
	m := &model{replies: []*oneloop.Message{says(oneloop.StopEndTurn), says(oneloop.StopRefusal, text("no")), says(oneloop.StopEndTurn, text("ok"))}}
	s := &session.Session{Model: m}
	if _, err := send(t, t.Context(), s, text("one")); err != nil {
		t.Error(err)
	}
	var refused *oneloop.RefusedError
	if _, err := send(t, t.Context(), s, text("two")); !errors.As(err, &refused) {
		t.Errorf("error is %v", err)
	}
	if _, err := send(t, t.Context(), s, text("three")); err != nil {
		t.Error(err)
	}
	if got := roles(m.requests[2]); got != "uuu" {
		t.Errorf("roles are %s", got)
	}
	if n := len(s.Transcript.(*oneloop.History).Messages()); n != 6 {
		t.Errorf("the log has %d messages; what is not sent is kept all the same", n)
	}
}

func TestTheTurnGoesOnAfterTheOutputLimitButNotForEver(t *testing.T) {
	cut := func() *oneloop.Message { return says(oneloop.StopMaxTokens, text("part ")) }
	m := &model{replies: []*oneloop.Message{cut(), says(oneloop.StopMaxTokens, text("x"), call("1", "T")), says(oneloop.StopEndTurn, text("end"))}}
	s := &session.Session{Model: m, Tools: tools(nil)}
	if _, err := send(t, t.Context(), s, text("hi")); err != nil {
		t.Fatal(err)
	}
	if got := roles(m.requests[2]); got != "uauu" {
		t.Errorf("roles are %s; the reply with the cut call is left out", got)
	}
	last := m.requests[2].Messages[3]
	if last.Meta.Source != "driver" || !strings.Contains(last.Text(), "not run") {
		t.Errorf("the model is told %q", last.Text())
	}
	m.replies = append(m.replies, cut(), cut(), cut(), cut())
	var truncated *oneloop.TruncatedError
	if _, err := send(t, t.Context(), s, text("more")); !errors.As(err, &truncated) {
		t.Errorf("error is %v", err)
	}
	if n := len(m.requests); n != 3+1+session.Continuations {
		t.Errorf("%d requests", n)
	}
}

func TestTheInboxIsEmptiedBehindResultsAndAtTheEnd(t *testing.T) {
	box := new(session.Inbox)
	m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, call("1", "T")), says(oneloop.StopEndTurn, text("a")), says(oneloop.StopEndTurn, text("b"))}}
	s := &session.Session{Model: m, Inbox: box, Tools: tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		box.Put(session.AtTurnEnd, text("later"))
		box.Put(session.BeforeModel, text("now"), text(" "), text("too"))
		return nil, nil
	})}
	if _, err := send(t, t.Context(), s, text("hi")); err != nil {
		t.Fatal(err)
	}
	if got := roles(m.requests[1]); got != "uauu" {
		t.Fatalf("roles are %s", got)
	}
	if got := m.requests[1].Messages[3].Text(); got != "nowtoo" {
		t.Errorf("steering is %q", got)
	}
	if got := m.requests[2].Messages[5].Text(); got != "later" {
		t.Errorf("what was queued is %q", got)
	}
	if box.Waiting(session.AtTurnEnd)+box.Waiting(session.BeforeModel) != 0 {
		t.Error("something is left")
	}
}

func TestANoteGoesWithTheNextRequestAndMakesNone(t *testing.T) {
	box := new(session.Inbox)
	m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, call("1", "T")), says(oneloop.StopEndTurn, text("a")), says(oneloop.StopEndTurn, text("b")), says(oneloop.StopEndTurn, text("c"))}}
	m.during = func(_ context.Context, n int) {
		switch n {
		case 2:
			box.Put(session.WithNext, text("an aside"))
		case 3:
			box.Put(session.WithNext, text("one more"))
			box.Put(session.AtTurnEnd, text("later"))
		}
	}
	s := &session.Session{Model: m, Inbox: box, Tools: tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		box.Put(session.WithNext, text("beside results"))
		return nil, nil
	})}
	for _, words := range []string{"hi", "and"} {
		if _, err := send(t, t.Context(), s, text(words)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range m.requests {
		last := r.Messages[len(r.Messages)-1]
		got = append(got, roles(r)+" "+last.Text())
	}
	want := []string{"u hi", "uauu beside results", "uauuauu an aside", "uauuauuau laterone more"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHooksAreCalledAtTheirMoments(t *testing.T) {
	var calls []string
	stops := 0
	m := &model{replies: []*oneloop.Message{says(oneloop.StopEndTurn, text("a")), says(oneloop.StopEndTurn, text("b")), says(oneloop.StopEndTurn, text("c"))}}
	s := &session.Session{Model: m,
		AtStart: func(context.Context) error { calls = append(calls, "start"); return nil },
		BeforePrompt: func(_ context.Context, p *oneloop.Message) error {
			calls = append(calls, "prompt "+p.Text())
			if p.Text() == "bad" {
				return errors.New("not that")
			}
			return nil
		},
		AtStop: func(_ context.Context, last *oneloop.Message) ([]oneloop.Block, error) {
			calls = append(calls, "stop "+last.Text())
			if stops++; stops == 1 {
				return []oneloop.Block{text("check it")}, nil
			}
			return nil, nil
		},
		AtEnd: func(context.Context) error { calls = append(calls, "end"); return nil },
	}
	if err := s.Close(t.Context()); err != nil || len(calls) > 0 {
		t.Errorf("a session that never began was ended: %v %v", calls, err)
	}
	send(t, t.Context(), s, text("hi"))
	if _, err := send(t, t.Context(), s, text("bad")); err == nil || err.Error() != "not that" {
		t.Errorf("error is %v", err)
	}
	send(t, t.Context(), s, text("again"))
	s.Close(t.Context())
	want := "start, prompt hi, stop a, stop b, prompt bad, prompt again, stop c, end"
	if got := strings.Join(calls, ", "); got != want {
		t.Errorf("calls are\n%s\nwant\n%s", got, want)
	}
	if n := len(s.Transcript.(*oneloop.History).Messages()); n != 6 {
		t.Errorf("%d messages; a refused prompt is not kept", n)
	}
}

func TestOnlyOneTurnRunsAtATime(t *testing.T) {
	var s *session.Session
	var second error
	m := &model{replies: []*oneloop.Message{says(oneloop.StopEndTurn, text("a"))}}
	m.during = func(ctx context.Context, _ int) { _, second = send(t, ctx, s, text("two")) }
	s = &session.Session{Model: m}
	if _, err := send(t, t.Context(), s, text("one")); err != nil {
		t.Error(err)
	}
	if !errors.Is(second, session.ErrBusy) {
		t.Errorf("the second turn gave %v", second)
	}
}

func TestAnInterruptionAnswersTheCallAndTheNextTurnGoesOn(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &model{replies: []*oneloop.Message{says(oneloop.StopToolUse, call("1", "T"), call("2", "T")), says(oneloop.StopEndTurn, text("ok"))}}
	s := &session.Session{Model: m, Tools: tools(func(ctx context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
		cancel(oneloop.ErrInterrupted)
		return nil, context.Cause(ctx)
	})}
	if _, err := send(t, ctx, s, text("hi")); !errors.Is(err, oneloop.ErrInterrupted) {
		t.Errorf("error is %v", err)
	}
	if _, err := send(t, t.Context(), s, text("next")); err != nil {
		t.Fatal(err)
	}
	results := m.requests[1].Messages[2].Blocks
	if len(results) != 2 {
		t.Fatalf("%d results", len(results))
	}
	for i, want := range []string{"may have changed", "not started"} {
		if got := results[i].(*oneloop.ToolResult).Text(); !strings.Contains(got, want) {
			t.Errorf("result %d says %q", i, got)
		}
	}
}

func TestAnInterruptedReplyIsKeptAndEndsTheTurn(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &model{replies: []*oneloop.Message{says(oneloop.StopInterrupted, text("I will look")), says(oneloop.StopEndTurn, text("ok"))},
		during: func(context.Context, int) { cancel(oneloop.ErrInterrupted) }}
	s := &session.Session{Model: m}
	if _, err := send(t, ctx, s, text("hi")); !errors.Is(err, oneloop.ErrInterrupted) {
		t.Errorf("error is %v", err)
	}
	send(t, t.Context(), s, text("next"))
	if got := roles(m.requests[1]); got != "uau" || m.requests[1].Messages[1].Text() != "I will look" {
		t.Errorf("roles are %s; what was shown is not lost", got)
	}
}

func TestQuestionsArePutOneAtATime(t *testing.T) {
	var mu sync.Mutex
	open, most := 0, 0
	release := make(chan struct{})
	ask := session.Queue(func(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
		mu.Lock()
		open++
		most = max(most, open)
		mu.Unlock()
		<-release
		mu.Lock()
		open--
		mu.Unlock()
		return oneloop.Answer{Allow: q.Title == "yes"}, nil
	})
	var wg sync.WaitGroup
	for _, title := range []string{"yes", "no", "yes", "no"} {
		wg.Go(func() {
			var kinds []string
			a, err := session.Put(t.Context(), ask, oneloop.Question{Title: title}, func(e oneloop.Event) { kinds = append(kinds, string(e.Kind())) })
			if err != nil || a.Allow != (title == "yes") || strings.Join(kinds, " ") != "question answer" {
				t.Errorf("%s was answered %v, %v, %v", title, a, err, kinds)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(oneloop.ErrInterrupted)
	if _, err := ask(ctx, oneloop.Question{}); !errors.Is(err, oneloop.ErrInterrupted) {
		t.Errorf("who left the queue got %v", err)
	}
	close(release)
	wg.Wait()
	if most != 1 {
		t.Errorf("%d questions were open at once", most)
	}
	if session.Queue(nil) != nil {
		t.Error("a nil Ask must stay nil: it says that nobody is there")
	}
}

func TestAnEndThatLeavesSomethingOutIsSaid(t *testing.T) {
	for want, reply := range map[string]*oneloop.Message{
		"without saying anything": says(oneloop.StopEndTurn, &oneloop.Thinking{Text: "hm", Signature: "s"}),
		"may not be all":          says("brand_new_reason\x1b[31m", text("half a")),
		"was not run":             says("brand_new_reason", text("I call"), call("1", "T")),
	} {
		s := &session.Session{Model: &model{replies: []*oneloop.Message{reply}}, Tools: tools(nil)}
		var notices string
		for e, err := range s.Send(t.Context(), text("hi")) {
			if err != nil {
				t.Error(err)
			}
			if n, ok := e.(oneloop.Notice); ok {
				notices += n.Text
			}
		}
		if !strings.Contains(notices, want) {
			t.Errorf("notices are %q, want %q", notices, want)
		}
	}
}

func TestAPromptThatGotNoAnswerIsNotSaidTwice(t *testing.T) {
	down := errors.New("down")
	model := looptest.Script(t, looptest.Reply{Err: down}, looptest.Reply{Err: down}, looptest.Say("one"), looptest.Say("two"))
	s := &session.Session{Model: model}
	for _, want := range []error{down, down, nil, nil} {
		if err := s.Turn(t.Context(), nil, &oneloop.Text{Text: "go"}); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	for i, want := range []int{1, 1, 1, 3} {
		if got := model.Requests()[i].Messages; len(got) != want {
			t.Errorf("request %d has %d messages, want %d", i, len(got), want)
		}
	}
}

func TestAPromptWithANoteBehindItIsNotSaidTwiceEither(t *testing.T) {
	model := looptest.Script(t, looptest.Reply{Err: errors.New("down")}, looptest.Say("one"))
	s := &session.Session{Model: model, Inbox: new(session.Inbox)}
	s.Inbox.Put(session.WithNext, text("an aside"))
	s.Turn(t.Context(), nil, text("go")) // fails
	if err := s.Turn(t.Context(), nil, text("go")); err != nil {
		t.Fatal(err)
	}
	if got := model.Requests()[1].Messages; len(got) != 2 {
		t.Errorf("the second request has %d messages", len(got))
	}
}

func TestOtherWordsAfterAFailureAreSaidToo(t *testing.T) {
	model := looptest.Script(t, looptest.Reply{Err: errors.New("down")}, looptest.Say("one"))
	s := &session.Session{Model: model}
	s.Turn(t.Context(), nil, &oneloop.Text{Text: "go"}) // fails
	if err := s.Turn(t.Context(), nil, &oneloop.Text{Text: "go on"}); err != nil {
		t.Fatal(err)
	}
	if got := model.Requests()[1].Messages; len(got) != 2 {
		t.Errorf("the second request has %d messages", len(got))
	}
}
