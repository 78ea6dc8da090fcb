package wires

import (
	"encoding/json"
	"net/http"
	"strings"

	"oneloop/looptest/script"
)

// Dialect is how a server of the Chat Completions API differs from OpenAI's
// own, which is the zero value.
type Dialect struct {
	Name string

	Reasoning string // the field that reasoning comes in, or "think" for tags in the text; empty: it is hidden
	Details   bool   // reasoning comes in reasoning_details, too, which have to come back where calls are
	Echo      bool   // calls are refused that come back without the reasoning they were made in
	Signature bool   // the first call carries a thought signature that has to come back with it
	Fields    string // more keys that a request may have at its top level
	Keyless   bool   // no credential is needed
	Tag       string // a key beside role and content that results may have

	NoIndex       bool   // pieces of calls do not say which call they are of
	SameIndex     bool   // all calls have index 0
	EmptyID       bool   // later pieces of a call have an empty id
	NoID          bool   // calls have no ids
	RepeatID      bool   // later pieces repeat id and name
	WholeCall     bool   // a call comes in one piece
	NullContent   bool   // content is null beside calls
	NullArguments bool   // the first piece of a call has no arguments: null
	EmptyFinish   bool   // finish_reason is "" until it is known
	StopAlways    bool   // finish_reason is "stop" also with calls
	UsageAtFinish bool   // usage stands in the chunk that has the finish_reason, asked for or not
	NoDone        bool   // the stream ends without [DONE]
	Comment       string // there are comments between events, and this is what they say
	ErrorChunk    bool   // an error comes in a chunk that has everything else, too
	CodeOnly      bool   // errors have a number for a code and no type
}

// The ways of the servers people use.
var (
	OpenAI     = Dialect{Name: "OpenAI"}
	DeepSeek   = Dialect{Name: "DeepSeek", Reasoning: "reasoning_content", Echo: true, UsageAtFinish: true, Fields: "thinking"}
	OpenRouter = Dialect{Name: "OpenRouter", Reasoning: "reasoning", Details: true, Comment: "OPENROUTER PROCESSING", ErrorChunk: true,
		CodeOnly: true, Fields: "reasoning provider models route transforms plugins usage include_reasoning cache_control"}
	Qwen = Dialect{Name: "Qwen", Reasoning: "reasoning_content", EmptyID: true, NullContent: true,
		Fields: "enable_thinking thinking_budget preserve_thinking enable_search"}
	Kimi             = Dialect{Name: "Kimi", Reasoning: "reasoning_content", UsageAtFinish: true, Echo: true, Fields: "thinking prompt_cache_key", Tag: "name"}
	GLM              = Dialect{Name: "GLM", Reasoning: "reasoning_content", WholeCall: true, UsageAtFinish: true, Fields: "thinking do_sample request_id tool_stream"}
	Groq             = Dialect{Name: "Groq", Reasoning: "reasoning", WholeCall: true, Fields: "reasoning_format include_reasoning"}
	VLLM             = Dialect{Name: "vLLM", Reasoning: "reasoning", Keyless: true, Fields: "chat_template_kwargs"}
	LlamaCPP         = Dialect{Name: "llama.cpp", Reasoning: "reasoning_content", Keyless: true, NullContent: true, Fields: "chat_template_kwargs cache_prompt"}
	LMStudio         = Dialect{Name: "LM Studio", Reasoning: "reasoning_content", Keyless: true, Fields: "ttl"}
	GeminiCompatible = Dialect{Name: "Gemini compatible", WholeCall: true, SameIndex: true, Signature: true, StopAlways: true, UsageAtFinish: true, Fields: "extra_body"}
)

// Dialects are all of them.
func Dialects() []Dialect {
	return []Dialect{OpenAI, DeepSeek, OpenRouter, Qwen, Kimi, GLM, Groq, VLLM, LlamaCPP, LMStudio, GeminiCompatible}
}

// aside answers what a client asks about the server and its models. llama.cpp and
// LM Studio tell more of it beside the API.
func (c *chat) aside(r *script.Request) (script.Reply, bool) {
	switch p := path(r); {
	case r.Method != http.MethodGet:
	case c.dialect.Name == LlamaCPP.Name && strings.HasSuffix(p, "/props"):
		return script.Reply{Body: script.Object("default_generation_settings", script.Object("n_ctx", 65536))}, true
	case c.dialect.Name == LMStudio.Name && strings.HasSuffix(p, "/api/v0/models"):
		model := script.Object("id", "scripted-model", "state", "loaded", "loaded_context_length", 65536)
		return script.Reply{Body: script.Object("data", join([]json.RawMessage{model}))}, true
	}
	return models(r)
}

// OddCalls are the ways in which servers stream calls that no name goes with.
func OddCalls() []Dialect {
	return []Dialect{
		{Name: "no index", NoIndex: true},
		{Name: "no index, no id", NoIndex: true, NoID: true},
		{Name: "no index, id and name again", NoIndex: true, RepeatID: true},
		{Name: "index 0 for all", SameIndex: true},
		{Name: "index 0 for all, whole calls, no id", SameIndex: true, WholeCall: true, NoID: true},
		{Name: "an empty id later", EmptyID: true, NullContent: true},
		{Name: "no id", NoID: true},
		{Name: "id and name again", RepeatID: true},
		{Name: "arguments null", NullArguments: true, NullContent: true},
		{Name: "whole calls", WholeCall: true},
		{Name: "stop with calls", StopAlways: true},
		{Name: "finish_reason empty", EmptyFinish: true},
		{Name: "no [DONE]", NoDone: true},
		{Name: "usage at the finish, no [DONE]", UsageAtFinish: true, NoDone: true},
	}
}

