package wires

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"oneloop/looptest/script"
)

// Gemini is the Gemini API's generateContent and streamGenerateContent.
func Gemini() *script.Wire {
	m := &gemini{}
	return &script.Wire{
		Name: "Gemini",
		Traits: script.Traits{
			NoPieces: true, NoSequence: true, NoBilling: true, Hint: true,
			Usages: texts(`{"promptTokenCount":-1,"candidatesTokenCount":1e30}`, `{"promptTokenCount":"x","candidatesTokenCount":1.5,"promptTokensDetails":{}}`),
			Own:    json.RawMessage(`{"hologram":{"depth":18446744073709551616,"a":{"z":1,"b":2}}}`),
			Finish: `"finishReason":"`,
		},
		Aside: geminiModels,
		Serves: func(r *script.Request) bool {
			_, method := geminiTarget(r)
			return r.Method == http.MethodPost && method != ""
		},
		Read: readGemini,
		Headers: func(r *script.Request) []script.Breach {
			g := &gate{req: r}
			g.google()
			return g.found
		},
		Check: m.check,
		Stream: func(r script.Reply, req *script.Request) ([][]byte, string) {
			return geminiStream(r.Filled(req)), "text/event-stream"
		},
		Whole: geminiWhole,
		Error: geminiError,
		Sent:  m.remember,
	}
}

type gemini struct{ sent []geminiSent }

// geminiSent are the parts of a reply, with nothing but plain text that
// follows plain text put together, and the model that was asked.
type geminiSent struct {
	parts []json.RawMessage
	model string
}

// geminiTarget is the model that is asked and what it is asked for; empty when
// the address is none of the API's.
func geminiTarget(r *script.Request) (model, method string) {
	_, target, ok := strings.Cut(path(r), "/models/")
	if !ok {
		return "", ""
	}
	model, method, _ = strings.Cut(target, ":")
	if method != "generateContent" && method != "streamGenerateContent" {
		return "", ""
	}
	return model, method
}

// geminiModels answers who asks for the list of models.
func geminiModels(r *script.Request) (script.Reply, bool) {
	if r.Method != http.MethodGet || !strings.HasSuffix(path(r), "/models") {
		return script.Reply{}, false
	}
	model := script.Object("name", "models/scripted-model", "inputTokenLimit", 1048576, "outputTokenLimit", 65536,
		"supportedGenerationMethods", []string{"generateContent", "countTokens"})
	return script.Reply{Body: script.Object("models", join([]json.RawMessage{model}))}, true
}

// google finds a request without exactly one credential, and one that shows it
// in its address.
func (g *gate) google() {
	h := g.req.Header
	if n := len(h.Values("X-Goog-Api-Key")) + len(h.Values("Authorization")); n != 1 {
		g.breach(script.RuleHeader, "exactly one of x-goog-api-key and authorization is to be sent, here are %d", n)
	}
	if _, query, _ := strings.Cut(g.req.Path, "?"); strings.Contains("&"+query, "&key=") {
		g.breach(script.RuleHeader, "the key stands in the address, where logs keep it")
	}
	for _, other := range []string{"X-Api-Key", "Anthropic-Version"} {
		if h.Get(other) != "" {
			g.breach(script.RuleHeader, "%s belongs to another API", strings.ToLower(other))
		}
	}
	g.json()
}

// geminiPart is one part of a content.
type geminiPart struct {
	Text      *string
	Thought   bool
	Signature string `json:"thoughtSignature"`
	Call      *struct {
		ID   string
		Name string
		Args json.RawMessage
	} `json:"functionCall"`
	Response *struct {
		ID       string
		Name     string
		Response json.RawMessage
		Parts    []json.RawMessage
	} `json:"functionResponse"`
	Inline *struct {
		MIME string `json:"mimeType"`
		Data string
	} `json:"inlineData"`
	raw json.RawMessage
}

func geminiParts(content json.RawMessage) ([]geminiPart, error) {
	var out []geminiPart
	for _, raw := range list(keys(content)["parts"]) {
		p := geminiPart{raw: raw}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// readGemini fills the view of a request.
func readGemini(r *script.Request) error {
	if err := json.Unmarshal(r.Body, &r.Fields); err != nil {
		return err
	}
	model, method := geminiTarget(r)
	r.Model, r.Stream = model, method == "streamGenerateContent"
	var top struct {
		Contents []json.RawMessage
		System   json.RawMessage `json:"systemInstruction"`
		Config   struct {
			Max int `json:"maxOutputTokens"`
		} `json:"generationConfig"`
		Tools []struct {
			Functions []json.RawMessage `json:"functionDeclarations"`
		}
	}
	if err := json.Unmarshal(r.Body, &top); err != nil {
		return err
	}
	r.MaxTokens = top.Config.Max
	parts, err := geminiParts(top.System)
	if err != nil {
		return err
	}
	r.System = geminiView(parts)
	var v view
	for _, raw := range top.Contents {
		parts, err := geminiParts(raw)
		if err != nil {
			return err
		}
		role := str(keys(raw)["role"])
		if role == "model" {
			role = "assistant"
		}
		v.add(role, raw, geminiView(parts)...)
	}
	r.Messages = v.messages
	for _, t := range top.Tools {
		for _, raw := range t.Functions {
			f := keys(raw)
			schema := f["parameters"]
			if schema == nil {
				schema = f["parametersJsonSchema"]
			}
			r.Tools = append(r.Tools, script.ToolDef{Name: str(f["name"]), Description: str(f["description"]), Schema: schema, Raw: raw})
		}
	}
	return nil
}

func geminiView(parts []geminiPart) []script.Content {
	var out []script.Content
	for _, p := range parts {
		c := script.Content{Raw: p.raw, Signature: p.Signature}
		switch {
		case p.Call != nil:
			c.Type, c.ID, c.Name, c.Input = "tool_use", p.Call.ID, p.Call.Name, p.Call.Args
		case p.Response != nil:
			c.Type, c.ID, c.Name = "tool_result", p.Response.ID, p.Response.Name
			response := keys(p.Response.Response)
			for _, key := range slices.Sorted(maps.Keys(response)) {
				v := response[key]
				c.IsError = c.IsError || key == "error"
				if kind(v) == "string" {
					c.Content = append(c.Content, text(str(v)))
				} else {
					c.Content = append(c.Content, text(string(v)))
				}
			}
			for _, inner := range p.Response.Parts {
				c.Content = append(c.Content, script.Content{Type: "image", Raw: inner})
			}
		case p.Inline != nil:
			c.Type = "image"
		case p.Thought:
			c.Type, c.Thinking = "thinking", *textOf(p)
		case p.Text != nil:
			c.Type, c.Text = "text", *p.Text
		default:
			for key := range keys(p.raw) {
				c.Type = key
			}
		}
		out = append(out, c)
	}
	return out
}

func textOf(p geminiPart) *string {
	if p.Text == nil {
		return new(string)
	}
	return p.Text
}
