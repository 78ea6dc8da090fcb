package anthropic

import (
	"bytes"
	"slices"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// part is one block of a reply. It is kept byte for byte as its start gave
// it; only the fields that deltas carry are put in, in the bytes of the
// deltas.
type part struct {
	number  int // from 0, in order of appearance
	kind    string
	stub    rawjson.Value // as it started
	stopped bool

	quoted    []quoted       // strings that came in pieces
	show      rawjson.Pieces // of text and reasoning, for those who watch
	input     []byte         // JSON in the making
	inputs    bool           // a delta for it came
	pieces    rawjson.Pieces // of input
	citations [][]byte
	edits     []rawjson.Edit // fields that came whole
	lost      []string       // deltas of unknown type

	raw    rawjson.Value // once stopped
	broken string        // why its input is no object
	wrote  string        // that input
}

// quoted is a string field, with its escapes as they came, after its opening
// quote.
type quoted struct {
	name string
	text []byte
}

// begin shows what a start already holds.
func (p *part) begin(r *reply) {
	switch p.kind {
	case "text":
		p.showText(r, p.stub.Field("text"))
	case "thinking":
		p.showThinking(r, p.stub.Field("thinking"))
	case "tool_use":
		json := ""
		if in := p.stub.Field("input"); in.IsObject() && len(in) > len("{}") {
			json = string(in)
		}
		p.showInput(r, json)
	}
}

func (p *part) showText(r *reply, v rawjson.Value) {
	q, _ := v.Quoted()
	if s := p.show.Next(q); s != "" {
		r.shown = true
		r.Emit(oneloop.TextDelta{Text: s})
	}
}

func (p *part) showThinking(r *reply, v rawjson.Value) {
	q, _ := v.Quoted()
	if s := p.show.Next(q); s != "" {
		r.shown = true
		r.Emit(oneloop.ThinkingDelta{Text: s})
	}
}

func (p *part) showInput(r *reply, json string) {
	r.shown = true
	r.Emit(oneloop.InputDelta{ID: p.stub.Field("id").Text(), Name: p.stub.Field("name").Text(), JSON: json})
}

// take puts in one delta.
func (p *part) take(r *reply, d rawjson.Value) {
	switch kind := d.Field("type").Text(); kind {
	case "text_delta":
		p.join("text", d.Field("text"))
		p.showText(r, d.Field("text"))
	case "thinking_delta":
		p.join("thinking", d.Field("thinking"))
		p.showThinking(r, d.Field("thinking"))
	case "signature_delta":
		p.set("signature", d.Field("signature"))
	case "input_json_delta":
		q, _ := d.Field("partial_json").Quoted()
		s := p.pieces.Next(q)
		p.inputs = true
		p.input = append(p.input, s...)
		if s != "" && p.kind == "tool_use" {
			p.showInput(r, s)
		}
	case "citations_delta":
		if c := d.Field("citation"); !c.IsNull() {
			p.citations = append(p.citations, bytes.Clone(c))
		}
	case "compaction_delta":
		for name, val := range d.Fields() {
			if string(name) != "type" {
				p.set(string(name), val)
			}
		}
	default:
		if len(p.lost) == 0 {
			r.notice("block %d of the reply (%s) has a part of a kind not known here (%s); the block is kept without it",
				p.number, wire.Printable([]byte(p.kind), 40), wire.Printable([]byte(kind), 40))
		}
		p.lost = append(p.lost, string(d))
	}
}

// join appends to a string field, which goes on from what the start gave.
func (p *part) join(name string, v rawjson.Value) {
	q, ok := v.Quoted()
	if !ok {
		return
	}
	for i := range p.quoted {
		if p.quoted[i].name == name {
			p.quoted[i].text = append(p.quoted[i].text, q...)
			return
		}
	}
	begin, _ := p.stub.Field(name).Quoted()
	text := append(make([]byte, 0, len(begin)+len(q)+2), '"')
	text = append(append(text, begin...), q...)
	p.quoted = append(p.quoted, quoted{name, text})
}

func (p *part) set(name string, v rawjson.Value) {
	if v == nil {
		return
	}
	p.edits = slices.DeleteFunc(p.edits, func(e rawjson.Edit) bool { return e.Name == name })
	p.edits = append(p.edits, rawjson.Edit{Name: name, Value: bytes.Clone(v)})
}

// finish makes raw of what came.
func (p *part) finish(r *reply) {
	p.stopped = true
	p.showRest(r)
	edits := p.edits
	for _, q := range p.quoted {
		edits = append(edits, rawjson.Edit{Name: q.name, Value: append(q.text, '"')})
	}
	if len(p.citations) > 0 {
		edits = append(edits, rawjson.Edit{Name: "citations", Value: p.cited()})
	}
	if in := p.finishInput(); in != nil {
		edits = append(edits, rawjson.Edit{Name: "input", Value: in})
	}
	p.raw = p.stub
	if len(edits) > 0 {
		p.raw = p.stub.With(edits...)
	}
	p.quoted, p.input, p.edits, p.citations = nil, nil, nil, nil
}

// showRest shows half a character whose other half never came.
func (p *part) showRest(r *reply) {
	rest := p.show.Rest()
	switch {
	case rest == "":
	case p.kind == "thinking":
		r.Emit(oneloop.ThinkingDelta{Text: rest})
	default:
		r.Emit(oneloop.TextDelta{Text: rest})
	}
}

// cited is the list of citations: those of the start, then those that came.
func (p *part) cited() []byte {
	var all [][]byte
	for c := range p.stub.Field("citations").Items() {
		all = append(all, c)
	}
	all = append(all, p.citations...)
	return slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]"))
}

