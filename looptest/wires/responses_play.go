package wires

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"oneloop/looptest/script"
)

// happening is one event of a stream, without its number.
type happening struct {
	name  string
	pairs []any
}

// output is one item of a reply: as it is when it begins, as it is when it is
// done, and what is told in between.
type output struct {
	begun, done json.RawMessage
	between     []happening
	open        bool
}

// outputs are the items of a reply.
func outputs(r script.Reply, req *script.Request) []output {
	sealed := slices.ContainsFunc(list(req.Fields["include"]), func(x json.RawMessage) bool { return str(x) == "reasoning.encrypted_content" })
	var out []output
	for i, b := range r.Blocks {
		p := b.Parts()
		name := fmt.Sprintf("%s_%d", r.ID, i)
		status := "completed"
		if r.Stop == "max_tokens" && i == len(r.Blocks)-1 {
			status = "incomplete"
		}
		var o output
		switch p.Type {
		case "text":
			o = messageItem("msg_"+name, status, p.Pieces, i)
		case "refusal":
			o = refusalItem("msg_"+name, status, str(keys(p.Whole)["refusal"]), i)
		case "thinking":
			o = reasoningItem("rs_"+name, p, i, sealed)
		case "tool_use":
			o = callItem("fc_"+name, status, p, i)
		default:
			o = output{begun: p.Whole, done: p.Whole}
		}
		o.open = p.Open
		out = append(out, o)
	}
	return out
}

func messageItem(id, status string, pieces []string, index int) output {
	head := []any{"item_id", id, "output_index", index, "content_index", 0}
	part := func(text string) json.RawMessage {
		return script.Object("type", "output_text", "annotations", []string{}, "logprobs", []string{}, "text", text)
	}
	var o output
	o.begun = script.Object("id", id, "type", "message", "status", "in_progress", "content", []string{}, "role", "assistant")
	o.between = append(o.between, happening{"response.content_part.added", append(slices.Clone(head), "part", part(""))})
	for _, piece := range pieces {
		o.between = append(o.between, happening{"response.output_text.delta", append(slices.Clone(head), "delta", piece, "logprobs", []string{}, "obfuscation", "x7")})
	}
	whole := strings.Join(pieces, "")
	o.between = append(o.between,
		happening{"response.output_text.done", append(slices.Clone(head), "text", whole, "logprobs", []string{})},
		happening{"response.content_part.done", append(slices.Clone(head), "part", part(whole))})
	o.done = script.Object("id", id, "type", "message", "status", status, "content", join([]json.RawMessage{part(whole)}), "role", "assistant")
	return o
}

func refusalItem(id, status, refusal string, index int) output {
	head := []any{"item_id", id, "output_index", index, "content_index", 0}
	part := script.Object("type", "refusal", "refusal", refusal)
	return output{
		begun: script.Object("id", id, "type", "message", "status", "in_progress", "content", []string{}, "role", "assistant"),
		between: []happening{
			{"response.content_part.added", append(slices.Clone(head), "part", script.Object("type", "refusal", "refusal", ""))},
			{"response.refusal.delta", append(slices.Clone(head), "delta", refusal)},
			{"response.refusal.done", append(slices.Clone(head), "refusal", refusal)},
			{"response.content_part.done", append(slices.Clone(head), "part", part)},
		},
		done: script.Object("id", id, "type", "message", "status", status, "content", join([]json.RawMessage{part}), "role", "assistant"),
	}
}

// reasoningItem has its encrypted content only when it was asked for. What
// stands in its beginning is not yet what stands in its end.
func reasoningItem(id string, p script.Parts, index int, sealed bool) output {
	item := func(seal string, summary []json.RawMessage) json.RawMessage {
		pairs := []any{"id", id, "type", "reasoning"}
		if sealed {
			pairs = append(pairs, "encrypted_content", seal)
		}
		return script.Object(append(pairs, "summary", join(summary))...)
	}
	var o output
	o.begun = item(p.Signature+"-begun", nil)
	whole := p.Text()
	if whole == "" {
		o.done = item(p.Signature, nil)
		return o
	}
	head := []any{"item_id", id, "output_index", index, "summary_index", 0}
	part := script.Object("type", "summary_text", "text", whole)
	o.between = append(o.between, happening{"response.reasoning_summary_part.added", append(slices.Clone(head), "part", script.Object("type", "summary_text", "text", ""))})
	for _, piece := range p.Pieces {
		o.between = append(o.between, happening{"response.reasoning_summary_text.delta", append(slices.Clone(head), "delta", piece)})
	}
	o.between = append(o.between,
		happening{"response.reasoning_summary_text.done", append(slices.Clone(head), "text", whole)},
		happening{"response.reasoning_summary_part.done", append(slices.Clone(head), "part", part)})
	o.done = item(p.Signature, []json.RawMessage{part})
	return o
}

