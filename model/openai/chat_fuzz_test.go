package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"

	"github.com/google/go-cmp/cmp"
)

// FuzzChat holds that no stream makes the decoder panic, that its result does
// not depend on how the bytes are split, and that what it makes of a stream can
// be sent back.
func FuzzChat(f *testing.F) {
	for _, s := range []string{
		`{"id":"x","choices":[{"delta":{"content":"a\ud83d","reasoning_content":"hm"}}]}|{"choices":[{"delta":{"content":"\ude00"}}]}|{"choices":[{"delta":{},"finish_reason":"stop"}]}|{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}|[DONE]`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a b","function":{"name":"x y","arguments":"{\"a\":"}},{"id":"a b","function":{"arguments":null}},7]}}]}|{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"},"extra_content":{"g":1}}]},"finish_reason":"tool_calls"}]}`,
		`{"choices":[{"delta":{"content":"<thi"}}]}|{"choices":[{"delta":{"content":"nk>why</th"}}]}|{"choices":[{"delta":{"content":"ink>so"},"finish_reason":"length"}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"a"},{"type":"reasoning.text","index":0,"text":"b","signature":"s"}],"content":[{"type":"text","text":"x"},{"type":"odd"}],"refusal":"no"},"finish_reason":"stop"}]}`,
		`{"error":{"code":429,"message":"try again in 1m2s"}}`, `{"choices":[{"delta":{"function_call":{"name":"f","arguments":{"a":1}},"extra_content":{"s":"1"}},"finish_reason":"function_call"}]}`,
	} {
		f.Add([]byte("data: "+strings.ReplaceAll(s, "|", "\n\ndata: ")+"\n\n"), true)
	}
	f.Fuzz(func(t *testing.T, stream []byte, think bool) {
		whole := decodeChat(t, stream, think, false)
		parts := decodeChat(t, stream, think, true)
		if !reflect.DeepEqual(whole, parts) {
			t.Fatal(cmp.Diff(whole, parts))
		}
		if whole.msg == nil {
			return
		}
		m := chatFor(t, think)
		for _, dialect := range []string{"openrouter", "deepseek"} {
			m.dialect, _ = findDialect(dialect, "")
			e := &chatEncoder{chatTarget: m.target(), taken: map[string]bool{}}
			msgs := []*oneloop.Message{oneloop.UserText("hi"), whole.msg, oneloop.UserText("go on")}
			body, err := e.body(m, &oneloop.Request{Messages: msgs}, nil)
			if err != nil || !json.Valid(body.Bytes()) {
				t.Fatalf("%v in %s", err, body.Bytes())
			}
		}
		for _, c := range whole.msg.ToolUses() {
			if !goodChatID(c.ID) || !wire.GoodName(c.Name) || !rawjson.Parse(c.Input).IsObject() {
				t.Errorf("a call that cannot be sent back: %+v", c)
			}
		}
	})
}

type outcome struct {
	msg    *oneloop.Message
	err    string
	events []oneloop.Event
}

func chatFor(t *testing.T, think bool) *Chat {
	dialect := "openai"
	if think {
		dialect = "vllm"
	}
	m, err := NewChat(Config{Key: "k", Model: "m", Dialect: dialect})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func decodeChat(t *testing.T, stream []byte, think, split bool) (out outcome) {
	m := chatFor(t, think)
	var body io.Reader = bytes.NewReader(stream)
	if split {
		body = iotest.OneByteReader(body)
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}
	n := 0
	emit := func(e oneloop.Event) { out.events = append(out.events, e) }
	msg, err := m.caller.Take(t.Context(), resp, emit, func(a *wire.Answer) wire.Reply {
		r := m.reply(a, nil, nil)
		r.calls.NewID = func() string { n++; return fmt.Sprint("call_", n) }
		return r
	})
	if out.msg = msg; err != nil {
		out.err = err.Error()
	}
	return out
}
