package openai

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// responsesTarget is the model that a conversation is rendered for.
//
// Its method items turns a message into items of this API: a reply is the items
// it came as, a message of the user one for each result and one for the rest.
// What is lost:
//
//	block        from this model          from another model, another API or ours
//	Text         nothing                  all but the text
//	Thinking     what cannot be read      the block
//	             again: neither sealed
//	             nor in words, or the
//	             item it led to is gone
//	ToolUse      nothing                  all but id, name and input; an id of more than 64
//	                                      characters is written shorter
//	ToolResult   -                        details; that it was an error is said in words
//	Media        -                        what is no image and no PDF, and an image for a model that
//	                                      takes none, is named and not sent
//	Opaque       nothing                  the block; in a message of the user and in a result a text
//	                                      says so
//
// Where reasoning of a reply is lost, its other items go without their ids, as
// the API refuses an item that has one without the reasoning it came from; calls
// of tools that the API ran are then lost with it. Blank text is left out
// wherever it comes from.
//
// A model of the same name at another host is another model: what one provider
// sealed the other cannot read.
//
// The same message gives the same bytes in every request to the same model.
type responsesTarget struct {
	model  string
	host   string
	blind  bool            // it is known to take no images
	custom map[string]bool // ids of calls whose input is no JSON, which are answered in their own way
}

// Types of items that mean something here.
const (
	itemMessage   = "message"
	itemReasoning = "reasoning"
	itemCall      = "function_call"
	itemCustom    = "custom_tool_call"
	itemCompacted = "compaction"
)

// goodResponsesID reports whether an id of a call can be sent.
func goodResponsesID(id string) bool {
	return id != "" && len(id) <= 64 && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// responsesID is an id of a call as this API takes it.
func responsesID(id string) string { return wire.ID(id, goodResponsesID) }

func (t responsesTarget) items(m *oneloop.Message, bare bool) ([][]byte, error) {
	if m.Role != oneloop.Assistant {
		return t.user(m), nil
	}
	return t.assistant(m, bare)
}

// asIs reports whether a block is sent as it came.
func (t responsesTarget) asIs(b oneloop.Block, from oneloop.Origin) bool {
	return b.RawJSON() != nil && b.RawAPI() == ResponsesAPI && from.Same(oneloop.Origin{API: ResponsesAPI, Model: t.model, Host: t.host})
}

// isCustom reports whether a call goes back as one whose input is no JSON.
func (t responsesTarget) isCustom(c *oneloop.ToolUse, from oneloop.Origin) bool {
	return bytes.Contains(c.Raw, []byte(itemCustom)) && t.asIs(c, from) && rawjson.Parse(c.Raw).Field("type").Text() == itemCustom
}

// assistant are the items that a reply of a model is sent back as; bare: without
// its reasoning.
func (t responsesTarget) assistant(m *oneloop.Message, bare bool) ([][]byte, error) {
	raws := make([]rawjson.Value, len(m.Blocks))
	for i, b := range m.Blocks {
		if !t.asIs(b, m.Origin) {
			continue
		}
		if raws[i] = rawjson.Parse(b.RawJSON()); !raws[i].IsObject() {
			return nil, fmt.Errorf("block %d: its raw JSON is no object: %s", i, wire.Printable(b.RawJSON(), 100))
		}
	}
	bare = bare || !chained(m.Blocks, raws)
	var out [][]byte
	for i, b := range m.Blocks {
		if raw := raws[i]; raw != nil {
			if bare {
				raw = withoutReasoning(b, raw)
			}
			if raw != nil {
				out = append(out, raw)
			}
			continue
		}
		switch b := b.(type) {
		case *oneloop.Text:
			if !wire.Blank(b.Text) {
				out = append(out, append(rawjson.AppendString([]byte(`{"role":"assistant","content":`), b.Text), '}'))
			}
		case *oneloop.ToolUse:
			out = append(out, functionCall(b))
		}
	}
	return out, nil
}

// chained reports whether all reasoning of a reply can go back: it says
// something to the model, and what it led to follows it.
func chained(blocks []oneloop.Block, raws []rawjson.Value) bool {
	for i, b := range blocks {
		if _, ok := b.(*oneloop.Thinking); !ok || raws[i] == nil {
			continue
		}
		if !legible(raws[i]) || i+1 == len(blocks) || raws[i+1] == nil {
			return false
		}
	}
	return true
}

// legible reports whether the API can read reasoning that it has not stored.
func legible(item rawjson.Value) bool {
	if item.Field("encrypted_content").Text() != "" {
		return true
	}
	for range item.Field("content").Items() {
		return true
	}
	return false
}

// withoutReasoning is an item that goes back without the reasoning before it;
// nil: it does not.
func withoutReasoning(b oneloop.Block, raw rawjson.Value) rawjson.Value {
	switch b := b.(type) {
	case *oneloop.Text, *oneloop.ToolUse:
		return without(raw, "id")
	case *oneloop.Opaque:
		switch b.Type {
		case itemCompacted:
			return raw
		case itemMessage:
			return without(raw, "id")
		}
	}
	return nil
}

// without is an object without a field.
func without(v rawjson.Value, name string) rawjson.Value {
	out := []byte{'{'}
	for key, val := range v.Fields() {
		if string(key) == name {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendString(out, string(key)), ':'), val...)
	}
	return append(out, '}')
}

