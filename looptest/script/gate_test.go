package script_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

// conversation is a request with these messages, a tool on offer, and more
// top-level fields.
func conversation(messages string, more ...string) string {
	return `{"model":"claude-sonnet-5","max_tokens":2000,` + strings.Join(append(more, ""), ",") +
		`"tools":[{"name":"Bash","description":"runs","input_schema":{"type":"object"}}],"messages":[` + messages + `]}`
}

const (
	ask    = `{"role":"user","content":"hi"}`
	call   = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}`
	answer = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]}`
	pixel  = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}`
)

func user(blocks string) string      { return `{"role":"user","content":[` + blocks + `]}` }
func assistant(blocks string) string { return `{"role":"assistant","content":[` + blocks + `]}` }
func say(text string) string         { return `{"type":"text","text":"` + text + `"}` }
func marked(ttl string) string {
	return `{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"` + ttl + `"}}`
}
func toolWith(fields string) string {
	return `{"model":"m","max_tokens":5,"tools":[{` + fields + `}],"messages":[` + ask + `]}`
}

// gateCases has for every rule requests that break it and the nearest ones
// that do not.
var gateCases = []struct{ name, rule, bad, good string }{
	{"invalid UTF-8", script.RuleEncoding, conversation(user(say("\xff"))), conversation(user(say("é")))},
	{"cut JSON", script.RuleEncoding, conversation(ask)[:50], conversation(ask)},
	{"a high surrogate alone", script.RuleEncoding, conversation(user(say(`\ud83c!`))), conversation(user(say(`\ud83c\udf0d!`)))},
	{"a low surrogate alone", script.RuleEncoding, conversation(user(say(`\udf0d`))), conversation(user(say(`\\udf0d`)))},
	{"an unknown key", script.RuleFields, conversation(ask, `"max_token":1`), conversation(ask, `"stream":false`)},
	{"no model", script.RuleFields, `{"max_tokens":1,"messages":[` + ask + `]}`, `{"model":"m","max_tokens":1,"messages":[` + ask + `]}`},
	{"a message with an unknown key", script.RuleFields, conversation(`{"role":"user","content":"hi","id":"1"}`), conversation(ask)},
	{"a block with an unknown key", script.RuleFields, conversation(user(`{"type":"text","text":"x","extra":1}`)), conversation(user(`{"type":"text","text":"x","citations":null}`))},
	{"a wrong type", script.RuleFields, conversation(ask, `"stream":"yes"`), conversation(ask, `"stream":false`)},
	{"no max_tokens", script.RuleLimit, `{"model":"m","messages":[` + ask + `]}`, `{"model":"m","max_tokens":1,"messages":[` + ask + `]}`},
	{"max_tokens of zero", script.RuleLimit, `{"model":"m","max_tokens":0,"messages":[` + ask + `]}`, `{"model":"m","max_tokens":1,"messages":[` + ask + `]}`},
	{"a tool name with a space", script.RuleTools, toolWith(`"name":"a b","input_schema":{"type":"object"}`), toolWith(`"name":"a_b","input_schema":{"type":"object"}`)},
	{"a tool name of 65 letters", script.RuleTools, toolWith(`"name":"` + strings.Repeat("a", 65) + `","input_schema":{"type":"object"}`), toolWith(`"name":"` + strings.Repeat("a", 64) + `","input_schema":{"type":"object"}`)},
	{"a tool twice", script.RuleTools, toolWith(`"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}`), toolWith(`"name":"a","input_schema":{"type":"object"}},{"name":"b","input_schema":{"type":"object"}`)},
	{"a schema that is no object", script.RuleTools, toolWith(`"name":"a","input_schema":{"type":"string"}`), toolWith(`"name":"a","input_schema":{"type":"object"}`)},
	{"no schema", script.RuleTools, toolWith(`"name":"a"`), toolWith(`"name":"bash","type":"bash_20250124"`)},
	{"anyOf at the top", script.RuleTools, toolWith(`"name":"a","input_schema":{"type":"object","anyOf":[]}`), toolWith(`"name":"a","input_schema":{"type":"object","properties":{"x":{"anyOf":[]}}}`)},
	{"a tool with an unknown key", script.RuleFields, toolWith(`"name":"a","input_schema":{"type":"object"},"x":1`), toolWith(`"name":"a","input_schema":{"type":"object"},"strict":true`)},
	{"calls without tools", script.RuleTools, `{"model":"m","max_tokens":5,"messages":[` + ask + `,` + call + `,` + answer + `]}`, conversation(ask + `,` + call + `,` + answer)},
	{"no message", script.RuleRoles, conversation(``), conversation(ask)},
	{"the assistant first", script.RuleRoles, conversation(assistant(say("hi")) + `,` + ask), conversation(ask + `,` + assistant(say("hi")) + `,` + ask)},
	{"an unknown role", script.RuleRoles, conversation(ask + `,{"role":"tool","content":"x"}`), conversation(ask + `,{"role":"user","content":"x"}`)},
	{"a system message first", script.RuleRoles, conversation(`{"role":"system","content":"x"}`), conversation(ask + `,{"role":"system","content":"x"}`)},
	{"a system message in the middle of the user's", script.RuleRoles, conversation(ask + `,{"role":"system","content":"x"},` + ask), conversation(ask + `,{"role":"system","content":"x"},` + assistant(say("ok")) + `,` + ask)},
	{"a message without content", script.RuleContent, conversation(user(``)), conversation(user(say("x")))},
	{"an assistant message without content", script.RuleContent, conversation(ask + `,` + assistant(``) + `,` + ask), conversation(ask + `,` + assistant(say("x")) + `,` + ask)},
	{"a call by the user", script.RuleContent, conversation(user(`{"type":"tool_use","id":"t","name":"Bash","input":{}}`)), conversation(ask)},
	{"a result by the assistant", script.RuleContent, conversation(ask + `,` + call + `,` + strings.Replace(answer, "user", "assistant", 1) + `,` + ask), conversation(ask + `,` + call + `,` + answer + `,` + ask)},
	{"an unknown type of block", script.RuleContent, conversation(user(`{"type":"txt","text":"x"}`)), conversation(user(say("x")))},
	{"an image of an unknown type", script.RuleContent, conversation(user(strings.Replace(pixel, "png", "tiff", 1))), conversation(user(pixel))},
	{"an image in the system prompt", script.RuleContent, conversation(ask, `"system":[`+pixel+`]`), conversation(ask, `"system":[`+say("x")+`]`)},
	{"an empty text", script.RuleBlank, conversation(user(say("") + `,` + say("x"))), conversation(user(say(" x") + `,` + say("x")))},
	{"a blank plain text", script.RuleBlank, conversation(`{"role":"user","content":" \n"}`), conversation(ask)},
	{"a blank system prompt", script.RuleBlank, conversation(ask, `"system":" "`), conversation(ask, `"system":"x"`)},
	{"a blank result", script.RuleBlank, conversation(ask + `,` + call + `,` + strings.Replace(answer, "done", `\n`, 1)), conversation(ask + `,` + call + `,` + answer)},
	{"a blank block in a result", script.RuleBlank, conversation(ask + `,` + call + `,` + strings.Replace(answer, `"done"`, `[`+say("")+`]`, 1)), conversation(ask + `,` + call + `,` + strings.Replace(answer, `"done"`, `[`+say("x")+`]`, 1))},
	{"an empty id", script.RuleCalls, conversation(strings.ReplaceAll(ask+`,`+call+`,`+answer, "t1", "")), conversation(strings.ReplaceAll(ask+`,`+call+`,`+answer, "t1", "t_-"))},
	{"an id with a colon", script.RuleCalls, conversation(strings.ReplaceAll(ask+`,`+call+`,`+answer, "t1", "Bash:0")), conversation(strings.ReplaceAll(ask+`,`+call+`,`+answer, "t1", "Bash-0"))},
	{"an id used again later", script.RuleCalls, conversation(ask + `,` + call + `,` + answer + `,` + call + `,` + answer), conversation(ask + `,` + call + `,` + answer + `,` + strings.ReplaceAll(call+`,`+answer, "t1", "t2"))},
	{"input that is a string", script.RuleCalls, conversation(ask + `,` + strings.Replace(call, "{}", `"{}"`, 1) + `,` + answer), conversation(ask + `,` + strings.Replace(call, "{}", `{"a":1}`, 1) + `,` + answer)},
	{"input that is null", script.RuleCalls, conversation(ask + `,` + strings.Replace(call, "{}", `null`, 1) + `,` + answer), conversation(ask + `,` + call + `,` + answer)},
	{"a mangled tool name", script.RuleCalls, conversation(ask + `,` + strings.Replace(call, "Bash", "Bash<|x|>", 1) + `,` + answer), conversation(ask + `,` + strings.Replace(call, "Bash", "no_such", 1) + `,` + answer)},
	{"a call at the end", script.RuleResults, conversation(ask + `,` + call), conversation(ask + `,` + call + `,` + answer)},
	{"a call without its result", script.RuleResults, conversation(ask + `,` + call + `,` + ask), conversation(ask + `,` + call + `,` + answer + `,` + ask)},
	{"a result without its call", script.RuleResults, conversation(ask + `,` + answer), conversation(ask + `,` + call + `,` + answer)},
	{"a result a message late", script.RuleResults, conversation(ask + `,` + call + `,` + ask + `,` + assistant(say("x")) + `,` + answer), conversation(ask + `,` + call + `,` + answer + `,` + assistant(say("x")) + `,` + ask)},
	{"two results for a call", script.RuleResults, conversation(ask + `,` + call + `,` + answer + `,` + answer), conversation(ask + `,` + call + `,` + answer + `,` + ask)},
	{"text before the result", script.RuleResults, conversation(ask + `,` + call + `,` + ask + `,` + answer), conversation(ask + `,` + call + `,` + answer + `,` + ask)},
	{"an image in a result that is an error", script.RuleErrors, conversation(ask + `,` + call + `,` + strings.Replace(answer, `"done"`, `[`+pixel+`],"is_error":true`, 1)), conversation(ask + `,` + call + `,` + strings.Replace(answer, `"done"`, `[`+pixel+`]`, 1))},
	{"a tail in white space", script.RuleTail, `{"model":"claude-3-5-haiku","max_tokens":5,"messages":[` + ask + `,` + assistant(say(`Done.\n`)) + `]}`, `{"model":"claude-3-5-haiku","max_tokens":5,"messages":[` + ask + `,` + assistant(say(`Done.`)) + `]}`},
	{"words put into a newer model's mouth", script.RuleTail, conversation(ask + `,` + assistant(say("Sure"))), conversation(ask + `,` + assistant(say("Sure")) + `,` + ask)},
	{"reasoning nobody sent", script.RuleThinking, conversation(ask + `,` + assistant(`{"type":"thinking","thinking":"x","signature":"y"},`+say("x")) + `,` + ask), conversation(ask + `,` + assistant(say("x")) + `,` + ask)},
	{"five marks", script.RuleCache, conversation(user(strings.Repeat(marked("5m")+`,`, 4) + marked("5m"))), conversation(user(strings.Repeat(marked("5m")+`,`, 3) + marked("5m")))},
	{"five marks, one for the whole", script.RuleCache, conversation(user(strings.Repeat(marked("5m")+`,`, 3)+marked("5m")), `"cache_control":{"type":"ephemeral"}`), conversation(user(strings.Repeat(marked("5m")+`,`, 2)+marked("5m")), `"cache_control":{"type":"ephemeral"}`)},
	{"an hour after five minutes", script.RuleCache, conversation(user(marked("5m") + `,` + marked("1h"))), conversation(user(marked("1h") + `,` + marked("5m")))},
	{"an unknown lifetime", script.RuleCache, conversation(user(marked("2h"))), conversation(user(marked("1h")))},
	{"a mark on an empty text", script.RuleCache, conversation(user(strings.Replace(marked("5m"), `"x"`, `""`, 1))), conversation(user(marked("5m")))},
	{"a mark on reasoning", script.RuleCache, conversation(ask + `,` + assistant(`{"type":"thinking","thinking":"x","signature":"y","cache_control":{"type":"ephemeral"}},`+say("x")) + `,` + ask), conversation(ask)},
	{"a small thinking budget", script.RuleParams, conversation(ask, `"thinking":{"type":"enabled","budget_tokens":1000}`), conversation(ask, `"thinking":{"type":"enabled","budget_tokens":1024}`)},
	{"a thinking budget beyond the limit", script.RuleParams, conversation(ask, `"thinking":{"type":"enabled","budget_tokens":2000}`), conversation(ask, `"thinking":{"type":"adaptive"}`)},
	{"thinking that is no object", script.RuleParams, conversation(ask, `"thinking":"on"`), conversation(ask, `"thinking":{"type":"adaptive"}`)},
	{"thinking without a type", script.RuleParams, conversation(ask, `"thinking":{}`), conversation(ask, `"thinking":{"type":"disabled"}`)},
	{"an unknown kind of thinking", script.RuleParams, conversation(ask, `"thinking":{"type":"deep"}`), conversation(ask, `"thinking":{"type":"between_tools"}`)},
	{"a system message after the assistant's text", script.RuleRoles, conversation(ask + `,` + assistant(say("x")) + `,{"role":"system","content":"x"}`), conversation(ask + `,` + assistant(say("x")) + `,` + ask + `,{"role":"system","content":"x"}`)},
	{"two system messages", script.RuleRoles, conversation(ask + `,{"role":"system","content":"x"},{"role":"system","content":"x"}`), conversation(ask + `,{"role":"system","content":"x"}`)},
	{"a call in a result", script.RuleContent, conversation(ask + `,` + call + `,` + strings.Replace(answer, `"done"`, `[`+use+`]`, 1)), conversation(ask + `,` + call + `,` + answer)},
	{"an image that is no base64", script.RuleContent, conversation(user(strings.Replace(pixel, "AAAA", "A?", 1))), conversation(user(pixel))},
	{"an image from nowhere", script.RuleContent, conversation(user(`{"type":"image","source":{"type":"disk"}}`)), conversation(user(`{"type":"image","source":{"type":"url","url":"http://localhost/x.png"}}`))},
	{"an unknown effort", script.RuleParams, conversation(ask, `"output_config":{"effort":"huge"}`), conversation(ask, `"output_config":{"effort":"xhigh"}`)},
}

