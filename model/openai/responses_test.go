package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"oneloop"
	"oneloop/model/openai"

	"github.com/google/go-cmp/cmp"
)

// streamOf is a stream of events, one in each line.
func streamOf(events string) *exchange {
	x := &exchange{Status: 200, ContentType: "text/event-stream"}
	for line := range strings.Lines(events) {
		if line = strings.TrimSpace(line); line != "" {
			x.Body += "data: " + line + "\n\n"
		}
	}
	return x
}

func heard(t *testing.T, events string) asked {
	t.Helper()
	x := streamOf(events)
	got, _ := play(t, responsesModel(t), x, strings.NewReader(x.Body))
	return got
}

const (
	textBegun = `{"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","status":"in_progress","content":[],"role":"assistant"}}
{"type":"response.output_text.delta","output_index":0,"item_id":"m1","delta":"Hel"}
`
	textDone = textBegun + `{"type":"response.output_item.done","output_index":0,"item":{"id":"m1","type":"message","status":"completed","content":[{"type":"output_text","text":"Hello"}],"role":"assistant"}}
`
	callDone = `{"type":"response.output_item.added","output_index":1,"item":{"id":"f1","type":"function_call","arguments":"","call_id":"c1","name":"f"}}
{"type":"response.output_item.done","output_index":1,"item":{"id":"f1","type":"function_call","arguments":"{\"a\": 1}","call_id":"c1","name":"f"}}
`
)

func TestAReplyOfResponsesEndsInManyWays(t *testing.T) {
	for _, x := range []struct {
		name, events string
		stop         oneloop.StopReason
		text         string
		calls        int
	}{
		{"done", textDone + `{"type":"response.completed","response":{"id":"r","status":"completed"}}`, oneloop.StopEndTurn, "Hello", 0},
		{"a call", textDone + callDone + `{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}`, oneloop.StopToolUse, "Hello", 1},
		{"the limit", textDone + `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`, oneloop.StopMaxTokens, "Hello", 0},
		{"the limit within a text", textBegun + `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`, oneloop.StopMaxTokens, "Hel", 0},
		{"the limit within a call", textDone + `{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","arguments":"","call_id":"c1","name":"f"}}
{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`, oneloop.StopMaxTokens, "Hello", 0},
		{"a filter", textBegun + `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`, oneloop.StopRefusal, "Hel", 0},
		{"a reason of tomorrow", textDone + `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"tired"}}}`, "tired", "Hello", 0},
		{"no word at the end", textDone + `[DONE]`, oneloop.StopEndTurn, "Hello", 0},
		{"all at the end", `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}]}}`,
			oneloop.StopToolUse, "Hello", 1},
		{"the end of an item at the end", textBegun + `{"type":"response.completed","response":{"status":"completed","output":[{"id":"m1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]}]}}`,
			oneloop.StopEndTurn, "Hello", 0},
		{"said twice", textDone + textDone[strings.Index(textDone, `{"type":"response.output_item.done"`):] + `{"type":"response.completed","response":{"status":"completed","output":[{"id":"m1","type":"message"}]}}`,
			oneloop.StopEndTurn, "Hello", 0},
		{"without numbers and types", `{"type":"response.output_item.added","item":{"id":"m1","role":"assistant","content":[]}}
{"type":"response.output_text.delta","item_id":"m1","delta":"Hello"}
{"type":"response.output_item.done","item":{"id":"m1","role":"assistant","content":[{"type":"output_text","text":"Hello"}]}}
{"type":"response.completed","response":{}}`, oneloop.StopEndTurn, "Hello", 0},
		{"arguments in another event", `{"type":"response.output_item.added","output_index":0,"item":{"id":"f1","type":"function_call","arguments":"","call_id":"c1","name":"f"}}
{"type":"response.function_call_arguments.done","output_index":0,"item_id":"f1","arguments":"{\"a\": 1}"}
{"type":"response.output_item.done","output_index":0,"item":{"id":"f1","type":"function_call","arguments":"","call_id":"c1","name":"f"}}
{"type":"response.completed","response":{}}`, oneloop.StopToolUse, "", 1},
	} {
		got := heard(t, x.events)
		if got.err != nil {
			t.Errorf("%s: %v", x.name, got.err)
			continue
		}
		if got.msg.Stop != x.stop || got.msg.Text() != x.text || len(got.msg.ToolUses()) != x.calls {
			t.Errorf("%s: %s %q, %d calls", x.name, got.msg.Stop, got.msg.Text(), len(got.msg.ToolUses()))
		}
		shown := ""
		for _, e := range got.events {
			if d, ok := e.(oneloop.TextDelta); ok {
				shown += d.Text
			}
		}
		if !strings.HasPrefix(x.text, shown) || shown == "" && x.text != "" {
			t.Errorf("%s: %q is shown of %q", x.name, shown, x.text)
		}
		for _, c := range got.msg.ToolUses() {
			if c.ID != "c1" || c.Broken != "" || !strings.Contains(x.events, strings.ReplaceAll(string(c.Input), `"`, `\"`)) || !strings.Contains(string(c.Raw), `"arguments":"{`) ||
				x.name != "all at the end" && string(c.Input) != `{"a": 1}` {
				t.Errorf("%s: %+v", x.name, c)
			}
		}
	}
}

