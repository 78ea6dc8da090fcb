package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"oneloop"
	"oneloop/model/openai"

	"github.com/google/go-cmp/cmp"
)

func responsesModel(t testing.TB) func(*http.Client) oneloop.Model {
	return func(c *http.Client) oneloop.Model {
		m, err := openai.NewResponses(openai.Config{Key: key, Model: "gpt-5", Client: c})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

// responsesRecordings are the recorded exchanges. A file that has the events of
// several is each of them.
func responsesRecordings(t *testing.T) []*exchange {
	var all []*exchange
	for _, x := range recordings(t, "openai-responses") {
		begin := 0
		for i, e := range x.Events {
			if i > 0 && bytes.Contains(e, []byte(`"response.created"`)) {
				part := *x
				part.Events = x.Events[begin:i]
				all = append(all, &part)
				begin = i
			}
		}
		x.N += begin
		x.Events = x.Events[begin:]
		all = append(all, x)
	}
	return all
}

// itemsDone are the items of an exchange, in order, as its own events have them.
func itemsDone(t *testing.T, x *exchange) []json.RawMessage {
	var items []json.RawMessage
	if strings.Contains(x.ContentType, "json") {
		var whole struct{ Output []json.RawMessage }
		if err := json.Unmarshal([]byte(x.Body), &whole); err != nil {
			t.Fatal(err)
		}
		return whole.Output
	}
	for line := range bytes.Lines(x.stream()) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		var e struct {
			Type string
			Item json.RawMessage
		}
		if ok && json.Unmarshal(data, &e) == nil && e.Type == "response.output_item.done" {
			items = append(items, e.Item)
		}
	}
	return items
}

func TestEveryRecordedExchangeOfResponsesIsDecodedHoweverItIsSplit(t *testing.T) {
	calls, thoughts := 0, 0
	for _, x := range responsesRecordings(t) {
		whole, _ := play(t, responsesModel(t), x, bytes.NewReader(x.stream()))
		if strings.Contains(x.File, "error") {
			if api, ok := errors.AsType[*oneloop.APIError](whole.err); !ok || !errors.Is(whole.err, oneloop.ErrBilling) || api.Retry != oneloop.RetryNo || api.Code != "insufficient_quota" {
				t.Errorf("%s: %v", x.name(), whole.err)
			}
			continue
		}
		if whole.err != nil {
			t.Errorf("%s: %v", x.name(), whole.err)
			continue
		}
		want := itemsDone(t, x)
		if len(whole.msg.Blocks) != len(want) || len(want) == 0 || !whole.msg.Usage.Reported || len(whole.msg.Meta.Repairs) > 0 || whole.msg.ID == "" {
			t.Errorf("%s: %d blocks of %d items, usage %+v, repairs %v", x.name(), len(whole.msg.Blocks), len(want), whole.msg.Usage, whole.msg.Meta.Repairs)
			continue
		}
		for i, b := range whole.msg.Blocks {
			if !bytes.Equal(b.RawJSON(), want[i]) || b.RawAPI() != openai.ResponsesAPI {
				t.Errorf("%s: item %d is kept as %s, it was %s", x.name(), i, b.RawJSON(), want[i])
			}
			if th, ok := b.(*oneloop.Thinking); ok && th.Text != "" {
				thoughts++
			}
		}
		for _, c := range whole.msg.ToolUses() {
			calls++
			if c.Broken != "" || c.Name == "" {
				t.Errorf("%s: call %+v", x.name(), c)
			}
		}
		if stop := whole.msg.Stop; (stop == oneloop.StopToolUse) != (len(whole.msg.ToolUses()) > 0) {
			t.Errorf("%s: stop %s", x.name(), stop)
		}
		parts, _ := play(t, responsesModel(t), x, iotest.OneByteReader(bytes.NewReader(x.stream())))
		if d := cmp.Diff(whole, parts, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
			t.Errorf("%s by the byte: %s", x.name(), d)
		}
	}
	if calls < 9 || thoughts < 4 {
		t.Errorf("there are %d calls and %d thoughts in all", calls, thoughts)
	}
}

func TestAnyPrefixOfARecordedStreamOfResponsesIsCut(t *testing.T) {
	streams := 0
	for _, x := range responsesRecordings(t) {
		body := x.stream()
		finish := bytes.Index(body, []byte(`data: {"type":"response.completed"`))
		if strings.Contains(x.ContentType, "json") || strings.Contains(x.File, "error") {
			continue
		}
		if finish < 0 {
			finish = bytes.LastIndex(body[:bytes.LastIndex(body, []byte(`"response.completed"`))], []byte("data: "))
		}
		streams++
		for end := 0; end <= finish+30; end += 211 {
			got, _ := play(t, responsesModel(t), x, bytes.NewReader(body[:end]))
			if got.err == nil || end > 0 && !errors.Is(got.err, oneloop.ErrStreamCut) {
				t.Errorf("%s: a reply of %d bytes of %d: %v, %+v", x.name(), end, len(body), got.err, got.msg)
			}
		}
	}
	if streams < 10 {
		t.Errorf("%d streams", streams)
	}
}

// answers are the results of the calls of a reply.
func answers(m *oneloop.Message) *oneloop.Message {
	out := &oneloop.Message{Role: oneloop.User}
	for _, c := range m.ToolUses() {
		out.Blocks = append(out.Blocks, &oneloop.ToolResult{ID: c.ID, Content: []oneloop.Block{&oneloop.Text{Text: "ok"}}})
	}
	return out
}

func TestARecordedReplyOfResponsesGoesBackByteForByte(t *testing.T) {
	for _, x := range responsesRecordings(t) {
		got, _ := play(t, responsesModel(t), x, bytes.NewReader(x.stream()))
		if got.err != nil || got.msg.Stop != oneloop.StopToolUse {
			continue
		}
		_, sent := play(t, responsesModel(t), x, bytes.NewReader(x.stream()), got.msg, answers(got.msg))
		var body struct{ Input []json.RawMessage }
		if err := json.Unmarshal(sent, &body); err != nil {
			t.Fatalf("%s: %v in %s", x.name(), err, sent)
		}
		want := itemsDone(t, x)
		if strings.Contains(x.File, "gpt5_multi") { // its reasoning was not asked for in a form that can go back
			want = slices.DeleteFunc(want, func(item json.RawMessage) bool { return bytes.Contains(item, []byte(`"type":"reasoning"`)) })
			for i := range want {
				from, to := bytes.Index(want[i], []byte(`"id"`)), bytes.Index(want[i], []byte(`"type"`))
				want[i] = slices.Concat(want[i][:from], want[i][to:])
			}
		}
		for i, item := range want {
			if !bytes.Equal(body.Input[1+i], item) {
				t.Errorf("%s: item %d went back as %s, it was %s", x.name(), i, body.Input[1+i], item)
			}
		}
		for i, c := range got.msg.ToolUses() {
			var out struct{ Type, CallID, Output string }
			json.Unmarshal(bytes.ReplaceAll(body.Input[1+len(want)+i], []byte("call_id"), []byte("CallID")), &out)
			kind := map[bool]string{true: "custom_tool_call_output", false: "function_call_output"}[strings.Contains(x.File, "custom")]
			if out.Type != kind || out.CallID != c.ID || out.Output != "ok" {
				t.Errorf("%s: the result is %s", x.name(), body.Input[1+len(want)+i])
			}
		}
	}
}