func TestEveryRuleRefusesWhatBreaksItAndNothingElse(t *testing.T) {
	covered := map[string]bool{script.RuleHeader: true, script.RuleSize: true} // below
	for _, c := range gateCases {
		t.Run(c.name, func(t *testing.T) {
			covered[c.rule] = true
			s := start(t, script.Reply{Repeat: true})
			res := send(t, s, c.bad)
			if body := readAll(t, res.Body); res.StatusCode != 400 || !strings.Contains(body, `"type":"invalid_request_error"`) {
				t.Errorf("status %d: %s", res.StatusCode, body)
			}
			if !broke(s, c.rule) {
				t.Errorf("the gate did not find %q: %v", c.rule, s.Breaches())
			}
			if s.Unplayed() != 1 {
				t.Error("a refused request played a reply")
			}
			s = start(t, script.Reply{Repeat: true})
			if res := send(t, s, c.good); res.StatusCode != 200 || len(s.Breaches()) > 0 {
				t.Errorf("the good request: status %d, %v", res.StatusCode, s.Breaches())
			}
		})
	}
	for _, rule := range script.Rules() {
		if !covered[rule] {
			t.Errorf("no case breaks the rule %q", rule)
		}
	}
}

func broke(s *script.Server, rule string) bool {
	for _, b := range s.Breaches() {
		if b.Rule == rule && b.Error() != "" {
			return true
		}
	}
	return false
}

