package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"oneloop"
	"oneloop/session"
	"oneloop/tool"
)

// answering is a session whose model says the given messages one after the
// other, the last one for ever.
func answering(t *testing.T, a *tool.Answer, said ...*oneloop.Message) (requests int, prompts []string, err error) {
	n := 0
	m := oneloop.ModelFunc(func(_ context.Context, req *oneloop.Request, _ func(oneloop.Event)) (*oneloop.Message, error) {
		last := req.Messages[len(req.Messages)-1]
		prompts = append(prompts, last.Text())
		for _, b := range last.Blocks {
			if r, ok := b.(*oneloop.ToolResult); ok {
				prompts[len(prompts)-1] += r.Text()
			}
		}
		msg := *said[min(n, len(said)-1)]
		msg.Blocks = append([]oneloop.Block(nil), msg.Blocks...)
		for i, b := range msg.Blocks {
			if c, ok := b.(*oneloop.ToolUse); ok {
				again := *c
				again.ID = fmt.Sprint("t", n, "_", i)
				msg.Blocks[i] = &again
			}
		}
		n++
		return &msg, nil
	})
	s := &session.Session{Model: m, Tools: &oneloop.Toolbox{Tools: []oneloop.Tool{a.Tool()}}, AtStop: a.AtStop}
	for _, failed := range s.Send(t.Context(), &oneloop.Text{Text: "go"}) {
		err = failed
	}
	return n, prompts, err
}

func gives(input string) *oneloop.Message {
	return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopToolUse,
		Blocks: []oneloop.Block{&oneloop.ToolUse{Name: tool.AnswerTool, Input: json.RawMessage(input)}}}
}

func says(text string) *oneloop.Message {
	return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn, Blocks: []oneloop.Block{&oneloop.Text{Text: text}}}
}

const aPerson = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":0}},"required":["name"],"additionalProperties":false}`

