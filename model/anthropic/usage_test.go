package anthropic_test

import (
	"slices"
	"strings"
	"testing"

	"oneloop"
)

func TestOddUsageIsUnknownAndNeverAPanic(t *testing.T) {
	huge := `{"input_tokens":5,"output_tokens":99999999999999999999}`
	for _, c := range []struct {
		name, start, end string
		want             oneloop.Usage
	}{
		{"as it should be", `{"input_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":9,"cache_creation":{"ephemeral_1h_input_tokens":4},"output_tokens":1}`,
			`{"output_tokens":20,"output_tokens_details":{"thinking_tokens":3},"input_tokens":null}`,
			oneloop.Usage{Reported: true, Input: 5, CacheRead: 7, CacheWrite: 9, CacheWrite1h: 4, Output: 20, Thinking: 3}},
		{"all at the end", `null`, `{"input_tokens":5.0,"output_tokens":2e1}`, oneloop.Usage{Reported: true, Input: 5, Output: 20}},
		{"absent", ``, ``, oneloop.Usage{}},
		{"null", `null`, `null`, oneloop.Usage{}},
		{"empty", `{}`, `{}`, oneloop.Usage{}},
		{"only output", ``, `{"output_tokens":20}`, oneloop.Usage{}},
		{"only at the start", `{"input_tokens":5,"output_tokens":1}`, ``, oneloop.Usage{}},
		{"a prompt of nothing", `{"input_tokens":0,"output_tokens":0}`, `{"output_tokens":20}`, oneloop.Usage{}},
		{"negative", `{"input_tokens":-5,"output_tokens":1}`, `{"output_tokens":20}`, oneloop.Usage{}},
		{"strings", `{"input_tokens":"5","output_tokens":1}`, `{"output_tokens":20}`, oneloop.Usage{}},
		{"half a token", `{"input_tokens":5.5,"output_tokens":1}`, `{"output_tokens":20}`, oneloop.Usage{}},
		{"huge", huge, huge, oneloop.Usage{}},
		{"a list", `[1]`, `{"input_tokens":5,"output_tokens":20}`, oneloop.Usage{}},
		{"a text", `"x"`, `"y"`, oneloop.Usage{}},
		{"odd insides", `{"input_tokens":5,"cache_creation":7}`, `{"output_tokens":20,"server_tool_use":"x","iterations":{"a":1}}`, oneloop.Usage{Reported: true, Input: 5, Output: 20}},
		{"searches", `{"input_tokens":5,"server_tool_use":{"web_search_requests":0}}`, `{"output_tokens":20,"server_tool_use":{"web_search_requests":3,"web_fetch_requests":1}}`,
			oneloop.Usage{Reported: true, Input: 5, Output: 20, Searches: 3}},
		{"half a search", `{"input_tokens":5}`, `{"output_tokens":20,"server_tool_use":{"web_search_requests":0.5}}`, oneloop.Usage{}},
		{"rounds", `{"input_tokens":100,"cache_read_input_tokens":55096,"output_tokens":1}`,
			`{"input_tokens":181,"cache_read_input_tokens":0,"output_tokens":8,"iterations":[{"type":"compaction","input_tokens":100,"cache_read_input_tokens":55096,"output_tokens":83},{"type":"message","input_tokens":181,"output_tokens":8}]}`,
			oneloop.Usage{Reported: true, Input: 281, CacheRead: 55096, Output: 91, Context: 189}},
		{"a summary alone", `{"input_tokens":0,"output_tokens":0}`, `{"input_tokens":0,"output_tokens":0,"iterations":[{"type":"compaction","input_tokens":10,"output_tokens":5}]}`,
			oneloop.Usage{Reported: true, Input: 10, Output: 5}},
	} {
		first, last := start, end
		first = strings.Replace(first, `"usage":{"input_tokens":5,"output_tokens":1}`, `"usage":`+c.start, 1)
		last = strings.Replace(last, `"usage":{"output_tokens":2}`, `"usage":`+c.end, 1)
		if c.start == "" {
			first = strings.Replace(first, `,"usage":`, "", 1)
		}
		if c.end == "" {
			last = strings.Replace(last, `,"usage":`, "", 1)
		}
		got := answer(t, 200, "text/event-stream", sse(first, textStart, textDelta, blockStop, last, stop))
		if got.Err != nil || got.Message.Text() != "ok" || got.Message.Usage != c.want {
			t.Errorf("%s: %+v, %v", c.name, got.Message, got.Err)
		}
	}
}