// Bodies that are no JSON at all cost no time behind the rule of the size.
func TestABodyOf32MegabytesIsTheLargest(t *testing.T) {
	s := start(t)
	size := func(n int) string { return "\xff" + strings.Repeat("x", n-1) }
	if send(t, s, size(32<<20)); broke(s, script.RuleSize) || !broke(s, script.RuleEncoding) {
		t.Errorf("32 MB: %v", s.Breaches())
	}
	res := send(t, s, size(32<<20+1))
	if body := readAll(t, res.Body); res.StatusCode != 413 || !strings.Contains(body, "request_too_large") || !broke(s, script.RuleSize) {
		t.Errorf("a byte more: status %d %s", res.StatusCode, body)
	}
}

func TestTheHeadersOfARequestAreChecked(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(http.Header)
		ok   bool
	}{
		{"as they should be", func(h http.Header) {}, true},
		{"a token", func(h http.Header) { h.Del("X-Api-Key"); h.Set("Authorization", "Bearer x") }, true},
		{"the newer version", func(h http.Header) { h.Set("Anthropic-Version", "2026-10-21") }, true},
		{"a charset", func(h http.Header) { h.Set("Content-Type", "application/json; charset=utf-8") }, true},
		{"both credentials", func(h http.Header) { h.Set("Authorization", "Bearer x") }, false},
		{"no credential", func(h http.Header) { h.Del("X-Api-Key") }, false},
		{"an empty key", func(h http.Header) { h.Set("X-Api-Key", "") }, false},
		{"no bearer", func(h http.Header) { h.Del("X-Api-Key"); h.Set("Authorization", "x") }, false},
		{"no version", func(h http.Header) { h.Del("Anthropic-Version") }, false},
		{"an unknown version", func(h http.Header) { h.Set("Anthropic-Version", "2024-01-01") }, false},
		{"another content type", func(h http.Header) { h.Set("Content-Type", "text/plain") }, false},
	} {
		s := start(t, script.Reply{Repeat: true})
		req := newRequest(t, s, hello)
		c.set(req.Header)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if ok := res.StatusCode == 200; ok != c.ok || ok == broke(s, script.RuleHeader) {
			t.Errorf("%s: status %d, %v", c.name, res.StatusCode, s.Breaches())
		}
	}
}

