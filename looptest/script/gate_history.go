package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// blockFields are the keys of the blocks a client may make up. Others are
// taken only when they are one of ours come back.
var blockFields = map[string]words{
	"text":              "type text citations cache_control",
	"thinking":          "type thinking signature",
	"redacted_thinking": "type data",
	"tool_use":          "type id name input caller toolset_name cache_control",
	"tool_result":       "type tool_use_id content is_error toolset_name cache_control",
	"image":             "type source cache_control",
	"document":          "type source title context citations cache_control",
	"search_result":     "type source title content citations cache_control",
	"tool_reference":    "type tool_name cache_control",
	"tool_addition":     "type tool",
	"tool_removal":      "type tool_name name",
	"container_upload":  "type file_id cache_control",
}

// assistantOnly and userOnly are the blocks that only one side may hold.
var (
	assistantOnly words = "tool_use thinking redacted_thinking server_tool_use"
	userOnly      words = "tool_result image search_result"
	imageTypes    words = "image/jpeg image/png image/gif image/webp"

	// olderModels take a request that ends in a message of the assistant.
	olderModels = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`claude-(2|3|instant|(opus|sonnet|haiku)-4-(0|1|5|20))`)
	})
)

func (g *gate) roles() {
	if len(g.req.Messages) == 0 {
		g.breach(RuleRoles, "messages: at least one message is required")
		return
	}
	for i, m := range g.req.Messages {
		for key := range keys(m.Raw) {
			if key != "role" && key != "content" {
				g.breach(RuleFields, "messages.%d.%s: Extra inputs are not permitted", i, key)
			}
		}
		switch m.Role {
		case "user", "assistant":
		case "system":
			g.systemMessage(i)
		default:
			g.breach(RuleRoles, "messages.%d.role: %q is not a role", i, m.Role)
		}
	}
	if first := g.req.Messages[0]; first.Role != "user" && !compacted(first) {
		g.breach(RuleRoles, "messages: first message must use the \"user\" role")
	}
}

func compacted(m Message) bool {
	return len(m.Content) > 0 && m.Content[0].Type == "compaction"
}

// systemMessage checks a message of the operator between the others.
func (g *gate) systemMessage(i int) {
	all := g.req.Messages
	if i > 0 && all[i-1].Role == "assistant" && !endsInServerTool(all[i-1]) {
		g.breach(RuleRoles, "messages.%d: a system message follows a user message", i)
	}
	if i+1 < len(all) && all[i+1].Role != "assistant" {
		g.breach(RuleRoles, "messages.%d: a system message is last or followed by an assistant message", i)
	}
}

func endsInServerTool(m Message) bool {
	if len(m.Content) == 0 {
		return false
	}
	kind := m.Content[len(m.Content)-1].Type
	return kind == "server_tool_use" || strings.HasSuffix(kind, "_tool_result")
}

func (g *gate) content(sent *sentBlocks) {
	for i, c := range g.req.System {
		where := fmt.Sprintf("system.%d", i)
		if c.Type != "text" {
			g.breach(RuleContent, "%s: only text is possible, here is %q", where, c.Type)
		}
		g.block(where, c, sent)
	}
	for i, m := range g.req.Messages {
		if len(m.Content) == 0 {
			g.breach(RuleContent, "messages.%d: all messages must have non-empty content", i)
			continue
		}
		for j, c := range m.Content {
			where := fmt.Sprintf("messages.%d.content.%d", i, j)
			if m.Role != "assistant" && assistantOnly.has(c.Type) || m.Role != "user" && userOnly.has(c.Type) {
				g.breach(RuleContent, "%s: a message of role %s cannot hold %q", where, m.Role, c.Type)
			}
			g.block(where, c, sent)
		}
		last := m.Content[len(m.Content)-1].Type
		if m.Role == "assistant" && isThinking(last) {
			g.breach(RuleThinking, "messages.%d: The final block in an assistant message cannot be `%s`", i, last)
		}
	}
}

func (g *gate) block(where string, c Content, sent *sentBlocks) {
	fields, known := blockFields[c.Type]
	switch {
	case sent.has(c):
	case !known && !sent.types[c.Type]:
		g.breach(RuleContent, "%s: %q is not a type of block", where, c.Type)
	case known:
		for key := range keys(c.Raw) {
			if !fields.has(key) {
				g.breach(RuleFields, "%s.%s: Extra inputs are not permitted", where, key)
			}
		}
	}
	switch c.Type {
	case "text":
		if strings.TrimSpace(c.Text) == "" {
			g.breach(RuleBlank, "%s: text content blocks must contain non-whitespace text", where)
		}
	case "tool_use":
		if in := bytes.TrimSpace(c.Input); len(in) == 0 || in[0] != '{' {
			g.breach(RuleCalls, "%s.input: Input should be a valid dictionary", where)
		}
		if !namePattern().MatchString(c.Name) {
			g.breach(RuleCalls, "%s.name: %q does not match %s", where, c.Name, namePattern())
		}
	case "image":
		g.image(where, c)
	case "tool_result":
		for k, inner := range c.Content {
			at := fmt.Sprintf("%s.content.%d", where, k)
			if c.IsError && inner.Type != "text" {
				g.breach(RuleErrors, "%s: all content must be type text if is_error is true", at)
			}
			if assistantOnly.has(inner.Type) || inner.Type == "tool_result" {
				g.breach(RuleContent, "%s: a result cannot hold %q", at, inner.Type)
			}
			g.block(at, inner, sent)
		}
	}
}

