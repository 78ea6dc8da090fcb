package openai

import (
	"bytes"
	"context"
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
	"pgregory.net/rapid"
)

// FuzzResponses holds that no stream makes the decoder panic, that its result
// does not depend on how the bytes are split, and that what it makes of a stream
// can be sent back.
func FuzzResponses(f *testing.F) {
	const end = `|{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":3,"output_tokens":1}}}`
	for _, s := range []string{
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"m","type":"message"}}|{"type":"response.output_text.delta","output_index":0,"delta":"a\ud83d"}|{"type":"response.output_text.delta","item_id":"m","delta":"\ude00"}|{"type":"response.output_item.done","output_index":0,"item":{"id":"m","type":"message","content":[{"type":"output_text","text":"a\ud83d"}]}}` + end,
		`{"type":"response.output_item.done","item":{"type":"reasoning","summary":[{"text":"x"}],"encrypted_content":"e"}}|{"type":"response.output_item.done","item":{"type":"message","content":[]}}` + end,
		`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"a","name":"x y","arguments":"{\"a\":"}}|{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":{"a":1}}}|{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call"}}` + end,
		`{"type":"response.output_item.done","item":{"type":"custom_tool_call","call_id":"a","name":"x","input":"\ud800"}}|{"type":"response.output_item.done","item":{"role":"assistant","content":"plain"}}|{"type":"response.output_item.done","item":{"type":"web_search_call","id":"w"}}|[DONE]`,
		`{"type":"response.output_item.added","item":{"type":"message"}}|{"type":"response.refusal.delta","delta":"no"}|{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"},"status":"incomplete","output":[{"type":"message","content":[{"type":"refusal","refusal":"no"}]},{"id":"h","type":"hologram"}]}}`,
		`{"type":"error","code":"rate_limit_exceeded","message":"try again in 1m2s"}`,
	} {
		f.Add([]byte("data: " + strings.ReplaceAll(s, "|", "\n\ndata: ") + "\n\n"))
	}
	f.Fuzz(func(t *testing.T, stream []byte) { checkResponses(t, stream) })
}

func checkResponses(t rapid.TB, stream []byte) {
	whole, parts := decodeResponses(t, stream, false), decodeResponses(t, stream, true)
	if !reflect.DeepEqual(whole, parts) {
		t.Fatal(cmp.Diff(whole, parts))
	}
	if whole.msg == nil {
		return
	}
	e := newResponsesEncoder(responsesTarget{model: "gpt-5"})
	msgs := []*oneloop.Message{oneloop.UserText("hi"), whole.msg, oneloop.UserText("go on")}
	body, err := e.body(responsesFor(t), &oneloop.Request{Messages: msgs}, func(oneloop.Event) {})
	if err != nil || !json.Valid(body.Bytes()) {
		t.Fatalf("%v in %s", err, body.Bytes())
	}
	for _, b := range whole.msg.Blocks {
		if c, ok := b.(*oneloop.ToolUse); ok {
			raw := rawjson.Parse(c.Raw)
			if !goodResponsesID(c.ID) || !wire.GoodName(c.Name) || !rawjson.Parse(c.Input).IsObject() || raw.Field("call_id").Text() != c.ID || raw.Field("name").Text() != c.Name {
				t.Errorf("a call that cannot be sent back: %+v", c)
			}
			if raw.Field("type").Text() == itemCall && raw.Field("arguments").Text() != string(c.Input) {
				t.Errorf("its item says something else: %s, %s", c.Input, c.Raw)
			}
		}
		if _, ok := b.(*oneloop.Text); !ok && b.RawJSON() == nil {
			t.Errorf("a block without its item: %+v", b)
		}
	}
	if (whole.msg.Stop == oneloop.StopToolUse) != (len(whole.msg.ToolUses()) > 0 && whole.msg.Stop != oneloop.StopMaxTokens && whole.msg.Stop != oneloop.StopRefusal && known(whole.msg.Stop)) {
		t.Errorf("it stops with %s for %d calls", whole.msg.Stop, len(whole.msg.ToolUses()))
	}
}

func known(s oneloop.StopReason) bool { return s == oneloop.StopToolUse || s == oneloop.StopEndTurn }

