package looptest_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"oneloop"
	"oneloop/model/gemini"
	"oneloop/model/openai"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Two providers may have a model of one name. What one of them sealed the other
// cannot read, and refuses.
func TestWhatAProviderSealedGoesToNoOtherAndBackAsItCame(t *testing.T) {
	for name, x := range map[string]struct {
		model  func(host string, c *http.Client) (oneloop.Model, error)
		reply  string
		sealed string
	}{
		"chat": {
			func(host string, c *http.Client) (oneloop.Model, error) {
				return openai.NewChat(openai.Config{BaseURL: "http://" + host + "/v1", Dialect: "openrouter", Model: "m", Client: c})
			},
			`{"choices":[{"message":{"role":"assistant","reasoning_details":[{"type":"reasoning.encrypted","data":"c2VhbGVk","index":0}],"content":"said"},"finish_reason":"stop"}]}`,
			"c2VhbGVk",
		},
		"responses": {
			func(host string, c *http.Client) (oneloop.Model, error) {
				return openai.NewResponses(openai.Config{BaseURL: "http://" + host + "/v1", Model: "gpt-5", Client: c})
			},
			`{"status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VhbGVk"},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"said"}]}]}`,
			"c2VhbGVk",
		},
		"gemini": {
			func(host string, c *http.Client) (oneloop.Model, error) {
				return gemini.New(gemini.Config{BaseURL: "http://" + host, Key: "a-key", Model: "gemini-3-pro", Client: c})
			},
			`{"candidates":[{"content":{"role":"model","parts":[{"text":"said","thoughtSignature":"c2VhbGVk"}]},"finishReason":"STOP"}]}`,
			"c2VhbGVk",
		},
	} {
		sent := map[string][]string{}
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			sent[r.URL.Host] = append(sent[r.URL.Host], string(body))
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(x.reply))}, err
		})}
		msgs := []*oneloop.Message{oneloop.UserText("hi")}
		for _, host := range []string{"a.example:1", "b.example:1", "a.example:1"} {
			m, err := x.model(host, client)
			if err != nil {
				t.Fatal(name, err)
			}
			msg, err := m.Generate(t.Context(), &oneloop.Request{Messages: msgs}, nil)
			if err != nil {
				t.Fatal(name, err)
			}
			// It is the same after the conversation was stored.
			stored, err := msg.MarshalJSON()
			if err != nil {
				t.Fatal(name, err)
			}
			again := new(oneloop.Message)
			if err := again.UnmarshalJSON(stored); err != nil {
				t.Fatal(name, err)
			}
			msgs = append(msgs, again, oneloop.UserText("go on"))
		}
		other, back := sent["b.example:1"][0], sent["a.example:1"][1]
		if strings.Contains(other, x.sealed) || !strings.Contains(other, "said") {
			t.Errorf("%s: the other provider was sent %s", name, other)
		}
		if bytes.Count([]byte(back), []byte(x.sealed)) != 1 || strings.Count(back, "said") != 2 {
			t.Errorf("%s: the first one was sent %s", name, back)
		}
	}
}
