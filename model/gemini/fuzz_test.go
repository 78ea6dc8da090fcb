package gemini

import (
	"bytes"
	"context"
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
	"pgregory.net/rapid"
)

// FuzzStream holds that no stream makes the decoder panic, that its result
// does not depend on how the bytes are split, and that what it makes of a
// stream can be sent back.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		`{"candidates":[{"content":{"parts":[{"text":"a\ud83d"}]}}],"usageMetadata":{"promptTokenCount":1}}|{"candidates":[{"content":{"parts":[{"text":"\ude00"},{"text":"","thoughtSignature":"s"}]},"finishReason":"STOP"}]}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"x y","args":[1],"id":"a"}},{"functionCall":{"name":"f","willContinue":true}}]}}]}|{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0]['b']","stringValue":"\\"},{"jsonPath":"$[","numberValue":1}]}}]},"finishReason":"STOP"}]}`,
		`{"promptFeedback":{"blockReason":"SAFETY"}}|[]|{"error":{"status":"UNAVAILABLE"}}`,
	} {
		f.Add([]byte("data: " + strings.ReplaceAll(s, "|", "\n\ndata: ") + "\n\n"))
		f.Add([]byte("[" + strings.ReplaceAll(s, "|", ",") + "]"))
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
		checkBack(t, whole.msg)
	})
}

func checkBack(t testing.TB, msg *oneloop.Message) {
	m, err := New(Config{Key: "k", Model: "gemini-3-pro"})
	if err != nil {
		t.Fatal(err)
	}
	body, err := m.encode(newEncoder(m.name, m.caller.URL.Host), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi"), msg, oneloop.UserText("go on")}}, func(oneloop.Event) {})
	if err != nil || !json.Valid(body.Bytes()) {
		t.Fatalf("%v in %s", err, body.Bytes())
	}
	for _, c := range msg.ToolUses() {
		if c.ID == "" || !wire.GoodName(c.Name) || !rawjson.Parse(c.Input).IsObject() {
			t.Errorf("a call that cannot be sent back: %+v", c)
		}
	}
}

type outcome struct {
	msg    *oneloop.Message
	err    string
	events []oneloop.Event
}

// failer is what a test and one of rapid's have in common.
type failer interface {
	Context() context.Context
	Fatal(...any)
}

func decodeFor(t failer, stream []byte, split bool) (out outcome) {
	m, err := New(Config{Key: "k", Model: "gemini-3-pro"})
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

// TestAnyReplyGoesBackAsItCame makes replies of parts of every kind, cuts them
// into events at random and compares what goes back.
func TestAnyReplyGoesBackAsItCame(t *testing.T) {
	part := rapid.SampledFrom([]string{`{"text":"words "}`, `{"text":"你\n\"好"}`, `{"text":"hm","thought":true}`, `{"text":"x","thoughtSignature":"c2ln"}`,
		`{"text":"","thoughtSignature":"c2ln"}`, `{"functionCall":{"name":"Bash","args":{"b":1.10,"a":[{"z":null}]},"id":"ID"},"thoughtSignature":"c2ln"}`,
		`{"functionCall":{"name":"Read","args":{}}}`, `{"inlineData":{"mimeType":"image/png","data":"cG5n"}}`, `{"executableCode":{"code":"1 < 2"}}`})
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(part, 1, 12).Draw(t, "parts")
		for i := range parts {
			parts[i] = strings.Replace(parts[i], `"ID"`, fmt.Sprintf(`"id-%d"`, i), 1)
		}
		var stream strings.Builder
		for i := 0; i < len(parts); {
			n := min(len(parts), i+rapid.IntRange(1, 3).Draw(t, "n"))
			end := ""
			if n == len(parts) {
				end = `,"finishReason":"STOP"`
			}
			fmt.Fprintf(&stream, `data: {"candidates":[{"content":{"parts":[%s]}%s}]}`+"\n\n", strings.Join(parts[i:n], ","), end)
			i = n
		}
		out := decodeFor(t, []byte(stream.String()), false)
		if out.msg == nil {
			t.Fatal(out.err)
		}
		var back []string
		for _, b := range out.msg.Blocks {
			back = append(back, string(b.RawJSON()))
		}
		if got, want := strings.Join(back, "\n"), strings.Join(touching(parts), "\n"); got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
		if (out.msg.Stop == oneloop.StopToolUse) != (len(out.msg.ToolUses()) > 0) {
			t.Fatalf("stop %q with %d calls", out.msg.Stop, len(out.msg.ToolUses()))
		}
	})
}