func TestAReplyOfResponsesFails(t *testing.T) {
	for _, x := range []struct {
		name, events string
		class        error
		says         string
	}{
		{"an error and a failure", textBegun + `{"type":"error","error":{"type":"tokens","code":"rate_limit_exceeded","message":"Please try again in 3s."}}
{"type":"response.failed","response":{"status":"failed","error":{"code":"other","message":"another"}}}`, oneloop.ErrRateLimited, "try again in 3s"},
		{"an error without a wrapper", `{"type":"error","code":"server_error","message":"oh"}`, oneloop.ErrServer, "oh"},
		{"a failure alone", `{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"too much"}}}`, oneloop.ErrContextOverflow, "too much"},
		{"a failure without a word", `{"type":"response.failed","response":{"status":"failed","error":null}}`, oneloop.ErrServer, "failed"},
		{"cancelled", textDone + `{"type":"response.completed","response":{"status":"cancelled"}}`, oneloop.ErrServer, "cancelled"},
		{"no end", textDone + callDone, oneloop.ErrStreamCut, ""},
		{"an item without an end", textDone + `{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c1","name":"f"}}
{"type":"response.completed","response":{"status":"completed"}}`, oneloop.ErrStreamCut, ""},
		{"no end of an item, and no word", textBegun + `[DONE]`, oneloop.ErrStreamCut, ""},
		{"nothing, and no word", `[DONE]`, oneloop.ErrStreamCut, ""},
		{"a gateway", `{"error":{"message":"upstream is away","code":502}}`, oneloop.ErrServer, "upstream"},
		{"no JSON", `{"type":`, oneloop.ErrServer, "no JSON"},
	} {
		got := heard(t, x.events)
		if !errors.Is(got.err, x.class) || !strings.Contains(got.err.Error(), x.says) || got.msg != nil {
			t.Errorf("%s: %v, %+v", x.name, got.err, got.msg)
		}
		if api, ok := errors.AsType[*oneloop.APIError](got.err); x.class == oneloop.ErrRateLimited && (!ok || api.RetryAfter.Seconds() != 3) {
			t.Errorf("%s: %+v", x.name, api)
		}
	}
}

func TestARefusalOfResponsesIsOne(t *testing.T) {
	got := heard(t, `{"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","content":[],"role":"assistant"}}
{"type":"response.refusal.delta","output_index":0,"delta":"I will"}
{"type":"response.refusal.delta","output_index":0,"delta":" not"}
{"type":"response.output_item.done","output_index":0,"item":{"id":"m1","type":"message","content":[{"type":"refusal","refusal":"I will not"}],"role":"assistant"}}
{"type":"response.completed","response":{"status":"completed"}}`)
	if got.err != nil || got.msg.Stop != oneloop.StopRefusal || got.msg.Text() != "I will not" || !strings.Contains(string(got.msg.Meta.StopDetails), `"explanation":"I will not"`) {
		t.Errorf("%v, %+v", got.err, got.msg)
	}
}

