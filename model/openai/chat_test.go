package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/model/openai"
)

func TestABaseURLIsThatOfOpenAIsClients(t *testing.T) {
	for _, x := range []struct{ base, dialect, want string }{
		{"", "", "https://api.openai.com/v1/chat/completions"},
		{"", "deepseek", "https://api.deepseek.com/v1/chat/completions"},
		{"", "qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions"},
		{"", "glm", "https://open.bigmodel.cn/api/paas/v4/chat/completions"},
		{"http://h:1", "", "http://h:1/v1/chat/completions"},
		{" http://h:1/ ", "", "http://h:1/v1/chat/completions"},
		{"http://h:1/v1", "", "http://h:1/v1/chat/completions"},
		{"http://h:1/v1/", "", "http://h:1/v1/chat/completions"},
		{"http://h:1/v1/chat/completions", "", "http://h:1/v1/chat/completions"},
		{"http://h:1/v1/responses", "", "http://h:1/v1/chat/completions"},
		{"http://h:1/gw/openai", "", "http://h:1/gw/openai/chat/completions"},
		{"http://h:1/gw/v4/?tenant=a", "", "http://h:1/gw/v4/chat/completions?tenant=a"},
		{"HTTP://[::1]:8080/v1", "", "http://[::1]:8080/v1/chat/completions"},
	} {
		asked := ""
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked = r.URL.String()
			if r.Header.Get("Authorization") != "Bearer "+key {
				t.Errorf("%s: the key is in %q", x.base, r.Header.Get("Authorization"))
			}
			return nil, errors.New("not today")
		})}
		m, err := openai.NewChat(openai.Config{BaseURL: x.base, Dialect: x.dialect, Key: " " + key + "\n", Model: "m", Client: client})
		if err != nil {
			t.Errorf("%s: %v", x.base, err)
			continue
		}
		m.Generate(t.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}, nil)
		if asked != x.want {
			t.Errorf("%q with %q asks %s, want %s", x.base, x.dialect, asked, x.want)
		}
	}
}

func TestWhatCannotBeUsedIsRefusedWithoutTheKey(t *testing.T) {
	for _, x := range []struct {
		c    openai.Config
		want string
	}{
		{openai.Config{Key: key}, "no model is named"},
		{openai.Config{Model: "m"}, "no credentials"},
		{openai.Config{Model: "m", Dialect: "deepseek"}, "no credentials"},
		{openai.Config{Model: "m", Dialect: "klingon", Key: key}, `no dialect named "klingon"; known: openai, deepseek`},
		{openai.Config{Model: "m", Dialect: "compatible", Key: key}, "set a base URL"},
		{openai.Config{Model: "m", BaseURL: "ftp://h", Key: key}, "should begin with http"},
		{openai.Config{Model: "m", BaseURL: "http://u:secret-of-mine@h/v1", Key: key}, "user name"},
		{openai.Config{Model: "m", Key: "two words of key"}, "a character in it that no key has"},
	} {
		_, err := openai.NewChat(x.c)
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "secret-of-mine") || x.c.Key != "" && strings.Contains(err.Error(), x.c.Key) {
			t.Errorf("%+v: %v, want %s", x.c, err, x.want)
		}
	}
	if _, err := openai.NewChat(openai.Config{Model: "m", Dialect: "vllm"}); err != nil {
		t.Errorf("a server on this machine needs no key: %v", err)
	}
}

