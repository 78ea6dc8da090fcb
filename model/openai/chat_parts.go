package openai

import (
	"bytes"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// chatCall is a call in the making: the element of tool_calls as it began, with
// its arguments in the bytes that came.
type chatCall struct {
	stub     rawjson.Value
	index    int64 // -1: none was given
	id, name string
	quoted   []byte // arguments, with their escapes, after the quote before them
	object   bool   // they came as an object, which some servers give
	input    []byte // the same, read
	pieces   rawjson.Pieces
	extra    []byte // that has to come back with it
}

// call takes in a piece of a call: the one of its index, or without that the
// last. A new id, or a new name, is a new call.
func (r *chatReply) call(v rawjson.Value) {
	var f, extra rawjson.Value
	index, id := int64(-1), ""
	for key, val := range v.Fields() {
		switch string(key) {
		case "index":
			if n, ok := val.Int(); ok {
				index = n
			}
		case "id":
			id = val.Text()
		case "function":
			f = val
		case extraField:
			extra = val
		}
	}
	name := f.Field("name").Text()
	c := r.callFor(index, id, name)
	if c == nil {
		c = &chatCall{stub: withoutArguments(v, f), index: index}
		r.parts = append(r.parts, c)
	}
	if c.id == "" {
		c.id = id
	}
	if c.name == "" {
		c.name = name
	}
	if !extra.IsNull() {
		c.extra = bytes.Clone(extra)
	}
	r.begun, r.shown = true, true
	r.Emit(oneloop.InputDelta{ID: c.id, Name: c.name, JSON: c.take(f.Field("arguments"))})
}

// withoutArguments is a copy of the element v of tool_calls without the arguments
// in its function f: they may have megabytes, and are kept elsewhere.
func withoutArguments(v, f rawjson.Value) rawjson.Value {
	const few = 256
	if len(f.Field("arguments")) <= few {
		return bytes.Clone(v)
	}
	f = bytes.Clone(f.With(rawjson.Edit{Name: "arguments", Value: []byte(`""`)})) // With has room for what was there
	return bytes.Clone(v.With(rawjson.Edit{Name: "function", Value: f}))
}

// take puts in a piece of the arguments and returns it as it is shown.
func (c *chatCall) take(args rawjson.Value) string {
	q, ok := args.Quoted()
	switch {
	case ok:
		if c.quoted == nil {
			c.quoted = append(make([]byte, 0, len(q)+2), '"')
		}
		c.quoted = append(c.quoted, q...)
		s := c.pieces.Next(q)
		c.input = append(c.input, s...)
		return s
	case !args.IsNull():
		c.object = true
		c.input = append(c.input[:0], args...)
		return string(args)
	}
	return ""
}

// callFor is the call that a piece goes on with; nil: it begins another one. One
// that has another id does, and without ids one that has a name: where there are
// indices, only one that has another name or comes behind whole arguments, as
// some servers say the name with every piece, and others give all calls index 0.
func (r *chatReply) callFor(index int64, id, name string) *chatCall {
	var c *chatCall
	for _, x := range slices.Backward(r.parts) {
		if index < 0 || x.index == index || x.index < 0 {
			c = x
			break
		}
	}
	switch {
	case c == nil:
		return nil
	case id != "" && c.id != "" && id != c.id:
		return nil
	case id != "" && id == c.id, name == "" || c.name == "":
		return c
	case index < 0 || name != c.name || rawjson.Parse(c.input).IsObject():
		return nil
	}
	return c
}

// toolUse makes a call that can be run, answered and sent back.
func (r *chatReply) toolUse(c *chatCall, number int, m *oneloop.Message) *oneloop.ToolUse {
	use := &oneloop.ToolUse{ID: r.newID(c), Name: r.calls.Name(c.name)}
	if use.ID != c.id {
		wire.Repaired(m, number, "id", c.id, use.ID)
	}
	if use.Name != c.name {
		wire.Repaired(m, number, "name", c.name, use.Name)
	}
	c.input = append(c.input, c.pieces.Rest()...)
	use.Input, use.Broken = wire.Input(c.input, c.pieces.Lost)
	quoted := append(c.quoted, '"')
	if c.quoted == nil {
		quoted = []byte(`""`)
	}
	if in := rawjson.Parse(c.input); c.object || !in.IsObject() || !bytes.Equal(use.Input, c.input) {
		quoted = rawjson.AppendString(nil, string(use.Input))
		if !wire.Blank(string(c.input)) && !in.IsObject() {
			wire.Repaired(m, number, "input", wire.Shorten(string(c.input)), "")
		}
	}
	raw := c.element(use.ID, use.Name, quoted)
	clean := rawjson.Clean(raw)
	if !bytes.Equal(clean, raw) {
		wire.Repaired(m, number, "unicode", "", "")
	}
	use.Wire = oneloop.Wire{Raw: []byte(clean), API: ChatAPI}
	return use
}

// element is the call as it goes back: as it came, without its index.
func (c *chatCall) element(id, name string, args []byte) rawjson.Value {
	out := []byte{'{'}
	add := func(key string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(rawjson.AppendString(out, key), ':'), value...)
	}
	function := c.stub.Field("function")
	if !function.IsObject() {
		function = rawjson.Value("{}")
	}
	edits := []rawjson.Edit{{Name: "arguments", Value: args}}
	if function.Field("name").Text() != name {
		edits = append(edits, rawjson.Edit{Name: "name", Value: rawjson.AppendString(nil, name)})
	}
	function = function.With(edits...)
	if c.stub.Field("id").IsNull() {
		add("id", rawjson.AppendString(nil, id))
	}
	if c.stub.Field("type").IsNull() {
		add("type", []byte(`"function"`))
	}
	for key, val := range c.stub.Fields() {
		switch string(key) {
		case "index", extraField:
		case "id":
			if val.Text() != id {
				val = rawjson.AppendString(nil, id)
			}
			if !c.stub.Field("id").IsNull() {
				add("id", val)
			}
		case "type":
			if val.Text() != "function" {
				val = rawjson.Value(`"function"`)
			}
			if !c.stub.Field("type").IsNull() {
				add("type", val)
			}
		case "function":
			add("function", function)
			function = nil
		default:
			add(string(key), val)
		}
	}
	if function != nil {
		add("function", function)
	}
	if c.extra != nil {
		add(extraField, c.extra)
	}
	return append(out, '}')
}

