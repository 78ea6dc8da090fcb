package anthropic

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"

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
		r.emit(oneloop.TextDelta{Text: s})
	}
}

func (p *part) showThinking(r *reply, v rawjson.Value) {
	q, _ := v.Quoted()
	if s := p.show.Next(q); s != "" {
		r.shown = true
		r.emit(oneloop.ThinkingDelta{Text: s})
	}
}

func (p *part) showInput(r *reply, json string) {
	r.shown = true
	r.emit(oneloop.InputDelta{ID: p.stub.Field("id").Text(), Name: p.stub.Field("name").Text(), JSON: json})
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
		r.emit(oneloop.ThinkingDelta{Text: rest})
	default:
		r.emit(oneloop.TextDelta{Text: rest})
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
	case given.IsNull() || blank(given.Text()) && given[0] == '"':
		return []byte("{}")
	default:
		p.wrote = string(given)
	}
	p.broken = brokenText(p.wrote)
	return standIn(p.wrote)
}

// brokenText tells the model why its call was not run.
func brokenText(input string) string {
	why := "it is not valid JSON, perhaps because it was cut off"
	if v := rawjson.Parse([]byte(input)); v != nil {
		why = "it is valid JSON but not an object"
	}
	return fmt.Sprintf("the input of this call did not arrive as a JSON object: %s. The call was not run. Call again with the whole input as one JSON object. It began: %s",
		why, wire.Printable([]byte(input), 100))
}

// replaced tells the model why a call is not run in whose input characters
// had to be replaced: it would do something else than was asked for. Lost says
// that it happened on the way here. Empty: the input is as it was written.
func replaced(input rawjson.Value, lost bool) string {
	why := "it has half of a surrogate pair in it, which is no character; send it again with the whole character, or without it"
	if !bytes.Equal(rawjson.Clean(input), input) {
		if err := oneloop.CheckObject(input); err != nil {
			why = err.Error()
		}
	} else if !lost {
		return ""
	}
	return fmt.Sprintf("the input of this call was refused: %s. The call was not run.", why)
}

// block is the finished block, repaired where it could not be sent back, nil
// when it is dropped.
func (p *part) block(r *reply, m *oneloop.Message) oneloop.Block {
	for _, d := range p.lost {
		repair(m, p, "delta", d, "")
	}
	clean := rawjson.Clean(p.raw)
	if !bytes.Equal(clean, p.raw) {
		repair(m, p, "unicode", "", "")
	}
	if p.kind == "tool_use" && p.broken == "" {
		p.broken = replaced(p.raw.Field("input"), p.pieces.Lost)
	}
	p.raw = clean
	raw := oneloop.Wire{Raw: []byte(p.raw)}
	switch p.kind {
	case "text":
		text := p.raw.Field("text").Text()
		if blank(text) {
			repair(m, p, "blank", text, "")
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
		repair(m, p, "input", shorten(p.wrote), "")
	}
	return &oneloop.Opaque{Wire: raw, Type: p.kind}
}

// call makes a call that can be run, answered and sent back.
func (p *part) call(r *reply, m *oneloop.Message) *oneloop.ToolUse {
	id, name := p.raw.Field("id").Text(), p.raw.Field("name").Text()
	var edits []rawjson.Edit
	if !goodID(id) || r.taken[id] || usedIn(m, id) {
		fresh := r.freshID()
		repair(m, p, "id", id, fresh)
		id = fresh
		edits = append(edits, rawjson.Edit{Name: "id", Value: rawjson.AppendString(nil, id)})
	}
	if !goodName(name) {
		good := r.freeName(wireName(name))
		repair(m, p, "name", name, good)
		name = good
		edits = append(edits, rawjson.Edit{Name: "name", Value: rawjson.AppendString(nil, name)})
	}
	if p.wrote != "" {
		repair(m, p, "input", shorten(p.wrote), "")
	}
	if len(edits) > 0 {
		p.raw = p.raw.With(edits...)
	}
	return &oneloop.ToolUse{
		Wire: oneloop.Wire{Raw: []byte(p.raw)}, ID: id, Name: name, Input: []byte(p.raw.Field("input")), Broken: p.broken,
	}
}

func usedIn(m *oneloop.Message, id string) bool {
	return slices.ContainsFunc(m.Blocks, func(b oneloop.Block) bool {
		c, ok := b.(*oneloop.ToolUse)
		return ok && c.ID == id
	})
}

// freeName keeps a repaired name from being that of a tool: the model did not
// call it.
func (r *reply) freeName(name string) string {
	free, suffix := name, ""
	for n := 2; slices.ContainsFunc(r.tools, func(t oneloop.ToolDef) bool { return t.Name == free }); n++ {
		suffix = fmt.Sprint("_", n)
		free = name[:min(len(name), maxName-len(suffix))] + suffix
	}
	return free
}

func randomID() string { return "call_" + rand.Text() }

// shorten keeps a record small; the whole stands in the block itself.
func shorten(s string) string { return strings.ToValidUTF8(s[:min(len(s), 200)], "") }