func (g *gate) image(where string, c Content) {
	var b struct {
		Source struct {
			Type string `json:"type"`
			MIME string `json:"media_type"`
			Data []byte `json:"data"`
		} `json:"source"`
	}
	if err := json.Unmarshal(c.Raw, &b); err != nil {
		g.breach(RuleContent, "%s.source: %v", where, err)
		return
	}
	switch b.Source.Type {
	case "url", "file":
	case "base64":
		if !imageTypes.has(b.Source.MIME) || len(b.Source.Data) == 0 {
			g.breach(RuleContent, "%s.source: no image of a type that is taken (%q, %d bytes)", where, b.Source.MIME, len(b.Source.Data))
		}
	default:
		g.breach(RuleContent, "%s.source.type: %q is not known", where, b.Source.Type)
	}
}

// turn is what the API makes of neighbouring messages of one role.
type turn struct {
	role    string
	first   int // index of its first message
	content []Content
}

func (r *Request) turns() []turn {
	var out []turn
	for i, m := range r.Messages {
		if n := len(out); n > 0 && out[n-1].role == m.Role {
			out[n-1].content = append(out[n-1].content[:len(out[n-1].content):len(out[n-1].content)], m.Content...)
			continue
		}
		out = append(out, turn{m.Role, i, m.Content})
	}
	return out
}

// pairs checks that every call is answered once, in the very next message of
// the user, before anything else in it.
func (g *gate) pairs() {
	seen := map[string]bool{}
	turns := g.req.turns()
	open := []string{} // calls of the turn before
	for i, t := range turns {
		if t.role == "assistant" {
			open = nil
			for _, c := range t.content {
				if c.Type != "tool_use" {
					continue
				}
				if !idPattern().MatchString(c.ID) {
					g.breach(RuleCalls, "messages.%d: tool_use.id %q does not match %s", t.first, c.ID, idPattern())
				}
				if seen[c.ID] {
					g.breach(RuleCalls, "messages.%d: `tool_use` ids must be unique: %s", t.first, c.ID)
				}
				seen[c.ID] = true
				open = append(open, c.ID)
			}
			if len(open) > 0 && (i+1 == len(turns) || turns[i+1].role != "user") {
				g.breach(RuleResults, "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", t.first, strings.Join(open, ", "))
			}
			continue
		}
		g.results(t, open)
		open = nil
	}
}

func (g *gate) results(t turn, open []string) {
	answered := map[string]bool{}
	other := false // something else came before
	for _, c := range t.content {
		if c.Type != "tool_result" {
			other = true
			continue
		}
		switch {
		case !slices.Contains(open, c.ID):
			g.breach(RuleResults, "messages.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", t.first, c.ID)
		case answered[c.ID]:
			g.breach(RuleResults, "messages.%d: each `tool_use` must have a single result: %s", t.first, c.ID)
		case other:
			g.breach(RuleResults, "messages.%d: `tool_result` blocks come before all other content: %s", t.first, c.ID)
		}
		answered[c.ID] = true
	}
	for _, id := range open {
		if !answered[id] {
			g.breach(RuleResults, "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", t.first, id)
		}
	}
}

// tail checks a request that ends in a message of the assistant: to go on
// after a pause, or to put words into an older model's mouth.
func (g *gate) tail(sent *sentBlocks) {
	last := g.req.Last()
	if last.Role != "assistant" || len(last.Content) == 0 {
		return
	}
	end := last.Content[len(last.Content)-1]
	if end.Type == "text" && end.Text != strings.TrimRight(end.Text, " \t\r\n") {
		g.breach(RuleTail, "messages: final assistant content cannot end with trailing whitespace")
	}
	if _, resumes := sent.paused(end); !resumes && !olderModels().MatchString(g.req.Model) {
		g.breach(RuleTail, "This model does not support assistant message prefill. The conversation must end with a user message.")
	}
}

func (g *gate) cache() {
	marks, short := 0, false
	mark := func(where, kind string, raw json.RawMessage) {
		if len(raw) == 0 || string(raw) == "null" {
			return
		}
		marks++
		var c struct{ Type, TTL string }
		if err := json.Unmarshal(raw, &c); err != nil || c.Type != "ephemeral" || c.TTL != "" && c.TTL != "5m" && c.TTL != "1h" {
			g.breach(RuleCache, "%s.cache_control: %s is not known", where, raw)
		}
		if c.TTL == "1h" && short {
			g.breach(RuleCache, "%s: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block", where)
		}
		short = short || c.TTL != "1h"
		if isThinking(kind) {
			g.breach(RuleCache, "%s: cache_control cannot be set for %s blocks", where, kind)
		}
	}
	for i, t := range g.req.Tools {
		mark(fmt.Sprintf("tools.%d", i), t.Type, t.Cache)
	}
	for i, c := range g.req.System {
		mark(fmt.Sprintf("system.%d", i), c.Type, c.Cache)
	}
	for i, m := range g.req.Messages {
		for j, c := range m.Content {
			where := fmt.Sprintf("messages.%d.content.%d", i, j)
			for k, inner := range c.Content {
				mark(fmt.Sprintf("%s.content.%d", where, k), inner.Type, inner.Cache)
			}
			if c.Type == "text" && c.Text == "" && len(c.Cache) > 0 {
				g.breach(RuleCache, "%s: cache_control cannot be set for empty text blocks", where)
			}
			mark(where, c.Type, c.Cache)
		}
	}
	mark("cache_control", "", g.req.Fields["cache_control"])
	if marks > maxMarks {
		g.breach(RuleCache, "A maximum of %d blocks with cache_control may be provided. Found %d.", maxMarks, marks)
	}
}

func isThinking(kind string) bool { return kind == "thinking" || kind == "redacted_thinking" }
