package gemini_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"oneloop"
	"oneloop/model/gemini"
)

const done = `{"candidates":[{"content":{"parts":[{"text":"ok"}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1,"totalTokenCount":6},"responseId":"r1"}`

func sse(events ...string) *strings.Reader {
	return strings.NewReader("data: " + strings.Join(events, "\r\n\r\ndata: ") + "\r\n\r\n")
}

// sent is the request that these messages make for a model.
func sent(t *testing.T, name string, req *oneloop.Request) string {
	t.Helper()
	got := ask(t, name, req, 200, "text/event-stream", sse(done))
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	if !json.Valid([]byte(got.Sent[0])) {
		t.Fatalf("no JSON: %s", got.Sent[0])
	}
	return got.Sent[0]
}

func contents(t *testing.T, body string) string {
	t.Helper()
	_, after, ok := strings.Cut(body, `"contents":`)
	if !ok {
		t.Fatalf("no contents in %s", body)
	}
	return strings.TrimSuffix(after, "}")
}

func foreign(api, model string) *oneloop.Message {
	return &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Origin: oneloop.Origin{API: api, Model: model}, Blocks: []oneloop.Block{
		&oneloop.Thinking{Text: "hm", Signature: "sig"},
		&oneloop.Text{Text: "I look"},
		&oneloop.Opaque{Type: "redacted_thinking", Wire: oneloop.Wire{Raw: []byte(`{"type":"redacted_thinking","data":"x"}`)}},
		&oneloop.ToolUse{ID: "toolu_1", Name: "Read", Input: []byte(`{"n":1.0}`)},
		&oneloop.ToolUse{ID: "toolu_2", Name: "Read", Input: []byte(`{"n":2}`)},
	}}
}

func results() *oneloop.Message {
	return oneloop.NewMessage(oneloop.User,
		&oneloop.ToolResult{ID: "toolu_1", Content: []oneloop.Block{&oneloop.Text{Text: "one"}, &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte("png")}}},
		&oneloop.ToolResult{ID: "toolu_2", IsError: true, Content: []oneloop.Block{&oneloop.Text{Text: "no such file"}}},
		&oneloop.Text{Text: "go on"})
}

func TestACallOfAnotherAPIIsSentWithoutIdAndWithoutSignature(t *testing.T) {
	req := &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi"), foreign("anthropic", "m"), results()}}
	want3 := `[{"role":"user","parts":[{"text":"hi"}]},` +
		`{"role":"model","parts":[{"text":"I look"},{"functionCall":{"name":"Read","args":{"n":1.0}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"Read","args":{"n":2}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"one"},"parts":[{"inlineData":{"mimeType":"image/png","data":"cG5n"}}]}},{"functionResponse":{"name":"Read","response":{"error":"no such file"}}},{"text":"go on"}]}]`
	if got := contents(t, sent(t, "gemini-3-pro", req)); got != want3 {
		t.Errorf("got\n%s\nwant\n%s", got, want3)
	}
	want2 := `[{"role":"user","parts":[{"text":"hi"}]},` +
		`{"role":"model","parts":[{"text":"I look"},{"functionCall":{"name":"Read","args":{"n":1.0}}},{"functionCall":{"name":"Read","args":{"n":2}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"one"}}},{"functionResponse":{"name":"Read","response":{"error":"no such file"}}},` +
		`{"text":"Media of the result of Read:"},{"inlineData":{"mimeType":"image/png","data":"cG5n"}},{"text":"go on"}]}]`
	if got := contents(t, sent(t, "gemini-2.5-flash", req)); got != want2 {
		t.Errorf("got\n%s\nwant\n%s", got, want2)
	}
}

func TestWhatIsSealedForAnotherModelOfThisAPIIsLeftOut(t *testing.T) {
	reply := ask(t, "gemini-3-flash", hi(), 200, "text/event-stream", sse(
		`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"I look","thoughtSignature":"c2ln"},{"functionCall":{"name":"Read","args":{},"id":"x1"},"thoughtSignature":"c2ln"},{"text":"","thoughtSignature":"ZW5k"}]},"finishReason":"STOP"}]}`))
	if reply.Err != nil {
		t.Fatal(reply.Err)
	}
	req := answered(reply.Message)
	own := `{"role":"model","parts":[{"text":"hm","thought":true},{"text":"I look","thoughtSignature":"c2ln"},{"functionCall":{"name":"Read","args":{},"id":"x1"},"thoughtSignature":"c2ln"},{"text":"","thoughtSignature":"ZW5k"}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"x1","name":"Read","response":{"output":"done: Read"}}}]}`
	if got := sent(t, "gemini-3-flash", req); !strings.Contains(got, own) {
		t.Errorf("to the same model: %s", got)
	}
	other := `{"role":"model","parts":[{"text":"I look"},{"functionCall":{"name":"Read","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"output":"done: Read"}}}]}`
	if got := sent(t, "gemini-3-pro", req); !strings.Contains(got, other) {
		t.Errorf("to another model: %s", got)
	}
}

