package wires_test

import (
	"encoding/json"
	"strings"
	"testing"

	"oneloop/looptest/script"
	"oneloop/looptest/wires"
)

const ollamaPath = "/api/chat"

func ollamaBody(messages string, more ...string) string {
	return `{"model":"m","messages":[` + messages + `],"options":{"num_ctx":32768},"tools":[{"type":"function","function":{"name":"Bash","parameters":{"type":"object"}}}]` + strings.Join(more, "") + `}`
}

const (
	ollamaCalls  = `{"role":"assistant","content":"","tool_calls":[{"id":"a","function":{"name":"Bash","arguments":{}}},{"id":"b","function":{"name":"Read","arguments":{}}}]}`
	ollamaResult = `{"role":"tool","tool_name":"Bash","tool_call_id":"a","content":"1"},{"role":"tool","tool_name":"Read","content":"2"}`
)

func newOllama() *script.Wire { return wires.Ollama(wires.OllamaServer{}) }

func TestTheGateOfOllamaIsAsStrictAsItCanBe(t *testing.T) {
	checkBreaches(t, ollamaPath, newOllama, nil, []breach{
		{"", "", ollamaBody(chatUser + "," + ollamaCalls + "," + ollamaResult)},
		{"", "", ollamaBody(`{"role":"system","content":"x"},{"role":"user","content":"x","images":["AAAA"]}`, `,"stream":false,"think":true`)},
		{script.RuleLimit, "num_ctx", strings.Replace(ollamaBody(chatUser), `"num_ctx":32768`, "", 1)},
		{script.RuleResults, "tool_name is missing", ollamaBody(chatUser + "," + ollamaCalls + "," + strings.Replace(ollamaResult, `"tool_name":"Bash",`, "", 1))},
		{script.RuleResults, "is of Read", ollamaBody(chatUser + "," + ollamaCalls + "," + strings.Replace(ollamaResult, `"Bash"`, `"Read"`, 1))},
		{script.RuleResults, `call "b"`, ollamaBody(chatUser + "," + ollamaCalls + "," + strings.Replace(ollamaResult, `"a"`, `"b"`, 1))},
		{script.RuleResults, "1 calls before", ollamaBody(chatUser + "," + ollamaCalls + `,{"role":"tool","tool_name":"Bash","content":"1"},` + chatUser)},
		{script.RuleResults, "no results", ollamaBody(chatUser + "," + ollamaCalls)},
		{script.RuleResults, "without a call", ollamaBody(chatUser + `,{"role":"tool","tool_name":"Bash","content":"1"}`)},
		{script.RuleCalls, "arguments", ollamaBody(chatUser + "," + strings.Replace(ollamaCalls, `{}`, `"{}"`, 1) + "," + ollamaResult)},
		{script.RuleContent, "cannot unmarshal array", ollamaBody(`{"role":"user","content":[{"type":"text","text":"x"}]}`)},
		{script.RuleContent, "illegal base64", ollamaBody(`{"role":"user","content":"x","images":["data:image/png;base64,AAAA"]}`)},
		{script.RuleContent, "nothing is said", ollamaBody(chatUser + `,{"role":"assistant","content":""},` + chatUser)},
		{script.RuleRoles, "invalid role", ollamaBody(`{"role":"developer","content":"x"}`)},
		{script.RuleFields, "'max_tokens'", ollamaBody(chatUser, `,"max_tokens":5`)},
		{script.RuleFields, "'tool_name'", ollamaBody(`{"role":"user","content":"x","tool_name":"x"}`)},
	})
}

func TestAReplyOfOllamaIsLines(t *testing.T) {
	reply := script.Say(script.Thinking("hm", "s"), script.Text("ab"), script.Tool("t1", "Bash", `{"n":1}`), script.Tool("t2", "Bash", ""))
	half := script.Say(script.Text("a"))
	half.Error = &script.Error{Type: "overloaded_error", Message: "busy"}
	s := start(t, newOllama(), reply, reply, half)
	_, stream := post(t, s, ollamaPath, ollamaBody(chatUser))
	lines := strings.Split(strings.TrimSpace(stream), "\n")
	for _, line := range lines {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	for i, want := range []string{`"thinking":"h"`, `"thinking":"m"`, `"content":"a"`, `"content":"b"`,
		`"tool_calls":[{"id":"t1","function":{"index":0,"name":"Bash","arguments":{"n":1}}}]`, `{"index":1,"name":"Bash","arguments":{}}`, `"done":true,"done_reason":"stop"`} {
		if i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("line %d lacks %s:\n%s", i, want, stream)
		}
	}
	if _, whole := post(t, s, ollamaPath, ollamaBody(chatUser, `,"stream":false`)); !json.Valid([]byte(whole)) || !strings.Contains(whole, `"thinking":"hm","tool_calls":[{"id":"t1"`) {
		t.Error(whole)
	}
	if _, failed := post(t, s, ollamaPath, ollamaBody(chatUser)); !strings.HasSuffix(failed, "{\"error\":\"busy\"}\n") {
		t.Error(failed)
	}
}

func TestACallOfOllamaComesBackUnchanged(t *testing.T) {
	for _, c := range []struct{ args, rule string }{{"1.10", ""}, {"1.1", script.RuleCalls}} {
		s := start(t, newOllama(), script.Say(script.Tool("t1", "Bash", `{"b":1.10}`)), script.Say())
		post(t, s, ollamaPath, ollamaBody(chatUser))
		post(t, s, ollamaPath, ollamaBody(chatUser+`,{"role":"assistant","content":"","tool_calls":[{"id":"t1","function":{"name":"Bash","arguments":{"b":`+c.args+`}}}]},{"role":"tool","tool_name":"Bash","content":"1"}`))
		if found := s.Breaches(); (len(found) > 0) != (c.rule != "") {
			t.Errorf("%s: %v", c.args, found)
		}
	}
}

func TestWhatIsAskedBesideMessagesIsAnsweredAndNotCounted(t *testing.T) {
	s := start(t, newOllama())
	if status, body := post(t, s, "/api/show", `{"model":"m"}`); status != 200 || !strings.Contains(body, `"script.context_length":131072`) {
		t.Errorf("%d %s", status, body)
	}
	if len(s.Requests()) != 0 || s.Check() != nil {
		t.Errorf("%v %v", s.Requests(), s.Check())
	}
}
