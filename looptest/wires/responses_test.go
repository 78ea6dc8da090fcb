package wires_test

import (
	"encoding/json"
	"strings"
	"testing"

	"oneloop/looptest/script"
	"oneloop/looptest/wires"
)

const responsesPath = "/v1/responses"

func responsesBody(input string, more ...string) string {
	return `{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"input":[` + input + `],
		"tools":[{"type":"function","name":"Bash","parameters":{"type":"object"}}]` + strings.Join(more, "") + `}`
}

const (
	inputUser   = `{"role":"user","content":[{"type":"input_text","text":"hi"}]}`
	inputCall   = `{"type":"function_call","call_id":"a","name":"Bash","arguments":"{}"}`
	inputOutput = `{"type":"function_call_output","call_id":"a","output":"1"}`
)

func TestTheGateOfResponsesIsAsStrictAsTheAPI(t *testing.T) {
	checkBreaches(t, responsesPath, wires.Responses, bearer, []breach{
		{"", "", responsesBody(inputUser + "," + inputCall + "," + inputOutput)},
		{"", "", responsesBody(`{"role":"developer","content":"x"},` + inputUser + `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}`)},
		{"", "", responsesBody(inputUser + "," + inputCall + "," + strings.Replace(inputOutput, `"1"`, `[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]`, 1))},
		{script.RuleResults, "No tool output found for function call a", responsesBody(inputUser + "," + inputCall)},
		{script.RuleResults, "No tool call found", responsesBody(inputUser + "," + inputOutput)},
		{script.RuleResults, "No tool call found", responsesBody(inputUser + "," + inputOutput + "," + inputCall)},
		{script.RuleResults, "before the outputs", responsesBody(inputUser + "," + inputCall + "," + inputUser)},
		{script.RuleCalls, "Duplicate", responsesBody(inputUser + "," + inputCall + "," + inputCall + "," + inputOutput)},
		{script.RuleCalls, "longer than 64", responsesBody(inputUser + "," + strings.ReplaceAll(inputCall+","+inputOutput, `"a"`, `"`+strings.Repeat("a", 65)+`"`))},
		{script.RuleCalls, "not found", responsesBody(inputUser + "," + strings.Replace(inputCall, `"call_id"`, `"id":"fc_1","call_id"`, 1) + "," + inputOutput)},
		{script.RuleThinking, "could not be verified", responsesBody(inputUser + `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},` + inputCall + "," + inputOutput)},
		{script.RuleContent, "'text'", responsesBody(`{"role":"user","content":[{"type":"text","text":"hi"}]}`)},
		{script.RuleContent, "'input_text'", responsesBody(inputUser + `,{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`)},
		{script.RuleContent, "'tool_use'", responsesBody(inputUser + `,{"type":"tool_use"}`)},
		{script.RuleContent, "output", responsesBody(inputUser + "," + inputCall + `,{"type":"function_call_output","call_id":"a"}`)},
		{script.RuleFields, "'is_error'", responsesBody(inputUser + "," + inputCall + "," + strings.Replace(inputOutput, `"output"`, `"is_error":true,"output"`, 1))},
		{script.RuleFields, "'messages'", responsesBody(inputUser, `,"messages":[]`)},
		{script.RuleRoles, "'tool'", responsesBody(`{"role":"tool","content":"x"}`)},
		{script.RuleRoles, "'input'", `{"model":"m","input":[]}`},
		{script.RuleParams, "not found", responsesBody(inputUser, `,"previous_response_id":"resp_1"`)},
		{script.RuleFields, "'model'", strings.Replace(responsesBody(inputUser), `"model":"m",`, "", 1)},
		{script.RuleCalls, "input[1].id", responsesBody(inputUser + "," + strings.Replace(inputCall, `"call_id"`, `"id":"","call_id"`, 1) + "," + inputOutput)},
		{script.RuleCalls, "input[1].name", responsesBody(inputUser + "," + strings.Replace(inputCall, `"Bash"`, `"B.sh"`, 1) + "," + inputOutput)},
		{script.RuleCalls, "expected a string", responsesBody(inputUser + "," + strings.Replace(inputCall, `"{}"`, `{}`, 1) + "," + inputOutput)},
		{script.RuleThinking, "summary", responsesBody(inputUser + `,{"type":"reasoning","encrypted_content":"x"},` + inputCall + "," + inputOutput)},
		{script.RuleContent, "'input[0].content'", responsesBody(`{"role":"user"}`)},
		{script.RuleContent, "is no image", responsesBody(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/tiff;base64,AAAA"}]}`)},
		{script.RuleTools, "does not match", strings.Replace(responsesBody(inputUser), `"Bash"`, `"B.sh"`, 1)},
	})
}

// said are the data of a stream, by their type.
func said(t *testing.T, stream string) (types []string, last json.RawMessage) {
	t.Helper()
	for i, data := range chunks(t, stream) {
		var e struct {
			Type   string
			Number int `json:"sequence_number"`
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || e.Number != i {
			t.Fatalf("event %d: %v: %s", i, err, data)
		}
		types = append(types, strings.TrimPrefix(e.Type, "response."))
		last = json.RawMessage(data)
	}
	return types, last
}

func TestAReplyOfResponsesIsAStreamOfItems(t *testing.T) {
	s := start(t, wires.Responses(), script.Say(script.Thinking("hm", "seal"), script.Text("ab"), script.Tool("t1", "Bash", `{"n":1}`)))
	_, stream := post(t, s, responsesPath, responsesBody(inputUser), bearer...)
	types, last := said(t, stream)
	want := `created in_progress output_item.added reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.delta ` +
		`reasoning_summary_text.done reasoning_summary_part.done output_item.done output_item.added content_part.added output_text.delta ` +
		`output_text.delta output_text.done content_part.done output_item.done output_item.added function_call_arguments.delta ` +
		`function_call_arguments.delta function_call_arguments.done output_item.done completed`
	if got := strings.Join(types, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var end struct {
		Response struct {
			Status string
			Output []struct {
				Type, Status, Arguments string
				Seal                    string `json:"encrypted_content"`
			}
		}
	}
	if err := json.Unmarshal(last, &end); err != nil {
		t.Fatal(err)
	}
	if o := end.Response.Output; len(o) != 3 || o[0].Seal != "seal" || o[2].Arguments != `{"n":1}` || end.Response.Status != "completed" {
		t.Errorf("%s", last)
	}
}

func TestEncryptedReasoningComesOnlyWhenItWasAskedFor(t *testing.T) {
	s := start(t, wires.Responses(), script.Say(script.Thinking("hm", "seal"), script.Text("ab")))
	if _, stream := post(t, s, responsesPath, strings.Replace(responsesBody(inputUser), `"reasoning.encrypted_content"`, "", 1), bearer...); strings.Contains(stream, "encrypted") {
		t.Error(stream)
	}
}

func TestARefusalACutAndAFailureOfResponses(t *testing.T) {
	cut := script.Say(script.Text("a"), script.Tool("t1", "Bash", `{"n":`))
	cut.Stop = "max_tokens"
	half := script.Say(script.Text("a"))
	half.Error = &script.Error{Type: "billing_error", Message: "pay"}
	s := start(t, wires.Responses(), cut, script.Say(script.Raw(json.RawMessage(`{"type":"refusal","refusal":"no"}`))), half, script.Fail(429, "rate_limit_error", "slow"))
	for _, want := range []string{`"status":"incomplete","arguments":"{\"n\":"`, `"type":"refusal","refusal":"no"`, `"code":"insufficient_quota","message":"pay"`, `"code":"rate_limit_exceeded","message":"slow"`} {
		if _, got := post(t, s, responsesPath, responsesBody(inputUser), bearer...); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

func TestItemsComeBackAsTheyWereSentOrAreRefused(t *testing.T) {
	const output = `{"type":"function_call_output","call_id":"t1","output":"1"}`
	for _, c := range []struct {
		rule, says string
		back       func(rs, fc string) string
	}{
		{"", "", func(rs, fc string) string { return rs + "," + fc }},
		{script.RuleThinking, "required following item", func(rs, fc string) string { return rs }},
		{script.RuleThinking, "without its required 'reasoning' item", func(rs, fc string) string { return fc }},
		{script.RuleThinking, "was changed", func(rs, fc string) string { return rs + "," + strings.Replace(fc, "1.10", "1.1", 1) }},
		{script.RuleThinking, "was changed", func(rs, fc string) string { return strings.Replace(rs, "hm", "hmm", 1) + "," + fc }},
		{script.RuleThinking, "not persisted", func(rs, fc string) string {
			return strings.Replace(rs, `"encrypted_content":"seal",`, "", 1) + "," + fc
		}},
		{"", "", func(rs, fc string) string { return noID(t, rs) + "," + noID(t, fc) }},
		{"", "", func(rs, fc string) string { return noID(t, fc) }},
	} {
		s := start(t, wires.Responses(), script.Say(script.Thinking("hm", "seal"), script.Tool("t1", "Bash", `{"b":1.10}`)), script.Say())
		_, stream := post(t, s, responsesPath, responsesBody(inputUser), bearer...)
		_, last := said(t, stream)
		var end struct {
			Response struct{ Output []json.RawMessage }
		}
		if err := json.Unmarshal(last, &end); err != nil {
			t.Fatal(err)
		}
		back := c.back(string(end.Response.Output[0]), string(end.Response.Output[1]))
		if strings.Contains(back, "call_id") {
			back += "," + output
		}
		post(t, s, responsesPath, responsesBody(inputUser+","+back), bearer...)
		found, all := s.Breaches(), ""
		for _, b := range found {
			all += b.Rule + ": " + b.Text + "\n"
		}
		if c.rule == "" && len(found) > 0 || c.rule != "" && (!strings.HasPrefix(all, c.rule) || !strings.Contains(all, c.says)) {
			t.Errorf("%s: found %v, want %s: %s", back, found, c.rule, c.says)
		}
	}
}

func noID(t *testing.T, item string) string {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(item), &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "id")
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
