package openai

import (
	"bytes"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// Message is the whole reply.
func (r *responsesReply) Message() *oneloop.Message {
	m := r.head()
	m.Usage = r.usage.sum()
	refusal, searches, number := "", int64(0), 0
	for i, it := range r.items {
		if it.done == nil { // the limit ended it
			if it.kind == itemMessage {
				r.partial(it, m)
			}
			continue
		}
		b, refused := r.block(i, number, m)
		number++
		if refusal += refused; b != nil {
			m.Blocks = append(m.Blocks, b)
		}
		if it.kind == "web_search_call" {
			searches++
		}
	}
	if m.Usage.Reported {
		m.Usage.Searches = searches
	}
	m.Stop = r.stop(len(m.ToolUses()), refusal != "")
	if m.Stop == oneloop.StopRefusal {
		m.Meta.StopDetails = refusalDetails(r.why, refusal)
	}
	return m
}

func (r *responsesReply) head() *oneloop.Message {
	return &oneloop.Message{
		Role: oneloop.Assistant, ID: r.id, Origin: oneloop.Origin{API: ResponsesAPI, Model: r.model, Host: r.host}, Meta: oneloop.Meta{RequestID: r.RequestID},
	}
}

// stop is StopToolUse exactly when there are calls and the reply is neither cut
// nor refused. A reason not known here is kept and ends the turn.
func (r *responsesReply) stop(calls int, refused bool) oneloop.StopReason {
	switch {
	case r.status == "incomplete" && r.why == "content_filter":
		return oneloop.StopRefusal
	case r.status == "incomplete" && (r.why == "" || r.why == "max_output_tokens"):
		return oneloop.StopMaxTokens
	case r.status == "incomplete":
		return oneloop.StopReason(r.why)
	case calls > 0:
		return oneloop.StopToolUse
	case refused:
		return oneloop.StopRefusal
	}
	return oneloop.StopEndTurn
}

// block is item i, which is block number of the reply as it came, repaired where
// it could not be sent back, nil when it is dropped; and what it says of a
// refusal.
func (r *responsesReply) block(i, number int, m *oneloop.Message) (oneloop.Block, string) {
	it := r.items[i]
	raw := rawjson.Clean(it.done)
	if !bytes.Equal(raw, it.done) {
		wire.Repaired(m, number, "unicode", "", "")
	}
	w := oneloop.Wire{Raw: []byte(raw), API: ResponsesAPI}
	switch it.kind {
	case itemCall, itemCustom:
		return r.toolUse(it, raw, number, m), ""
	case itemReasoning:
		return &oneloop.Thinking{Wire: w, Text: thoughtOf(raw)}, ""
	case itemMessage:
		text, refusal := said(raw)
		switch {
		case !wire.Blank(text):
			return &oneloop.Text{Wire: w, Text: text}, refusal
		case i > 0 && r.items[i-1].kind == itemReasoning: // which is not taken back without it
			return &oneloop.Opaque{Wire: w, Type: itemMessage}, refusal
		}
		wire.Repaired(m, number, "blank", text, "")
		return nil, refusal
	}
	return &oneloop.Opaque{Wire: w, Type: it.kind}, ""
}

// said is the text of a message, what it says of a refusal included, and that
// alone.
func said(item rawjson.Value) (text, refusal string) {
	content := item.Field("content")
	if _, ok := content.Quoted(); ok {
		return content.Text(), ""
	}
	for part := range content.Items() {
		s := part.Field("refusal").Text()
		refusal += s
		text += part.Field("text").Text() + s
	}
	return text, refusal
}

// thoughtOf is what can be read of reasoning: its summary, else its own words.
func thoughtOf(item rawjson.Value) string {
	for _, name := range []string{"summary", "content"} {
		var parts []string
		for part := range item.Field(name).Items() {
			if text := part.Field("text").Text(); text != "" {
				parts = append(parts, text)
			}
		}
		if len(parts) > 0 {
			return strings.Join(parts, "\n\n")
		}
	}
	return ""
}

// freeform is input that is no JSON as an object.
func freeform(item rawjson.Value) []byte {
	return append(rawjson.AppendString([]byte(`{"input":`), item.Field("input").Text()), '}')
}

// toolUse makes a call that can be run, answered and sent back.
func (r *responsesReply) toolUse(it *responsesItem, raw rawjson.Value, number int, m *oneloop.Message) *oneloop.ToolUse {
	use := &oneloop.ToolUse{ID: r.calls.ID(it.callID, goodResponsesID), Name: r.calls.Name(it.name)}
	var edits []rawjson.Edit
	if use.ID != it.callID || raw.Field("call_id").Text() != use.ID {
		wire.Repaired(m, number, "id", it.callID, use.ID)
		edits = append(edits, rawjson.Edit{Name: "call_id", Value: rawjson.AppendString(nil, use.ID)})
	}
	if use.Name != it.name || raw.Field("name").Text() != use.Name {
		wire.Repaired(m, number, "name", it.name, use.Name)
		edits = append(edits, rawjson.Edit{Name: "name", Value: rawjson.AppendString(nil, use.Name)})
	}
	if it.kind == itemCustom {
		use.Input = freeform(raw)
		if !bytes.Equal(raw, it.done) {
			use.Broken = wire.Replaced(rawjson.Value(use.Input), true)
		}
	} else if e := r.arguments(use, it, number, m); e != nil {
		edits = append(edits, *e)
	}
	if len(edits) > 0 {
		raw = raw.With(edits...)
	}
	use.Wire = oneloop.Wire{Raw: []byte(raw), API: ResponsesAPI}
	return use
}

// arguments sets the input of a call, and returns how its item has to be changed
// to hold it; nil: not at all.
func (r *responsesReply) arguments(use *oneloop.ToolUse, it *responsesItem, number int, m *oneloop.Message) *rawjson.Edit {
	v := it.done.Field("arguments")
	if q, ok := it.args.Quoted(); ok && len(q) > 0 && (v.IsNull() || string(v) == `""`) {
		v = it.args // which some servers say only there
	}
	var input []byte
	lost := false
	if q, ok := v.Quoted(); ok {
		input = rawjson.AppendUnquoted(nil, q)
		lost = !bytes.Equal(rawjson.Clean(v), v)
	} else if !v.IsNull() { // an object, which some servers give
		input = v
	}
	use.Input, use.Broken = wire.Input(input, lost)
	if in := rawjson.Parse(input); !in.IsObject() && !wire.Blank(string(input)) {
		wire.Repaired(m, number, "input", wire.Shorten(string(input)), "")
	}
	if text := it.done.Field("arguments"); bytes.Equal(use.Input, rawjson.AppendUnquoted(nil, quotedOf(text))) {
		return nil
	}
	return &rawjson.Edit{Name: "arguments", Value: rawjson.AppendString(nil, string(use.Input))}
}

// quotedOf is what stands between the quotes of a string; nil: v is none.
func quotedOf(v rawjson.Value) []byte {
	q, _ := v.Quoted()
	return q
}

// partial adds what was shown of a message that has not ended, or that has lost
// the reasoning before it.
func (r *responsesReply) partial(it *responsesItem, m *oneloop.Message) {
	if it.done == nil {
		r.tell(it, it.show.Rest())
	}
	text, _ := said(it.done)
	if it.done == nil {
		clean := rawjson.Clean(append(append([]byte{'"'}, it.text...), '"'))
		text = clean.Text()
	}
	if !wire.Blank(text) {
		m.Blocks = append(m.Blocks, &oneloop.Text{Text: strings.ToValidUTF8(text, "\ufffd")})
	}
}

// Interrupted is what may be kept of a reply that was stopped while it came: its
// text as far as it was shown, but no call and no reasoning.
func (r *responsesReply) Interrupted() *oneloop.Message {
	m := r.head()
	m.Stop = oneloop.StopInterrupted
	for _, it := range r.items {
		if it.kind == itemMessage {
			r.partial(it, m)
		}
	}
	m.Usage = r.usage.sum()
	return m
}
