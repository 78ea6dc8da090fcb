package script

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Request is one request as it arrived: its bytes, and the parsed view that
// tests ask for. What cannot be parsed is left zero.
type Request struct {
	N      int // from 1, in the order of arrival
	Method string
	Path   string // with its query
	Header http.Header
	Body   []byte
	At     time.Time // when the body was read

	Model     string
	MaxTokens int
	Stream    bool
	System    []Content
	Messages  []Message
	Tools     []ToolDef
	Fields    map[string]json.RawMessage // the top level of the body
}

// Message is one message of a request.
type Message struct {
	Role    string
	Content []Content
	Raw     json.RawMessage
}

// Content is one block of a message, of the system prompt, or of a result. A
// plain string stands for one text block.
type Content struct {
	Type      string
	Text      string // of text
	Thinking  string // of thinking
	Signature string // of thinking
	ID        string // of a call; of a result, the call it answers
	Name      string
	Input     json.RawMessage
	Content   []Content // of a result
	IsError   bool
	Cache     json.RawMessage // cache_control
	Raw       json.RawMessage
	value     value
}

// ToolDef is one tool on offer.
type ToolDef struct {
	Name        string          `json:"name"`
	Type        string          `json:"type"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       json.RawMessage `json:"cache_control"`
	Raw         json.RawMessage `json:"-"`
}

// Text returns the text blocks of the message, one after the other.
func (m Message) Text() string { return text(m.Content) }

// FullText returns what a result says.
func (c Content) FullText() string {
	if c.Type == "tool_result" {
		return text(c.Content)
	}
	return c.Text
}

func text(list []Content) string {
	var b strings.Builder
	for _, c := range list {
		if c.Type == "text" {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// SystemText returns the system prompt.
func (r Request) SystemText() string { return text(r.System) }

// Last returns the newest message.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// FirstText returns the text of the first user message, which tells one
// conversation from another.
func (r Request) FirstText() string {
	for _, m := range r.Messages {
		if m.Role == "user" {
			return m.Text()
		}
	}
	return ""
}

// Result returns the answer to the call with this id, the newest first.
func (r Request) Result(id string) (Content, bool) {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		for _, c := range r.Messages[i].Content {
			if c.Type == "tool_result" && c.ID == id {
				return c, true
			}
		}
	}
	return Content{}, false
}

// Results returns the answers in the newest message.
func (r Request) Results() []Content {
	var out []Content
	for _, c := range r.Last().Content {
		if c.Type == "tool_result" {
			out = append(out, c)
		}
	}
	return out
}

// Called reports whether a call with this id was made before.
func (r Request) Called(id string) bool {
	for _, m := range r.Messages {
		for _, c := range m.Content {
			if c.Type == "tool_use" && c.ID == id {
				return true
			}
		}
	}
	return false
}

// parse fills the view. The error is the first thing that is not as the API
// wants it; the gate words what follows from it.
func (r *Request) parse() error {
	if err := json.Unmarshal(r.Body, &r.Fields); err != nil {
		return err
	}
	var first error
	read := func(key string, into any) {
		if raw, ok := r.Fields[key]; ok {
			if err := json.Unmarshal(raw, into); err != nil && first == nil {
				first = err
			}
		}
	}
	read("model", &r.Model)
	read("max_tokens", &r.MaxTokens)
	read("stream", &r.Stream)
	if raw, ok := r.Fields["system"]; ok {
		var err error
		if r.System, err = parseContent(raw); err != nil && first == nil {
			first = err
		}
	}
	var messages, tools []json.RawMessage
	read("messages", &messages)
	for _, raw := range messages {
		var m struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(raw, &m); err != nil && first == nil {
			first = err
		}
		content, err := parseContent(m.Content)
		if err != nil && first == nil {
			first = err
		}
		r.Messages = append(r.Messages, Message{m.Role, content, raw})
	}
	read("tools", &tools)
	for _, raw := range tools {
		var t ToolDef
		if err := json.Unmarshal(raw, &t); err != nil && first == nil {
			first = err
		}
		t.Raw = raw
		r.Tools = append(r.Tools, t)
	}
	return first
}

// parseContent reads a string or a list of blocks.
func parseContent(raw json.RawMessage) ([]Content, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		block := object("type", "text", "text", s)
		return []Content{{Type: "text", Text: s, Raw: block, value: valueOf(block)}}, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var out []Content
	for _, block := range list {
		var b struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			Thinking  string          `json:"thinking"`
			Signature string          `json:"signature"`
			ID        string          `json:"id"`
			ToolUseID string          `json:"tool_use_id"`
			Name      string          `json:"name"`
			Input     json.RawMessage `json:"input"`
			Content   json.RawMessage `json:"content"`
			IsError   bool            `json:"is_error"`
			Cache     json.RawMessage `json:"cache_control"`
		}
		if err := json.Unmarshal(block, &b); err != nil {
			return out, err
		}
		c := Content{Type: b.Type, Text: b.Text, Thinking: b.Thinking, Signature: b.Signature,
			ID: b.ID, Name: b.Name, Input: b.Input, IsError: b.IsError, Cache: b.Cache, Raw: block, value: valueOf(block)}
		if b.Type == "tool_result" {
			c.ID = b.ToolUseID
			var err error
			if c.Content, err = parseContent(b.Content); err != nil {
				return out, err
			}
		}
		out = append(out, c)
	}
	return out, nil
}