// finishInput returns the input to put in, nil when that of the start holds.
// Nothing streamed means no arguments. What is no object is replaced by one
// that quotes it.
func (p *part) finishInput() []byte {
	p.input = append(p.input, p.pieces.Rest()...)
	given := p.stub.Field("input")
	call := p.kind == "tool_use" || p.inputs
	switch {
	case !call:
		return nil
	case len(bytes.TrimSpace(p.input)) > 0:
		if rawjson.Parse(p.input).IsObject() {
			return p.input
		}
		p.wrote = string(p.input)
	case given.IsObject():
		return nil
	case given.IsNull() || wire.Blank(given.Text()) && given[0] == '"':
		return []byte("{}")
	default:
		p.wrote = string(given)
	}
	p.broken = wire.BrokenInput(p.wrote)
	return wire.StandIn(p.wrote)
}

// block is the finished block, repaired where it could not be sent back, nil
// when it is dropped.
func (p *part) block(r *reply, m *oneloop.Message) oneloop.Block {
	for _, d := range p.lost {
		wire.Repaired(m, p.number, "delta", d, "")
	}
	clean := rawjson.Clean(p.raw)
	if !bytes.Equal(clean, p.raw) {
		wire.Repaired(m, p.number, "unicode", "", "")
	}
	if p.kind == "tool_use" && p.broken == "" {
		p.broken = wire.Replaced(p.raw.Field("input"), p.pieces.Lost)
	}
	p.raw = clean
	raw := oneloop.Wire{Raw: []byte(p.raw)}
	switch p.kind {
	case "text":
		text := p.raw.Field("text").Text()
		if wire.Blank(text) {
			wire.Repaired(m, p.number, "blank", text, "")
			return nil
		}
		return &oneloop.Text{Wire: raw, Text: text}
	case "thinking":
		return &oneloop.Thinking{Wire: raw, Text: p.raw.Field("thinking").Text(), Signature: p.raw.Field("signature").Text()}
	case "tool_use":
		return p.call(r, m)
	case "tool_result", "image", "document":
		b, err := oneloop.DecodeBlock(raw.Raw)
		if err == nil {
			return b
		}
	}
	if p.broken != "" {
		wire.Repaired(m, p.number, "input", wire.Shorten(p.wrote), "")
	}
	return &oneloop.Opaque{Wire: raw, Type: p.kind}
}

// call makes a call that can be run, answered and sent back.
func (p *part) call(r *reply, m *oneloop.Message) *oneloop.ToolUse {
	id, name := p.raw.Field("id").Text(), p.raw.Field("name").Text()
	var edits []rawjson.Edit
	if fresh := r.calls.ID(id, wire.GoodID); fresh != id {
		wire.Repaired(m, p.number, "id", id, fresh)
		id = fresh
		edits = append(edits, rawjson.Edit{Name: "id", Value: rawjson.AppendString(nil, id)})
	}
	if good := r.calls.Name(name); good != name {
		wire.Repaired(m, p.number, "name", name, good)
		name = good
		edits = append(edits, rawjson.Edit{Name: "name", Value: rawjson.AppendString(nil, name)})
	}
	if p.wrote != "" {
		wire.Repaired(m, p.number, "input", wire.Shorten(p.wrote), "")
	}
	if len(edits) > 0 {
		p.raw = p.raw.With(edits...)
	}
	return &oneloop.ToolUse{
		Wire: oneloop.Wire{Raw: []byte(p.raw)}, ID: id, Name: name, Input: []byte(p.raw.Field("input")), Broken: p.broken,
	}
}