// sent is what a model of a dialect sends for a request.
func sent(t *testing.T, dialect, model string, req *oneloop.Request) map[string]json.RawMessage {
	t.Helper()
	var body []byte
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		var err error
		body, err = io.ReadAll(r.Body)
		return nil, errors.Join(err, errors.New("not today"))
	})}
	m, err := openai.NewChat(openai.Config{BaseURL: "http://h:1/v1", Dialect: dialect, Key: key, Model: model, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	m.Generate(t.Context(), req, nil)
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return top
}

// reasoned is a reply with reasoning, with or without a call.
func reasoned(model string, call bool) *oneloop.Message {
	w := func(raw string) oneloop.Wire { return oneloop.Wire{Raw: json.RawMessage(raw), API: openai.ChatAPI} }
	m := &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn, Origin: oneloop.Origin{API: openai.ChatAPI, Model: model}, Blocks: []oneloop.Block{
		&oneloop.Thinking{Wire: w(`{"reasoning_content":"w\u00e9ll"}`), Text: "wéll"},
		&oneloop.Opaque{Wire: w(`{"reasoning_details":[{"z":1.0}]}`), Type: "reasoning_details"},
		&oneloop.Text{Wire: w(`{"content":"s\u00e9"}`), Text: "sé"},
	}}
	if call {
		m.Stop = oneloop.StopToolUse
		m.Blocks = append(m.Blocks, &oneloop.ToolUse{ID: "functions.f:0", Name: "f", Input: []byte(`{"a": 1}`),
			Wire: w(`{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"},"extra_content":{"s":"x"}}`)})
	}
	return m
}

func TestReasoningGoesBackByTheRuleOfTheProvider(t *testing.T) {
	for _, x := range []struct {
		dialect, model string
		call           bool
		want           string
	}{
		{"openai", "m", true, `{"role":"assistant","reasoning_details":[{"z":1.0}],"content":"s\u00e9","tool_calls":[…]}`},
		{"deepseek", "m", true, `{"role":"assistant","reasoning_content":"w\u00e9ll","reasoning_details":[{"z":1.0}],"content":"s\u00e9","tool_calls":[…]}`},
		{"deepseek", "m", false, `{"role":"assistant","reasoning_content":"w\u00e9ll","reasoning_details":[{"z":1.0}],"content":"s\u00e9"}`},
		{"deepseek", "other", false, `{"role":"assistant","reasoning_content":"","content":"s\u00e9"}`},
		{"deepseek", "other", true, `{"role":"assistant","reasoning_content":"","content":"s\u00e9","tool_calls":[…]}`},
		{"openrouter", "m", false, `{"role":"assistant","reasoning_content":"w\u00e9ll","reasoning_details":[{"z":1.0}],"content":"s\u00e9"}`},
		{"openrouter", "other", false, `{"role":"assistant","content":"s\u00e9"}`},
		{"kimi", "m", false, `{"role":"assistant","reasoning_content":"w\u00e9ll","reasoning_details":[{"z":1.0}],"content":"s\u00e9"}`},
		{"kimi", "other", true, `{"role":"assistant","reasoning_content":"","content":"s\u00e9","tool_calls":[…]}`},
		{"kimi", "other", false, `{"role":"assistant","content":"s\u00e9"}`},
		{"glm", "m", false, `{"role":"assistant","reasoning_content":"w\u00e9ll","reasoning_details":[{"z":1.0}],"content":"s\u00e9"}`},
		{"qwen", "m", false, `{"role":"assistant","reasoning_details":[{"z":1.0}],"content":"s\u00e9"}`},
		{"qwen", "m", true, `{"role":"assistant","reasoning_content":"w\u00e9ll","reasoning_details":[{"z":1.0}],"content":"s\u00e9","tool_calls":[…]}`},
	} {
		msgs := []*oneloop.Message{oneloop.UserText("hi"), reasoned("m", x.call)}
		if x.call {
			msgs = append(msgs, oneloop.NewMessage(oneloop.User, &oneloop.ToolResult{ID: "functions.f:0", IsError: true, Content: []oneloop.Block{&oneloop.Text{Text: "no"}}}))
		}
		var all []json.RawMessage
		if err := json.Unmarshal(sent(t, x.dialect, x.model, &oneloop.Request{Messages: msgs})["messages"], &all); err != nil {
			t.Fatal(err)
		}
		call := `{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"},"extra_content":{"s":"x"}}`
		if x.model != "m" { // which is not for others
			call = strings.Replace(call, `,"extra_content":{"s":"x"}`, "", 1)
		}
		if got := strings.Replace(string(all[1]), call, "…", 1); got != x.want {
			t.Errorf("%s, %s:\ngot  %s\nwant %s", x.dialect, x.model, got, x.want)
		}
		if x.call && string(all[2]) != `{"role":"tool","tool_call_id":"functions.f:0","content":"Error: no"}` {
			t.Errorf("the result is %s", all[2])
		}
	}
}