func TestPartsOfASummaryAreParagraphs(t *testing.T) {
	got := heard(t, `{"type":"response.output_item.added","output_index":0,"item":{"id":"r1","type":"reasoning","summary":[]}}
{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0}
{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"one"}
{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}
{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"two"}
{"type":"response.reasoning_text.delta","output_index":0,"delta":"the same at length"}
{"type":"response.output_item.done","output_index":0,"item":{"id":"r1","type":"reasoning","summary":[{"type":"summary_text","text":"one"},{"type":"summary_text","text":"two"}],"encrypted_content":"x"}}
`+strings.ReplaceAll(textDone, `"output_index":0`, `"output_index":1`)+`{"type":"response.completed","response":{}}`)
	if got.err != nil {
		t.Fatal(got.err)
	}
	shown := ""
	for _, e := range got.events {
		if d, ok := e.(oneloop.ThinkingDelta); ok {
			shown += d.Text
		}
	}
	if th, ok := got.msg.Blocks[0].(*oneloop.Thinking); !ok || th.Text != "one\n\ntwo" || shown != th.Text {
		t.Errorf("%q is shown of %+v", shown, got.msg.Blocks[0])
	}
}

// asksFor is what the Responses API is sent.
func asksFor(t *testing.T, c openai.Config, req *oneloop.Request) map[string]json.RawMessage {
	t.Helper()
	var body []byte
	c.Key = key
	c.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		var err error
		body, err = io.ReadAll(r.Body)
		return nil, errors.Join(err, errors.New("not today"))
	})}
	m, err := openai.NewResponses(c)
	if err != nil {
		t.Fatal(err)
	}
	if req.Messages == nil {
		req.Messages = []*oneloop.Message{oneloop.UserText("hi")}
	}
	m.Generate(t.Context(), req, nil)
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return top
}

func TestARequestOfResponsesIsStatelessAndSaysWhatItsModelTakes(t *testing.T) {
	const local = "http://h:1/v1"
	for _, x := range []struct {
		base, model, effort, reasoning, include string
	}{
		{"", "gpt-5", "", `{"summary":"auto"}`, `["reasoning.encrypted_content"]`},
		{"", "gpt-6-sol", "max", `{"effort":"max","summary":"auto"}`, `["reasoning.encrypted_content"]`},
		{"", "gpt-4o", "high", "", ""},
		{local, "openai/gpt-oss-20b", "low", `{"effort":"low","summary":"auto"}`, `["reasoning.encrypted_content"]`},
		{local, "deepseek-v4", "low", `{"effort":"low"}`, `["reasoning.encrypted_content"]`},
		{local, "deepseek-v4", "", "", `["reasoning.encrypted_content"]`},
	} {
		top := asksFor(t, openai.Config{BaseURL: x.base, Model: x.model}, &oneloop.Request{Params: oneloop.Params{Effort: x.effort, MaxTokens: 77}})
		if string(top["reasoning"]) != x.reasoning || string(top["include"]) != x.include {
			t.Errorf("%+v: reasoning %s, include %s", x, top["reasoning"], top["include"])
		}
		if string(top["store"]) != "false" || string(top["stream"]) != "true" || string(top["max_output_tokens"]) != "77" || top["tools"] != nil || top["text"] != nil || top["parallel_tool_calls"] != nil {
			t.Errorf("%+v: %s", x, top)
		}
	}
	top := asksFor(t, openai.Config{Model: "gpt-5"}, &oneloop.Request{
		System: []oneloop.Block{&oneloop.Text{Text: "be"}, &oneloop.Text{Text: "brief"}},
		Tools:  []oneloop.ToolDef{{Name: "f", Description: "d", Schema: []byte(`{"type":"object"}`)}, {Raw: []byte(`{"type":"custom","name":"sql"}`)}},
	})
	want := `[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":false},{"type":"custom","name":"sql"}]`
	if string(top["tools"]) != want || string(top["instructions"]) != `"be\n\nbrief"` || string(top["parallel_tool_calls"]) != "true" {
		t.Errorf("%s", top)
	}
}