func responsesFor(t rapid.TB) *Responses {
	m, err := NewResponses(Config{Key: "k", Model: "gpt-5"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func decodeResponses(t rapid.TB, stream []byte, split bool) (out outcome) {
	m := responsesFor(t)
	var body io.Reader = bytes.NewReader(stream)
	if split {
		body = iotest.OneByteReader(body)
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}
	n := 0
	emit := func(e oneloop.Event) { out.events = append(out.events, e) }
	msg, err := m.caller.Take(context.Background(), resp, emit, func(a *wire.Answer) wire.Reply {
		r := m.reply(a, nil, nil)
		r.calls.NewID = func() string { n++; return fmt.Sprint("call_", n) }
		return r
	})
	if out.msg = msg; err != nil {
		out.err = err.Error()
	}
	return out
}

// TestWhateverItemsComeGoBackAsTheyCame draws replies of many items: those that
// nothing is wrong with go back byte for byte and in order, and earlier requests
// are the beginning of later ones.
func TestWhateverItemsComeGoBackAsTheyCame(t *testing.T) {
	text := rapid.StringMatching(`[a-zé ]{0,5}[a-z"\\é😀]{1,8}`)
	rapid.Check(t, func(t *rapid.T) {
		e, m := newResponsesEncoder(responsesTarget{model: "gpt-5"}), responsesFor(t)
		msgs := []*oneloop.Message{oneloop.UserText("hi")}
		want, before := []byte(`{"role":"user","content":"hi"}`), []byte(nil)
		for turn := range rapid.IntRange(1, 4).Draw(t, "turns") {
			var stream bytes.Buffer
			items := drawItems(t, turn, text)
			for i, item := range items {
				fmt.Fprintf(&stream, "data: {\"type\":\"response.output_item.done\",\"output_index\":%d,\"item\":%s}\n\n", i, item)
				want = append(append(want, ','), item...)
			}
			stream.WriteString("data: {\"type\":\"response.completed\",\"response\":{}}\n\n")
			got := decodeResponses(t, stream.Bytes(), false)
			if got.err != "" || len(got.msg.Meta.Repairs) > 0 {
				t.Fatalf("%s, %+v", got.err, got.msg)
			}
			results := oneloop.NewMessage(oneloop.User)
			for _, c := range got.msg.ToolUses() {
				results.Blocks = append(results.Blocks, &oneloop.ToolResult{ID: c.ID, Content: []oneloop.Block{&oneloop.Text{Text: "ok"}}})
				want = append(want, `,{"type":"function_call_output","call_id":"`+c.ID+`","output":"ok"}`...)
			}
			results.Blocks = append(results.Blocks, &oneloop.Text{Text: "go"})
			want = append(want, `,{"role":"user","content":"go"}`...)
			msgs = append(msgs, got.msg, results)
			body, err := e.body(m, &oneloop.Request{Messages: msgs}, func(oneloop.Event) {})
			if err != nil {
				t.Fatal(err)
			}
			sent := bytes.TrimSuffix(body.Bytes(), []byte("]}"))
			if !bytes.HasPrefix(sent, before) || !bytes.HasSuffix(sent, append([]byte(`"input":[`), want...)) {
				t.Fatalf("%s\nwant %s", sent, want)
			}
			before = sent
		}
	})
}

func drawItems(t *rapid.T, turn int, text *rapid.Generator[string]) []string {
	var items []string
	quoted := func(name string) string { return string(rawjson.AppendString(nil, text.Draw(t, name))) }
	for i := range rapid.IntRange(1, 5).Draw(t, "items") {
		if rapid.Bool().Draw(t, "thinks") {
			items = append(items, fmt.Sprintf(`{"id":"r%d_%d","summary":[{"type":"summary_text","text":%s}],"encrypted_content":"e","type":"reasoning", "z":1.0}`, turn, i, quoted("thought")))
		}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			items = append(items, fmt.Sprintf(`{"id":"m%d_%d","type":"message","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[{}]}]}`, turn, i, quoted("text")))
		case 1:
			items = append(items, fmt.Sprintf(`{"type":"web_search_call","id":"w%d_%d","a":{"q":%s}}`, turn, i, quoted("query")))
		default:
			args := rawjson.AppendString(nil, fmt.Sprintf(`{"a" : %s}`, quoted("argument")))
			items = append(items, fmt.Sprintf(`{"type":"function_call","id":"f%d_%d","call_id":"c%d_%d","name":"f","arguments":%s}`, turn, i, turn, i, args))
		}
	}
	return items
}
