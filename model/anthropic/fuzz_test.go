package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"oneloop"
	"oneloop/internal/rawjson"

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
			if !goodID(c.ID) || !goodName(c.Name) || !rawjson.Parse(c.Input).IsObject() {
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
	resp := &http.Response{StatusCode: 200, Header: http.Header{}}
	n := 0
	r := &reply{
		model: "m", clean: m.clean, emit: func(e oneloop.Event) { out.events = append(out.events, e) },
		fail: func(class error, format string, args ...any) *oneloop.APIError {
			return m.fail(resp, class, fmt.Sprintf(format, args...))
		},
		newID: func() string { n++; return fmt.Sprint("call_", n) },
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var msg *oneloop.Message
	if split {
		msg, err = m.stream(ctx, cancel, iotest.OneByteReader(bytes.NewReader(stream)), r)
	} else {
		msg, err = m.stream(ctx, cancel, bytes.NewReader(stream), r)
	}
	out.msg = msg
	if err != nil {
		out.err = err.Error()
	}
	return out
}
