package anthropic

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

// FuzzStream holds that no stream makes the decoder panic, that its result
// does not depend on how the bytes are split, and that what it makes of a
// stream can be sent back.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}}|{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\ud83d"}}|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00"}}|{"type":"content_block_stop","index":0}|{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}|{"type":"message_stop"}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a b","name":"x y","input":{}}}|{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":"","signature":""}}|{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}|{"type":"content_block_delta","index":1,"delta":{"type":"signature_delta","signature":"s"}}|{"type":"content_block_stop","index":0}|{"type":"content_block_stop","index":1}|{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}}|{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"x"}}|{"type":"content_block_delta","delta":{"type":"citations_delta","citation":{"a":1}}}|{"type":"content_block_delta","delta":{"type":"odd_delta"}}|{"type":"content_block_stop"}|{"type":"error","error":{"type":"overloaded_error"}}`,
	} {
		f.Add([]byte("data: " + strings.ReplaceAll(s, "|", "\n\ndata: ") + "\n\n"))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole := decodeFor(t, stream, false)
		parts := decodeFor(t, stream, true)
		if !reflect.DeepEqual(whole, parts) {
			t.Fatal(cmp.Diff(whole, parts))
		}
		if whole.msg == nil {
			return
		}
		e := &encoder{model: "m"}
		body, err := e.body([]byte(`{"model":"m"`), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi"), whole.msg, oneloop.UserText("go on")}})
		if err != nil || !json.Valid(body.Bytes()) {
			t.Fatalf("%v in %s", err, body.Bytes())
		}
		for _, c := range whole.msg.ToolUses() {
			if !wire.GoodID(c.ID) || !wire.GoodName(c.Name) || !rawjson.Parse(c.Input).IsObject() {
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

func decodeFor(t *testing.T, stream []byte, split bool) (out outcome) {
	m, err := New(Config{Key: "k", Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
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
	out.msg = msg
	if err != nil {
		out.err = err.Error()
	}
	return out
}
