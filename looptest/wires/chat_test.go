package wires_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"oneloop/looptest"
	"oneloop/looptest/script"
	"oneloop/looptest/wires"
)

// start serves replies over an API. What is wrong with the requests is for the
// test to look at.
func start(t *testing.T, wire *script.Wire, replies ...script.Reply) *script.Server {
	t.Helper()
	s := script.New(replies...)
	s.Wire = wire
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// post sends a body and returns the status and what came.
func post(t *testing.T, s *script.Server, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// breach is one request that a gate is to refuse.
type breach struct{ rule, says, body string }

func checkBreaches(t *testing.T, path string, wire func() *script.Wire, header []string, list []breach) {
	t.Helper()
	for _, c := range list {
		s := start(t, wire(), script.Say(script.Text("ok")))
		status, _ := post(t, s, path, c.body, header...)
		var found []string
		for _, b := range s.Breaches() {
			found = append(found, b.Rule+": "+b.Text)
		}
		all := strings.Join(found, "\n")
		switch {
		case c.rule == "" && (status != 200 || all != ""):
			t.Errorf("refused with %d: %s\n%s", status, all, c.body)
		case c.rule != "" && (status != 400 || !strings.HasPrefix(all, c.rule+": ") || !strings.Contains(all, c.says)):
			t.Errorf("status %d, found %q, want %s: %s\n%s", status, all, c.rule, c.says, c.body)
		}
	}
}

const chatPath = "/v1/chat/completions"

var bearer = []string{"Authorization", "Bearer " + looptest.Key}

// chatBody is a request whose messages are these.
func chatBody(messages string, more ...string) string {
	return `{"model":"m","stream":true,"messages":[` + messages + `],"tools":[{"type":"function","function":{"name":"Bash","parameters":{"type":"object"}}}]` + strings.Join(more, "") + `}`
}

const (
	chatUser   = `{"role":"user","content":"hi"}`
	chatCalls  = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Bash","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"Bash","arguments":"{}"}}]}`
	chatResult = `{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"}`
)

