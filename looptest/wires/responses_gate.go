package wires

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"oneloop/looptest/script"
)

const responsesFields = `model input instructions tools tool_choice parallel_tool_calls stream stream_options store include
	reasoning text max_output_tokens max_tool_calls metadata previous_response_id conversation prompt prompt_cache_key
	prompt_cache_retention safety_identifier service_tier temperature top_p top_logprobs truncation user background
	context_management moderation`

// itemFields are the keys of the items a client may make up. Others are taken
// only when they are one of ours come back.
var itemFields = map[string]string{
	"message":              "type role content id status phase",
	"reasoning":            "type id summary content encrypted_content status",
	"function_call":        "type id call_id name arguments status namespace",
	"function_call_output": "type id call_id output status",
}

const (
	maxCallID = 64 // characters
	maxItemID = 64
)

// check puts a request through the gate.
func (x *responses) check(r *script.Request) []script.Breach {
	g := &gate{req: r}
	g.only("body", r.Body, responsesFields)
	if r.Model == "" {
		g.breach(script.RuleFields, "Missing required parameter: 'model'.")
	}
	if prev := r.Fields["previous_response_id"]; prev != nil && kind(prev) != "null" {
		g.breach(script.RuleParams, "Previous response with id %s not found.", prev)
	}
	seen := map[string]bool{}
	for i, t := range r.Tools {
		where := fmt.Sprintf("tools[%d]", i)
		if str(keys(t.Raw)["type"]) != "function" {
			continue // a tool of the API's own
		}
		g.only(where, t.Raw, "type name description parameters strict defer_loading")
		g.tool(where, t, seen)
	}
	input := r.Fields["input"]
	if k := kind(input); k != "string" && (k != "array" || len(list(input)) == 0) {
		g.breach(script.RuleRoles, "Missing required parameter: 'input'.")
	}
	items := list(input)
	for i, raw := range items {
		g.item(fmt.Sprintf("input[%d]", i), raw, x)
	}
	g.outputs(items)
	for i := range items {
		x.returned(g, items, i)
	}
	return g.found
}

// item finds what is wrong with one item by itself.
func (g *gate) item(where string, raw json.RawMessage, x *responses) {
	item := keys(raw)
	t := itemType(item)
	fields, known := itemFields[t]
	if !known {
		if !x.was(raw) {
			g.breach(script.RuleContent, "Invalid value: '%s'. It is no type of an item (%s).", t, where)
		}
		return
	}
	g.only(where, raw, fields)
	if id := str(item["id"]); len(id) > maxItemID || item["id"] != nil && id == "" {
		g.breach(script.RuleCalls, "Invalid '%s.id': %q", where, id)
	}
	switch t {
	case "message":
		g.itemMessage(where, item)
	case "function_call":
		if id := str(item["call_id"]); id == "" || len(id) > maxCallID {
			g.breach(script.RuleCalls, "Invalid '%s.call_id': %q is empty or longer than %d", where, id, maxCallID)
		}
		if !goodName(str(item["name"])) {
			g.breach(script.RuleCalls, "Invalid '%s.name': %q does not match the pattern '^[a-zA-Z0-9_-]+$', or is too long", where, str(item["name"]))
		}
		if kind(item["arguments"]) != "string" {
			g.breach(script.RuleCalls, "Invalid type for '%s.arguments': expected a string.", where)
		}
	case "function_call_output":
		switch kind(item["output"]) {
		case "string":
		case "array":
			g.parts(where+".output", item["output"], "input_text input_image input_file")
		default:
			g.breach(script.RuleContent, "Missing required parameter: '%s.output'.", where)
		}
	case "reasoning":
		if kind(item["summary"]) != "array" {
			g.breach(script.RuleThinking, "Missing required parameter: '%s.summary'.", where)
		}
	}
}

func (g *gate) itemMessage(where string, item map[string]json.RawMessage) {
	allowed, ok := map[string]string{"user": "input_text input_image input_file", "system": "input_text", "developer": "input_text",
		"assistant": "output_text refusal"}[str(item["role"])]
	if !ok {
		g.breach(script.RuleRoles, "Invalid value: '%s'. It is no role (%s).", str(item["role"]), where)
	}
	switch kind(item["content"]) {
	case "string":
	case "array":
		g.parts(where+".content", item["content"], allowed)
	default:
		g.breach(script.RuleContent, "Missing required parameter: '%s.content'.", where)
	}
}

func (g *gate) parts(where string, raw json.RawMessage, allowed string) {
	for i, part := range list(raw) {
		p := keys(part)
		at := fmt.Sprintf("%s[%d]", where, i)
		t := str(p["type"])
		if !slices.Contains(strings.Fields(allowed), t) {
			g.breach(script.RuleContent, "Invalid value: '%s'. Supported values are: %s (%s).", t, allowed, at)
		}
		switch t {
		case "input_text":
			g.only(at, part, "type text")
		case "output_text":
			g.only(at, part, "type text annotations logprobs")
		case "input_image":
			g.only(at, part, "type image_url detail file_id")
			if url := str(p["image_url"]); !goodURL(url) {
				g.breach(script.RuleContent, "Invalid '%s.image_url': %.60q is no image", at, url)
			}
		}
	}
}

