package wires

import (
	"encoding/json"
	"fmt"
	"strings"

	"oneloop/looptest/script"
)

const created = 1790000000 // when replies say they were made

// stream is a reply as a stream of chunks.
func (c *chat) stream(r script.Reply, req *script.Request) ([][]byte, string) {
	d := c.dialect
	r = r.Filled(req)
	r.Comments = r.Comments || d.Comment != ""
	f := script.Frames{Reply: r, Comment: d.Comment}
	asked := askedUsage(req)
	chunk := func(delta, finish json.RawMessage, more ...any) {
		choice := script.Object("index", 0, "delta", delta, "logprobs", nil, "finish_reason", finish)
		pairs := c.head(r, "chat.completion.chunk", []json.RawMessage{choice})
		f.Event("", script.Object(append(pairs, more...)...))
	}
	open := json.RawMessage("null")
	if d.EmptyFinish {
		open = json.RawMessage(`""`)
	}
	chunk(script.Object("role", "assistant", "content", c.firstContent(r)), open)
	var blocks [][]json.RawMessage
	n := 0
	for _, b := range r.Blocks {
		p := b.Parts()
		blocks = append(blocks, c.deltas(p, n))
		if p.Type == "tool_use" {
			n++
		}
	}
	for _, delta := range turn(blocks, r.Interleave) {
		chunk(delta, open)
	}
	if r.Error != nil {
		if !d.ErrorChunk {
			f.Event("", script.Object("error", d.said(*r.Error)))
		} else {
			chunk(script.Object("role", "assistant", "content", ""), json.RawMessage("null"), "error", d.said(*r.Error))
		}
		return f.All(), "text/event-stream; charset=utf-8"
	}
	finish := c.finish(r)
	usage, has := chatUsage(r)
	if d.UsageAtFinish && has {
		chunk(json.RawMessage("{}"), finish, "usage", usage)
	} else {
		chunk(json.RawMessage("{}"), finish)
		if asked && has {
			f.Event("", script.Object(append(c.head(r, "chat.completion.chunk", nil), "usage", usage)...))
		}
	}
	if !d.NoDone {
		f.Event("", []byte("[DONE]"))
	}
	return f.All(), "text/event-stream; charset=utf-8"
}

func (c *chat) head(r script.Reply, object string, choices []json.RawMessage) []any {
	return []any{"id", "chatcmpl-" + r.ID, "object", object, "created", created, "model", r.Model, "choices", join(choices)}
}

// askedUsage reports whether the usage is to come in the stream.
func askedUsage(req *script.Request) bool {
	var o struct {
		Usage bool `json:"include_usage"`
	}
	return json.Unmarshal(req.Fields["stream_options"], &o) == nil && o.Usage
}

func (c *chat) firstContent(r script.Reply) json.RawMessage {
	if c.dialect.NullContent {
		return json.RawMessage("null")
	}
	for _, b := range r.Blocks {
		if b.Parts().Type == "text" {
			return json.RawMessage(`""`)
		}
	}
	return json.RawMessage("null")
}

// deltas is what a block streams; n is its number among the calls.
func (c *chat) deltas(p script.Parts, n int) []json.RawMessage {
	var out []json.RawMessage
	switch p.Type {
	case "text":
		for _, piece := range p.Pieces {
			out = append(out, script.Object("content", piece))
		}
	case "thinking":
		return c.thinkingDeltas(p)
	case "tool_use":
		return c.callDeltas(p, n)
	case "refusal":
		return []json.RawMessage{script.Object("refusal", str(keys(p.Whole)["refusal"]))}
	default:
		return []json.RawMessage{ownFields(p.Whole)}
	}
	return out
}

// ownFields is a block of a kind of its own as fields of a message.
func ownFields(block json.RawMessage) json.RawMessage {
	var pairs []any
	for key, v := range keys(block) {
		if key != "type" {
			pairs = append(pairs, key, v)
		}
	}
	return script.Object(pairs...)
}