func TestWhatTheServersToolsBroughtIsNotCountedTwiceInTheWindow(t *testing.T) {
	first := strings.Replace(start, `"input_tokens":5`, `"input_tokens":1000`, 1)
	result := `{"type":"content_block_start","index":0,"content_block":{"type":"web_search_tool_result","content":"` + strings.Repeat("x", 3000) + `"}}`
	last := strings.Replace(end, `{"output_tokens":2}`, `{"input_tokens":9000,"output_tokens":50}`, 1)
	got := answer(t, 200, "text/event-stream", sse(first, result, blockStop, last, stop))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	if u := got.Message.Usage; u.Input != 9000 || u.Window() < 2000 || u.Window() > 2200 {
		t.Errorf("%+v", u)
	}
}

func TestStreamsThatBreakTheGrammarAreReadOrRefusedOnce(t *testing.T) {
	text := func(i string) string { return strings.ReplaceAll(textStart, `"index":0`, `"index":`+i) }
	for _, c := range []struct {
		name   string
		events []string
		ok     bool
	}{
		{"no id and no model", []string{`{"type":"message_start"}`, textStart, textDelta, blockStop, end}, true},
		{"null content", []string{strings.Replace(start, `"content":[]`, `"content":null`, 1), textStart, textDelta, blockStop, end}, true},
		{"no message_start", []string{textStart, textDelta, blockStop, end}, true},
		{"message_start twice", []string{start, start, textStart, textDelta, blockStop, end}, true},
		{"a second message inside", []string{start, textStart, textDelta, blockStop, start, end}, false},
		{"a stop twice", []string{start, textStart, textDelta, blockStop, blockStop, end}, true},
		{"a gap in the indices", []string{start, text("3"), strings.Replace(textDelta, `"index":0`, `"index":3`, 1), strings.Replace(blockStop, `"index":0`, `"index":3`, 1), end}, true},
		{"no indices", []string{start, strings.Replace(textStart, `"index":0,`, "", 1), strings.Replace(textDelta, `"index":0,`, "", 1), strings.Replace(blockStop, `,"index":0`, "", 1), end}, true},
		{"an index that is a text", []string{start, text(`"a"`), end}, false},
		{"a delta for a block that never began", []string{start, textDelta, end}, false},
		{"a stop for a block that never began", []string{start, blockStop, end}, false},
		{"a delta after the stop", []string{start, textStart, textDelta, blockStop, textDelta, end}, false},
		{"a block twice", []string{start, textStart, textStart, blockStop, end}, false},
		{"a block without type", []string{start, `{"type":"content_block_start","index":0,"content_block":{}}`, end}, false},
		{"a block that is none", []string{start, `{"type":"content_block_start","index":0,"content_block":7}`, end}, false},
		{"a delta that is none", []string{start, textStart, `{"type":"content_block_delta","index":0,"delta":7}`, textDelta, blockStop, end}, true},
		{"an event that is a list", []string{start, `[1]`, textStart, textDelta, blockStop, end}, true},
		{"an event that is no JSON", []string{start, `{oops`, textStart, textDelta, blockStop, end}, false},
	} {
		got := answer(t, 200, "text/event-stream", sse(append(c.events, stop)...))
		switch {
		case c.ok && (got.Err != nil || got.Message.Text() != "ok"):
			t.Errorf("%s: %+v, %v", c.name, got.Message, got.Err)
		case !c.ok && (got.Message != nil || got.Err == nil || !strings.Contains(got.Err.Error(), "the stream cannot be understood")):
			t.Errorf("%s: %+v, %v", c.name, got.Message, got.Err)
		}
	}
}

