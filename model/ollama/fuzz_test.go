package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
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
		`{"message":{"role":"assistant","content":"a\ud83d"},"done":false}|{"message":{"content":"\ude00","thinking":"hm"}}|{"message":{},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":2}`,
		`{"message":{"tool_calls":[{"function":{"name":"a b","arguments":[1]},"id":"x"},{"id":"x"},7,{"function":{"name":"f","arguments":"{}"}}]}}|{"done":true}`,
		`{"message":{"content":"\ud83d"},"done":true,"done_reason":"length"}`, `{"error":"model 'x' not found"}`, `[]`,
	} {
		f.Add([]byte(strings.ReplaceAll(s, "|", "\n") + "\n"))
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
		m, err := New(Config{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		req := &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi"), whole.msg, oneloop.UserText("go on")}}
		body, _, err := m.encode(newEncoder("m", true), req, Info{}, func(oneloop.Event) {})
		if err != nil || !json.Valid(body.Bytes()) {
			t.Fatalf("%v in %s", err, body.Bytes())
		}
		for _, c := range whole.msg.ToolUses() {
			if c.ID == "" || !wire.GoodName(c.Name) || !rawjson.Parse(c.Input).IsObject() {
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
	m, err := New(Config{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	var body io.Reader = bytes.NewReader(stream)
	if split {
		body = iotest.OneByteReader(body)
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/x-ndjson"}}, Body: io.NopCloser(body)}
	n := 0
	emit := func(e oneloop.Event) { out.events = append(out.events, e) }
	msg, err := m.caller.Take(t.Context(), resp, emit, func(a *wire.Answer) wire.Reply {
		r := m.reply(a, nil, nil, &fit{size: size{bytes: 50}, window: 4096})
		r.calls.NewID = func() string { n++; return fmt.Sprint("call_", n) }
		return r
	})
	out.msg = msg
	if err != nil {
		out.err = err.Error()
	}
	return out
}

// TestALongConversationIsSentWhole has one that grows and goes back: what is
// sent is what a fresh encoder makes of it, and what was sent before never
// changes.
func TestALongConversationIsSentWhole(t *testing.T) {
	m, err := New(Config{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	e := newEncoder("m", true)
	long := strings.Repeat("line\n", 2000)
	var msgs []*oneloop.Message
	said := 0
	say := func() {
		said++
		id := fmt.Sprint("c", said)
		switch said % 3 {
		case 1:
			msgs = append(msgs, oneloop.NewMessage(oneloop.User, &oneloop.Text{Text: fmt.Sprint("question ", said, long)}, &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte(id)}))
		case 2:
			raw := []byte(`{"function":{"name":"Bash","arguments":{"n":` + fmt.Sprint(said) + `}},"id":"` + id + `"}`)
			msgs = append(msgs, &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Origin: oneloop.Origin{API: API, Model: "m"},
				Blocks: []oneloop.Block{&oneloop.ToolUse{Wire: oneloop.Wire{Raw: raw, API: API}, ID: id, Name: "Bash", Input: []byte("{}")}}})
		default:
			id = fmt.Sprint("c", said-1)
			msgs = append(msgs, oneloop.NewMessage(oneloop.User, &oneloop.ToolResult{ID: id, Content: []oneloop.Block{&oneloop.Text{Text: long}}}))
		}
	}
	var parts []oneloop.Parts
	var sent [][]byte
	ignore := func(oneloop.Event) {}
	for _, n := range append([]int{1, 30, 25, 2, 100, 1, -40, 7, -2, 3, -81}, slices.Repeat([]int{-1}, 27)...) {
		if n < 0 { // it goes back, and on otherwise
			msgs = msgs[: len(msgs)+n : len(msgs)+n]
		}
		for range n {
			say()
		}
		req := &oneloop.Request{Messages: msgs}
		p, fit, err := m.encode(e, req, Info{}, ignore)
		if err != nil {
			t.Fatal(err)
		}
		fresh, want, err := m.encode(newEncoder("m", true), req, Info{}, ignore)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.Bytes(), fresh.Bytes()) || *fit != *want {
			t.Fatalf("after %d the request of %d messages is not what a fresh encoder makes: %+v, %+v", n, len(msgs), fit, want)
		}
		parts, sent = append(parts, p), append(sent, p.Bytes())
	}
	for i := range parts {
		if !bytes.Equal(parts[i].Bytes(), sent[i]) {
			t.Errorf("request %d was changed after it was sent", i)
		}
	}
}
