package gemini

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
// Its method project turns a message into parts. What is lost:
//
//	block        from this model        from another model, another API or ours
//	Text         nothing                all but the text: the signature, too
//	Thinking     nothing                the block
//	ToolUse      nothing                all but name and input: the id, for calls and results
//	                                    then meet by name and order, and the signature, in whose
//	                                    place stands, on the first call of a message, the word that
//	                                    tells a model of generation 3 and later not to look for one
//	ToolResult   -                      details; a model before generation 3 gets the media of the
//	                                    results of a message behind them, as parts of their own
//	Media        nothing                all but type and data; of a type that the API refuses, such
//	                                    as image/gif, and an image for a model that takes none, it
//	                                    is named and not sent
//	Opaque       nothing                the block; in a message of the user and in a result a text
//	                                    says so
//
// Blank text is left out wherever it comes from.
//
// A model of the same name at another host is another model: what one provider
// sealed the other cannot read.
//
// The same message gives the same bytes in every request to the same model, so
// that going back to a model finds its conversation as it was.
type target struct {
	model    string
	host     string
	signs    bool // it refuses calls without a signature
	blind    bool // it is known to take no images
	results  bool // media may stand inside a result
	unsealed bool // it refuses signatures that were its own: what it said is as of another model
}

func targetOf(model, host string) target {
	g := generation(model)
	return target{model: model, host: host, signs: g >= 3, results: g >= 3}
}

// unsigned stands in the place of a signature that there is none of.
const unsigned = "skip_thought_signature_validator"

// asIs reports whether a block of a message from this origin is sent in its own
// bytes.
func (t target) asIs(b oneloop.Block, from oneloop.Origin) bool {
	return !t.unsealed && b.RawJSON() != nil && b.RawAPI() == API && from.Same(oneloop.Origin{API: API, Model: t.model, Host: t.host})
}

// project returns the parts of a message.
func (e *encoder) project(m *oneloop.Message) ([][]byte, error) {
	var parts, media [][]byte
	first := true // no call yet
	for i, b := range m.Blocks {
		if _, ok := b.(*oneloop.ToolResult); !ok {
			parts, media = append(parts, media...), nil
		}
		if e.asIs(b, m.Origin) {
			if !rawjson.Parse(b.RawJSON()).IsObject() {
				return nil, fmt.Errorf("block %d: its raw JSON is no object: %s", i, wire.Printable(b.RawJSON(), 100))
			}
			parts = append(parts, b.RawJSON())
			continue
		}
		switch b := b.(type) {
		case *oneloop.Text:
			if !wire.Blank(b.Text) {
				parts = append(parts, textPart(b.Text))
			}
		case *oneloop.ToolUse:
			parts = append(parts, callPart(b, first && e.signs))
			first = false
		case *oneloop.ToolResult:
			p, beside := e.result(b)
			parts, media = append(parts, p), append(media, beside...)
		case *oneloop.Media:
			if e.takes(b.MIME) {
				parts = append(parts, mediaPart(b))
			} else {
				parts = append(parts, textPart(notSent(b)))
			}
		case *oneloop.Opaque:
			if m.Role != oneloop.Assistant {
				parts = append(parts, textPart(notTaken(b)))
			}
		}
	}
	return append(parts, media...), nil
}

func textPart(text string) []byte {
	return append(rawjson.AppendString([]byte(`{"text":`), text), '}')
}

func notTaken(b *oneloop.Opaque) string {
	return fmt.Sprintf("[a block of type %q stood here, which this model cannot be sent]", b.Type)
}

// takes reports whether the API takes media of a type. A request with any other
// is refused, and so would be every one after it.
func (t target) takes(mime string) bool {
	kind, name, _ := strings.Cut(mime, "/")
	switch kind {
	case "image":
		return !t.blind && slices.Contains([]string{"png", "jpeg", "webp", "heic", "heif"}, name)
	case "text", "audio", "video":
		return true
	}
	return mime == "application/pdf"
}

func notSent(m *oneloop.Media) string {
	return fmt.Sprintf("[%s of type %s stood here, which this model cannot be sent]", wire.Name(m.Type), m.MIME)
}

func callPart(c *oneloop.ToolUse, sign bool) []byte {
	j := rawjson.AppendString([]byte(`{"functionCall":{"name":`), wire.Name(c.Name))
	j = append(j, `,"args":`...)
	switch v := rawjson.Parse(c.Input); {
	case len(c.Input) == 0:
		j = append(j, "{}"...)
	case !v.IsObject():
		j = append(j, wire.StandIn(string(c.Input))...)
	default:
		j = append(j, rawjson.Clean(v)...)
	}
	j = append(j, '}')
	if sign {
		j = append(j, `,"thoughtSignature":"`+unsigned+`"`...)
	}
	return append(j, '}')
}

func mediaPart(m *oneloop.Media) []byte {
	j := rawjson.AppendString([]byte(`{"inlineData":{"mimeType":`), m.MIME)
	j = append(j, `,"data":"`...)
	j = base64.StdEncoding.AppendEncode(j, m.Data)
	return append(j, `"}}`...)
}

// inside are the types of media that may stand in a result.
var inside = []string{"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"}

// result is the answer to a call, and the parts that follow the answers because
// they may not stand in it.
func (e *encoder) result(r *oneloop.ToolResult) (part []byte, beside [][]byte) {
	c := e.calls[r.ID]
	var texts []string
	var within [][]byte
	for _, b := range r.Content {
		switch b := b.(type) {
		case *oneloop.Text:
			if !wire.Blank(b.Text) {
				texts = append(texts, b.Text)
			}
		case *oneloop.Media:
			switch {
			case !e.takes(b.MIME):
				texts = append(texts, notSent(b))
			case e.results && slices.Contains(inside, b.MIME):
				within = append(within, mediaPart(b))
			default:
				beside = append(beside, mediaPart(b))
			}
		case *oneloop.Opaque:
			texts = append(texts, notTaken(b))
		}
	}
	switch {
	case len(texts) > 0:
	case len(within) > 0:
		texts = []string{"(the media beside this)"}
	case len(beside) > 0:
		texts = []string{"(the media behind the results)"}
	default:
		texts = []string{oneloop.NoOutput}
	}
	if len(beside) > 0 {
		beside = slices.Insert(beside, 0, textPart(fmt.Sprintf("Media of the result of %s:", wire.Name(c.name))))
	}
	j := append([]byte(nil), `{"functionResponse":{`...)
	if c.id {
		j = append(j, `"id":`...)
		j = append(rawjson.AppendString(j, r.ID), ',')
	}
	j = rawjson.AppendString(append(j, `"name":`...), wire.Name(c.name))
	key := "output"
	if r.IsError {
		key = "error"
	}
	j = rawjson.AppendString(append(j, `,"response":{"`+key+`":`...), strings.Join(texts, "\n"))
	j = append(j, '}')
	j = field(j, `,"parts":[`, within, "]")
	return append(j, `}}`...), beside
}

// functionCall is the call that a part holds; nil when it holds none.
func functionCall(part rawjson.Value) rawjson.Value { return part.Field("functionCall") }