func TestSamplingIsRefusedByTheNewerVersionOnly(t *testing.T) {
	s := start(t, script.Reply{Repeat: true})
	body := conversation(ask, `"temperature":0.5`)
	if res := send(t, s, body); res.StatusCode != 200 {
		t.Errorf("older: %v", s.Breaches())
	}
	req := newRequest(t, s, body)
	req.Header.Set("Anthropic-Version", "2026-10-21")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 400 || !broke(s, script.RuleParams) {
		t.Errorf("newer: status %d, %v", res.StatusCode, s.Breaches())
	}
}

const (
	thought = `{"type":"thinking","thinking":"hm","signature":"sig"}`
	second  = `{"type":"thinking","thinking":"and","signature":"sig2"}`
	use     = `{"type":"tool_use","id":"t1","name":"Bash","input":{}}`
)

// TestReasoningComesBackAsItWasSent sends a turn with reasoning and a call,
// then what a client makes of it.
func TestReasoningComesBackAsItWasSent(t *testing.T) {
	reply := script.Say(script.Thinking("hm", "sig"), script.Thinking("and", "sig2"), script.Tool("t1", "Bash", "{}"))
	good := assistant(thought + `,` + second + `,` + use)
	for _, c := range []struct {
		name, body string
		unbound    bool
		ok         bool
	}{
		{"unchanged", conversation(ask + `,` + good + `,` + answer), false, true},
		{"keys in another order", conversation(ask + `,` + assistant(`{"signature":"sig","thinking":"hm","type":"thinking"},`+second+`,`+use) + `,` + answer), false, true},
		{"left out", conversation(ask + `,` + assistant(use) + `,` + answer), false, false},
		{"one left out", conversation(ask + `,` + assistant(second+`,`+use) + `,` + answer), false, false},
		{"swapped", conversation(ask + `,` + assistant(second+`,`+thought+`,`+use) + `,` + answer), false, false},
		{"swapped, unbound", conversation(ask + `,` + assistant(second+`,`+thought+`,`+use) + `,` + answer), true, false},
		{"changed", conversation(ask + `,` + assistant(strings.Replace(thought, "hm", "HM", 1)+`,`+second+`,`+use) + `,` + answer), false, false},
		{"left out of an older turn", conversation(ask + `,` + assistant(use) + `,` + answer + `,` + assistant(say("ok")) + `,` + ask), false, true},
		{"after another question", conversation(user(say("ho")) + `,` + good + `,` + answer), false, false},
		{"after another question, unbound", conversation(user(say("ho")) + `,` + good + `,` + answer), true, true},
		{"with another system prompt", conversation(ask+`,`+good+`,`+answer, `"system":"x"`), false, false},
		{"with other tools", strings.Replace(conversation(ask+`,`+good+`,`+answer), `"runs"`, `"ran"`, 1), false, false},
		{"with a mark elsewhere", conversation(ask + `,` + good + `,` + strings.Replace(answer, `"tool_use_id"`, `"cache_control":{"type":"ephemeral"},"tool_use_id"`, 1)), false, true},
		{"at the end of a message", conversation(ask + `,` + assistant(thought+`,`+second) + `,` + ask), false, false},
	} {
		s := start(t, reply, script.Reply{Repeat: true})
		s.Unbound = c.unbound
		if res := send(t, s, conversation(ask)); res.StatusCode != 200 {
			t.Fatalf("%s: first request: %v", c.name, s.Breaches())
		}
		res := send(t, s, c.body)
		if ok := res.StatusCode == 200; ok != c.ok || ok == broke(s, script.RuleThinking) {
			t.Errorf("%s: status %d, %v", c.name, res.StatusCode, s.Breaches())
		}
	}
}