func rawItem(raw string) oneloop.Wire {
	return oneloop.Wire{Raw: json.RawMessage(raw), API: openai.ResponsesAPI}
}

// thoughtful is a reply with reasoning before everything.
func thoughtful() *oneloop.Message {
	return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Origin: oneloop.Origin{API: openai.ResponsesAPI, Model: "gpt-5"}, Blocks: []oneloop.Block{
		&oneloop.Thinking{Wire: rawItem(`{"id":"r1","type":"reasoning","summary":[],"encrypted_content":"x"}`)},
		&oneloop.Text{Wire: rawItem(`{"id":"m1","type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"s\u00e9"}]}`), Text: "sé"},
		&oneloop.Opaque{Wire: rawItem(`{"id":"w1","type":"web_search_call","z":1.0}`), Type: "web_search_call"},
		&oneloop.ToolUse{Wire: rawItem(`{"id":"f1","type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\": 1}"}`), ID: "c1", Name: "f", Input: []byte(`{"a": 1}`)},
		&oneloop.ToolUse{Wire: rawItem(`{"id":"q1","type":"custom_tool_call","call_id":"c2","name":"sql","input":"SELECT"}`), ID: "c2", Name: "sql", Input: []byte(`{"input":"SELECT"}`)},
	}}
}

func TestItemsOfResponsesGoBackAsTheirModelTakesThem(t *testing.T) {
	const outputs = `{"type":"function_call_output","call_id":"c1","output":"ok"} {"type":"custom_tool_call_output","call_id":"c2","output":"ok"}`
	const bare = `{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"s\u00e9"}]} {"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\": 1}"} {"type":"custom_tool_call","call_id":"c2","name":"sql","input":"SELECT"} ` + outputs
	const foreign = `{"role":"assistant","content":"sé"} {"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\": 1}"} {"type":"function_call","call_id":"c2","name":"sql","arguments":"{\"input\":\"SELECT\"}"} {"type":"function_call_output","call_id":"c1","output":"ok"} {"type":"function_call_output","call_id":"c2","output":"ok"}`
	all := ""
	for _, b := range thoughtful().Blocks {
		all += string(b.RawJSON()) + " "
	}
	for _, x := range []struct {
		name string
		set  func(*oneloop.Message)
		want string
	}{
		{"the same model", func(*oneloop.Message) {}, all + outputs},
		{"another model", func(m *oneloop.Message) { m.Origin.Model = "gpt-6" }, foreign},
		{"another API", func(m *oneloop.Message) { m.Origin.API = "openai-chat" }, foreign},
		{"reasoning that is not sealed", func(m *oneloop.Message) {
			m.Blocks[0] = &oneloop.Thinking{Wire: rawItem(`{"id":"r1","type":"reasoning","summary":[],"content":[]}`)}
		}, bare},
		{"what it led to was changed", func(m *oneloop.Message) { m.Blocks[1] = &oneloop.Text{Text: "sé"} },
			strings.Replace(bare, bare[:strings.Index(bare, "} {")+1], `{"role":"assistant","content":"sé"}`, 1)},
		{"what can be read of reasoning", func(m *oneloop.Message) {
			m.Blocks[0] = &oneloop.Thinking{Wire: rawItem(`{"id":"r1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`)}
		}, strings.Replace(all, `"summary":[],"encrypted_content":"x"`, `"summary":[],"content":[{"type":"reasoning_text","text":"hm"}]`, 1) + outputs},
	} {
		m := thoughtful()
		x.set(m)
		top := asksFor(t, openai.Config{Model: "gpt-5"}, &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi"), m, answers(m)}})
		var items []json.RawMessage
		json.Unmarshal(top["input"], &items)
		got := string(bytes.Join(rawBytes(items[1:]), []byte(" ")))
		if d := cmp.Diff(x.want, got); d != "" {
			t.Errorf("%s: %s", x.name, d)
		}
	}
}

func rawBytes(items []json.RawMessage) (out [][]byte) {
	for _, item := range items {
		out = append(out, item)
	}
	return out
}

func TestResultsOfResponsesHoldWhatTheyCan(t *testing.T) {
	image := &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte("png")}
	for _, x := range []struct {
		r    oneloop.ToolResult
		want string
	}{
		{oneloop.ToolResult{Content: []oneloop.Block{&oneloop.Text{Text: "a"}, &oneloop.Text{Text: "b"}}}, `"a\nb"`},
		{oneloop.ToolResult{}, `"(no output)"`},
		{oneloop.ToolResult{IsError: true}, `"Error: (no output)"`},
		{oneloop.ToolResult{IsError: true, Content: []oneloop.Block{&oneloop.Text{Text: "Error: no"}}}, `"Error: no"`},
		{oneloop.ToolResult{IsError: true, Content: []oneloop.Block{&oneloop.Text{Text: "no"}, image}},
			`[{"type":"input_text","text":"Error: no"},{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,cG5n"}]`},
		{oneloop.ToolResult{Content: []oneloop.Block{image}}, `[{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,cG5n"}]`},
		{oneloop.ToolResult{Content: []oneloop.Block{&oneloop.Media{Type: "document", MIME: "application/pdf", Data: []byte("pdf")}}},
			`[{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,cGRm"}]`},
		{oneloop.ToolResult{Content: []oneloop.Block{&oneloop.Media{Type: "document", MIME: "text/rtf"}, &oneloop.Opaque{Type: "search_result"}}},
			`"[a document (text/rtf) stood here, which this model cannot be sent]\n[a block of type \"search_result\" stood here, which this model cannot be sent]"`},
	} {
		x.r.ID = "c1"
		m := thoughtful()
		top := asksFor(t, openai.Config{Model: "gpt-5"}, &oneloop.Request{Messages: []*oneloop.Message{m, oneloop.NewMessage(oneloop.User, &x.r)}})
		var items []struct{ Output json.RawMessage }
		json.Unmarshal(top["input"], &items)
		if got := string(items[len(items)-1].Output); got != x.want {
			t.Errorf("%+v: %s, want %s", x.r, got, x.want)
		}
	}
}