// outputs finds calls without an output and outputs without a call.
func (g *gate) outputs(items []json.RawMessage) {
	open, made := map[string]bool{}, []string{}
	for i, raw := range items {
		item := keys(raw)
		id := str(item["call_id"])
		switch itemType(item) {
		case "function_call":
			if slices.Contains(made, id) {
				g.breach(script.RuleCalls, "Duplicate call_id %q (input[%d]).", id, i)
			}
			open[id] = true
			made = append(made, id)
		case "function_call_output":
			if !open[id] {
				g.breach(script.RuleResults, "No tool call found for function call output with call_id %s.", id)
			}
			delete(open, id)
		case "message":
			if str(item["role"]) == "user" && len(open) > 0 {
				g.breach(script.RuleResults, "input[%d]: the user speaks before the outputs of all calls", i)
				clear(open)
			}
		}
	}
	for _, id := range made {
		if open[id] {
			g.breach(script.RuleResults, "No tool output found for function call %s.", id)
		}
	}
}

// was reports whether an item is one that was sent.
func (x *responses) was(raw json.RawMessage) bool {
	return slices.ContainsFunc(x.sent, func(reply []sentItem) bool {
		return slices.ContainsFunc(reply, func(s sentItem) bool { return same(s.raw, raw) })
	})
}

// find returns where an item was sent, by its id, else by that of its call,
// else by what it says.
func (x *responses) find(raw json.RawMessage) (reply []sentItem, at int) {
	item := newSentItem(raw)
	isCall := itemType(item.fields) == "function_call"
	for r := len(x.sent) - 1; r >= 0; r-- {
		for i, s := range x.sent[r] {
			switch {
			case item.id != "" && s.id == item.id,
				item.id == "" && item.call != "" && isCall && s.call == item.call,
				item.id == "" && item.call == "" && s.bare == item.bare:
				return x.sent[r], i
			}
		}
	}
	return nil, -1
}

// bare is an item without what may be left out where nothing is stored.
func bare(item map[string]json.RawMessage) string {
	item = maps.Clone(item)
	delete(item, "id")
	delete(item, "status")
	b, err := json.Marshal(item)
	if err != nil {
		return ""
	}
	return string(b)
}

// returned finds what is not as it was sent: items that were changed, and
// reasoning without the item it led to.
func (x *responses) returned(g *gate, items []json.RawMessage, i int) {
	item := keys(items[i])
	t, id := itemType(item), str(item["id"])
	reply, at := x.find(items[i])
	if reply == nil {
		switch {
		case t == "reasoning":
			g.breach(script.RuleThinking, "The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", id)
		case id != "" && itemFields[t] != "":
			g.breach(script.RuleCalls, "Item with id '%s' not found. Items are not persisted when `store` is set to false.", id)
		}
		return
	}
	was := reply[at]
	if !repaired(item, was.fields) && (id != "" && !same(items[i], was.raw) || bare(item) != was.bare) {
		g.breach(script.RuleThinking, "input[%d]: the item was changed: %.300s, it was %.300s", i, items[i], was.raw)
	}
	if t == "reasoning" {
		if str(item["encrypted_content"]) == "" {
			g.breach(script.RuleThinking, "Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id)
		}
		if at+1 == len(reply) || i+1 == len(items) || !x.follows(items[i+1], reply, at+1) {
			g.breach(script.RuleThinking, "Item '%s' of type 'reasoning' was provided without its required following item.", id)
		}
		return
	}
	if at > 0 && itemType(reply[at-1].fields) == "reasoning" && id != "" {
		if i == 0 || !x.follows(items[i-1], reply, at-1) {
			g.breach(script.RuleThinking, "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", id, t, reply[at-1].id)
		}
	}
}

// follows reports whether an item is number at of a reply.
func (x *responses) follows(raw json.RawMessage, reply []sentItem, at int) bool {
	found, i := x.find(raw)
	return i == at && len(found) == len(reply) && &found[0] == &reply[0]
}

// repaired reports whether an item had to be changed before it could come
// back: its id was empty or taken, its name or its arguments were none.
func repaired(item, was map[string]json.RawMessage) bool {
	return itemType(was) == "function_call" && (str(was["call_id"]) != str(item["call_id"]) || !goodName(str(was["name"])) || !isObject(str(was["arguments"])))
}

// remember keeps what a reply holds.
func (x *responses) remember(r script.Reply, req *script.Request) {
	if r.Body != nil || r.SSE != nil || r.Status >= http.StatusBadRequest || r.Error != nil {
		return
	}
	items := doneItems(r.Filled(req), req)
	for i, raw := range items {
		if item := keys(raw); item["call_id"] != nil && req.Called(str(item["call_id"])) {
			items[i] = bytes.Replace(raw, []byte(`"call_id":`), []byte(`"call_id":"","was":`), 1) // it comes back with another one
		}
	}
	var reply []sentItem
	for _, raw := range items {
		reply = append(reply, newSentItem(raw))
	}
	if len(reply) > 0 {
		x.sent = append(x.sent, reply)
	}
}
