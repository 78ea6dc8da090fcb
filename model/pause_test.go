package model_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"oneloop"
	"oneloop/model"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func opaque(kind, body string) *oneloop.Opaque {
	return &oneloop.Opaque{Type: kind, Wire: oneloop.Wire{Raw: json.RawMessage(body)}}
}

func texts(m *oneloop.Message) []string {
	var out []string
	for _, b := range m.Blocks {
		out = append(out, b.(*oneloop.Text).Text)
	}
	return out
}

func TestAPausedReplyGoesOnAndComesBackWhole(t *testing.T) {
	repaired := func(text string) step {
		return func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
			msg, err := say(oneloop.StopPause, text)(ctx, req, emit)
			msg.Meta.Repairs = []oneloop.Repair{{Block: 0, What: "id"}}
			return msg, err
		}
	}
	m := script(repaired("a"), repaired("b"), say(oneloop.StopEndTurn, "c"))
	asked := []*oneloop.Message{oneloop.UserText("go")}
	msg, err := model.Pause(m, model.PauseOptions{}).Generate(t.Context(), &oneloop.Request{Messages: asked}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	want := oneloop.Usage{Reported: true, Input: 30, Output: 3, Context: 11}
	if msg.Stop != oneloop.StopEndTurn || !slices.Equal(texts(msg), []string{"a", "b", "c"}) || msg.Usage != want {
		t.Errorf("%+v", msg)
	}
	if len(msg.Meta.Repairs) != 2 || msg.Meta.Repairs[1].Block != 1 {
		t.Errorf("repairs %+v", msg.Meta.Repairs)
	}
	if len(m.reqs[0].Messages) != 1 || len(m.reqs[1].Messages) != 2 || len(m.reqs[2].Messages) != 2 {
		t.Fatalf("requests of %d, %d, %d messages", len(m.reqs[0].Messages), len(m.reqs[1].Messages), len(m.reqs[2].Messages))
	}
	if got := texts(m.reqs[2].Messages[1]); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the last request ended in %q", got)
	}
}

func TestContinuationsAreBounded(t *testing.T) {
	m := script(say(oneloop.StopPause, "a"))
	msg, err := model.Pause(m, model.PauseOptions{}).Generate(t.Context(), &oneloop.Request{}, nothing)
	if err != nil || msg.Stop != oneloop.StopPause || len(m.reqs) != 6 || len(msg.Blocks) != 6 {
		t.Errorf("%d requests, %+v, %v", len(m.reqs), msg, err)
	}
}

func TestAPausedReplyWithoutContentIsAskedForAgainAsItWas(t *testing.T) {
	m := script(say(oneloop.StopPause), say(oneloop.StopEndTurn, "c"))
	msg, err := model.Pause(m, model.PauseOptions{}).Generate(t.Context(), &oneloop.Request{}, nothing)
	if err != nil || msg.Text() != "c" || len(m.reqs[1].Messages) != 0 {
		t.Errorf("%+v, %v", msg, err)
	}
}

func TestAPartThatFailsVoidsTheWholeReply(t *testing.T) {
	cut := apiError(oneloop.ErrStreamCut, 200)
	s := &sink{}
	msg, err := model.Pause(script(say(oneloop.StopPause, "a"), fail(cut)), model.PauseOptions{}).Generate(t.Context(), &oneloop.Request{}, s.emit)
	if err != cut || msg != nil || !s.has(oneloop.KindDiscard) {
		t.Errorf("%v, %v, %v", msg, err, s.kinds())
	}
	if void, ok := s.events[len(s.events)-1].(oneloop.Discard); !ok || void.Usage.Input != 10 {
		t.Errorf("what the first part used is not told: %v", s.events)
	}
}

func TestACancelBetweenPartsKeepsThoseThatCame(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	second := func(ctx context.Context, _ *oneloop.Request, _ func(oneloop.Event)) (*oneloop.Message, error) {
		cancel(oneloop.ErrInterrupted)
		return nil, context.Cause(ctx)
	}
	msg, err := model.Pause(script(say(oneloop.StopPause, "a"), second), model.PauseOptions{}).Generate(ctx, &oneloop.Request{}, nothing)
	if err != nil || msg.Stop != oneloop.StopInterrupted || msg.Text() != "a" || !msg.Usage.Reported {
		t.Errorf("%+v, %v", msg, err)
	}
}

func TestAnInterruptedContinuationKeepsWhatMaySurvive(t *testing.T) {
	search := opaque("server_tool_use", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`)
	found := opaque("web_search_tool_result", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}`)
	dangling := opaque("server_tool_use", `{"type":"server_tool_use","id":"srvtoolu_2","name":"web_search","input":{}}`)
	first := func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
		return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopPause, Blocks: []oneloop.Block{
			&oneloop.Text{Text: "look"}, search, found, &oneloop.ToolUse{ID: "t1", Name: "Bash"},
			&oneloop.Thinking{Text: "hm", Signature: "s"}, dangling}}, nil
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	second := func(ctx context.Context, _ *oneloop.Request, _ func(oneloop.Event)) (*oneloop.Message, error) {
		cancel(oneloop.ErrInterrupted)
		return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopInterrupted, Blocks: []oneloop.Block{
			&oneloop.Thinking{Text: "so", Signature: "s"}, &oneloop.Text{Text: "it"}, &oneloop.Thinking{Text: "is", Signature: "s"}}}, nil
	}
	msg, err := model.Pause(script(first, second), model.PauseOptions{}).Generate(ctx, &oneloop.Request{}, nothing)
	if err != nil || msg.Stop != oneloop.StopInterrupted {
		t.Fatalf("%+v, %v", msg, err)
	}
	want := []oneloop.Block{&oneloop.Text{Text: "look"}, search, found, &oneloop.Text{Text: "it"}}
	if d := cmp.Diff(want, msg.Blocks, cmpopts.IgnoreUnexported(oneloop.Wire{})); d != "" {
		t.Error(d)
	}
}