func TestSummariesThatAreRefusedAreNotAskedForAgain(t *testing.T) {
	var asked []bool
	notices := 0
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		summary := bytes.Contains(body, []byte(`"summary"`))
		asked = append(asked, summary)
		if summary {
			text := `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`
			return &http.Response{StatusCode: 400, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text))}, err
		}
		x := streamOf(textDone + `{"type":"response.completed","response":{}}`)
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {x.ContentType}}, Body: io.NopCloser(strings.NewReader(x.Body))}, err
	})}
	m := responsesModel(t)(client)
	for range 2 {
		msg, err := m.Generate(t.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}, func(e oneloop.Event) {
			if _, ok := e.(oneloop.Notice); ok {
				notices++
			}
		})
		if err != nil || msg.Text() != "Hello" {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]bool{true, false, false}, asked); d != "" || notices != 1 {
		t.Errorf("%d notices; %s", notices, d)
	}
}

func TestABaseURLOfResponsesIsThatOfOpenAIsClients(t *testing.T) {
	for base, want := range map[string]string{
		"":                                "https://api.openai.com/v1/responses",
		"http://h:1":                      "http://h:1/v1/responses",
		"http://h:1/v1/":                  "http://h:1/v1/responses",
		"http://h:1/v1/responses":         "http://h:1/v1/responses",
		"http://h:1/v1/chat/completions":  "http://h:1/v1/responses",
		"http://h:1/responses/":           "http://h:1/responses",
		"http://h:1/gw/openai?tenant=a":   "http://h:1/gw/openai/responses?tenant=a",
		"https://api.deepseek.com":        "https://api.deepseek.com/v1/responses",
		"http://h:1/openai/v1?api=latest": "http://h:1/openai/v1/responses?api=latest",
	} {
		asked := ""
		m, err := openai.NewResponses(openai.Config{BaseURL: base, Key: key, Model: "m", Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			return nil, errors.New("not today")
		})}})
		if err != nil {
			t.Fatal(err)
		}
		m.Generate(t.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}, nil)
		if asked != want {
			t.Errorf("%q asks %s, want %s", base, asked, want)
		}
	}
	for _, x := range []struct {
		c    openai.Config
		want string
	}{{openai.Config{Key: key}, "no model"}, {openai.Config{Model: "m"}, "no credentials"}, {openai.Config{Model: "m", BaseURL: "ftp://h"}, "should begin with http"}} {
		if _, err := openai.NewResponses(x.c); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v", x.c, err)
		}
	}
}