func TestMessagesOfTheSameRoleAreOneContent(t *testing.T) {
	req := &oneloop.Request{Messages: []*oneloop.Message{
		oneloop.UserText("a"), oneloop.UserText(" "), oneloop.UserText("b"),
		oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: "c"}), oneloop.NewMessage(oneloop.User, &oneloop.Opaque{Type: "image", Wire: oneloop.Wire{Raw: []byte(`{"type":"image"}`)}}, &oneloop.Media{Type: "image", MIME: "image/gif"}),
	}}
	want := `[{"role":"user","parts":[{"text":"a"},{"text":"b"}]},{"role":"model","parts":[{"text":"c"}]},{"role":"user","parts":[{"text":"[a block of type \"image\" stood here, which this model cannot be sent]"},{"text":"[image of type image/gif stood here, which this model cannot be sent]"}]}]`
	if got := contents(t, sent(t, "gemini-3-pro", req)); got != want {
		t.Errorf("got %s", got)
	}
}

func TestTheSystemPromptToolsAndSettingsAreSent(t *testing.T) {
	req := hi()
	req.System = []oneloop.Block{&oneloop.Text{Text: "be brief"}, &oneloop.Text{Text: ""}}
	req.Tools = []oneloop.ToolDef{
		{Name: "Bash", Description: "runs", Schema: []byte(`{"type":"object","additionalProperties":false}`)},
		{Raw: []byte(`{"googleSearch":{}}`)}, {Name: "Read"}}
	req.Params = oneloop.Params{MaxTokens: 100, Effort: "max"}
	head := `"systemInstruction":{"parts":[{"text":"be brief"}]},"tools":[{"functionDeclarations":[{"name":"Bash","description":"runs","parametersJsonSchema":{"type":"object","additionalProperties":false}},{"name":"Read","description":"","parametersJsonSchema":{"type":"object"}}]},{"googleSearch":{}}],"contents":[`
	for model, config := range map[string]string{
		"gemini-9-flash":          `{"generationConfig":{"maxOutputTokens":100,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}},` + head,
		"gemini-flash-latest":     `{"generationConfig":{"maxOutputTokens":100,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"HIGH"}},` + head,
		"models/gemini-2.5-x":     `{"generationConfig":{"maxOutputTokens":100,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":24576}},` + head,
		"gemini-2.0-x":            `{"generationConfig":{"maxOutputTokens":100},` + head,
		"tunedModels/of-somebody": `{"generationConfig":{"maxOutputTokens":100},` + head,
	} {
		if got := sent(t, model, req); !strings.HasPrefix(got, config) {
			t.Errorf("%s: got\n%s\nwant\n%s", model, got, config)
		}
	}
	req.Params.Effort = "enormous"
	if got := ask(t, "gemini-9-flash", req, 200, "text/event-stream", sse(done)); !errors.Is(got.Err, oneloop.ErrInvalidRequest) || len(got.Sent) != 0 {
		t.Errorf("an effort that is none: %v", got.Err)
	}
}