func TestEveryStopReasonIsNormalised(t *testing.T) {
	call := []string{`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"n","input":{}}}`, `{"type":"content_block_stop","index":1}`}
	for _, c := range []struct {
		said     string
		alone    oneloop.StopReason
		withCall oneloop.StopReason
	}{
		{said: "end_turn", alone: "end_turn", withCall: "tool_use"},
		{said: "stop_sequence", alone: "stop_sequence", withCall: "tool_use"},
		{said: "tool_use", alone: "end_turn", withCall: "tool_use"},
		{said: "max_tokens", alone: "max_tokens", withCall: "max_tokens"},
		{said: "model_context_window_exceeded", alone: "model_context_window_exceeded", withCall: "model_context_window_exceeded"},
		{said: "pause_turn", alone: "pause_turn", withCall: "pause_turn"},
		{said: "refusal", alone: "refusal", withCall: "refusal"},
		{said: "compaction", alone: "compaction", withCall: "compaction"},
		{said: "brand_new", alone: "brand_new", withCall: "brand_new"},
	} {
		last := strings.Replace(end, `"end_turn"`, `"`+c.said+`","stop_details":{"type":"`+c.said+`","category":"cyber"}`, 1)
		events := []string{start, textStart, textDelta, blockStop}
		for calls, want := range []oneloop.StopReason{c.alone, c.withCall} {
			if calls == 1 {
				events = append(events, call...)
			}
			got := answer(t, 200, "text/event-stream", sse(append(events, last, stop)...))
			if got.Err != nil || got.Message.Stop != want {
				t.Errorf("%s with %d calls: %+v, %v", c.said, calls, got.Message, got.Err)
				continue
			}
			if string(got.Message.Meta.StopDetails) != `{"type":"`+c.said+`","category":"cyber"}` {
				t.Errorf("%s: details %s", c.said, got.Message.Meta.StopDetails)
			}
		}
	}
}

func TestCallsOfAModelThatGaveUpAreLeftOut(t *testing.T) {
	got := answer(t, 200, "text/event-stream", sse(start,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"n","input":{}}}`, blockStop,
		`{"type":"content_block_start","index":1,"content_block":{"type":"fallback","from":"a","to":"b"}}`, `{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t2","name":"n","input":{}}}`, `{"type":"content_block_stop","index":2}`,
		strings.Replace(end, "end_turn", "tool_use", 1), stop))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	if calls := got.Message.ToolUses(); len(calls) != 1 || calls[0].ID != "t2" || len(got.Message.Blocks) != 2 || got.Message.Stop != oneloop.StopToolUse {
		t.Errorf("%+v", got.Message)
	}
}

func TestWhatACutReplyUsedIsToldAsFarAsItIsKnown(t *testing.T) {
	cached := strings.Replace(start, `{"input_tokens":5,"output_tokens":1}`,
		`{"input_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":9,"cache_creation":{"ephemeral_1h_input_tokens":4},"output_tokens":1}`, 1)
	counted := `{"type":"message_delta","delta":{},"usage":{"output_tokens":300}}`
	all := oneloop.Usage{Reported: true, Input: 5, CacheRead: 7, CacheWrite: 9, CacheWrite1h: 4, Output: 1}
	later := all
	later.Output = 300
	for _, c := range []struct {
		name   string
		events []string
		want   []oneloop.Usage
	}{
		{"cut in text", []string{cached, textStart, textDelta}, []oneloop.Usage{all}},
		{"cut before any block", []string{cached}, []oneloop.Usage{all}},
		{"cut after a later count", []string{cached, textStart, textDelta, counted}, []oneloop.Usage{later}},
		{"an error in the stream", []string{cached, `{"type":"error","error":{"type":"overloaded_error","message":"no"}}`}, []oneloop.Usage{all}},
		{"a stream that cannot be read", []string{cached, `{oops`}, []oneloop.Usage{all}},
		{"no count of the output", []string{strings.Replace(start, `,"output_tokens":1`, "", 1)}, []oneloop.Usage{{Reported: true, Input: 5}}},
		{"no count, nothing shown", []string{`{"type":"message_start"}`}, nil},
		{"no count, something shown", []string{`{"type":"message_start"}`, textStart, textDelta}, []oneloop.Usage{{}}},
		{"an odd count", []string{strings.Replace(start, `:5`, `:-5`, 1)}, nil},
	} {
		got := answer(t, 200, "text/event-stream", sse(c.events...))
		if got.Err == nil {
			t.Fatalf("%s: no error", c.name)
		}
		var used []oneloop.Usage
		for _, e := range got.Events {
			if void, ok := e.(oneloop.Discard); ok {
				used = append(used, void.Usage)
			}
		}
		if !slices.Equal(used, c.want) {
			t.Errorf("%s: told %+v, want %+v", c.name, used, c.want)
		}
	}
}