func TestARequestHasTheWordsOfItsDialect(t *testing.T) {
	for _, x := range []struct{ dialect, model, want string }{
		{"openai", "gpt-6-sol", `max_completion_tokens=9 prompt_cache_key reasoning_effort="max" role="developer" stream_options={"include_usage":true}`},
		{"openai", "gpt-4o", `max_completion_tokens=9 prompt_cache_key role="system" stream_options={"include_usage":true}`},
		{"deepseek", "deepseek-reasoner", `max_tokens=9 reasoning_effort="max" role="system" stream_options={"include_usage":true} thinking={"type":"enabled"}`},
		{"qwen", "qwen3-max", `enable_thinking=true max_tokens=9 parallel_tool_calls=true role="system" stream_options={"include_usage":true}`},
		{"kimi", "kimi-k3", `max_tokens=9 prompt_cache_key reasoning_effort="max" role="system" stream_options={"include_usage":true}`},
		{"kimi", "kimi-k2.6", `max_tokens=9 prompt_cache_key role="system" stream_options={"include_usage":true} thinking={"type":"enabled"}`},
		{"glm", "glm-5.3", `max_tokens=9 reasoning_effort="max" role="system" stream_options={"include_usage":true} thinking={"type":"enabled","clear_thinking":false} tool_stream=true`},
		{"glm", "glm-4.6", `max_tokens=9 role="system" stream_options={"include_usage":true} thinking={"type":"enabled"} tool_stream=true`},
		{"openrouter", "x/y", `max_tokens=9 reasoning={"effort":"max"} role="system" stream_options={"include_usage":true}`},
		{"openrouter", "anthropic/claude-sonnet-5-5", `cache_control={"type":"ephemeral"} max_tokens=9 reasoning={"effort":"max"} role="system" stream_options={"include_usage":true}`},
		{"groq", "openai/gpt-oss-120b", `max_completion_tokens=9 reasoning_effort="high" role="system" stream_options={"include_usage":true}`},
		{"groq", "llama-3.3-70b-versatile", `max_completion_tokens=9 role="system" stream_options={"include_usage":true}`},
		{"gemini", "gemini-3.8-flash", `max_tokens=9 reasoning_effort="high" role="system" stream_options={"include_usage":true}`},
		{"vllm", "x", `max_tokens=9 role="system" stream_options={"include_usage":true}`},
		{"llamacpp", "gpt-oss-20b", `chat_template_kwargs={"reasoning_effort":"max"} max_tokens=9 role="system" stream_options={"include_usage":true}`},
		{"compatible", "gpt-6-sol", `max_tokens=9 reasoning_effort="max" role="system" stream_options={"include_usage":true}`},
	} {
		top := sent(t, x.dialect, x.model, &oneloop.Request{System: []oneloop.Block{&oneloop.Text{Text: "be brief"}}, Messages: []*oneloop.Message{oneloop.UserText("hi")},
			Tools: []oneloop.ToolDef{{Name: "f"}}, Params: oneloop.Params{MaxTokens: 9, Effort: "max"}})
		var words []string
		for _, name := range []string{"cache_control", "chat_template_kwargs", "enable_thinking", "max_completion_tokens", "max_tokens", "parallel_tool_calls", "prompt_cache_key", "reasoning",
			"reasoning_effort", "role", "stream_options", "thinking", "tool_stream"} {
			value := string(top[name])
			if name == "role" {
				var all []struct{ Role json.RawMessage }
				if err := json.Unmarshal(top["messages"], &all); err != nil {
					t.Fatal(err)
				}
				value = string(all[0].Role)
			}
			switch {
			case value == "":
			case name == "prompt_cache_key":
				words = append(words, name)
			default:
				words = append(words, name+"="+value)
			}
		}
		if got := strings.Join(words, " "); got != x.want {
			t.Errorf("%s, %s:\ngot  %s\nwant %s", x.dialect, x.model, got, x.want)
		}
	}
}

