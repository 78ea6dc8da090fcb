package wires

import (
	"encoding/json"
	"net/http"
	"strings"

	"oneloop/looptest/script"
)

// Responses is OpenAI's Responses API, used without its memory: a request
// holds the whole conversation.
func Responses() *script.Wire {
	x := &responses{}
	return &script.Wire{
		Name: "Responses",
		Traits: script.Traits{
			Own:        json.RawMessage(`{"type":"hologram","id":"holo_1","depth":18446744073709551616,"a":{"z":1,"b":2}}`),
			NoSequence: true, Hint: true, Finish: `"type":"response.completed"`,
			Usages: texts(`{"input_tokens":-1,"output_tokens":1e30}`, `{"input_tokens":"x","output_tokens":1.5,"input_tokens_details":[]}`),
		},
		Aside: models,
		Serves: func(r *script.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(path(r), "/responses")
		},
		Read: readResponses,
		Headers: func(r *script.Request) []script.Breach {
			g := &gate{req: r}
			g.bearer(false)
			return g.found
		},
		Check: x.check,
		Stream: func(r script.Reply, req *script.Request) ([][]byte, string) {
			return stream(r.Filled(req), req), "text/event-stream; charset=utf-8"
		},
		Whole: func(r script.Reply, req *script.Request) []byte {
			r = r.Filled(req)
			return response(r, ending(r), doneItems(r, req))
		},
		Error: func(e script.Error) []byte { return script.Object("error", failure(e)) },
		Sent:  x.remember,
	}
}

type responses struct {
	sent [][]sentItem // the items of every reply
}

// sentItem is an item as it was sent.
type sentItem struct {
	raw      json.RawMessage
	fields   map[string]json.RawMessage
	id, call string
	bare     string // without what may be left out where nothing is stored
}

func newSentItem(raw json.RawMessage) sentItem {
	f := keys(raw)
	return sentItem{raw, f, str(f["id"]), str(f["call_id"]), bare(f)}
}

// readResponses fills the view of a request.
func readResponses(r *script.Request) error {
	if err := json.Unmarshal(r.Body, &r.Fields); err != nil {
		return err
	}
	var top struct {
		Model        string
		Instructions string
		Input        json.RawMessage
		Tools        []json.RawMessage
		Stream       bool
		MaxTokens    int `json:"max_output_tokens"`
	}
	if err := json.Unmarshal(r.Body, &top); err != nil {
		return err
	}
	r.Model, r.Stream, r.MaxTokens = top.Model, top.Stream, top.MaxTokens
	if top.Instructions != "" {
		r.System = append(r.System, text(top.Instructions))
	}
	var v view
	if kind(top.Input) == "string" {
		v.add("user", top.Input, text(str(top.Input)))
	}
	for _, raw := range list(top.Input) {
		item := keys(raw)
		switch t := itemType(item); {
		case t == "message" && (str(item["role"]) == "system" || str(item["role"]) == "developer"):
			r.System = append(r.System, itemContent(item["content"])...)
		case t == "message":
			v.add(str(item["role"]), raw, itemContent(item["content"])...)
		case t == "reasoning":
			thought := ""
			for _, part := range list(item["summary"]) {
				thought += str(keys(part)["text"])
			}
			v.add("assistant", raw, script.Content{Type: "thinking", Thinking: thought, Signature: str(item["encrypted_content"]), Raw: raw})
		case t == "function_call":
			v.add("assistant", raw, script.Content{Type: "tool_use", ID: str(item["call_id"]), Name: str(item["name"]),
				Input: json.RawMessage(str(item["arguments"])), Raw: raw})
		case t == "function_call_output":
			v.add("user", raw, script.Content{Type: "tool_result", ID: str(item["call_id"]), Content: itemContent(item["output"]), Raw: raw})
		default:
			v.add("assistant", raw, script.Content{Type: t, Raw: raw})
		}
	}
	r.Messages = v.messages
	for _, raw := range top.Tools {
		t := keys(raw)
		r.Tools = append(r.Tools, script.ToolDef{Name: str(t["name"]), Description: str(t["description"]), Schema: t["parameters"], Raw: raw})
	}
	return nil
}

// itemType is the type of an item; a message needs not name it.
func itemType(item map[string]json.RawMessage) string {
	if t := str(item["type"]); t != "" || item["role"] == nil {
		return t
	}
	return "message"
}

func itemContent(raw json.RawMessage) []script.Content {
	if kind(raw) == "string" {
		return chatContent(raw)
	}
	var out []script.Content
	for _, part := range list(raw) {
		p := keys(part)
		switch t := str(p["type"]); t {
		case "input_text", "output_text":
			out = append(out, script.Content{Type: "text", Text: str(p["text"]), Raw: part})
		case "input_image":
			out = append(out, script.Content{Type: "image", Raw: part})
		case "input_file":
			out = append(out, script.Content{Type: "document", Raw: part})
		default:
			out = append(out, script.Content{Type: t, Raw: part})
		}
	}
	return out
}