// newID is the id of a call. Where a provider counts its calls in their ids, a
// fresh one is the next of that name.
func (r *chatReply) newID(c *chatCall) string {
	if r.dialect.Counted {
		n := 0
		r.calls.NewID = func() string {
			id := countedID(wire.Name(c.name), n)
			n++
			return id
		}
	}
	return r.calls.ID(c.id, goodChatID)
}

func countedID(name string, n int) string {
	id := "functions." + name[:min(len(name), 20)] + ":"
	digits := []byte(nil)
	for ; n > 0 || digits == nil; n /= 10 {
		digits = append([]byte{byte('0' + n%10)}, digits...)
	}
	return id + string(digits)
}

// goodChatID reports whether an id can be sent: OpenAI takes 40 characters of any
// kind.
func goodChatID(id string) bool {
	return id != "" && len(id) <= 40 && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// detail is one of the list in which OpenRouter gives reasoning, in the making:
// pieces of one index and type are one.
type detail struct {
	stub  rawjson.Value
	kind  string
	index string
	texts []chatField    // in pieces
	edits []rawjson.Edit // fields that came whole
}

// detailed takes in pieces of the list. What can be read of them is shown if
// nothing else of the delta is.
func (r *chatReply) detailed(list, delta rawjson.Value) {
	show := delta.Field(reasoningB).IsNull() && delta.Field(reasoningA).IsNull()
	for v := range list.Items() {
		r.begun = true
		kind, index := v.Field("type").Text(), string(v.Field("index"))
		i := slices.IndexFunc(r.details, func(d *detail) bool { return d.kind == kind && d.index == index && index != "" && index != "null" })
		if i < 0 {
			i = len(r.details)
			r.details = append(r.details, &detail{stub: bytes.Clone(v), kind: kind, index: index})
		} else {
			r.details[i].take(v)
		}
		for _, name := range []string{"text", "summary"} {
			if q, ok := v.Field(name).Quoted(); ok && show && len(q) > 0 {
				r.join(shownField, q)
			}
		}
	}
}

// shownField is reasoning that is shown and goes back in another field.
const shownField = "reasoning as shown"

func (d *detail) take(v rawjson.Value) {
	for key, val := range v.Fields() {
		name := string(key)
		q, text := val.Quoted()
		switch {
		case val.IsNull() || name == "type" || name == "index":
		case text && (name == "text" || name == "summary" || name == "data"):
			d.join(name, q)
		default:
			d.edits = slices.DeleteFunc(d.edits, func(e rawjson.Edit) bool { return e.Name == name })
			d.edits = append(d.edits, rawjson.Edit{Name: name, Value: bytes.Clone(val)})
		}
	}
}

func (d *detail) join(name string, quoted []byte) {
	i := slices.IndexFunc(d.texts, func(f chatField) bool { return f.name == name })
	if i < 0 {
		begin, _ := d.stub.Field(name).Quoted()
		i = len(d.texts)
		d.texts = append(d.texts, chatField{name: name, text: append([]byte{'"'}, begin...)})
	}
	d.texts[i].text = append(d.texts[i].text, quoted...)
}

// joinDetails is the whole list.
func joinDetails(all []*detail) []byte {
	out := []byte{'['}
	for i, d := range all {
		if i > 0 {
			out = append(out, ',')
		}
		edits := d.edits
		for _, f := range d.texts {
			edits = append(edits, rawjson.Edit{Name: f.name, Value: append(bytes.Clone(f.text), '"')})
		}
		v := []byte(d.stub)
		if len(edits) > 0 {
			v = d.stub.With(edits...)
		}
		out = append(out, rawjson.Clean(v)...)
	}
	return append(out, ']')
}