func callItem(id, status string, p script.Parts, index int) output {
	item := func(status, arguments string) json.RawMessage {
		return script.Object("id", id, "type", "function_call", "status", status, "arguments", arguments, "call_id", p.ID, "name", p.Name)
	}
	head := []any{"item_id", id, "output_index", index}
	var o output
	o.begun = item("in_progress", "")
	for _, piece := range p.Pieces {
		if piece != "" {
			o.between = append(o.between, happening{"response.function_call_arguments.delta", append(slices.Clone(head), "delta", piece)})
		}
	}
	o.between = append(o.between, happening{"response.function_call_arguments.done", append(slices.Clone(head), "arguments", p.Text())})
	o.done = item(status, p.Text())
	return o
}

// doneItems are the items of a reply as they are when they are done.
func doneItems(r script.Reply, req *script.Request) []json.RawMessage {
	var items []json.RawMessage
	for _, o := range outputs(r, req) {
		if !o.open {
			items = append(items, o.done)
		}
	}
	return items
}

// stream is a reply as events, each with its number.
func stream(r script.Reply, req *script.Request) [][]byte {
	f := script.Frames{Reply: r}
	n := 0
	event := func(name string, pairs ...any) {
		f.Event(name, script.Object(append(append([]any{"type", name}, pairs...), "sequence_number", n)...))
		n++
	}
	event("response.created", "response", json.RawMessage(response(r, "in_progress", nil)))
	event("response.in_progress", "response", json.RawMessage(response(r, "in_progress", nil)))
	var blocks [][]happening
	for i, o := range outputs(r, req) {
		all := append([]happening{{"response.output_item.added", []any{"output_index", i, "item", o.begun}}}, o.between...)
		switch {
		case o.open && len(all) > 2:
			all = all[:len(all)-1] // the end of its arguments, or of its part, never comes
		case !o.open:
			all = append(all, happening{"response.output_item.done", []any{"output_index", i, "item", o.done}})
		}
		blocks = append(blocks, all)
	}
	for _, h := range turn(blocks, r.Interleave) {
		event(h.name, h.pairs...)
	}
	if r.Error != nil {
		event("error", "error", failure(*r.Error))
		event("response.failed", "response", json.RawMessage(response(r, "failed", nil)))
		return f.All()
	}
	status := ending(r)
	event("response."+status, "response", json.RawMessage(response(r, status, doneItems(r, req))))
	return f.All()
}

// ending is the status of a reply that did not fail.
func ending(r script.Reply) string {
	switch r.Stop {
	case "end_turn", "tool_use", "stop_sequence":
		return "completed"
	}
	return "incomplete"
}

// response is the object that stands for a reply.
func response(r script.Reply, status string, items []json.RawMessage) []byte {
	pairs := []any{"id", "resp_" + r.ID, "object", "response", "created_at", created, "status", status, "background", false}
	var failed, details any
	switch status {
	case "failed":
		kind, code, message := openAIWords(*r.Error)
		if code == nil {
			code = kind
		}
		failed = script.Object("code", code, "message", message)
	case "incomplete":
		reason := r.Stop
		switch r.Stop {
		case "max_tokens", "model_context_window_exceeded":
			reason = "max_output_tokens"
		case "refusal":
			reason = "content_filter"
		}
		details = script.Object("reason", reason)
	}
	pairs = append(pairs, "error", failed, "incomplete_details", details, "model", r.Model, "output", join(items),
		"parallel_tool_calls", true, "store", false)
	switch u := r.Usage; {
	case status != "completed" && status != "incomplete":
		pairs = append(pairs, "usage", nil)
	case r.RawUsage == nil:
		pairs = append(pairs, "usage", script.Object("input_tokens", prompt(u), "input_tokens_details", script.Object("cached_tokens", u.CacheRead),
			"output_tokens", u.Output, "output_tokens_details", script.Object("reasoning_tokens", u.Thinking), "total_tokens", prompt(u)+u.Output))
	case len(r.RawUsage) > 0:
		pairs = append(pairs, "usage", r.RawUsage)
	}
	return script.Object(append(pairs, "metadata", script.Object())...)
}

// failure is an error in the API's words.
func failure(e script.Error) json.RawMessage {
	kind, code, message := openAIWords(e)
	return script.Object("type", kind, "code", code, "message", message, "param", nil)
}
