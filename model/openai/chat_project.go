package openai

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// chatTarget is the model that a conversation is rendered for.
//
// Its method messages turns a message into messages of this API: a reply is one,
// a message of the user one for each result and one for the rest. What is lost:
//
//	block        from this model          from another model, another API or ours
//	Text         nothing                  all but the text; several texts are one
//	Thinking     what the provider does   the block
//	             not take back: see Echo
//	             of its Dialect; where it
//	             wants some, an empty one
//	ToolUse      nothing                  all but id, name and input; an id of more than 40
//	                                      characters is written shorter
//	ToolResult   -                        details; that it was an error is said in words
//	Media        -                        where among the texts it stood; of a result's, a message of
//	                                      the user's behind the results; what the provider does not
//	                                      take is named and not sent
//	Opaque       reasoning details and    the block; in a message of the user and in a result a text
//	             other fields: nothing    says so
//
// Blank text is left out wherever it comes from.
//
// A model of the same name at another host is another model: what one provider
// sealed the other cannot read.
//
// The same message gives the same bytes in every request to the same model.
type chatTarget struct {
	model   string
	host    string
	dialect Dialect
	blind   bool // it is known to take no images
}

// chatID is an id of a call as this API takes it.
func chatID(id string) string { return wire.ID(id, goodChatID) }

func (t chatTarget) messages(m *oneloop.Message) ([][]byte, error) {
	if m.Role != oneloop.Assistant {
		return t.user(m), nil
	}
	j, err := t.assistant(m)
	if err != nil || j == nil {
		return nil, err
	}
	return [][]byte{j}, nil
}

// asIs reports whether a block of a message from this origin has the bytes of
// this API, and whether it is of the same model of the same provider.
func (t chatTarget) asIs(b oneloop.Block, from oneloop.Origin) (ours, same bool) {
	ours = b.RawJSON() != nil && b.RawAPI() == ChatAPI && from.API == ChatAPI
	return ours, ours && from.Same(oneloop.Origin{API: ChatAPI, Model: t.model, Host: t.host})
}

// assistant is the message that a reply of a model is sent back as; nil when
// nothing is left of it.
func (t chatTarget) assistant(m *oneloop.Message) ([]byte, error) {
	var fields, calls [][]byte
	var texts []string
	withCalls := len(m.ToolUses()) > 0
	said := 0
	for _, b := range m.Blocks {
		if _, ok := b.(*oneloop.Text); ok {
			said++
		}
	}
	for i, b := range m.Blocks {
		ours, same := t.asIs(b, m.Origin)
		raw := rawjson.Parse(b.RawJSON())
		if ours && (!raw.IsObject() || len(raw) < len(`{"":0}`)) {
			return nil, fmt.Errorf("block %d: its raw JSON is no object: %s", i, wire.Printable(b.RawJSON(), 100))
		}
		switch b := b.(type) {
		case *oneloop.Text:
			switch {
			case ours && said == 1:
				fields = append(fields, raw[1:len(raw)-1])
			case len(texts) > 0 && follows(m.Blocks, i): // one text that came in parts
				texts[len(texts)-1] += b.Text
			case !wire.Blank(b.Text):
				texts = append(texts, b.Text)
			}
		case *oneloop.ToolUse:
			if same { // what stands beside a call of another model's is refused elsewhere
				calls = append(calls, raw)
			} else {
				calls = append(calls, callJSON(b))
			}
		case *oneloop.Thinking:
			if same && t.dialect.Echo.holds(withCalls) {
				fields = append(fields, raw[1:len(raw)-1])
			}
		case *oneloop.Opaque:
			if same {
				fields = append(fields, raw[1:len(raw)-1])
			}
		}
	}
	if len(texts) > 0 {
		fields = append(fields, rawjson.AppendString([]byte(`"content":`), strings.Join(texts, "\n")))
	}
	content := slices.ContainsFunc(fields, func(f []byte) bool { return strings.HasPrefix(string(f), `"content"`) })
	if !content && len(calls) == 0 {
		return nil, nil // reasoning alone is no message
	}
	j := []byte(`{"role":"assistant"`)
	if t.dialect.Needed.holds(withCalls) && !slices.ContainsFunc(fields, func(f []byte) bool { return strings.HasPrefix(string(f), `"`+reasoningA) }) {
		j = append(j, `,"reasoning_content":""`...)
	}
	if !content {
		j = append(j, `,"content":""`...) // servers want it
	}
	for _, f := range fields {
		j = append(append(j, ','), f...)
	}
	return append(list(j, `,"tool_calls":[`, calls, "]"), '}'), nil
}