func TestAPausedTurnIsResumedWithTheMessageAsItIs(t *testing.T) {
	search := `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`
	paused := script.Say(script.Thinking("hm", "sig"), script.Raw([]byte(search)))
	paused.Stop = "pause_turn"
	on := script.Say(script.Thinking("and", "sig2"), script.Tool("t1", "Bash", "{}"))
	s := start(t, paused, on, script.Say(script.Text("ok")))
	for i, body := range []string{
		conversation(ask),
		conversation(ask + `,` + assistant(thought+`,`+search)),
		conversation(ask + `,` + assistant(thought+`,`+search+`,`+second+`,`+use) + `,` + answer),
	} {
		if res := send(t, s, body); res.StatusCode != 200 {
			t.Errorf("request %d: %v", i+1, s.Breaches())
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestAPauseIsKnownInWhateverFormItWasSent(t *testing.T) {
	paused := script.Say(script.Thinking("hm", "sig"), script.Text("Half a word"))
	paused.Stop = "pause_turn"
	blank := script.Say(script.Thinking("hm", "sig"), script.Text("Half a word"), script.Text(" "))
	blank.Stop = "pause_turn"
	none := paused
	none.Stop = "end_turn"
	one := func(r script.Reply) script.Reply { r.OneShot = true; return r }
	raw := func(r script.Reply) script.Reply { return script.Reply{SSE: r.Stream(script.Request{})} }
	whole := []byte(`{"type":"message","role":"assistant","content":[` + thought + `,` + say("Half a word") + `],"stop_reason":"pause_turn"}`)
	for _, c := range []struct {
		name  string
		reply script.Reply
		text  string // with which the request goes on
		ok    bool
	}{
		{"streamed", paused, "Half a word", true},
		{"a blank text behind it", blank, "Half a word", true},
		{"in one piece", one(paused), "Half a word", true},
		{"as a raw stream", raw(paused), "Half a word", true},
		{"as a raw body", script.Reply{Body: whole}, "Half a word", true},
		{"other words", raw(paused), "Half a world", false},
		{"fewer words", paused, "Half a", false},
		{"no pause", raw(none), "Half a word", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, c.reply, script.Say(script.Text("ok")))
			send(t, s, conversation(ask))
			res := send(t, s, conversation(ask+`,`+assistant(thought+`,`+say(c.text))))
			if (res.StatusCode == 200) != c.ok || broke(s, script.RuleTail) == c.ok {
				t.Errorf("status %d, %v", res.StatusCode, s.Breaches())
			}
		})
	}
}

func TestAPauseIsResumedWithoutTheSpaceAtItsEnd(t *testing.T) {
	for _, whole := range []string{`Half.\n `, `Half. `, `Half.\u3000`} {
		var text string
		if err := json.Unmarshal([]byte(`"`+whole+`"`), &text); err != nil {
			t.Fatal(err)
		}
		paused := script.Say(script.Thinking("hm", "sig"), script.Text(text))
		paused.Stop = "pause_turn"
		on := script.Say(script.Thinking("and", "sig2"), script.Tool("t1", "Bash", "{}"))
		s := start(t, paused, on, script.Say(script.Text("ok")))
		for i, body := range []string{
			conversation(ask),
			conversation(ask + `,` + assistant(thought+`,`+say("Half."))),
			// The message keeps its space, and the reasoning behind it stays where it was sent.
			conversation(ask + `,` + assistant(thought+`,`+say(whole)+`,`+second+`,`+use) + `,` + answer),
		} {
			if res := send(t, s, body); res.StatusCode != 200 {
				t.Errorf("%q, request %d: %v", whole, i+1, s.Breaches())
			}
		}
		if err := s.Check(); err != nil {
			t.Error(err)
		}
	}
}

func TestUnknownBlocksAndFieldsOfOursMayComeBack(t *testing.T) {
	odd := `{"type":"hologram","depth":3}`
	more := `{"type":"text","text":"x","mood":"calm"}`
	s := start(t, script.Say(script.Raw([]byte(odd)), script.Raw([]byte(more))), script.Say())
	send(t, s, conversation(ask))
	if res := send(t, s, conversation(ask+`,`+assistant(odd+`,`+more)+`,`+ask)); res.StatusCode != 200 {
		t.Errorf("sent back: %v", s.Breaches())
	}
}

func TestBlocksOfARawStreamAreKnownWhenTheyComeBack(t *testing.T) {
	reply := script.Say(script.Thinking("hm", "sig"), script.TextPieces("a", "b"), script.Tool("t1", "Bash", `{"command":"ls"}`))
	s := start(t, script.Reply{SSE: reply.Stream(script.Request{})}, script.Say())
	send(t, s, conversation(ask))
	body := conversation(ask + `,` + assistant(thought+`,`+say("ab")+`,{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}`) + `,` + answer)
	if res := send(t, s, body); res.StatusCode != 200 {
		t.Errorf("sent back: %v", s.Breaches())
	}
}
