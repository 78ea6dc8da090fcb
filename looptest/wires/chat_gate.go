package wires

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"oneloop/looptest/script"
)

const chatFields = `model messages tools tool_choice parallel_tool_calls stream stream_options max_tokens
	max_completion_tokens reasoning_effort temperature top_p n stop seed response_format user metadata store
	prompt_cache_key prompt_cache_retention safety_identifier service_tier frequency_penalty presence_penalty
	logit_bias logprobs top_logprobs modalities audio prediction verbosity web_search_options`

const maxChatID = 40 // characters of the id of a call

// check puts a request through the gate.
func (c *chat) check(r *script.Request) []script.Breach {
	g := &gate{req: r}
	d := c.dialect
	g.only("body", r.Body, chatFields, d.Fields)
	if r.Model == "" {
		g.breach(script.RuleFields, "you must provide a model parameter")
	}
	if _, ok := r.Fields["stream_options"]; ok && !r.Stream {
		g.breach(script.RuleParams, "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	if r.Fields["max_tokens"] != nil && r.Fields["max_completion_tokens"] != nil {
		g.breach(script.RuleParams, "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	}
	g.chatTools()
	var all []chatMessage
	for _, raw := range list(r.Fields["messages"]) {
		m, err := parseChatMessage(raw)
		if err != nil {
			g.breach(script.RuleFields, "%v", err)
			return g.found
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		g.breach(script.RuleRoles, "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	for i, m := range all {
		where := fmt.Sprintf("messages[%d]", i)
		g.chatMessage(where, m, d)
		if m.Role == "assistant" {
			c.returned(g, where, i, m)
		}
	}
	g.chatOrder(all)
	return g.found
}

func (g *gate) chatTools() {
	raw, ok := g.req.Fields["tools"]
	if ok && len(list(raw)) == 0 {
		g.breach(script.RuleTools, "Invalid 'tools': empty array. Expected an array with minimum length 1.")
	}
	if !ok {
		for _, key := range []string{"tool_choice", "parallel_tool_calls"} {
			if g.req.Fields[key] != nil {
				g.breach(script.RuleTools, "Invalid value for '%s': '%s' is only allowed when 'tools' are specified.", key, key)
			}
		}
	}
	seen := map[string]bool{}
	for i, t := range g.req.Tools {
		where := fmt.Sprintf("tools[%d]", i)
		outer := keys(t.Raw)
		if str(outer["type"]) != "function" {
			g.breach(script.RuleTools, "%s.type: must be 'function'", where)
		}
		g.only(where, t.Raw, "type function")
		g.only(where+".function", outer["function"], "name description parameters strict")
		g.tool(where, t, seen)
	}
}

// tool finds what every API minds about a tool on offer.
func (g *gate) tool(where string, t script.ToolDef, seen map[string]bool) {
	if !goodName(t.Name) {
		g.breach(script.RuleTools, "Invalid '%s.name': %q does not match the pattern '^[a-zA-Z0-9_-]+$', or is too long", where, t.Name)
	}
	if seen[t.Name] {
		g.breach(script.RuleTools, "%s: there are two tools named %q", where, t.Name)
	}
	seen[t.Name] = true
	if len(t.Schema) > 0 && !strings.EqualFold(str(keys(t.Schema)["type"]), "object") {
		g.breach(script.RuleTools, "Invalid schema for function '%s': schema must be of type 'object'", t.Name)
	}
}

// chatMessage finds what is wrong with one message by itself.
func (g *gate) chatMessage(where string, m chatMessage, d Dialect) {
	switch m.Role {
	case "system", "user":
		g.only(where, m.raw, "role content name")
	case "developer":
		g.only(where, m.raw, "role content name")
		if d.Name != OpenAI.Name {
			g.breach(script.RuleRoles, "%s.role: unknown variant `developer`", where)
		}
	case "assistant":
		extra := []string{}
		if d.Reasoning != "" && d.Reasoning != "think" {
			extra = append(extra, d.Reasoning)
		}
		if d.Details {
			extra = append(extra, "reasoning_details")
		}
		if d.Signature {
			extra = append(extra, "extra_content")
		}
		g.only(where, m.raw, append(extra, "role content name refusal audio tool_calls")...)
		g.chatCalls(where, m, d)
	case "tool":
		g.only(where, m.raw, "role content tool_call_id", d.Tag)
	default:
		g.breach(script.RuleRoles, "%s.role: %q is not supported", where, m.Role)
	}
	g.chatContent(where, m)
}

func (g *gate) chatContent(where string, m chatMessage) {
	allowed := map[string]string{"system": "text", "developer": "text", "user": "text image_url input_audio file",
		"assistant": "text refusal", "tool": "text"}[m.Role]
	switch kind(m.Content) {
	case "string":
	case "array":
		parts := list(m.Content)
		if len(parts) == 0 {
			g.breach(script.RuleContent, "Invalid '%s.content': empty array. Expected an array with minimum length 1.", where)
		}
		for i, part := range parts {
			p := keys(part)
			t := str(p["type"])
			at := fmt.Sprintf("%s.content[%d]", where, i)
			if !slices.Contains(strings.Fields(allowed), t) {
				g.breach(script.RuleContent, "Invalid value: '%s'. A message of role %s holds: %s (%s)", t, m.Role, allowed, at)
			}
			switch t {
			case "text":
				g.only(at, part, "type text cache_control")
			case "image_url":
				g.only(at, part, "type image_url")
				if url := str(keys(p["image_url"])["url"]); !goodURL(url) {
					g.breach(script.RuleContent, "Invalid '%s.image_url.url': %.60q is no image", at, url)
				}
			}
		}
	case "null", "":
		if m.Role != "assistant" || len(m.Calls) == 0 && kind(m.Refusal) != "string" {
			g.breach(script.RuleContent, "Invalid value for 'content': expected a string, got null. (%s)", where)
		}
	default:
		g.breach(script.RuleContent, "Invalid type for '%s.content'", where)
	}
}

// goodURL reports whether an address is that of an image, or one itself.
func goodURL(url string) bool {
	data, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://")
	}
	mime, encoded, ok := strings.Cut(data, ";base64,")
	return ok && slices.Contains([]string{"image/jpeg", "image/png", "image/gif", "image/webp"}, mime) && encoded != ""
}

func (g *gate) chatCalls(where string, m chatMessage, d Dialect) {
	if raw, ok := keys(m.raw)["tool_calls"]; ok && len(m.Calls) == 0 && kind(raw) != "null" {
		g.breach(script.RuleCalls, "Invalid '%s.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.", where)
	}
	seen := map[string]bool{}
	for i, c := range m.Calls {
		at := fmt.Sprintf("%s.tool_calls[%d]", where, i)
		fields := []string{"id type function"}
		if d.Signature {
			fields = append(fields, "extra_content")
		}
		g.only(at, c.raw, fields...)
		g.only(at+".function", keys(c.raw)["function"], "name arguments")
		if c.Type != "function" {
			g.breach(script.RuleCalls, "Missing required parameter: '%s.type'.", at)
		}
		if c.ID == "" || len(c.ID) > maxChatID {
			g.breach(script.RuleCalls, "Invalid '%s.id': %q is empty or longer than %d", at, c.ID, maxChatID)
		}
		if seen[c.ID] {
			g.breach(script.RuleCalls, "Duplicate value for 'tool_call_id' of %q in %s", c.ID, where)
		}
		seen[c.ID] = true
		if !goodName(c.Function.Name) {
			g.breach(script.RuleCalls, "Invalid '%s.function.name': %q does not match the pattern '^[a-zA-Z0-9_-]+$', or is too long", at, c.Function.Name)
		}
		if !isObject(c.Function.Arguments) {
			g.breach(script.RuleCalls, "%s.function.arguments: the server's template cannot read %.80q", at, c.Function.Arguments)
		}
	}
}

// chatOrder finds calls that are not answered by the messages right after
// them, and answers to nothing.
func (g *gate) chatOrder(all []chatMessage) {
	var open []string
	missing := func(i int) {
		if len(open) > 0 {
			g.breach(script.RuleResults, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s (before messages[%d])", strings.Join(open, ", "), i)
		}
		open = nil
	}
	for i, m := range all {
		if m.Role == "tool" {
			at := slices.Index(open, m.CallID)
			if at < 0 {
				g.breach(script.RuleResults, "messages[%d]: messages with role 'tool' must be a response to a preceding message with 'tool_calls': %q", i, m.CallID)
				continue
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		missing(i)
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	missing(len(all))
	if n := len(all); n > 0 && all[n-1].Role == "assistant" {
		g.breach(script.RuleTail, "messages[%d]: the conversation ends with the assistant", n-1)
	}
}

// returned finds what was changed in a message that was sent: calls, their
// signatures, and the reasoning that has to come back with them.
func (c *chat) returned(g *gate, where string, i int, m chatMessage) {
	if c.dialect.Echo && len(m.Calls) > 0 {
		if _, ok := m.reasoning(); !ok {
			g.breach(script.RuleThinking, "Missing `%s` field in the assistant message at message index %d.", c.dialect.Reasoning, i)
		}
	}
	sent := c.match(m)
	if sent == nil {
		return
	}
	for _, call := range m.Calls {
		at := slices.IndexFunc(sent.Calls, func(s chatCall) bool { return s.ID == call.ID })
		if at < 0 {
			continue // its id was empty or taken, and was replaced
		}
		was := sent.Calls[at]
		if isObject(was.Function.Arguments) && was.Function.Arguments != call.Function.Arguments || goodName(was.Function.Name) && was.Function.Name != call.Function.Name {
			g.breach(script.RuleCalls, "%s: the call %q was changed: %s(%s), it was %s(%s)", where, call.ID,
				call.Function.Name, call.Function.Arguments, was.Function.Name, was.Function.Arguments)
		}
		if was.Extra != nil && !same(was.Extra, call.Extra) {
			g.breach(script.RuleThinking, "%s: Function call `%s` is missing a thought_signature, or it was changed", where, call.Function.Name)
		}
	}
	if len(m.Calls) == 0 {
		return
	}
	want, shown := sent.reasoning()
	have, _ := m.reasoning()
	if c.dialect.Echo && shown && want != have {
		g.breach(script.RuleThinking, "%s: The `%s` in the thinking mode must be passed back to the API unchanged: %.80q, it was %.80q", where, c.dialect.Reasoning, have, want)
	}
	if sent.Details != nil && !equal(sent.Details, m.Details) {
		g.breach(script.RuleThinking, "%s: the reasoning_details are not what was sent: %.200s, they were %.200s", where, m.Details, sent.Details)
	}
}

// match finds the message that m is on its way back, by the ids of its calls.
func (c *chat) match(m chatMessage) *chatMessage {
	for i := len(c.sent) - 1; i >= 0; i-- {
		for _, s := range c.sent[i].Calls {
			if s.ID != "" && slices.ContainsFunc(m.Calls, func(x chatCall) bool { return x.ID == s.ID }) {
				return &c.sent[i]
			}
		}
	}
	return nil
}

// remember keeps what a reply holds.
func (c *chat) remember(r script.Reply, req *script.Request) {
	if r.Body != nil || r.SSE != nil || r.Status >= http.StatusBadRequest || r.Error != nil {
		return
	}
	m := chatMessage{}
	thought, signature, shown := "", "", false
	for _, b := range r.Blocks {
		switch p := b.Parts(); p.Type {
		case "thinking":
			thought, signature, shown = thought+p.Text(), signature+p.Signature, true
		case "tool_use":
			var call chatCall
			call.Function.Name, call.Function.Arguments = p.Name, p.Text()
			if !c.dialect.NoID && !req.Called(p.ID) { // else it comes back with another one
				call.ID = p.ID
			}
			if extra := c.dialect.signed(len(m.Calls)); extra != nil {
				call.Extra = extra[1].(json.RawMessage)
			}
			m.Calls = append(m.Calls, call)
		}
	}
	switch {
	case !shown || c.dialect.Reasoning == "" || c.dialect.Reasoning == "think":
	case c.dialect.Details && thought+signature != "":
		m.Details = join([]json.RawMessage{detail(thought, signature)})
	case thought != "":
		m.ReasoningContent = &thought
	}
	c.sent = append(c.sent, m)
}