// touching makes one of texts of the same kind that touch.
func touching(parts []string) (out []string) {
	kind := ""
	for _, p := range parts {
		is := ""
		if strings.HasPrefix(p, `{"text":"`) && !strings.Contains(p, "Signature") {
			is = `"}`
			if strings.HasSuffix(p, `,"thought":true}`) {
				is = `","thought":true}`
			}
		}
		if n := len(out) - 1; is != "" && is == kind {
			out[n] = strings.TrimSuffix(out[n], is) + strings.TrimPrefix(p, `{"text":"`)
		} else {
			out = append(out, p)
		}
		kind = is
	}
	return out
}

// TestALongConversationIsSentWhole has one that grows and goes back: what is
// sent is what a fresh encoder makes of it, and what was sent before never
// changes.
func TestALongConversationIsSentWhole(t *testing.T) {
	m, err := New(Config{Key: "k", Model: "gemini-3-pro"})
	if err != nil {
		t.Fatal(err)
	}
	e := newEncoder(m.name, m.caller.URL.Host)
	long := strings.Repeat("line\n", 2000)
	var msgs []*oneloop.Message
	said := 0
	say := func() {
		said++
		id := fmt.Sprint("c", said)
		switch said % 3 {
		case 1:
			msgs = append(msgs, oneloop.UserText(fmt.Sprint("question ", said, long)))
		case 2:
			raw := []byte(`{"functionCall":{"name":"Bash","args":{"n":` + fmt.Sprint(said) + `},"id":"` + id + `"}}`)
			msgs = append(msgs, &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Origin: oneloop.Origin{API: API, Model: m.name},
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
		p, err := m.encode(e, req, ignore)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := m.encode(newEncoder(m.name, m.caller.URL.Host), req, ignore)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p.Bytes(), fresh.Bytes()) {
			t.Fatalf("after %d the request of %d messages is not what a fresh encoder makes", n, len(msgs))
		}
		parts, sent = append(parts, p), append(sent, p.Bytes())
	}
	for i := range parts {
		if !bytes.Equal(parts[i].Bytes(), sent[i]) {
			t.Errorf("request %d was changed after it was sent", i)
		}
	}
}

func TestASchemaBecomesThePartOfItThatIsKnown(t *testing.T) {
	in := `{"$schema":"s","type":"object","additionalProperties":false,"required":["a"],"properties":{
		"a":{"type":["string","null"],"format":"uri","minLength":1},
		"b":{"$ref":"#/$defs/node"},
		"c":{"oneOf":[{"type":"string"},{"type":"integer","format":"int64"},{"type":"null"}]},
		"d":{"const":"x"},"e":{"type":"integer","enum":[1,2]},"f":{"type":"array"},"g":true,
		"h":{"allOf":[{"properties":{"x":{"type":"string"}},"required":["x"]},{"properties":{"y":{"type":"number"}},"required":["y"]}],"type":"object"},
		"i":{"type":["string","integer"]}},
		"$defs":{"node":{"type":"object","properties":{"next":{"$ref":"#/$defs/node"}}}}}`
	got, err := subset([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"a":{"minLength":1,"nullable":true,"type":"string"}`,
		`"c":{"anyOf":[{"type":"string"},{"format":"int64","type":"integer"}],"nullable":true}`,
		`"d":{"enum":["x"],"type":"string"}`, `"e":{"description":"One of: [1 2]","type":"integer"}`,
		`"f":{"items":{"type":"string"},"type":"array"}`, `"g":{"type":"string"}`,
		`"h":{"properties":{"x":{"type":"string"},"y":{"type":"number"}},"required":["x","y"],"type":"object"}`,
		`"i":{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `"required":["a"]`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("without %s:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "$") || strings.Contains(string(got), "additional") {
		t.Errorf("%s", got)
	}
	many := `"p":{"$ref":"#"},`
	for i := range 8 {
		many += fmt.Sprintf(`"q%d":{"$ref":"#"},`, i)
	}
	if got, err := subset([]byte(`{"type":"object","properties":{` + strings.TrimSuffix(many, ",") + `}}`)); err != nil || len(got) > 1<<20 {
		t.Errorf("a schema that names itself nine times has %d bytes, %v", len(got), err)
	}
	if got, err := subset([]byte(`{"type":"object","properties":{}}`)); err != nil || got != nil {
		t.Errorf("no fields: %s, %v", got, err)
	}
}