// TestHowMuchReasoningIsAskedForInTheWordsOfTheProvider has Qwen's tokens and
// levels, of which only one may be sent, and GLM's wish that what went back is
// read, which its ordinary service does not do unasked.
func TestHowMuchReasoningIsAskedForInTheWordsOfTheProvider(t *testing.T) {
	for _, x := range []struct{ dialect, model, effort, want string }{
		{"qwen", "qwen3.7-max", "", ``},
		{"qwen", "qwen3.7-max", "low", `enable_thinking=true thinking_budget=2048`},
		{"qwen", "qwen3.7-max", "high", `enable_thinking=true thinking_budget=24576`},
		{"qwen", "qwen3.7-max", "max", `enable_thinking=true`},
		{"qwen", "qwen3.8-max", "medium", `enable_thinking=true reasoning_effort="medium"`},
		{"qwen", "qwen3.8-max", "max", `enable_thinking=true reasoning_effort="xhigh"`},
		{"qwen", "qwen3-coder-plus", "high", `notice`}, // does not reason
		{"glm", "glm-5.3", "", `thinking={"type":"enabled","clear_thinking":false}`},
		{"glm", "glm-5.3", "low", `reasoning_effort="low" thinking={"type":"enabled","clear_thinking":false}`},
		{"glm", "glm-5.1", "low", `thinking={"type":"enabled","clear_thinking":false} notice`},
		{"glm", "glm-4.6", "", ``},
		{"glm", "glm-4.6", "low", `thinking={"type":"enabled"} notice`},
		{"groq", "llama-3.3-70b-versatile", "low", `notice`},
	} {
		var words []string
		top := map[string]json.RawMessage{}
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			if err := json.NewDecoder(r.Body).Decode(&top); err != nil {
				t.Error(err)
			}
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(`{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)), Request: r}, nil
		})}
		m, err := openai.NewChat(openai.Config{Dialect: x.dialect, Key: key, Model: x.model, Client: client})
		if err != nil {
			t.Fatal(err)
		}
		noticed := false
		if _, err := m.Generate(t.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}, Params: oneloop.Params{Effort: x.effort}}, func(e oneloop.Event) {
			_, is := e.(oneloop.Notice)
			noticed = noticed || is
		}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"enable_thinking", "reasoning_effort", "thinking", "thinking_budget"} {
			if v := string(top[name]); v != "" {
				words = append(words, name+"="+v)
			}
		}
		if noticed {
			words = append(words, "notice")
		}
		if got := strings.Join(words, " "); got != x.want {
			t.Errorf("%s, %s, %q:\ngot  %s\nwant %s", x.dialect, x.model, x.effort, got, x.want)
		}
	}
}

func TestTheKeyOfACacheIsThatOfTheConversation(t *testing.T) {
	first, other := oneloop.UserText("hi"), oneloop.UserText("ho")
	key := func(msgs ...*oneloop.Message) string {
		return string(sent(t, "openai", "m", &oneloop.Request{Messages: msgs})["prompt_cache_key"])
	}
	if a, b := key(first), key(first, reasoned("m", false), oneloop.UserText("go on")); a != b || a == key(other) {
		t.Errorf("%s, %s and %s", a, b, key(other))
	}
}

func TestErrorsHaveTheClassOfTheirWords(t *testing.T) {
	for _, x := range []struct {
		status int
		body   string
		want   error
		wait   time.Duration
	}{
		{401, `{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}`, oneloop.ErrAuth, 0},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, oneloop.ErrBilling, 0},
		{429, `{"error":{"message":"Rate limit reached. Please try again in 1m2.5s. Visit","type":"tokens","code":"rate_limit_exceeded"}}`, oneloop.ErrRateLimited, 62500 * time.Millisecond},
		{402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`, oneloop.ErrBilling, 0},
		{400, `{"error":{"message":"This model's maximum context length is 65536 tokens.","type":"invalid_request_error"}}`, oneloop.ErrContextOverflow, 0},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, oneloop.ErrContextOverflow, 0},
		{400, `{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}`, oneloop.ErrBilling, 0},
		{429, `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`, oneloop.ErrBilling, 0},
		{429, `{"error":{"message":"The engine is currently overloaded","type":"engine_overloaded_error"}}`, oneloop.ErrOverloaded, 0},
		{404, `{"error":{"message":"no such model","code":"model_not_found"}}`, oneloop.ErrNotFound, 0},
		{503, `{"error":{"message":"busy","type":"server_error"}}`, oneloop.ErrServer, 0},
		{502, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"upstream says no"}}}`, oneloop.ErrServer, 0},
		{422, `{"detail":"missing field"}`, oneloop.ErrInvalidRequest, 0},
		{500, `{"error":"model crashed"}`, oneloop.ErrServer, 0},
		{429, `{"error":{"message":"Rate limit is exceeded. Try again in 20 seconds.","code":"429"}}`, oneloop.ErrRateLimited, 20 * time.Second},
		{429, `{"error":{"message":"Please retry after 7 seconds.","code":"429"}}`, oneloop.ErrRateLimited, 7 * time.Second},
		{429, `[{"error":{"code":429,"message":"Quota exceeded. Please retry in 33.5s.","status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"33s"}]}}]`, oneloop.ErrRateLimited, 33 * time.Second},
		{400, `[{"error":{"code":400,"message":"in a list","status":"INVALID_ARGUMENT"}}]`, oneloop.ErrInvalidRequest, 0},
		{200, `{"error":{"code":429,"message":"slow down"}}`, oneloop.ErrRateLimited, 0},
		{200, `{"error":{"code":402,"message":"pay"}}`, oneloop.ErrBilling, 0},
		{200, `{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content."}}`, oneloop.ErrInvalidRequest, 0},
		{200, `{"error":{"code":"1301","message":"系统检测到输入或生成内容可能包含不安全或敏感内容"}}`, oneloop.ErrInvalidRequest, 0},
		{200, `{"error":{"code":"image_parse_error","message":"cannot be read"}}`, oneloop.ErrInvalidRequest, 0},
		{200, `{"error":{"code":"image_content_policy_violation","message":"no"}}`, oneloop.ErrInvalidRequest, 0},
		{500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, oneloop.ErrInvalidRequest, 0},
	} {
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: x.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(x.body)), Request: r}, nil
		})}
		m, err := openai.NewChat(openai.Config{Key: key, Model: "m", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Generate(t.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}, nil)
		api, ok := errors.AsType[*oneloop.APIError](err)
		if !ok || !errors.Is(err, x.want) || api.RetryAfter != x.wait || api.Message == "" || api.Message == "Provider returned error" {
			t.Errorf("%d %s: %v, want %v", x.status, x.body, err, x.want)
		}
	}
}