// done is an item that came whole.
func done(item string, index int) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, index, item) + "\n"
}

const (
	sealed    = `{"id":"r1","type":"reasoning","summary":[],"encrypted_content":"x"}`
	blank     = `{"id":"m1","type":"message","role":"assistant","content":[{"type":"output_text","text":" "}]}`
	completed = `{"type":"response.completed","response":{"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2}}}}`
)

func TestItemsOfResponsesAreInTheirOrderAndBlankOnesLeaveNoReasoningAlone(t *testing.T) {
	call := `{"id":"f1","type":"function_call","call_id":"c1","name":"f","arguments":"{}"}`
	got := heard(t, done(call, 2)+done(`{"id":"w1","type":"web_search_call"}`, 3)+done(sealed, 0)+done(blank, 1)+completed)
	if got.err != nil {
		t.Fatal(got.err)
	}
	var raws []string
	for _, b := range got.msg.Blocks {
		raws = append(raws, string(b.RawJSON()))
	}
	if d := cmp.Diff([]string{sealed, blank, call, `{"id":"w1","type":"web_search_call"}`}, raws); d != "" {
		t.Error(d)
	}
	want := oneloop.Usage{Reported: true, Input: 5, CacheRead: 4, Output: 3, Thinking: 2, Searches: 1}
	if got.msg.Usage != want {
		t.Errorf("%+v", got.msg.Usage)
	}
	got = heard(t, done(blank, 0)+done(call, 1)+completed)
	if got.err != nil || len(got.msg.Blocks) != 1 || len(got.msg.Meta.Repairs) != 1 || got.msg.Meta.Repairs[0].What != "blank" {
		t.Errorf("%v, %+v", got.err, got.msg)
	}
}

func TestCallsOfResponsesThatCannotGoBackAreRepaired(t *testing.T) {
	got := heard(t, done(`{"id":"f1","type":"function_call","call_id":"","name":"a b","arguments":"[1"}`, 0)+
		done(`{"id":"f2","type":"function_call","call_id":"c","name":"f","arguments":{"a":1}}`, 1)+
		done(`{"id":"f3","type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":\"\\ud800\"}"}`, 2)+
		done(`{"id":"f4","type":"custom_tool_call","call_id":"d","name":"f","input":"\ud800"}`, 3)+completed)
	if got.err != nil || len(got.msg.Blocks) != 4 {
		t.Fatalf("%v, %+v", got.err, got.msg)
	}
	calls := got.msg.ToolUses()
	for i, want := range []struct {
		name, input string
		broken      bool
	}{{"a_b", `{"INVALID_JSON":"[1"}`, true}, {"f", `{"a":1}`, false}, {"f", `{"a":"\ufffd"}`, true}, {"f", "{\"input\":\"\ufffd\"}", true}} {
		c := calls[i]
		var raw struct {
			ID, Name, Arguments string
			CallID              string `json:"call_id"`
		}
		if err := json.Unmarshal(c.Raw, &raw); err != nil || raw.CallID != c.ID || raw.Name != c.Name || raw.ID != fmt.Sprint("f", i+1) || i < 3 && raw.Arguments != string(c.Input) {
			t.Errorf("call %d is %+v with %s", i, c, c.Raw)
		}
		if c.Name != want.name || string(c.Input) != want.input || (c.Broken != "") != want.broken || c.ID == "" || i == 2 && c.ID == "c" {
			t.Errorf("call %d is %+v with %s", i, c, c.Input)
		}
	}
}