func newAnswer(t *testing.T, schema string) *tool.Answer {
	t.Helper()
	a, err := tool.NewAnswer(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAnAnswerIsGivenByACallThatEndsTheTurn(t *testing.T) {
	a := newAnswer(t, aPerson)
	n, _, err := answering(t, a, gives(`{"name": "Ada","age":36}`), says("never"))
	got, bad := a.JSON()
	if err != nil || bad != nil || n != 1 || string(got) != `{"name": "Ada","age":36}` {
		t.Errorf("%d requests, %v, %s, %v", n, err, got, bad)
	}
}

func TestAnAnswerThatDoesNotFitIsGivenBackAndAfterFiveTheTurnEnds(t *testing.T) {
	a := newAnswer(t, aPerson)
	n, prompts, err := answering(t, a, gives(`{"age":-1}`), gives(`{"name":"Ada"}`))
	if got, bad := a.JSON(); err != nil || bad != nil || n != 2 || string(got) != `{"name":"Ada"}` {
		t.Errorf("%d requests, %v, %s, %v", n, err, got, bad)
	}
	if !strings.Contains(prompts[1], `must have the field "name"; /age must be at least 0 and is -1`) {
		t.Errorf("the model was told %q", prompts[1])
	}
	a = newAnswer(t, aPerson)
	var wrong []*oneloop.Message
	for i := range 9 {
		wrong = append(wrong, gives(fmt.Sprintf(`{"age":%d}`, i)))
	}
	n, _, err = answering(t, a, wrong...)
	_, bad := a.JSON()
	if failed, ok := errors.AsType[*tool.AnswerError](bad); err != nil || n != tool.AnswerTries || !ok || !strings.Contains(failed.Error(), `must have the field "name"`) {
		t.Errorf("%d requests, %v, %v", n, err, bad)
	}
}

func TestAModelThatStopsWithoutAnAnswerIsAskedForIt(t *testing.T) {
	a := newAnswer(t, aPerson)
	n, prompts, err := answering(t, a, says("done"), gives(`{"name":"Ada"}`))
	if _, bad := a.JSON(); err != nil || bad != nil || n != 2 || !strings.Contains(prompts[1], tool.AnswerTool) {
		t.Errorf("%d requests, %v, %v: %q", n, err, bad, prompts)
	}
	a = newAnswer(t, aPerson)
	n, _, err = answering(t, a, says("done"))
	if _, bad := a.JSON(); err != nil || bad == nil || n != 1+tool.AnswerUrgings {
		t.Errorf("%d requests, %v, %v", n, err, bad)
	}
}

func TestAnAnswerThatIsOnlyWrittenIsTakenWhereItFits(t *testing.T) {
	for text, want := range map[string]string{
		" {\"name\":\"Ada\"}\n":                `{"name":"Ada"}`,
		"```json\n{\"name\":\"Ada\"}\n```":     `{"name":"Ada"}`,
		"{\"name\":1}":                         "",
		"It is {\"name\":\"Ada\"}, I am sure.": "",
	} {
		a := newAnswer(t, aPerson)
		n, _, err := answering(t, a, says(text))
		got, _ := a.JSON()
		if err != nil || string(got) != want || (n == 1) != (want != "") {
			t.Errorf("%q: %d requests, %v, %s", text, n, err, got)
		}
	}
}

func TestAnAnswerThatIsNoObjectIsAFieldOfTheCall(t *testing.T) {
	for _, schema := range []string{
		`{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`,
		`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`,
	} {
		a := newAnswer(t, schema)
		if got := string(a.Tool().Schema); !strings.HasPrefix(got, `{"type":"object","properties":{"answer":{`) || strings.Contains(schema, "$defs") && !strings.HasSuffix(got, `,"$defs":{"n":{"type":"integer"}}}`) {
			t.Errorf("the tool takes %s", got)
		}
	}
	a := newAnswer(t, `{"type":"array","items":{"type":"integer"}}`)
	n, prompts, err := answering(t, a, gives(`{"answer":[1,"x"]}`), gives(`{"answer":[1, 2]}`))
	got, bad := a.JSON()
	if err != nil || bad != nil || n != 2 || string(got) != "[1, 2]" || !strings.Contains(prompts[1], "/1 must be an integer") {
		t.Errorf("%d requests, %v, %s, %v: %q", n, err, got, bad, prompts)
	}
}

func TestReferencesOfAnAnswerThatIsAFieldLeadToWhereTheyDid(t *testing.T) {
	for schema, want := range map[string]string{
		`{"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#"}}]}`:                                                                        `{"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#/properties/answer"}}]}`,
		`{"type":["object","null"],"properties":{"a \"é":{"type":"integer"},"b":{"$ref":"#/properties/b2"},"b2":true,"$ref":{"const":{"$ref":"#"}}}}`: `{"type":["object","null"],"properties":{"a \"é":{"type":"integer"},"b":{"$ref":"#/properties/answer/properties/b2"},"b2":true,"$ref":{"const":{"$ref":"#"}}}}`,
	} {
		if got := string(newAnswer(t, schema).Tool().Schema); got != `{"type":"object","properties":{"answer":`+want+`},"required":["answer"],"additionalProperties":false}` {
			t.Errorf("the tool takes %s", got)
		}
	}
}

func TestAnAnswerIsReadIntoAGoType(t *testing.T) {
	type weather struct {
		City  string  `json:"city" jsonschema:"where"`
		Warm  bool    `json:"warm"`
		Notes []int64 `json:"notes,omitempty"`
	}
	a, err := tool.AnswerOf[weather]()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := answering(t, a, gives(`{"city":"Paris"}`), gives(`{"city":"Paris","warm":true,"notes":[9007199254740993]}`)); err != nil {
		t.Fatal(err)
	}
	var w weather
	if err := a.Decode(&w); err != nil || w.City != "Paris" || !w.Warm || w.Notes[0] != 9007199254740993 {
		t.Errorf("%+v, %v", w, err)
	}
	list, err := tool.AnswerOf[[]string]()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if _, _, err := answering(t, list, gives(`{"answer":["a","b"]}`)); err != nil || list.Decode(&names) != nil || len(names) != 2 {
		t.Errorf("%v %v", names, err)
	}
	if _, err := tool.AnswerOf[chan int](); err == nil {
		t.Error("a channel is an answer")
	}
}

func TestOfTwoAnswersInOneReplyTheFirstIsTaken(t *testing.T) {
	a := newAnswer(t, aPerson)
	both := gives(`{"name":"Ada"}`)
	both.Blocks = append(both.Blocks, gives(`{"name":"Bob"}`).Blocks...)
	n, _, err := answering(t, a, both)
	if got, _ := a.JSON(); err != nil || n != 1 || string(got) != `{"name":"Ada"}` {
		t.Errorf("%d requests, %v, %s", n, err, got)
	}
}
