package wires

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"oneloop/looptest/script"
)

// OllamaServer is how a version of Ollama differs from the newest.
type OllamaServer struct {
	NoIDs   bool // calls have no ids, as in older versions
	Context int  // tokens that its models were made for; 0: 131,072
}

// Ollama is Ollama's own API, /api/chat.
func Ollama(o OllamaServer) *script.Wire {
	x := &ollama{server: o}
	return &script.Wire{
		Name: "Ollama chat",
		Traits: script.Traits{
			NoIDs: o.NoIDs, NoRefusal: true, NoSequence: true, NoCache: true, NoThought: true, NoClasses: true, NoPieces: true, Lines: true,
			Finish: `"done":true`,
			Usages: texts(`{"prompt_eval_count":-1,"eval_count":1e30}`, `{"prompt_eval_count":"x","eval_count":1.5}`),
		},
		Aside: x.aside,
		Serves: func(r *script.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(path(r), "/api/chat")
		},
		Read: readOllama,
		Headers: func(r *script.Request) []script.Breach {
			g := &gate{req: r}
			g.bearer(true)
			return g.found
		},
		Check: x.check,
		Stream: func(r script.Reply, req *script.Request) ([][]byte, string) {
			return x.stream(r.Filled(req)), "application/x-ndjson"
		},
		Whole: func(r script.Reply, req *script.Request) []byte { return x.whole(r.Filled(req)) },
		Error: ollamaError,
		Sent:  x.remember,
	}
}

type ollama struct {
	server OllamaServer
	sent   [][]ollamaCall
}

type ollamaCall struct {
	ID       string
	Function struct {
		Name      string
		Arguments json.RawMessage
	}
	raw json.RawMessage
}

type ollamaMessage struct {
	Role     string
	Content  json.RawMessage
	Thinking string
	Images   []string
	Calls    []json.RawMessage `json:"tool_calls"`
	ToolName string            `json:"tool_name"`
	CallID   string            `json:"tool_call_id"`

	calls []ollamaCall
	raw   json.RawMessage
}

// aside answers what a client asks about the server and its models.
func (x *ollama) aside(r *script.Request) (script.Reply, bool) {
	switch p := path(r); {
	case strings.HasSuffix(p, "/api/version"):
		return script.Reply{Body: script.Object("version", "0.13.0")}, true
	case strings.HasSuffix(p, "/api/tags"):
		model := script.Object("name", "scripted-model:latest", "model", "scripted-model:latest", "size", 1)
		return script.Reply{Body: script.Object("models", join([]json.RawMessage{model}))}, true
	case strings.HasSuffix(p, "/api/ps"):
		return script.Reply{Body: script.Object("models", []string{})}, true
	case strings.HasSuffix(p, "/api/show"):
		return script.Reply{Body: script.Object(
			"details", script.Object("family", "script"),
			"model_info", script.Object("general.architecture", "script", "script.context_length", cmp.Or(x.server.Context, 131072)),
			"capabilities", []string{"completion", "tools", "thinking", "vision"})}, true
	}
	return script.Reply{}, false
}

func parseOllamaMessage(raw json.RawMessage) (ollamaMessage, error) {
	m := ollamaMessage{raw: raw}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, err
	}
	for _, call := range m.Calls {
		c := ollamaCall{raw: call}
		if err := json.Unmarshal(call, &c); err != nil {
			return m, err
		}
		m.calls = append(m.calls, c)
	}
	return m, nil
}

// readOllama fills the view of a request. A result without the id of its call
// has that of the call at its place.
func readOllama(r *script.Request) error {
	if err := json.Unmarshal(r.Body, &r.Fields); err != nil {
		return err
	}
	var top struct {
		Model    string
		Messages []json.RawMessage
		Tools    []json.RawMessage
		Stream   *bool
		Options  struct {
			Predict int `json:"num_predict"`
		}
	}
	if err := json.Unmarshal(r.Body, &top); err != nil {
		return err
	}
	r.Model, r.Stream, r.MaxTokens = top.Model, top.Stream == nil || *top.Stream, top.Options.Predict
	var v ollamaView
	for i, raw := range top.Messages {
		m, err := parseOllamaMessage(raw)
		if err != nil {
			return err
		}
		v.message(i, m)
	}
	r.System, r.Messages = v.system, v.messages
	for _, raw := range top.Tools {
		f := keys(keys(raw)["function"])
		r.Tools = append(r.Tools, script.ToolDef{Name: str(f["name"]), Description: str(f["description"]), Schema: f["parameters"], Raw: raw})
	}
	return nil
}

// ollamaView is a view in the making.
type ollamaView struct {
	view
	system []script.Content
	open   []string // ids of calls without a result
}

