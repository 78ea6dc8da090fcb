package wires_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"oneloop/looptest"
	"oneloop/looptest/script"
	"oneloop/looptest/wires"
)

const geminiPath = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"

var googleKey = []string{"X-Goog-Api-Key", looptest.Key}

func geminiBody(contents string, more ...string) string {
	return `{"contents":[` + contents + `],"tools":[{"functionDeclarations":[{"name":"Bash","parameters":{"type":"OBJECT"}}]}]` + strings.Join(more, "") + `}`
}

const (
	partsUser   = `{"role":"user","parts":[{"text":"hi"}]}`
	partsCalls  = `{"role":"model","parts":[{"functionCall":{"name":"Bash","args":{},"id":"a"},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"Read","args":{},"id":"b"}}]}`
	partsAnswer = `{"role":"user","parts":[{"functionResponse":{"name":"Bash","id":"a","response":{"output":"1"}}},{"functionResponse":{"name":"Read","id":"b","response":{"output":"2"}}}]}`
)

func TestTheGateOfGeminiIsAsStrictAsTheAPI(t *testing.T) {
	answer := func(parts string) string { return `{"role":"user","parts":[` + parts + `]}` }
	checkBreaches(t, geminiPath, wires.Gemini, googleKey, []breach{
		{"", "", geminiBody(partsUser + "," + partsCalls + "," + partsAnswer)},
		{"", "", geminiBody(partsUser+","+partsCalls+","+strings.Replace(partsAnswer, `{"output":"1"}`, `{"output":"1"},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]`, 1),
			`,"systemInstruction":{"parts":[{"text":"x"}]},"generationConfig":{"maxOutputTokens":9,"thinkingConfig":{"includeThoughts":true}}`)},
		{script.RuleResults, "number of function response parts", geminiBody(partsUser + "," + partsCalls + "," + answer(`{"functionResponse":{"name":"Bash","id":"a","response":{}}}`))},
		{script.RuleResults, "number of function response parts", geminiBody(partsUser + "," + partsCalls + "," + partsUser)},
		{script.RuleResults, "number of function response parts", geminiBody(answer(`{"functionResponse":{"name":"Bash","id":"a","response":{}}}`))},
		{script.RuleResults, "the response is to Read", geminiBody(partsUser + "," + partsCalls + "," + answer(`{"functionResponse":{"name":"Read","id":"b","response":{}}},{"functionResponse":{"name":"Bash","id":"a","response":{}}}`))},
		{script.RuleResults, "before all else", geminiBody(partsUser + "," + partsCalls + "," + strings.Replace(partsAnswer, `[`, `[{"text":"x"},`, 1))},
		{script.RuleResults, "must be an object", geminiBody(partsUser + "," + partsCalls + "," + strings.Replace(partsAnswer, `{"output":"1"}`, `"1"`, 1))},
		{script.RuleThinking, "is missing a thought_signature", geminiBody(partsUser + "," + strings.Replace(partsCalls, `,"thoughtSignature":"skip_thought_signature_validator"`, "", 1) + "," + partsAnswer)},
		{"", "", geminiBody(partsUser + "," + strings.Replace(partsCalls, `,"thoughtSignature":"skip_thought_signature_validator"`, "", 1) + "," + partsAnswer + `,{"role":"model","parts":[{"text":"x"}]},` + partsUser)},
		{script.RuleThinking, "Corrupted", geminiBody(partsUser + "," + strings.Replace(partsCalls, `skip_thought_signature_validator`, "AAAA", 1) + "," + partsAnswer)},
		{script.RuleRoles, "alternate", geminiBody(partsUser + "," + partsUser)},
		{script.RuleRoles, "valid role", geminiBody(strings.Replace(partsUser, `"user"`, `"assistant"`, 1))},
		{script.RuleRoles, "start with a user", geminiBody(`{"role":"model","parts":[{"text":"x"}]},` + partsUser)},
		{script.RuleRoles, "not specified", geminiBody("")},
		{script.RuleTail, "end with a user", geminiBody(partsUser + `,{"role":"model","parts":[{"text":"x"}]}`)},
		{script.RuleContent, "must not be empty", geminiBody(`{"role":"user","parts":[]}`)},
		{script.RuleContent, "here are 2", geminiBody(`{"role":"user","parts":[{"text":"x","inlineData":{"mimeType":"image/png","data":"AAAA"}}]}`)},
		{script.RuleContent, "the model's", geminiBody(`{"role":"user","parts":[{"functionCall":{"name":"Bash","args":{}}}]}`)},
		{script.RuleContent, "the user's", geminiBody(partsUser + `,{"role":"model","parts":[{"functionResponse":{"name":"Bash","response":{}}}]},` + partsUser)},
		{script.RuleContent, "type and data", geminiBody(`{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":""}}]}`)},
		{script.RuleBlank, "text parameter", geminiBody(`{"role":"user","parts":[{"text":" "}]}`)},
		{script.RuleCalls, "Invalid function name", geminiBody(partsUser + "," + strings.Replace(partsCalls, `"Read"`, `"R d"`, 1) + "," + strings.Replace(partsAnswer, `"Read"`, `"R d"`, 1))},
		{script.RuleCalls, "Proto field", geminiBody(partsUser + "," + strings.Replace(partsCalls, `"args":{}`, `"args":"x"`, 1) + "," + partsAnswer)},
		{script.RuleFields, "'hologram'", geminiBody(`{"role":"user","parts":[{"text":"x","hologram":1}]}`)},
		{script.RuleFields, "'messages'", geminiBody(partsUser, `,"messages":[]`)},
		{script.RuleFields, "'additionalProperties'", strings.Replace(geminiBody(partsUser), `"OBJECT"`, `"OBJECT","properties":{"a":{"type":"OBJECT","additionalProperties":false}}`, 1)},
		{"", "", strings.Replace(geminiBody(partsUser), `"parameters":{"type":"OBJECT"`, `"parametersJsonSchema":{"type":"object","additionalProperties":false`, 1)},
		{script.RuleTools, "type 'object'", strings.Replace(geminiBody(partsUser), `"OBJECT"`, `"STRING"`, 1)},
	})
	s := start(t, wires.Gemini(), script.Say())
	post(t, s, geminiPath+"&key=k", geminiBody(partsUser), googleKey...)
	if found := s.Breaches(); len(found) != 1 || !strings.Contains(found[0].Text, "address") {
		t.Errorf("%v", found)
	}
}