func (c *chat) thinkingDeltas(p script.Parts) []json.RawMessage {
	d := c.dialect
	var out []json.RawMessage
	switch {
	case d.Reasoning == "":
	case d.Reasoning == "think":
		out = append(out, script.Object("content", "<think>"))
		for _, piece := range p.Pieces {
			out = append(out, script.Object("content", piece))
		}
		out = append(out, script.Object("content", "</think>\n\n"))
	case d.Details:
		for _, piece := range p.Pieces {
			if piece == "" { // of a thought that is not shown there is the signature alone
				continue
			}
			detail := script.Object("type", "reasoning.text", "text", piece, "format", "anthropic-claude-v1", "index", 0)
			out = append(out, script.Object("content", "", d.Reasoning, piece, "reasoning_details", join([]json.RawMessage{detail})))
		}
		if p.Signature != "" {
			detail := script.Object("type", "reasoning.text", "signature", p.Signature, "format", "anthropic-claude-v1", "index", 0)
			out = append(out, script.Object("content", "", d.Reasoning, nil, "reasoning_details", join([]json.RawMessage{detail})))
		}
	default:
		for _, piece := range p.Pieces {
			out = append(out, script.Object("content", nil, d.Reasoning, piece))
		}
	}
	return out
}

// callDeltas is a call in pieces: first its name, then its arguments.
func (c *chat) callDeltas(p script.Parts, n int) []json.RawMessage {
	d := c.dialect
	var out []json.RawMessage
	piece := func(pairs []any) {
		delta := []any{}
		if d.NullContent {
			delta = append(delta, "content", nil)
		}
		out = append(out, script.Object(append(delta, "tool_calls", join([]json.RawMessage{script.Object(pairs...)}))...))
	}
	begin := func() []any {
		switch {
		case d.NoIndex:
			return nil
		case d.SameIndex:
			return []any{"index", 0}
		}
		return []any{"index", n}
	}
	named := func() []any {
		pairs := begin()
		if !d.NoID {
			pairs = append(pairs, "id", p.ID)
		}
		return append(pairs, "type", "function")
	}
	if d.WholeCall {
		piece(append(append(named(), "function", script.Object("name", p.Name, "arguments", p.Text())), d.signed(n)...))
		return out
	}
	first := any("")
	if d.NullArguments {
		first = nil
	}
	piece(append(append(named(), "function", script.Object("name", p.Name, "arguments", first)), d.signed(n)...))
	for _, s := range p.Pieces {
		switch {
		case s == "":
			continue
		case d.RepeatID:
			piece(append(named(), "function", script.Object("name", p.Name, "arguments", s)))
		case d.EmptyID:
			piece(append(begin(), "id", "", "type", "function", "function", script.Object("arguments", s)))
		default:
			piece(append(begin(), "function", script.Object("arguments", s)))
		}
	}
	return out
}

// signed is the thought signature of the first call.
func (d Dialect) signed(n int) []any {
	if !d.Signature || n > 0 {
		return nil
	}
	return []any{"extra_content", script.Object("google", script.Object("thought_signature", "c2lnbmVkIHdpdGggLyBhbmQgKw=="))}
}

func (c *chat) finish(r script.Reply) json.RawMessage {
	word := r.Stop
	switch r.Stop {
	case "end_turn", "stop_sequence":
		word = "stop"
	case "tool_use":
		word = "tool_calls"
	case "max_tokens", "model_context_window_exceeded":
		word = "length"
	case "refusal":
		word = "content_filter"
	}
	if word == "tool_calls" && c.dialect.StopAlways {
		word = "stop"
	}
	b, err := json.Marshal(word)
	if err != nil {
		panic("wires: " + err.Error()) // a string always encodes
	}
	return b
}

// chatUsage is the usage of a reply, and whether it says one.
func chatUsage(r script.Reply) (json.RawMessage, bool) {
	if r.RawUsage != nil {
		return r.RawUsage, len(r.RawUsage) > 0
	}
	u := r.Usage
	return script.Object("prompt_tokens", prompt(u), "completion_tokens", u.Output, "total_tokens", prompt(u)+u.Output,
		"prompt_tokens_details", script.Object("cached_tokens", u.CacheRead),
		"completion_tokens_details", script.Object("reasoning_tokens", u.Thinking)), true
}