func TestTheGateOfChatCompletionsIsAsStrictAsTheAPI(t *testing.T) {
	checkBreaches(t, chatPath, func() *script.Wire { return wires.Chat(wires.OpenAI) }, bearer, []breach{
		{"", "", chatBody(chatUser + "," + chatCalls + "," + chatResult)},
		{"", "", chatBody(`{"role":"developer","content":"x"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`, `,"stream_options":{"include_usage":true}`)},
		{script.RuleResults, "did not have response messages: b", chatBody(chatUser + "," + chatCalls + `,{"role":"tool","tool_call_id":"a","content":"1"},` + chatUser)},
		{script.RuleResults, "did not have response messages: a, b", chatBody(chatUser + "," + chatCalls + "," + chatUser + "," + chatResult)},
		{script.RuleResults, "must be a response", chatBody(chatUser + `,{"role":"tool","tool_call_id":"a","content":"1"}`)},
		{script.RuleResults, "must be a response", chatBody(chatUser + "," + chatCalls + "," + chatResult + `,{"role":"tool","tool_call_id":"a","content":"1"}`)},
		{script.RuleCalls, "empty array", chatBody(chatUser + `,{"role":"assistant","content":"x","tool_calls":[]},` + chatUser)},
		{script.RuleCalls, "Duplicate", chatBody(chatUser + "," + strings.Replace(chatCalls, `"b"`, `"a"`, 1) + `,{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"a","content":"1"}`)},
		{script.RuleCalls, "longer than 40", chatBody(chatUser + "," + strings.ReplaceAll(chatCalls+","+chatResult, `"b"`, `"`+strings.Repeat("b", 41)+`"`))},
		{script.RuleFields, "'index'", chatBody(chatUser + "," + strings.Replace(chatCalls, `"id":"a"`, `"index":0,"id":"a"`, 1) + "," + chatResult)},
		{script.RuleFields, "'reasoning_content'", chatBody(chatUser + "," + strings.Replace(chatCalls, `"content":null`, `"content":null,"reasoning_content":"x"`, 1) + "," + chatResult)},
		{script.RuleFields, "'thinking'", chatBody(chatUser, `,"thinking":{"type":"enabled"}`)},
		{script.RuleFields, "model", strings.Replace(chatBody(chatUser), `"model":"m",`, "", 1)},
		{script.RuleContent, "Invalid value: 'image_url'", chatBody(chatUser + "," + chatCalls + "," + strings.Replace(chatResult, `"1"`, `[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]`, 1))},
		{script.RuleContent, "is no image", chatBody(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/tiff;base64,AAAA"}}]}`)},
		{script.RuleContent, "got null", chatBody(`{"role":"user","content":null}`)},
		{script.RuleContent, "got null", chatBody(chatUser + `,{"role":"assistant","content":null},` + chatUser)},
		{script.RuleRoles, "not supported", chatBody(`{"role":"human","content":"x"}`)},
		{script.RuleRoles, "empty array", chatBody("")},
		{script.RuleTail, "ends with the assistant", chatBody(chatUser + `,{"role":"assistant","content":"x"}`)},
		{script.RuleParams, "stream_options", strings.Replace(chatBody(chatUser, `,"stream_options":{}`), `"stream":true,`, "", 1)},
		{script.RuleTools, "empty array", `{"model":"m","messages":[` + chatUser + `],"tools":[]}`},
		{script.RuleTools, "does not match", strings.Replace(chatBody(chatUser), `"Bash"`, `"B.sh"`, 1)},
		{script.RuleTools, "must be of type 'object'", strings.Replace(chatBody(chatUser), `{"type":"object"}`, `{"type":"array"}`, 1)},
		{script.RuleTools, "two tools named", strings.Replace(chatBody(chatUser), `"tools":[`, `"tools":[{"type":"function","function":{"name":"Bash"}},`, 1)},
		{script.RuleTools, "must be 'function'", strings.Replace(chatBody(chatUser), `"tools":[{"type":"function"`, `"tools":[{"type":"custom"`, 1)},
		{script.RuleTools, "only allowed when 'tools'", `{"model":"m","messages":[` + chatUser + `],"tool_choice":"auto"}`},
		{script.RuleParams, "at the same time", chatBody(chatUser, `,"max_tokens":1,"max_completion_tokens":1`)},
		{script.RuleContent, "content': empty array", chatBody(`{"role":"user","content":[]}`)},
		{script.RuleContent, "Invalid type", chatBody(`{"role":"user","content":{}}`)},
		{script.RuleCalls, "tool_calls[0].type", chatBody(chatUser + "," + strings.Replace(chatCalls, `"id":"a","type":"function"`, `"id":"a"`, 1) + "," + chatResult)},
		{script.RuleCalls, "function.name", chatBody(chatUser + "," + strings.Replace(chatCalls, `"Bash"`, `"B.sh"`, 1) + "," + chatResult)},
		{script.RuleCalls, "cannot read", chatBody(chatUser + "," + strings.Replace(chatCalls, `"{}"`, `"{"`, 1) + "," + chatResult)},
		{script.RuleFields, "cannot unmarshal", chatBody(`{"role":"user","content":"x","tool_calls":5}`)},
		{script.RuleEncoding, "lone surrogate", chatBody(`{"role":"user","content":"\ud800"}`)},
	})
	checkBreaches(t, chatPath, func() *script.Wire { return wires.Chat(wires.DeepSeek) }, bearer, []breach{
		{script.RuleRoles, "developer", chatBody(`{"role":"developer","content":"x"},` + chatUser)},
		{script.RuleThinking, "Missing `reasoning_content` field", chatBody(chatUser + "," + chatCalls + "," + chatResult)},
		{"", "", chatBody(chatUser + "," + strings.Replace(chatCalls, `"content":null`, `"content":null,"reasoning_content":""`, 1) + "," + chatResult)},
	})
}

func TestACredentialIsSentInTheFormOfTheAPI(t *testing.T) {
	for _, c := range []struct {
		wire   *script.Wire
		header []string
		good   bool
	}{
		{wires.Chat(wires.OpenAI), nil, false},
		{wires.Chat(wires.OpenAI), []string{"X-Api-Key", "k"}, false},
		{wires.Chat(wires.OpenAI), []string{"Authorization", "Bearer k", "X-Api-Key", "k"}, false},
		{wires.Chat(wires.OpenAI), bearer, true},
		{wires.Chat(wires.LlamaCPP), nil, true},
	} {
		s := start(t, c.wire, script.Say(script.Text("ok")))
		status, _ := post(t, s, chatPath, chatBody(chatUser), c.header...)
		if (status == 200) != c.good || (len(s.Breaches()) == 0) != c.good {
			t.Errorf("headers %q: status %d, %v", c.header, status, s.Breaches())
		}
	}
}

// chunks are the data of a stream.
func chunks(t *testing.T, stream string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(stream) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}

func TestAReplyOfChatCompletionsComesInTheWaysOfItsServers(t *testing.T) {
	reply := script.Say(script.Thinking("hm", "s/+="), script.Text("a < b"), script.Tool("t1", "Bash", `{"n":1}`), script.Tool("t2", "Bash", ""))
	for _, c := range []struct {
		dialect   wires.Dialect
		has, hasn []string
	}{
		{wires.OpenAI, []string{`"content":"< b"`, `{"index":1,"id":"t2","type":"function","function":{"name":"Bash","arguments":""}}`,
			`"arguments":"{\"n"`, `"finish_reason":"tool_calls"`, `"choices":[],"usage":{`, `[DONE]`}, []string{"hm", "s/+="}},
		{wires.DeepSeek, []string{`"reasoning_content":"h"`, `"finish_reason":"tool_calls"}],"usage":{`}, []string{`"choices":[]`}},
		{wires.OpenRouter, []string{`"reasoning":"h","reasoning_details":[{"type":"reasoning.text","text":"h"`, `"signature":"s/+="`}, nil},
		{wires.Qwen, []string{`{"content":null,"tool_calls":[{"index":0,"id":"","type":"function","function":{"arguments":"{\"n"}}]}`}, nil},
		{wires.GLM, []string{`{"index":0,"id":"t1","type":"function","function":{"name":"Bash","arguments":"{\"n\":1}"}}`}, nil},
		{wires.GeminiCompatible, []string{`{"index":0,"id":"t2",`, `"extra_content":{"google":{"thought_signature":`, `"finish_reason":"stop"`}, []string{`"index":1`}},
		{wires.Dialect{NoIndex: true, NoID: true, NullArguments: true, EmptyFinish: true, NoDone: true},
			[]string{`[{"type":"function","function":{"name":"Bash","arguments":null}}]`, `"finish_reason":""`}, []string{"[DONE]", "t1"}},
		{wires.Dialect{RepeatID: true, Reasoning: "think"}, []string{`"id":"t1","type":"function","function":{"name":"Bash","arguments":"\":1}"}`, `"content":"<think>"`}, nil},
	} {
		s := start(t, wires.Chat(c.dialect), reply)
		status, stream := post(t, s, chatPath, chatBody(chatUser, `,"stream_options":{"include_usage":true}`), bearer...)
		said := strings.Join(chunks(t, stream), "\n")
		for _, want := range c.has {
			if status != 200 || !strings.Contains(said, want) {
				t.Errorf("%s lacks %s:\n%s", c.dialect.Name, want, said)
			}
		}
		for _, bad := range c.hasn {
			if strings.Contains(said, bad) {
				t.Errorf("%s has %s:\n%s", c.dialect.Name, bad, said)
			}
		}
		for _, data := range chunks(t, stream) {
			if data != "[DONE]" && !json.Valid([]byte(data)) {
				t.Errorf("no JSON: %s", data)
			}
		}
	}
}

func TestUsageComesOnlyWhenItWasAskedFor(t *testing.T) {
	s := start(t, wires.Chat(wires.OpenAI), script.Say(script.Text("ok")))
	if _, stream := post(t, s, chatPath, chatBody(chatUser), bearer...); strings.Contains(stream, "usage") {
		t.Errorf("%s", stream)
	}
}

func TestWhatWasSentComesBackUnchangedOrIsRefused(t *testing.T) {
	const called = `{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"Bash","arguments":"{\"b\":1.10}"}}]}`
	const answer = `,{"role":"tool","tool_call_id":"t1","content":"1"}`
	with := func(fields string) string {
		return strings.Replace(called, `"content":null`, `"content":null,`+fields, 1)
	}
	for _, c := range []struct {
		dialect wires.Dialect
		back    string
		rule    string
	}{
		{wires.OpenAI, called, ""},
		{wires.OpenAI, strings.Replace(called, "1.10", "1.1", 1), script.RuleCalls},
		{wires.DeepSeek, with(`"reasoning_content":"hm"`), ""},
		{wires.DeepSeek, with(`"reasoning_content":"h"`), script.RuleThinking},
		{wires.OpenRouter, with(`"reasoning_details":[{"text":"hm","type":"reasoning.text","format":"anthropic-claude-v1","index":0,"signature":"s"}]`), ""},
		{wires.OpenRouter, with(`"reasoning":"hm"`), script.RuleThinking},
		{wires.GeminiCompatible, called, script.RuleThinking},
		{wires.GeminiCompatible, strings.Replace(called, `"type":"function"`, `"extra_content":{"google":{"thought_signature":"c2lnbmVkIHdpdGggLyBhbmQgKw=="}},"type":"function"`, 1), ""},
	} {
		s := start(t, wires.Chat(c.dialect), script.Say(script.Thinking("hm", "s"), script.Tool("t1", "Bash", `{"b":1.10}`)), script.Say())
		post(t, s, chatPath, chatBody(chatUser), bearer...)
		post(t, s, chatPath, chatBody(chatUser+","+c.back+answer), bearer...)
		found := s.Breaches()
		if c.rule == "" && len(found) > 0 || c.rule != "" && (len(found) != 1 || found[0].Rule != c.rule) {
			t.Errorf("%s, %s: found %v, want %q", c.dialect.Name, c.back, found, c.rule)
		}
	}
}

func TestARequestIsSeenInTheFormOfTheMessagesAPI(t *testing.T) {
	s := start(t, wires.Chat(wires.OpenAI), script.Reply{React: func(r script.Request) script.Reply {
		var b bytes.Buffer
		for _, m := range r.Messages {
			b.WriteString(m.Role)
			for _, c := range m.Content {
				b.WriteString(" " + c.Type + " " + c.ID + string(c.Input) + c.FullText())
			}
			b.WriteString("; ")
		}
		return script.Say(script.Text(r.SystemText() + "| " + b.String()))
	}})
	body := strings.Replace(chatBody(`{"role":"system","content":"be brief"},`+chatUser+","+chatCalls+","+chatResult+`,{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`), `"stream":true,`, "", 1)
	_, got := post(t, s, chatPath, body, bearer...)
	want := `be brief| user text hi; assistant tool_use a{} tool_use b{}; user tool_result a1 tool_result b2 image ; `
	if !strings.Contains(got, want) || len(s.Breaches()) > 0 {
		t.Errorf("got %s\nwant %s\n%v", got, want, s.Breaches())
	}
}

func TestErrorsAreWordedAsTheAPIWordsThem(t *testing.T) {
	s := start(t, wires.Chat(wires.OpenAI), script.Fail(400, script.Overflow, ""), script.Reply{Blocks: []script.Block{script.Text("half")}, Error: &script.Error{Type: "overloaded_error", Message: "busy"}})
	if status, got := post(t, s, chatPath, chatBody(chatUser), bearer...); status != 400 || !strings.Contains(got, `"code":"context_length_exceeded"`) {
		t.Errorf("%d %s", status, got)
	}
	status, got := post(t, s, chatPath, chatBody(chatUser), bearer...)
	if status != 200 || !strings.HasSuffix(strings.TrimSpace(got), `data: {"error":{"message":"busy","type":"server_error","param":null,"code":"server_is_overloaded"}}`) {
		t.Errorf("%d %s", status, got)
	}
}