func TestAServerThatRefusesWhatOthersTakeIsAskedAgainWithout(t *testing.T) {
	for _, c := range []struct{ refusal, gone, now string }{
		{`Invalid JSON payload received. Unknown name \"parametersJsonSchema\" at 'tools[0].function_declarations[0]': Cannot find field.`, "parametersJsonSchema", `"parameters":{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{`Thinking is not enabled for models/x`, "thinkingConfig", `{"generationConfig":{}`},
		{`Corrupted thought signature.`, `"c2ln"`, `{"role":"model","parts":[{"functionCall":{"name":"Bash","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]}`},
	} {
		var bodies []string
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			buf := new(strings.Builder)
			if _, err := copyAll(buf, r.Body); err != nil {
				return nil, err
			}
			bodies = append(bodies, buf.String())
			if strings.Contains(buf.String(), c.gone) {
				return answer(r, 400, "application/json", `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"`+c.refusal+`"}}`), nil
			}
			return answer(r, 200, "text/event-stream", "data: "+done+"\n\n"), nil
		})}
		m, err := gemini.New(gemini.Config{Key: key, Model: "gemini-3-pro", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		req := answered(&oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Origin: oneloop.Origin{API: gemini.API, Model: "gemini-3-pro"}, Blocks: []oneloop.Block{
			&oneloop.ToolUse{ID: "i1", Name: "Bash", Input: []byte("{}"), Wire: oneloop.Wire{API: gemini.API, Raw: []byte(`{"functionCall":{"name":"Bash","args":{},"id":"i1"},"thoughtSignature":"c2ln"}`)}}}})
		req.Tools = []oneloop.ToolDef{{Name: "Bash", Schema: []byte(`{"$schema":"x","type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)}}
		notices := 0
		for range 2 {
			if _, err := m.Generate(t.Context(), req, func(e oneloop.Event) {
				if _, ok := e.(oneloop.Notice); ok {
					notices++
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		if len(bodies) != 3 || notices != 1 || !strings.Contains(bodies[2], c.now) || strings.Contains(bodies[1], c.gone) {
			t.Errorf("%d requests, %d notices, the last %s", len(bodies), notices, bodies[len(bodies)-1])
		}
	}
}

func TestAnAddressIsWhatPeopleWrite(t *testing.T) {
	for base, want := range map[string]string{
		"":                         "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
		"http://h:1":               "http://h:1/v1beta/models/m:streamGenerateContent?alt=sse",
		"HTTP://h:1/":              "http://h:1/v1beta/models/m:streamGenerateContent?alt=sse",
		"http://h:1/v1beta":        "http://h:1/v1beta/models/m:streamGenerateContent?alt=sse",
		"http://h:1/v1beta/":       "http://h:1/v1beta/models/m:streamGenerateContent?alt=sse",
		"http://h:1/v1beta/models": "http://h:1/v1beta/models/m:streamGenerateContent?alt=sse",
		"http://[::1]:8/gw/v1/":    "http://[::1]:8/gw/v1/models/m:streamGenerateContent?alt=sse",
		"https://h/v1beta1/publishers/google?team=a": "https://h/v1beta1/publishers/google/models/m:streamGenerateContent?alt=sse&team=MASKED",
		"http://h:1/gw/gemini":                       "http://h:1/gw/gemini/v1beta/models/m:streamGenerateContent?alt=sse",
	} {
		var got string
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return answer(r, 200, "text/event-stream", "data: "+done+"\n\n"), nil
		})}
		m, err := gemini.New(gemini.Config{BaseURL: base, Key: " " + key + "\n", Model: "m", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Generate(t.Context(), hi(), nil); err != nil {
			t.Fatal(err)
		}
		if want = strings.Replace(want, "MASKED", "a", 1); got != want {
			t.Errorf("%q: asked %s, want %s", base, got, want)
		}
	}
	for _, c := range []gemini.Config{{Key: key}, {Model: "m"}, {Model: "m", Key: key, BaseURL: "ftp://h"}, {Model: "m?key=1", Key: key},
		{Model: "../x", Key: key}, {Model: "m", Key: "a b"}} {
		if _, err := gemini.New(c); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestExactlyOneCredentialIsSentAndNoneShown(t *testing.T) {
	for _, c := range []struct {
		config gemini.Config
		key    string
		auth   string
	}{
		{gemini.Config{Key: key, Token: "tok-123456"}, key, ""},
		{gemini.Config{Token: "tok-123456"}, "", "Bearer tok-123456"},
		{gemini.Config{Key: " ", Header: http.Header{"x-goog-api-key": {"own-123456"}}}, "own-123456", ""},
	} {
		var h http.Header
		c.config.Model = "m"
		c.config.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			h = r.Header
			return answer(r, 400, "application/json", `{"error":{"status":"INVALID_ARGUMENT","message":"bad key `+c.key+c.auth+`"}}`), nil
		})}
		m, err := gemini.New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Generate(t.Context(), hi(), func(e oneloop.Event) {
			if s, ok := e.(oneloop.RequestSent); ok && (s.Header.Get("X-Goog-Api-Key") == c.key && c.key != "" || s.Header.Get("Authorization") == c.auth && c.auth != "") {
				t.Errorf("shown: %v", s.Header)
			}
		})
		if h.Get("X-Goog-Api-Key") != c.key || h.Get("Authorization") != c.auth {
			t.Errorf("sent %v", h)
		}
		if err == nil || strings.Contains(err.Error(), "123456") || strings.Contains(err.Error(), key) {
			t.Errorf("error %v", err)
		}
	}
}
