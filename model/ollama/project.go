package ollama

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// target is the model that a conversation is rendered for.
//
// Its method project turns a message into messages of this API: a reply is one,
// a message of the user one for each result and one for the rest. What is lost:
//
//	block        from this model       from another model, another API or ours
//	Text         nothing               all but the text; several texts are one
//	Thinking     nothing               the block
//	ToolUse      nothing               all but name and input: calls and results then meet by
//	                                   name and order
//	ToolResult   -                     details; that it was an error is said in words
//	Media        -                     where among the texts it stood; of a result's, a message of
//	                                   the user's behind the results; what is no PNG, JPEG or WebP, and
//	                                   all of it for a model that does not see, is named and not sent
//	Opaque       nothing               the block; in a message of the user and in a result a text
//	                                   says so
//
// Blank text is left out wherever it comes from.
//
// The same message gives the same bytes in every request to the same model.
type target struct {
	model string
	sees  bool
}

// asIs reports whether a block of a message from this origin is sent in its own
// bytes.
func (t target) asIs(b oneloop.Block, from oneloop.Origin) bool {
	return b.RawJSON() != nil && b.RawAPI() == API && from == oneloop.Origin{API: API, Model: t.model}
}

// reply is the message that a reply of a model is sent back as; nil when nothing
// is left of it. Its fields are in the order of the blocks, the calls behind
// them.
func (e *encoder) reply(m *oneloop.Message) ([]byte, error) {
	var fields, calls [][]byte
	var texts []string
	one := 0 // texts, which are as they came when there is only one
	for _, b := range m.Blocks {
		if _, ok := b.(*oneloop.Text); ok {
			one++
		}
	}
	for i, b := range m.Blocks {
		raw := rawjson.Parse(b.RawJSON())
		_, text := b.(*oneloop.Text)
		if e.asIs(b, m.Origin) && !(text && one > 1) {
			if !raw.IsObject() {
				return nil, fmt.Errorf("block %d: its raw JSON is no object: %s", i, wire.Printable(b.RawJSON(), 100))
			}
			if _, ok := b.(*oneloop.ToolUse); ok {
				calls = append(calls, raw)
				continue
			}
			if inside := raw[1 : len(raw)-1]; len(inside) > 0 {
				fields = append(fields, inside)
			}
			continue
		}
		switch b := b.(type) {
		case *oneloop.Text:
			if i > 0 && len(texts) > 0 {
				if _, ok := m.Blocks[i-1].(*oneloop.Text); ok { // one text in two pieces
					texts[len(texts)-1] += b.Text
					continue
				}
			}
			if !wire.Blank(b.Text) {
				texts = append(texts, b.Text)
			}
		case *oneloop.ToolUse:
			calls = append(calls, callJSON(b))
		}
	}
	if len(texts) > 0 {
		fields = append(fields, rawjson.AppendString([]byte(`"content":`), strings.Join(texts, "\n")))
	}
	if len(fields)+len(calls) == 0 {
		return nil, nil
	}
	j := []byte(`{"role":"assistant"`)
	if !slices.ContainsFunc(fields, func(f []byte) bool { return strings.HasPrefix(string(f), `"content"`) }) {
		j = append(j, `,"content":""`...) // servers want it
	}
	for _, f := range fields {
		j = append(append(j, ','), f...)
	}
	return append(list(j, `,"tool_calls":[`, calls, "]"), '}'), nil
}

// list appends items between two texts; nothing when there are none.
func list(dst []byte, before string, items [][]byte, after string) []byte {
	for i, item := range items {
		if i > 0 {
			before = ","
		}
		dst = append(append(dst, before...), item...)
	}
	if len(items) > 0 {
		dst = append(dst, after...)
	}
	return dst
}

func callJSON(c *oneloop.ToolUse) []byte {
	j := rawjson.AppendString([]byte(`{"function":{"name":`), wire.Name(c.Name))
	j = append(j, `,"arguments":`...)
	switch v := rawjson.Parse(c.Input); {
	case len(c.Input) == 0:
		j = append(j, "{}"...)
	case !v.IsObject():
		j = append(j, wire.StandIn(string(c.Input))...)
	default:
		j = append(j, rawjson.Clean(v)...)
	}
	return append(j, "}}"...)
}

// said is a message of the user in the making.
type said struct {
	texts  []string
	images [][]byte
}

func (s *said) json() []byte {
	if len(s.texts)+len(s.images) == 0 {
		return nil
	}
	j := rawjson.AppendString([]byte(`{"role":"user","content":`), strings.Join(s.texts, "\n"))
	return append(list(j, `,"images":[`, s.images, "]"), '}')
}

// media puts in an image, or says that one stood there.
func (s *said) media(t target, m *oneloop.Media) {
	switch {
	case !slices.Contains([]string{"image/png", "image/jpeg", "image/webp"}, m.MIME): // others end in an error, in every request from then on
		s.texts = append(s.texts, fmt.Sprintf("[%s of type %s stood here, which this model cannot be sent]", wire.Name(m.Type), m.MIME))
	case !t.sees:
		s.texts = append(s.texts, "[an image stood here, which this model cannot see]")
	default:
		j := base64.StdEncoding.AppendEncode([]byte{'"'}, m.Data)
		s.images = append(s.images, append(j, '"'))
	}
}

// user are the messages that one of the user becomes.
func (e *encoder) user(m *oneloop.Message) [][]byte {
	var out [][]byte
	var rest said
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case *oneloop.Text:
			if !wire.Blank(b.Text) {
				rest.texts = append(rest.texts, b.Text)
			}
		case *oneloop.ToolResult:
			out = append(out, e.result(b, &rest))
		case *oneloop.Media:
			rest.media(e.target, b)
		case *oneloop.Opaque:
			rest.texts = append(rest.texts, notTaken(b))
		}
	}
	for _, i := range rest.images {
		e.images.n++
		e.images.bytes += int64(len(i))
	}
	if j := rest.json(); j != nil {
		out = append(out, j)
	}
	return out
}

func notTaken(b *oneloop.Opaque) string {
	return fmt.Sprintf("[a block of type %q stood here, which this model cannot be sent]", b.Type)
}

// result is the answer to a call. What may not stand in it goes to the message
// behind the results.
func (e *encoder) result(r *oneloop.ToolResult, rest *said) []byte {
	c := e.calls[r.ID]
	var texts []string
	var media said
	for _, b := range r.Content {
		switch b := b.(type) {
		case *oneloop.Text:
			if !wire.Blank(b.Text) {
				texts = append(texts, b.Text)
			}
		case *oneloop.Media:
			media.media(e.target, b)
		case *oneloop.Opaque:
			texts = append(texts, notTaken(b))
		}
	}
	texts = append(texts, media.texts...)
	if len(media.images) > 0 {
		rest.texts = append(rest.texts, fmt.Sprintf("Images of the result of %s: %d", wire.Name(c.name), len(media.images)))
		rest.images = append(rest.images, media.images...)
		if len(texts) == 0 {
			texts = []string{"(the images in the next message)"}
		}
	}
	if len(texts) == 0 {
		texts = []string{oneloop.NoOutput}
	}
	text := strings.Join(texts, "\n")
	if r.IsError && !strings.HasPrefix(text, "Error") {
		text = "Error: " + text
	}
	j := rawjson.AppendString([]byte(`{"role":"tool","content":`), text)
	j = rawjson.AppendString(append(j, `,"tool_name":`...), wire.Name(c.name))
	if c.id {
		j = rawjson.AppendString(append(j, `,"tool_call_id":`...), r.ID)
	}
	return append(j, '}')
}