func TestAThoughtSignatureComesBackInItsPlace(t *testing.T) {
	const answer = `{"role":"user","parts":[{"functionResponse":{"name":"Bash","id":"t1","response":{"output":"1"}}}]}`
	model := func(parts string) string { return `{"role":"model","parts":[` + parts + `]}` }
	for _, c := range []struct{ rule, parts string }{
		{"", `{"functionCall":{"name":"Bash","args":{"b":1.10},"id":"t1"},"thoughtSignature":"s/+="}`},
		{"", `{"text":"hm","thought":true},{"functionCall":{"args":{"b":1.10},"name":"Bash","id":"t1"},"thoughtSignature":"s/+="}`},
		{script.RuleThinking, `{"functionCall":{"name":"Bash","args":{"b":1.1},"id":"t1"},"thoughtSignature":"s/+="}`},
		{script.RuleThinking, `{"functionCall":{"name":"Bash","args":{"b":1.10},"id":"t1"},"thoughtSignature":"s/-="}`},
		{script.RuleThinking, `{"text":"x","thoughtSignature":"s/+="},{"functionCall":{"name":"Bash","args":{"b":1.10},"id":"t1"}}`},
		{script.RuleThinking, `{"functionCall":{"name":"Bash","args":{"b":1.10},"id":"t1"}}`},
	} {
		s := start(t, wires.Gemini(), script.Say(script.Thinking("hm", "s/+="), script.Tool("t1", "Bash", `{"b":1.10}`)), script.Say())
		_, stream := post(t, s, geminiPath, geminiBody(partsUser), googleKey...)
		if !strings.Contains(stream, `{"functionCall":{"name":"Bash","args":{"b":1.10},"id":"t1"},"thoughtSignature":"s/+="}`) {
			t.Fatal(stream)
		}
		post(t, s, geminiPath, geminiBody(partsUser+","+model(c.parts)+","+answer), googleKey...)
		found := s.Breaches()
		if c.rule == "" && len(found) > 0 || c.rule != "" && (len(found) == 0 || found[0].Rule != c.rule) {
			t.Errorf("%s: found %v, want %q", c.parts, found, c.rule)
		}
	}
}

func TestAReplyOfGeminiIsPartialReplies(t *testing.T) {
	reply := script.Say(script.Thinking("hm", "sig"), script.Text("ab"))
	reply.Usage = &script.Usage{Input: 5, CacheRead: 3, Output: 7, Thinking: 4}
	one := reply
	one.OneShot = true
	retry := script.Fail(429, "rate_limit_error", "slow")
	retry.Error.Retry = 1500 * time.Millisecond
	s := start(t, wires.Gemini(), reply, one, reply, retry)
	_, stream := post(t, s, geminiPath, geminiBody(partsUser), googleKey...)
	for _, want := range []string{`{"text":"h","thought":true}`, `{"text":"a","thoughtSignature":"sig"}`, `{"text":"b"}`, `"finishReason":"STOP"`,
		`"promptTokenCount":8,"totalTokenCount":15,"candidatesTokenCount":3,"cachedContentTokenCount":3,"thoughtsTokenCount":4`} {
		if !strings.Contains(stream, want) {
			t.Errorf("lacks %s:\n%s", want, stream)
		}
	}
	if _, array := post(t, s, strings.TrimSuffix(geminiPath, "?alt=sse"), geminiBody(partsUser), googleKey...); !json.Valid([]byte(array)) || array[0] != '[' {
		t.Error(array)
	}
	if _, object := post(t, s, "/v1beta/models/gemini-3-pro:generateContent", geminiBody(partsUser), googleKey...); !json.Valid([]byte(object)) || object[0] != '{' {
		t.Error(object)
	}
	if status, failed := post(t, s, geminiPath, geminiBody(partsUser), googleKey...); status != 429 || !strings.Contains(failed, `"retryDelay":"1.5s"`) || !strings.Contains(failed, `"RESOURCE_EXHAUSTED"`) {
		t.Error(failed)
	}
}