// follows reports whether the text that block i is comes right behind another.
func follows(blocks []oneloop.Block, i int) bool {
	if i == 0 {
		return false
	}
	_, text := blocks[i-1].(*oneloop.Text)
	return text
}

func callJSON(c *oneloop.ToolUse) []byte {
	j := rawjson.AppendString([]byte(`{"id":`), chatID(c.ID))
	j = rawjson.AppendString(append(j, `,"type":"function","function":{"name":`...), wire.Name(c.Name))
	j = rawjson.AppendString(append(j, `,"arguments":`...), string(arguments(c)))
	return append(j, "}}"...)
}

// arguments are the input of a call as an object.
func arguments(c *oneloop.ToolUse) []byte {
	switch v := rawjson.Parse(c.Input); {
	case len(c.Input) == 0:
		return []byte("{}")
	case !v.IsObject():
		return wire.StandIn(string(c.Input))
	default:
		return rawjson.Clean(v)
	}
}

// userMessage is a message of the user in the making: texts, and what is none.
type userMessage struct {
	parts [][]byte // in order
	texts []string
	media bool
}

func (u *userMessage) text(text string) {
	if wire.Blank(text) {
		return
	}
	u.texts = append(u.texts, text)
	u.parts = append(u.parts, append(rawjson.AppendString([]byte(`{"type":"text","text":`), text), '}'))
}

func (u *userMessage) json() []byte {
	if len(u.parts) == 0 {
		return nil
	}
	j := []byte(`{"role":"user","content":`)
	if u.media {
		return append(list(j, "[", u.parts, "]"), '}')
	}
	return append(rawjson.AppendString(j, strings.Join(u.texts, "\n")), '}')
}

// add puts in an image or a document, or says that one stood there.
func (u *userMessage) add(t chatTarget, m *oneloop.Media) {
	data := "data:" + m.MIME + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
	switch {
	case strings.HasPrefix(m.MIME, "image/") && t.blind:
		u.text(fmt.Sprintf("[an image (%s) stood here, which this model cannot be sent]", m.MIME))
	case strings.HasPrefix(m.MIME, "image/"):
		u.media = true
		u.parts = append(u.parts, append(rawjson.AppendString([]byte(`{"type":"image_url","image_url":{"url":`), data), "}}"...))
	case m.MIME == "application/pdf" && t.dialect.Documents:
		u.media = true
		u.parts = append(u.parts, append(rawjson.AppendString([]byte(`{"type":"file","file":{"filename":"document.pdf","file_data":`), data), "}}"...))
	default:
		u.text(fmt.Sprintf("[a document (%s) stood here, which this model cannot be sent]", m.MIME))
	}
}

// user are the messages that one of the user becomes.
func (t chatTarget) user(m *oneloop.Message) [][]byte {
	var out [][]byte
	var rest userMessage
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case *oneloop.Text:
			rest.text(b.Text)
		case *oneloop.ToolResult:
			out = append(out, t.result(b, &rest))
		case *oneloop.Media:
			rest.add(t, b)
		case *oneloop.Opaque:
			rest.text(notTaken(b))
		}
	}
	if j := rest.json(); j != nil {
		out = append(out, j)
	}
	return out
}

func notTaken(b *oneloop.Opaque) string {
	return fmt.Sprintf("[a block of type %q stood here, which this model cannot be sent]", b.Type)
}

// result is the answer to a call, in which only text may stand. What else it has
// goes to the message behind the results.
func (t chatTarget) result(r *oneloop.ToolResult, rest *userMessage) []byte {
	var texts []string
	media := 0
	for _, b := range r.Content {
		switch b := b.(type) {
		case *oneloop.Text:
			if !wire.Blank(b.Text) {
				texts = append(texts, b.Text)
			}
		case *oneloop.Media:
			if media++; media == 1 {
				rest.text("From the result of call " + chatID(r.ID) + ":")
			}
			rest.add(t, b)
		case *oneloop.Opaque:
			texts = append(texts, notTaken(b))
		}
	}
	switch {
	case len(texts) == 0 && media > 0:
		texts = []string{"(what it gave is in the next message)"}
	case len(texts) == 0:
		texts = []string{oneloop.NoOutput}
	}
	text := strings.Join(texts, "\n")
	if r.IsError && !strings.HasPrefix(text, "Error") {
		text = "Error: " + text
	}
	j := rawjson.AppendString([]byte(`{"role":"tool","tool_call_id":`), chatID(r.ID))
	return append(rawjson.AppendString(append(j, `,"content":`...), text), '}')
}