// TestThoughtsInTagsAreReasoning has old servers' way, in pieces of every length.
func TestThoughtsInTagsAreReasoning(t *testing.T) {
	for _, x := range []struct{ said, thought, text string }{
		{"<think>why</think>\n\nso", "why", "so"},
		{" \n<think>why <b></think>so </think>", "why <b>", "so </think>"},
		{"<think>never ends </thin", "never ends </thin", ""},
		{"<thinker>", "", "<thinker>"},
		{"a <think>b</think>", "", "a <think>b</think>"},
		{"<thi", "", "<thi"},
	} {
		for size := 1; size < 9; size += 3 {
			var b strings.Builder
			for rest := x.said; rest != ""; {
				piece := rest[:min(size, len(rest))]
				rest = rest[len(piece):]
				fmt.Fprintf(&b, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", piece)
			}
			b.WriteString("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(b.String())), Request: r}, nil
			})}
			m, err := openai.NewChat(openai.Config{Dialect: "llamacpp", Model: "m", Client: client})
			if err != nil {
				t.Fatal(err)
			}
			shown := ""
			msg, err := m.Generate(t.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}, func(e oneloop.Event) {
				if d, ok := e.(oneloop.ThinkingDelta); ok {
					shown += d.Text
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			thought := ""
			for _, b := range msg.Blocks {
				if th, ok := b.(*oneloop.Thinking); ok {
					thought = th.Text
				}
			}
			if thought != x.thought || shown != x.thought || msg.Text() != x.text {
				t.Errorf("%q by %d: thought %q, shown %q, text %q", x.said, size, thought, shown, msg.Text())
			}
		}
	}
}

func TestAFreshIDOfKimisIsCounted(t *testing.T) {
	stream := "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"functions.f:0\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(stream)), Request: r}, nil
	})}
	m, err := openai.NewChat(openai.Config{Dialect: "kimi", Key: key, Model: "m", Client: client})
	if err != nil {
		t.Fatal(err)
	}
	result := oneloop.NewMessage(oneloop.User, &oneloop.ToolResult{ID: "functions.f:0", Content: []oneloop.Block{&oneloop.Text{Text: "ok"}}})
	msg, err := m.Generate(t.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi"), reasoned("m", true), result}}, nil)
	if err != nil || msg.ToolUses()[0].ID != "functions.f:1" || !strings.Contains(string(msg.ToolUses()[0].Raw), `"functions.f:1"`) {
		t.Errorf("%v, %+v", err, msg)
	}
}