// message adds message number i.
func (v *ollamaView) message(i int, m ollamaMessage) {
	content := chatContent(m.Content)
	for range m.Images {
		content = append(content, script.Content{Type: "image", Raw: m.raw})
	}
	switch m.Role {
	case "system":
		v.system = append(v.system, content...)
	case "assistant":
		v.open = nil
		if m.Thinking != "" {
			v.add("assistant", m.raw, script.Content{Type: "thinking", Thinking: m.Thinking, Raw: m.raw})
		}
		v.add("assistant", m.raw, content...)
		for j, c := range m.calls {
			id := c.ID
			if id == "" {
				id = fmt.Sprintf("call_%d_%d", i, j)
			}
			v.open = append(v.open, id)
			v.add("assistant", m.raw, script.Content{Type: "tool_use", ID: id, Name: c.Function.Name, Input: c.Function.Arguments, Raw: c.raw})
		}
	case "tool":
		id := m.CallID
		if len(v.open) > 0 {
			if id == "" {
				id = v.open[0]
			}
			v.open = v.open[1:]
		}
		v.add("user", m.raw, script.Content{Type: "tool_result", ID: id, Name: m.ToolName, Content: content, Raw: m.raw})
	default:
		v.add(m.Role, m.raw, content...)
	}
}

const ollamaFields = "model messages tools format options stream keep_alive think truncate shift logprobs top_logprobs"

// check puts a request through the gate.
func (x *ollama) check(r *script.Request) []script.Breach {
	g := &gate{req: r}
	g.only("body", r.Body, ollamaFields)
	if r.Model == "" {
		g.breach(script.RuleFields, "model is required")
	}
	if keys(r.Fields["options"])["num_ctx"] == nil {
		g.breach(script.RuleLimit, "options.num_ctx is not set: the server would cut the conversation from the front and not say so")
	}
	seen := map[string]bool{}
	for i, t := range r.Tools {
		where := fmt.Sprintf("tools[%d]", i)
		g.only(where, t.Raw, "type function items")
		g.only(where+".function", keys(t.Raw)["function"], "name description parameters")
		g.tool(where, t, seen)
	}
	var open []ollamaCall
	raws := list(r.Fields["messages"])
	if len(raws) == 0 {
		g.breach(script.RuleRoles, "messages is empty: the model is loaded, and nothing is said")
	}
	for i, raw := range raws {
		m, err := parseOllamaMessage(raw)
		if err != nil {
			g.breach(script.RuleFields, "%v", err)
			return g.found
		}
		where := fmt.Sprintf("messages[%d]", i)
		g.ollamaMessage(where, m)
		open = g.answers(where, m, open)
		x.returned(g, where, m)
	}
	if len(open) > 0 {
		g.breach(script.RuleResults, "the last calls have no results: %s", open[0].Function.Name)
	}
	return g.found
}

func (g *gate) ollamaMessage(where string, m ollamaMessage) {
	fields := map[string]string{"system": "role content", "user": "role content images",
		"assistant": "role content thinking tool_calls", "tool": "role content tool_name tool_call_id images"}[m.Role]
	if fields == "" {
		g.breach(script.RuleRoles, "%s: invalid role: %q", where, m.Role)
		return
	}
	g.only(where, m.raw, fields)
	if k := kind(m.Content); k != "string" && !(k == "" && len(m.calls) > 0) {
		g.breach(script.RuleContent, "%s: json: cannot unmarshal %s into Go struct field Message.messages.content of type string", where, k)
	}
	if str(m.Content) == "" && len(m.calls)+len(m.Images) == 0 {
		g.breach(script.RuleContent, "%s: nothing is said", where)
	}
	for _, image := range m.Images {
		if strings.HasPrefix(image, "data:") || image == "" {
			g.breach(script.RuleContent, "%s.images: illegal base64 data: %.40q", where, image)
		}
	}
	for i, c := range m.calls {
		at := fmt.Sprintf("%s.tool_calls[%d]", where, i)
		g.only(at, c.raw, "id type function")
		g.only(at+".function", keys(c.raw)["function"], "name arguments index description")
		if kind(c.Function.Arguments) != "object" {
			g.breach(script.RuleCalls, "%s.function.arguments: json: cannot unmarshal into Go struct field of type api.ToolCallFunctionArguments: %.60s", at, c.Function.Arguments)
		}
		if !goodName(c.Function.Name) {
			g.breach(script.RuleCalls, "%s.function.name: %q is no name", at, c.Function.Name)
		}
	}
}

// answers checks that calls are answered by the messages right after them, in
// order, each with the name of its tool. It returns what is open then.
func (g *gate) answers(where string, m ollamaMessage, open []ollamaCall) []ollamaCall {
	if m.Role != "tool" {
		if len(open) > 0 {
			g.breach(script.RuleResults, "%s: %d calls before it have no result, the first is of %s", where, len(open), open[0].Function.Name)
		}
		return m.calls
	}
	if len(open) == 0 {
		g.breach(script.RuleResults, "%s: a result without a call", where)
		return nil
	}
	call := open[0]
	switch {
	case m.ToolName == "":
		g.breach(script.RuleResults, "%s: tool_name is missing", where)
	case m.ToolName != call.Function.Name:
		g.breach(script.RuleResults, "%s: the result is of %s, the call at its place is of %s", where, m.ToolName, call.Function.Name)
	case m.CallID != "" && m.CallID != call.ID:
		g.breach(script.RuleResults, "%s: the result is of call %q, the call at its place is %q", where, m.CallID, call.ID)
	}
	return open[1:]
}