// whole is a reply as one object.
func (c *chat) whole(r script.Reply, req *script.Request) []byte {
	r = r.Filled(req)
	d := c.dialect
	var said, thought, signature strings.Builder
	var calls []json.RawMessage
	var extra []any
	for _, b := range r.Blocks {
		switch p := b.Parts(); p.Type {
		case "text":
			said.WriteString(p.Text())
		case "thinking":
			thought.WriteString(p.Text())
			signature.WriteString(p.Signature)
		case "tool_use":
			pairs := []any{}
			if !d.NoID {
				pairs = append(pairs, "id", p.ID)
			}
			pairs = append(pairs, "type", "function", "function", script.Object("name", p.Name, "arguments", p.Text()))
			calls = append(calls, script.Object(append(pairs, d.signed(len(calls))...)...))
		case "refusal":
			extra = append(extra, "refusal", str(keys(p.Whole)["refusal"]))
		default:
			for key, v := range keys(p.Whole) {
				if key != "type" {
					extra = append(extra, key, v)
				}
			}
		}
	}
	content := any(said.String())
	if d.Reasoning == "think" && thought.Len() > 0 {
		content = "<think>" + thought.String() + "</think>\n\n" + said.String()
	}
	if content == "" {
		content = nil
	}
	message := []any{"role", "assistant", "content", content}
	if d.Reasoning != "" && d.Reasoning != "think" && thought.Len() > 0 {
		message = append(message, d.Reasoning, thought.String())
	}
	if d.Details && thought.Len()+signature.Len() > 0 {
		message = append(message, "reasoning_details", join([]json.RawMessage{detail(thought.String(), signature.String())}))
	}
	message = append(message, extra...)
	if len(calls) > 0 {
		message = append(message, "tool_calls", join(calls))
	}
	choice := script.Object("index", 0, "message", script.Object(message...), "logprobs", nil, "finish_reason", c.finish(r))
	pairs := c.head(r, "chat.completion", []json.RawMessage{choice})
	if usage, has := chatUsage(r); has {
		pairs = append(pairs, "usage", usage)
	}
	return script.Object(pairs...)
}

// detail is what the pieces of reasoning_details add up to.
func detail(thought, signature string) json.RawMessage {
	pairs := []any{"type", "reasoning.text"}
	if thought != "" {
		pairs = append(pairs, "text", thought)
	}
	pairs = append(pairs, "format", "anthropic-claude-v1", "index", 0)
	if signature != "" {
		pairs = append(pairs, "signature", signature)
	}
	return script.Object(pairs...)
}

// said is an error in the API's words.
func (d Dialect) said(e script.Error) json.RawMessage {
	kind, code, message := openAIWords(e)
	if d.CodeOnly {
		status := map[string]int{"authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
			"rate_limit_error": 429, "api_error": 500, "overloaded_error": 503, "invalid_request_error": 400, script.Overflow: 400}[e.Type]
		return script.Object("message", message, "code", status)
	}
	return script.Object("message", message, "type", kind, "param", nil, "code", code)
}

// openAIWords is an error in the words of OpenAI's APIs. The code is nil where
// they have none.
func openAIWords(e script.Error) (kind string, code any, message string) {
	message = e.Message + again(e.Retry)
	switch e.Type {
	case "authentication_error":
		return "invalid_request_error", "invalid_api_key", message
	case "not_found_error":
		return "invalid_request_error", "model_not_found", message
	case "rate_limit_error":
		return "requests", "rate_limit_exceeded", message
	case "billing_error":
		return "insufficient_quota", "insufficient_quota", message
	case "api_error":
		return "server_error", nil, message
	case "overloaded_error":
		return "server_error", "server_is_overloaded", message
	case script.Overflow:
		return "invalid_request_error", "context_length_exceeded",
			fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", 128000, 300000)
	}
	return e.Type, nil, message
}