// TestWhatAServerDoesNotKnowIsLeftOutAndSaid has servers that refuse a field of a
// request in their own words.
func TestWhatAServerDoesNotKnowIsLeftOutAndSaid(t *testing.T) {
	for _, x := range []struct{ dialect, field, instead, body string }{
		{"compatible", "max_tokens", "max_completion_tokens", `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}`},
		{"openai", "max_completion_tokens", "max_tokens", `{"error":{"message":"Unrecognized request argument supplied: max_completion_tokens"}}`},
		{"compatible", "stream_options", "", `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`},
		{"qwen", "parallel_tool_calls", "", `{"error":{"message":"[] property 'parallel_tool_calls' is unsupported"}}`},
		{"openrouter", "reasoning", "", `{"error":{"code":400,"message":"Unknown parameter: reasoning"}}`},
	} {
		asked, first := 0, true
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			var top map[string]json.RawMessage
			if err := json.NewDecoder(r.Body).Decode(&top); err != nil {
				return nil, err
			}
			if _, ok := top[x.field]; ok != first || !first && x.instead != "" && top[x.instead] == nil {
				t.Errorf("%s: request %d has %v", x.field, asked, top)
			}
			status, body := 400, x.body
			if first = false; asked > 1 {
				status, body = 200, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`
			}
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})}
		m, err := openai.NewChat(openai.Config{BaseURL: "http://h:1/v1", Dialect: x.dialect, Key: key, Model: "m", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		said := 0
		req := &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}, Tools: []oneloop.ToolDef{{Name: "f"}}, Params: oneloop.Params{MaxTokens: 9, Effort: "low"}}
		for range 2 {
			if _, err := m.Generate(t.Context(), req, func(e oneloop.Event) {
				if n, ok := e.(oneloop.Notice); ok && strings.Contains(n.Text, "does not know "+x.field) {
					said++
				}
			}); err != nil {
				t.Errorf("%s: %v", x.field, err)
			}
		}
		if asked != 3 || said != 1 {
			t.Errorf("%s: asked %d times, said %d times", x.field, asked, said)
		}
	}
}

// TestAValueThatIsRefusedIsAnError has errors that name a field the server knows.
func TestAValueThatIsRefusedIsAnError(t *testing.T) {
	for _, body := range []string{
		`{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'max' with this model.","code":"unsupported_value"}}`,
		`{"error":{"message":"max_tokens is too large: 9. This model supports at most 8 completion tokens"}}`,
		`{"error":{"message":"Unknown parameter: thinking_budget"}}`,
		`{"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}`,
	} {
		asked := 0
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			return &http.Response{StatusCode: 400, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})}
		m, err := openai.NewChat(openai.Config{Dialect: "deepseek", Key: key, Model: "m", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Generate(t.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}, Params: oneloop.Params{MaxTokens: 9, Effort: "max"}}, nil)
		if !errors.Is(err, oneloop.ErrInvalidRequest) || asked != 1 {
			t.Errorf("%s: asked %d times, %v", body, asked, err)
		}
	}
}