func TestAConversationThatWasTakenBackIsForgottenByResponses(t *testing.T) {
	var bodies [][]byte
	m := responsesModel(t)(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		bodies = append(bodies, body)
		x := streamOf(done(`{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"}`, 0) + completed)
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {x.ContentType}}, Body: io.NopCloser(strings.NewReader(x.Body))}, err
	})})
	ask := func(msgs ...*oneloop.Message) *oneloop.Message {
		msg, err := m.Generate(t.Context(), &oneloop.Request{Messages: msgs}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return msg
	}
	first, second := oneloop.UserText("one"), oneloop.UserText("two")
	old := thoughtful()
	if msg := ask(first, second, old, answers(old)); msg.ToolUses()[0].ID == "c2" {
		t.Error("an id that is taken is given again")
	}
	if msg := ask(first, second); msg.ToolUses()[0].ID != "c2" {
		t.Error("an id is taken by what was taken back")
	}
	foreign := &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Blocks: []oneloop.Block{&oneloop.ToolUse{ID: "c2", Name: "f", Input: []byte("{}")}}}
	ask(first, second, foreign, answers(foreign))
	if last := bodies[len(bodies)-1]; !bytes.HasSuffix(last, []byte(`"input":[{"role":"user","content":"one"},{"role":"user","content":"two"},{"type":"function_call","call_id":"c2","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c2","output":"ok"}]}`)) {
		t.Errorf("%s", last)
	}
}

func TestReasoningThatIsRefusedIsLeftOutAndLaterReasoningIsNot(t *testing.T) {
	var bodies []string
	notices := 0
	m := responsesModel(t)(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if strings.Contains(string(body), `"id":"r1"`) {
			text := `{"error":{"message":"The encrypted content for item r1 could not be verified.","type":"invalid_request_error","code":"invalid_encrypted_content"}}`
			return &http.Response{StatusCode: 400, Body: io.NopCloser(strings.NewReader(text))}, err
		}
		x := streamOf(done(strings.ReplaceAll(sealed, "r1", "r2"), 0) + done(`{"id":"f2","type":"function_call","call_id":"c9","name":"f","arguments":"{}"}`, 1) + completed)
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {x.ContentType}}, Body: io.NopCloser(strings.NewReader(x.Body))}, err
	})})
	old := thoughtful()
	msgs := []*oneloop.Message{oneloop.UserText("hi"), old, answers(old)}
	for range 2 {
		msg, err := m.Generate(t.Context(), &oneloop.Request{Messages: msgs}, func(e oneloop.Event) {
			if _, ok := e.(oneloop.Notice); ok {
				notices++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		msgs = append(msgs, msg, answers(msg))
	}
	if len(bodies) != 3 || notices != 1 {
		t.Fatalf("%d requests, %d notices", len(bodies), notices)
	}
	last := bodies[2]
	if strings.Contains(last, `"id":"m1"`) || strings.Contains(last, `"id":"f1"`) || !strings.Contains(last, `"id":"r2"`) || !strings.Contains(last, `"id":"f2"`) || !strings.Contains(last, `"text":"s\u00e9"`) {
		t.Errorf("%s", last)
	}
	if !strings.HasPrefix(last, strings.TrimSuffix(bodies[1], "]}")) {
		t.Errorf("what was sent is not the beginning:\n%s\n%s", bodies[1], last)
	}
}