// Chat is the Chat Completions API.
func Chat(d Dialect) *script.Wire {
	c := &chat{dialect: d}
	return &script.Wire{
		Name: "Chat Completions",
		Traits: script.Traits{
			Hidden: d.Reasoning == "", NoIDs: d.NoID, NoPieces: d.WholeCall, InOrder: d.NoIndex || d.SameIndex,
			NoSequence: true, Hint: !d.CodeOnly, Finish: `"finish_reason":"`,
			Usages: texts(`{"prompt_tokens":-1,"completion_tokens":1e30}`, `{"prompt_tokens":"x","completion_tokens":1.5,"prompt_tokens_details":[]}`,
				`{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":5}}`),
		},
		Aside: c.aside,
		Serves: func(r *script.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(path(r), "/chat/completions")
		},
		Read: readChat,
		Headers: func(r *script.Request) []script.Breach {
			g := &gate{req: r}
			g.bearer(d.Keyless)
			return g.found
		},
		Check:  c.check,
		Stream: c.stream,
		Whole:  c.whole,
		Error:  func(e script.Error) []byte { return script.Object("error", d.said(e)) },
		Sent:   c.remember,
	}
}

type chat struct {
	dialect Dialect
	sent    []chatMessage // messages that were sent, as they are when they are whole
}

// chatMessage is one message of the API.
type chatMessage struct {
	Role             string
	Content          json.RawMessage
	Refusal          json.RawMessage
	Calls            []chatCall `json:"tool_calls"`
	CallID           string     `json:"tool_call_id"`
	ReasoningContent *string    `json:"reasoning_content"`
	Reasoning        *string
	Details          json.RawMessage `json:"reasoning_details"`

	raw json.RawMessage
}

type chatCall struct {
	ID       string
	Type     string
	Function struct {
		Name      string
		Arguments string
	}
	Extra json.RawMessage `json:"extra_content"`
	raw   json.RawMessage
}

// reasoning is what the message says of its reasoning, in whatever field.
func (m *chatMessage) reasoning() (string, bool) {
	for _, s := range []*string{m.ReasoningContent, m.Reasoning} {
		if s != nil {
			return *s, true
		}
	}
	return "", false
}

func parseChatMessage(raw json.RawMessage) (chatMessage, error) {
	m := chatMessage{raw: raw}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, err
	}
	for i, call := range list(keys(raw)["tool_calls"]) {
		m.Calls[i].raw = call
	}
	return m, nil
}

// readChat fills the view of a request.
func readChat(r *script.Request) error {
	if err := json.Unmarshal(r.Body, &r.Fields); err != nil {
		return err
	}
	var top struct {
		Model      string
		Messages   []json.RawMessage
		Tools      []json.RawMessage
		Stream     bool
		MaxTokens  int `json:"max_tokens"`
		Completion int `json:"max_completion_tokens"`
	}
	if err := json.Unmarshal(r.Body, &top); err != nil {
		return err
	}
	r.Model, r.Stream, r.MaxTokens = top.Model, top.Stream, max(top.MaxTokens, top.Completion)
	var v view
	for _, raw := range top.Messages {
		m, err := parseChatMessage(raw)
		if err != nil {
			return err
		}
		content := chatContent(m.Content)
		switch m.Role {
		case "system", "developer":
			r.System = append(r.System, content...)
		case "assistant":
			v.add("assistant", raw, append(m.view(), content...)...)
			v.add("assistant", raw, m.calls()...)
		case "tool":
			v.add("user", raw, script.Content{Type: "tool_result", ID: m.CallID, Content: content, Raw: raw})
		default:
			v.add(m.Role, raw, content...)
		}
	}
	r.Messages = v.messages
	for _, raw := range top.Tools {
		f := keys(keys(raw)["function"])
		r.Tools = append(r.Tools, script.ToolDef{Name: str(f["name"]), Description: str(f["description"]), Schema: f["parameters"], Raw: raw})
	}
	return nil
}

// view is the reasoning of a message.
func (m *chatMessage) view() []script.Content {
	if s, ok := m.reasoning(); ok && s != "" {
		return []script.Content{{Type: "thinking", Thinking: s, Raw: m.raw}}
	}
	return nil
}

func (m *chatMessage) calls() []script.Content {
	var out []script.Content
	for _, c := range m.Calls {
		out = append(out, script.Content{Type: "tool_use", ID: c.ID, Name: c.Function.Name, Input: json.RawMessage(c.Function.Arguments), Raw: c.raw})
	}
	return out
}

// chatContent reads a string or a list of parts.
func chatContent(raw json.RawMessage) []script.Content {
	switch kind(raw) {
	case "string":
		if s := str(raw); s != "" {
			return []script.Content{text(s)}
		}
	case "array":
		var out []script.Content
		for _, part := range list(raw) {
			p := keys(part)
			switch t := str(p["type"]); t {
			case "text":
				out = append(out, script.Content{Type: "text", Text: str(p["text"]), Raw: part})
			case "image_url":
				out = append(out, script.Content{Type: "image", Raw: part})
			case "file":
				out = append(out, script.Content{Type: "document", Raw: part})
			default:
				out = append(out, script.Content{Type: t, Raw: part})
			}
		}
		return out
	}
	return nil
}
