package gemini

import (
	"bytes"
	"slices"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// part is one part of a reply. It is kept byte for byte. Plain texts that
// follow one another are one part, in the bytes of all of them: they are what a
// stream cut a text into. One that carries anything else, such as a signature,
// stays its own.
type part struct {
	number int // from 0, in order of appearance
	kind   kind
	raw    rawjson.Value // as it came

	joined []byte // the text of a part without raw, with its escapes, after its opening quote
	show   rawjson.Pieces

	args   *arguments // of a call that comes in pieces
	broken string     // why a call cannot be run
	wrote  string     // its input then
}

type kind int

const (
	textKind kind = iota
	thoughtKind
	callKind
	otherKind
)

// signature is the type of a part that has nothing but one.
const signature = "thought_signature"

// fields are those of a part that are read.
type fields struct {
	text, thought, signature, call rawjson.Value
	other                          string // the name of what it holds else
}

func readFields(p rawjson.Value) fields {
	var f fields
	for key, val := range p.Fields() {
		switch string(key) {
		case "text":
			f.text = val
		case "thought":
			f.thought = val
		case "thoughtSignature":
			f.signature = val
		case "functionCall":
			f.call = val
		default:
			f.other = string(key)
		}
	}
	return f
}

// part takes in one part as it came.
func (r *reply) part(p rawjson.Value) {
	f := readFields(p)
	quoted, isText := f.text.Quoted()
	k := textKind
	if string(f.thought) == "true" {
		k = thoughtKind
	}
	switch {
	case f.call.IsObject():
		r.call(p, f)
	case !isText:
		r.begin(&part{kind: otherKind, raw: bytes.Clone(p)})
	case f.signature == nil && f.other == "":
		last := r.last()
		if last == nil || last.kind != k || last.raw != nil {
			if len(quoted) == 0 {
				return // the end of many streams
			}
			last = r.begin(&part{kind: k, joined: []byte{'"'}})
		}
		last.joined = append(last.joined, quoted...)
		last.showText(r, quoted)
	default:
		r.begin(&part{kind: k, raw: bytes.Clone(p)}).showText(r, quoted)
	}
}

func (r *reply) last() *part {
	if len(r.parts) == 0 {
		return nil
	}
	return r.parts[len(r.parts)-1]
}

func (r *reply) begin(p *part) *part {
	r.showRest()
	p.number = len(r.parts)
	r.parts = append(r.parts, p)
	return p
}

func (p *part) showText(r *reply, quoted []byte) { p.tell(r, p.show.Next(quoted)) }

func (p *part) tell(r *reply, text string) {
	switch {
	case text == "":
		return
	case p.kind == thoughtKind:
		r.Emit(oneloop.ThinkingDelta{Text: text})
	default:
		r.Emit(oneloop.TextDelta{Text: text})
	}
	r.shown = true
}

// showRest shows half a character whose other half never came.
func (r *reply) showRest() {
	if p := r.last(); p != nil {
		p.tell(r, p.show.Rest())
	}
}

// call takes in a call, or a piece of one.
func (r *reply) call(p rawjson.Value, f fields) {
	open := r.open
	if name := f.call.Field("name"); open != nil && name.Text() == "" {
		open.args.take(f.call.Field("partialArgs"))
		if f.signature != nil && open.raw.Field("thoughtSignature") == nil {
			open.raw = open.raw.With(rawjson.Edit{Name: "thoughtSignature", Value: f.signature})
		}
	} else {
		r.close() // the model went on
		open = r.begin(&part{kind: callKind, raw: bytes.Clone(p)})
		pieces := f.call.Field("partialArgs")
		if goesOn(f.call) || pieces != nil {
			open.args = &arguments{}
			open.args.take(pieces)
		} else {
			open.tellCall(r)
			return
		}
		r.open = open
		open.tellInput(r, "")
	}
	if !goesOn(f.call) {
		r.close()
	}
}

// goesOn reports whether more of a call's arguments will come.
func goesOn(call rawjson.Value) bool { return string(call.Field("willContinue")) == "true" }

// close ends the call whose arguments came in pieces.
func (r *reply) close() {
	if r.open == nil {
		return
	}
	r.open.finish()
	r.open.tellCall(r)
	r.open = nil
}

// finish makes a whole call of one that came in pieces.
func (p *part) finish() {
	call := []byte{'{'}
	for key, val := range functionCall(p.raw).Fields() {
		switch string(key) {
		case "args", "partialArgs", "willContinue":
			continue
		}
		call = append(append(append(rawjson.AppendString(call, string(key)), ':'), val...), ',')
	}
	call = append(p.args.appendJSON(append(call, `"args":`...)), '}')
	p.raw = p.raw.With(rawjson.Edit{Name: "functionCall", Value: call})
	p.args = nil
}

func (p *part) tellCall(r *reply) {
	args := functionCall(p.raw).Field("args")
	if args.IsNull() || len(args) == len("{}") {
		args = nil
	}
	p.tellInput(r, string(args))
}

func (p *part) tellInput(r *reply, json string) {
	call := functionCall(p.raw)
	r.shown = true
	r.Emit(oneloop.InputDelta{ID: call.Field("id").Text(), Name: call.Field("name").Text(), JSON: json})
}

// block is the finished block, repaired where it could not be sent back, nil
// when it is dropped.
func (p *part) block(r *reply, m *oneloop.Message) oneloop.Block {
	if p.raw == nil {
		p.raw = slices.Concat([]byte(`{"text":`), p.joined, []byte(`"}`))
		if p.kind == thoughtKind {
			p.raw = slices.Concat([]byte(`{"text":`), p.joined, []byte(`","thought":true}`))
		}
	}
	cut := p.args != nil
	if cut {
		p.finish()
	}
	clean := rawjson.Clean(p.raw)
	replaced := !bytes.Equal(clean, p.raw)
	if replaced {
		wire.Repaired(m, p.number, "unicode", "", "")
	}
	if p.kind == callKind {
		return p.toolUse(r, m, cut)
	}
	p.raw = clean
	raw := oneloop.Wire{Raw: []byte(p.raw), API: API}
	f := readFields(p.raw)
	text := f.text.Text()
	switch {
	case p.kind == otherKind:
		return &oneloop.Opaque{Wire: raw, Type: f.kind()}
	case p.kind == thoughtKind && (f.signature != nil || !wire.Blank(text)):
		return &oneloop.Thinking{Wire: raw, Text: text, Signature: f.signature.Text()}
	case !wire.Blank(text):
		return &oneloop.Text{Wire: raw, Text: text}
	case f.signature != nil:
		return &oneloop.Opaque{Wire: raw, Type: signature}
	}
	wire.Repaired(m, p.number, "blank", text, "")
	return nil
}

// kind is what a part of an unknown kind calls itself.
func (f fields) kind() string {
	switch {
	case f.other != "":
		return f.other
	case f.signature != nil:
		return signature
	}
	return "part"
}

// toolUse makes a call that can be run, answered and sent back. A call to which
// the model gave no id keeps none on the wire.
func (p *part) toolUse(r *reply, m *oneloop.Message, cut bool) *oneloop.ToolUse {
	call := functionCall(p.raw)
	said, name := call.Field("id").Text(), call.Field("name").Text()
	c := &oneloop.ToolUse{ID: r.calls.ID(said, func(string) bool { return true }), Name: r.calls.Name(name)}
	var edits []rawjson.Edit
	set := func(field string, value []byte) {
		edits = append(edits, rawjson.Edit{Name: field, Value: value})
	}
	if c.ID != said {
		wire.Repaired(m, p.number, "id", said, c.ID)
		if !call.Field("id").IsNull() { // an empty one is none that a result can name
			set("id", rawjson.AppendString(nil, c.ID))
		}
	}
	if c.Name != name {
		wire.Repaired(m, p.number, "name", name, c.Name)
		set("name", rawjson.AppendString(nil, c.Name))
	}
	args := call.Field("args")
	if args.IsNull() {
		args = nil
	}
	c.Input, c.Broken = wire.Input(args, false)
	switch {
	case cut:
		c.Broken = "the input of this call was cut off. The call was not run. Call again with the whole input."
	case args != nil && !args.IsObject():
		wire.Repaired(m, p.number, "input", wire.Shorten(string(args)), "")
		set("args", c.Input)
	}
	if len(edits) > 0 {
		p.raw = p.raw.With(rawjson.Edit{Name: "functionCall", Value: call.With(edits...)})
	}
	p.raw = rawjson.Clean(p.raw)
	c.Wire = oneloop.Wire{Raw: []byte(p.raw), API: API}
	return c
}