func functionCall(c *oneloop.ToolUse) []byte {
	j := rawjson.AppendString([]byte(`{"type":"function_call","call_id":`), responsesID(c.ID))
	j = rawjson.AppendString(append(j, `,"name":`...), wire.Name(c.Name))
	j = rawjson.AppendString(append(j, `,"arguments":`...), string(arguments(c)))
	return append(j, '}')
}

// inputs are parts of a message or of a result: texts, and what is none.
type inputs []input

type input struct {
	text string
	json []byte // of what is no text
}

func (t responsesTarget) add(in *inputs, blocks ...oneloop.Block) {
	for _, b := range blocks {
		switch b := b.(type) {
		case *oneloop.Text:
			in.text(b.Text)
		case *oneloop.Media:
			t.media(in, b)
		case *oneloop.Opaque:
			in.text(notTaken(b))
		}
	}
}

func (in *inputs) text(text string) {
	if !wire.Blank(text) {
		*in = append(*in, input{text: text})
	}
}

func (t responsesTarget) media(in *inputs, m *oneloop.Media) {
	data := "data:" + m.MIME + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
	switch {
	case strings.HasPrefix(m.MIME, "image/") && t.blind:
		in.text(fmt.Sprintf("[an image (%s) stood here, which this model cannot be sent]", m.MIME))
	case strings.HasPrefix(m.MIME, "image/"):
		*in = append(*in, input{json: append(rawjson.AppendString([]byte(`{"type":"input_image","detail":"auto","image_url":`), data), '}')})
	case m.MIME == "application/pdf":
		*in = append(*in, input{json: append(rawjson.AppendString([]byte(`{"type":"input_file","filename":"document.pdf","file_data":`), data), '}')})
	default:
		in.text(fmt.Sprintf("[a document (%s) stood here, which this model cannot be sent]", m.MIME))
	}
}

// appendTo appends them: one text as a string, which every server takes.
func (in inputs) appendTo(j []byte) []byte {
	if len(in) == 1 && in[0].json == nil {
		return rawjson.AppendString(j, in[0].text)
	}
	for i, x := range in {
		j = append(j, "[,"[min(i, 1)])
		if x.json != nil {
			j = append(j, x.json...)
		} else {
			j = append(rawjson.AppendString(append(j, `{"type":"input_text","text":`...), x.text), '}')
		}
	}
	return append(j, ']')
}

// texts are the texts of in as one, and what is none.
func (in inputs) texts() (text string, rest inputs) {
	var all []string
	for _, x := range in {
		if x.json != nil {
			rest = append(rest, x)
		} else {
			all = append(all, x.text)
		}
	}
	return strings.Join(all, "\n"), rest
}

// user are the items that a message of the user becomes.
func (t responsesTarget) user(m *oneloop.Message) [][]byte {
	var out [][]byte
	var rest inputs
	for _, b := range m.Blocks {
		if r, ok := b.(*oneloop.ToolResult); ok {
			out = append(out, t.result(r))
		} else {
			t.add(&rest, b)
		}
	}
	if len(rest) > 0 {
		out = append(out, append(rest.appendTo([]byte(`{"role":"user","content":`)), '}'))
	}
	return out
}

// result is the answer to a call. Where it has nothing but texts it is one, which
// every server takes.
func (t responsesTarget) result(r *oneloop.ToolResult) []byte {
	var in inputs
	t.add(&in, r.Content...)
	switch text, rest := in.texts(); {
	case r.IsError && !strings.HasPrefix(text, "Error"):
		in = append(inputs{{text: "Error: " + cmp.Or(text, oneloop.NoOutput)}}, rest...)
	case len(rest) == 0:
		in = inputs{{text: cmp.Or(text, oneloop.NoOutput)}}
	}
	id := responsesID(r.ID)
	j := `{"type":"function_call_output","call_id":`
	if t.custom[id] {
		j = `{"type":"custom_tool_call_output","call_id":`
	}
	return append(in.appendTo(append(rawjson.AppendString([]byte(j), id), `,"output":`...)), '}')
}