// returned finds calls that were changed, by their ids.
func (x *ollama) returned(g *gate, where string, m ollamaMessage) {
	for _, c := range m.calls {
		for _, sent := range x.sent {
			at := slices.IndexFunc(sent, func(s ollamaCall) bool { return c.ID != "" && s.ID == c.ID })
			if at < 0 {
				continue
			}
			was := sent[at]
			if kind(was.Function.Arguments) == "object" && !same(was.Function.Arguments, c.Function.Arguments) || goodName(was.Function.Name) && was.Function.Name != c.Function.Name {
				g.breach(script.RuleCalls, "%s: the call %q was changed: %s, it was %s", where, c.ID, c.raw, was.raw)
			}
		}
	}
}

// remember keeps the calls of a reply.
func (x *ollama) remember(r script.Reply, req *script.Request) {
	if r.Body != nil || r.SSE != nil || r.Status >= http.StatusBadRequest || r.Error != nil {
		return
	}
	m, err := parseOllamaMessage(keys(x.whole(r.Filled(req)))["message"])
	for i, call := range m.calls {
		if req.Called(call.ID) {
			m.calls[i].ID = "" // it comes back with another one
		}
	}
	if err == nil && len(m.calls) > 0 {
		x.sent = append(x.sent, m.calls)
	}
}

const ollamaTime = "2026-11-30T12:00:00.123456789Z"

// stream is a reply as lines.
func (x *ollama) stream(r script.Reply) [][]byte {
	f := script.Frames{Reply: r}
	var blocks [][]json.RawMessage
	n := 0
	for _, b := range r.Blocks {
		p := b.Parts()
		var pieces []json.RawMessage
		switch p.Type {
		case "text":
			for _, piece := range p.Pieces {
				pieces = append(pieces, script.Object("role", "assistant", "content", piece))
			}
		case "thinking":
			for _, piece := range p.Pieces {
				pieces = append(pieces, script.Object("role", "assistant", "content", "", "thinking", piece))
			}
		case "tool_use":
			pieces = append(pieces, script.Object("role", "assistant", "content", "", "tool_calls", join([]json.RawMessage{x.call(p, n)})))
			n++
		}
		blocks = append(blocks, pieces)
	}
	for _, message := range turn(blocks, r.Interleave) {
		f.Line(script.Object("model", r.Model, "created_at", ollamaTime, "message", message, "done", false))
	}
	if r.Error != nil {
		f.Line(ollamaError(*r.Error))
	} else {
		f.Line(x.last(r, script.Object("role", "assistant", "content", "")))
	}
	return f.All()
}

func (x *ollama) call(p script.Parts, n int) json.RawMessage {
	function := []any{"index", n, "name", p.Name}
	switch input := p.Text(); {
	case input == "":
		function = append(function, "arguments", script.Object())
	case json.Valid([]byte(input)):
		function = append(function, "arguments", json.RawMessage(input))
	default:
		function = append(function, "arguments", input) // a text where an object is due
	}
	pairs := []any{}
	if p.ID != "" && !x.server.NoIDs {
		pairs = append(pairs, "id", p.ID)
	}
	return script.Object(append(pairs, "function", script.Object(function...))...)
}

// last is the line that says why the reply ended, and what was used.
func (x *ollama) last(r script.Reply, message json.RawMessage) []byte {
	reason := r.Stop
	switch r.Stop {
	case "end_turn", "tool_use", "stop_sequence", "refusal":
		reason = "stop"
	case "max_tokens", "model_context_window_exceeded":
		reason = "length"
	}
	pairs := []any{"model", r.Model, "created_at", ollamaTime, "message", message, "done", true, "done_reason", reason, "total_duration", 1}
	switch {
	case r.RawUsage == nil:
		pairs = append(pairs, "prompt_eval_count", prompt(r.Usage), "eval_count", r.Usage.Output)
	case kind(r.RawUsage) == "object":
		for key, v := range keys(r.RawUsage) {
			pairs = append(pairs, key, v)
		}
	case len(r.RawUsage) > 0:
		pairs = append(pairs, "prompt_eval_count", r.RawUsage, "eval_count", r.RawUsage)
	}
	return script.Object(pairs...)
}

// whole is a reply as one object.
func (x *ollama) whole(r script.Reply) []byte {
	var said, thought strings.Builder
	var calls []json.RawMessage
	for _, b := range r.Blocks {
		switch p := b.Parts(); p.Type {
		case "text":
			said.WriteString(p.Text())
		case "thinking":
			thought.WriteString(p.Text())
		case "tool_use":
			calls = append(calls, x.call(p, len(calls)))
		}
	}
	message := []any{"role", "assistant", "content", said.String()}
	if thought.Len() > 0 {
		message = append(message, "thinking", thought.String())
	}
	if len(calls) > 0 {
		message = append(message, "tool_calls", join(calls))
	}
	return x.last(r, script.Object(message...))
}

func ollamaError(e script.Error) []byte {
	message := e.Message
	if e.Type == script.Overflow {
		message = "input length exceeds maximum context length"
	}
	return script.Object("error", message+again(e.Retry))
}