func TestAnImageIsNamedToAModelThatTakesNone(t *testing.T) {
	msg := oneloop.NewMessage(oneloop.User, &oneloop.Text{Text: "look"}, &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte("x")})
	for model, want := range map[string]string{
		"deepseek-v4-pro": `[{"role":"user","content":"look\n[an image (image/png) stood here, which this model cannot be sent]"}]`,
		"deepseek-flash":  `[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]}]`,
	} {
		if got := string(sent(t, "deepseek", model, &oneloop.Request{Messages: []*oneloop.Message{msg}})["messages"]); got != want {
			t.Errorf("%s: %s", model, got)
		}
	}
}

// TestReasoningWithoutItsOpeningTagIsNoAnswer has what templates do that end the
// prompt with the tag.
func TestReasoningWithoutItsOpeningTagIsNoAnswer(t *testing.T) {
	type seen struct{ thought, text, shown, said string }
	const close = "</think>"
	for _, x := range []struct {
		dialect string
		replies []string // one after the other, to the same model
		want    []seen
	}{
		{"vllm", []string{"hm\n" + close + "\n\nso", "ah\n" + close + "\n\nyes", "no thought", "<think>o" + close + "p"}, []seen{
			{"hm\n", "so", "", "hm\n" + close + "\n\nso"}, // shown before it is known
			{"ah\n", "yes", "ah\n", "yes"},
			{"", "no thought", "no thought", "no thought"},
			{"o", "p", "o", "p"},
		}},
		{"compatible", []string{close + "\n\nso"}, []seen{{"", "so", "", close + "\n\nso"}}},
		{"llamacpp", []string{"only\n" + close}, []seen{{"only\n", "", "", "only\n" + close}}},
		// What is spoken of stays where it is.
		{"vllm", []string{"the tag " + close + " ends it"}, []seen{{"", "the tag " + close + " ends it", "", "the tag " + close + " ends it"}}},
		{"vllm", []string{"so:\n```\n" + close + "\n```\n"}, []seen{{"", "so:\n```\n" + close + "\n```\n", "", "so:\n```\n" + close + "\n```\n"}}},
		{"vllm", []string{"a <think>\n" + close + "\n"}, []seen{{"", "a <think>\n" + close + "\n", "", "a <think>\n" + close + "\n"}}},
		{"deepseek", []string{"hm\n" + close + "\n\nso"}, []seen{{"", "hm\n" + close + "\n\nso", "", "hm\n" + close + "\n\nso"}}},
	} {
		for size := 1; size < 9; size += 3 {
			n := 0
			client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				var b strings.Builder
				for rest := x.replies[n]; rest != ""; {
					piece := rest[:min(size, len(rest))]
					rest = rest[len(piece):]
					fmt.Fprintf(&b, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", piece)
				}
				n++
				b.WriteString("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
				return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(b.String())), Request: r}, nil
			})}
			m, err := openai.NewChat(openai.Config{Dialect: x.dialect, BaseURL: "http://127.0.0.1:1/v1", Model: "m", Client: client})
			if err != nil {
				t.Fatal(err)
			}
			notices := 0
			for i, want := range x.want {
				var got seen
				msg, err := m.Generate(t.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}, func(e oneloop.Event) {
					switch e := e.(type) {
					case oneloop.ThinkingDelta:
						got.shown += e.Text
					case oneloop.TextDelta:
						got.said += e.Text
					case oneloop.Notice:
						notices++
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range msg.Blocks {
					if th, ok := b.(*oneloop.Thinking); ok {
						got.thought += th.Text
					}
				}
				if got.text = msg.Text(); got != want {
					t.Errorf("%s: reply %d by %d:\ngot  %q\nwant %q", x.dialect, i, size, got, want)
				}
			}
			if want := len(x.want) > 1 || x.want[0].said != x.want[0].text; (notices == 1) != want || notices > 1 {
				t.Errorf("%q: %d notices", x.replies, notices)
			}
		}
	}
}
