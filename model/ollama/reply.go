package ollama

import (
	"bytes"
	"encoding/json"
	"slices"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/sse"
	"oneloop/internal/wire"
)

// reply is a message in the making. A message of this API has each of its
// fields once, so what was said is one text, and what was thought another.
type reply struct {
	*wire.Answer
	model  string
	asCame bool // every line is told of
	calls  wire.Calls
	fit    *fit

	begun  bool // something of a message came
	shown  bool // a delta was emitted, which an error makes void
	over   bool // the last line came
	reason string
	output int64
	odd    bool // a number was no count
	parts  []*part
}

// part is a field of the message that is a text, or one call.
type part struct {
	field string
	text  []byte // with its escapes, after its opening quote
	show  rawjson.Pieces
	call  rawjson.Value
}

const (
	content  = "content"
	thinking = "thinking"
	toolCall = "tool_calls"
)

func (r *reply) Begun() bool    { return r.begun }
func (r *reply) Complete() bool { return r.over }
func (r *reply) Over() bool     { return r.over }

// Spent is what was used so far: all counts come at the end.
func (r *reply) Spent() (oneloop.Usage, bool) { return r.usage(), r.shown }

func (r *reply) usage() oneloop.Usage {
	if r.odd {
		return oneloop.Usage{}
	}
	return r.fit.usage(r.output)
}

// Event takes in one line.
func (r *reply) Event(e sse.Event) error {
	v := rawjson.Parse(e.Data)
	if v == nil {
		data := bytes.TrimSpace(e.Data)
		if e.Cut || string(data) == "[DONE]" {
			return nil // cut: the end of the stream comes next
		}
		return r.Malformed("a line is no JSON: %s", r.Quote(data))
	}
	if r.asCame {
		r.Emit(oneloop.Stream{Data: json.RawMessage(bytes.Clone(v))})
	}
	return r.take(v)
}

// take takes in one line, or an answer that came in one piece.
func (r *reply) take(v rawjson.Value) error {
	var message, done, reason, err rawjson.Value
	for key, val := range v.Fields() {
		switch string(key) {
		case "message":
			message = val
		case "done":
			done = val
		case "done_reason":
			reason = val
		case "error":
			err = val
		case "prompt_eval_count":
			r.count(val, &r.fit.prompt)
		case "eval_count":
			r.count(val, &r.output)
		}
	}
	switch {
	case !err.IsNull():
		return r.Said(v)
	case message == nil && done == nil:
		return r.Fail(oneloop.ErrNotAPI, "what came is no reply of this API: %s", r.Quote(v))
	}
	r.message(message)
	if string(done) != "true" {
		return nil
	}
	return r.end(reason.Text())
}

// maxTokens is more than any count can be; what exceeds it is an error of the
// server's.
const maxTokens = 1 << 40

func (r *reply) count(v rawjson.Value, to *int64) {
	if v.IsNull() {
		return
	}
	n, whole := v.Int()
	if !whole || n < 0 || n > maxTokens {
		r.odd = true
		return
	}
	*to = n
}

// end takes in why the reply is over.
func (r *reply) end(reason string) error {
	switch reason {
	case "load", "unload":
		e := r.Fail(oneloop.ErrServer, "the server said that it has done nothing but to %s the model", reason)
		e.Type, e.Retry = reason, oneloop.RetryYes
		return e
	}
	if r.fit.cut() {
		e := r.Fail(oneloop.ErrContextOverflow, "the server cut off the beginning of the conversation: it counted %d tokens where there are about %.0f, and has room for %d",
			r.fit.prompt, r.fit.estimate(), r.fit.window)
		e.Retry = oneloop.RetryNo
		return e
	}
	r.reason, r.over = reason, true
	r.begun = true
	return nil
}

// message takes in a piece of the message. What was thought comes before what
// was said, wherever it stands.
func (r *reply) message(m rawjson.Value) {
	var said, thought, calls rawjson.Value
	for key, val := range m.Fields() {
		switch string(key) {
		case content:
			said = val
		case thinking:
			thought = val
		case toolCall:
			calls = val
		}
	}
	if q, ok := thought.Quoted(); ok && len(q) > 0 {
		r.text(thinking, q)
	}
	if q, ok := said.Quoted(); ok && len(q) > 0 {
		r.text(content, q)
	}
	for call := range calls.Items() {
		r.call(call)
	}
}

func (r *reply) text(field string, quoted []byte) {
	r.begun = true
	i := slices.IndexFunc(r.parts, func(p *part) bool { return p.field == field })
	if i < 0 {
		i = len(r.parts)
		r.parts = append(r.parts, &part{field: field})
	}
	p := r.parts[i]
	p.text = append(p.text, quoted...)
	r.tell(p, p.show.Next(quoted))
}

func (r *reply) tell(p *part, text string) {
	switch {
	case text == "":
		return
	case p.field == thinking:
		r.Emit(oneloop.ThinkingDelta{Text: text})
	default:
		r.Emit(oneloop.TextDelta{Text: text})
	}
	r.shown = true
}

func (r *reply) call(v rawjson.Value) {
	r.begun, r.shown = true, true
	p := &part{field: toolCall, call: bytes.Clone(v)}
	r.parts = append(r.parts, p)
	f := p.call.Field("function")
	input := arguments(f)
	if string(input) == "{}" {
		input = nil
	}
	r.Emit(oneloop.InputDelta{ID: p.call.Field("id").Text(), Name: f.Field("name").Text(), JSON: string(input)})
}

// arguments are those of a function. There are servers that give them as text.
func arguments(function rawjson.Value) []byte {
	args := function.Field("arguments")
	if q, ok := args.Quoted(); ok {
		return rawjson.AppendUnquoted(nil, q)
	}
	if args.IsNull() {
		return nil
	}
	return args
}

// Whole takes in an answer that came in one piece.
func (r *reply) Whole(v rawjson.Value) (bool, error) {
	if v.Field("message") == nil {
		return false, nil
	}
	if err := r.take(v); err != nil {
		return true, err
	}
	if !r.over {
		return true, r.Fail(oneloop.ErrStreamCut, "the answer ended before the reply was complete")
	}
	return true, nil
}

// Message is the whole reply.
func (r *reply) Message() *oneloop.Message {
	m := r.head()
	for i, p := range r.parts {
		if b := r.block(p, i, m); b != nil {
			m.Blocks = append(m.Blocks, b)
		}
	}
	m.Stop = r.stop(len(m.ToolUses()))
	m.Usage = r.usage()
	return m
}

func (r *reply) head() *oneloop.Message {
	return &oneloop.Message{
		Role: oneloop.Assistant, Origin: oneloop.Origin{API: API, Model: r.model}, Meta: oneloop.Meta{RequestID: r.RequestID},
	}
}

// stop is StopToolUse exactly when there are calls and the model said that it
// was done. A reason not known here is kept and ends the turn.
func (r *reply) stop(calls int) oneloop.StopReason {
	switch r.reason {
	case "stop", "tool_calls", "":
		if calls > 0 {
			return oneloop.StopToolUse
		}
		return oneloop.StopEndTurn
	case "length":
		if r.fit.limit > 0 && r.output >= r.fit.limit {
			return oneloop.StopMaxTokens
		}
		if r.fit.prompt+r.output >= int64(r.fit.window)*9/10 { // it needs room for a few tokens at once
			return oneloop.StopContextWindow
		}
		return oneloop.StopMaxTokens
	}
	return oneloop.StopReason(r.reason)
}

// block is a finished block, repaired where it could not be sent back, nil when
// it is dropped.
func (r *reply) block(p *part, number int, m *oneloop.Message) oneloop.Block {
	if p.field == toolCall {
		return r.toolUse(p, number, m)
	}
	r.tell(p, p.show.Rest())
	raw := slices.Concat([]byte(`{"`), []byte(p.field), []byte(`":"`), p.text, []byte(`"}`))
	w := oneloop.Wire{Raw: []byte(rawjson.Clean(raw)), API: API}
	if !bytes.Equal(w.Raw, raw) {
		wire.Repaired(m, number, "unicode", "", "")
	}
	text := rawjson.Value(w.Raw).Field(p.field).Text()
	switch {
	case wire.Blank(text):
		wire.Repaired(m, number, "blank", text, "")
		return nil
	case p.field == thinking:
		return &oneloop.Thinking{Wire: w, Text: text}
	}
	return &oneloop.Text{Wire: w, Text: text}
}

// toolUse makes a call that can be run, answered and sent back. A call to which
// the model gave no id keeps none on the wire.
func (r *reply) toolUse(p *part, number int, m *oneloop.Message) *oneloop.ToolUse {
	raw := p.call
	if !raw.IsObject() {
		raw = rawjson.Value(`{"function":{"arguments":` + string(raw) + `}}`)
	}
	said, function := raw.Field("id").Text(), raw.Field("function")
	name := function.Field("name").Text()
	c := &oneloop.ToolUse{ID: r.calls.ID(said, func(string) bool { return true }), Name: r.calls.Name(name)}
	var edits, inside []rawjson.Edit
	if c.ID != said {
		wire.Repaired(m, number, "id", said, c.ID)
		if !raw.Field("id").IsNull() { // an empty one is none that a result can name
			edits = append(edits, rawjson.Edit{Name: "id", Value: rawjson.AppendString(nil, c.ID)})
		}
	}
	if c.Name != name {
		wire.Repaired(m, number, "name", name, c.Name)
		inside = append(inside, rawjson.Edit{Name: "name", Value: rawjson.AppendString(nil, c.Name)})
	}
	args := arguments(function)
	c.Input, c.Broken = wire.Input(args, false)
	if !rawjson.Parse(args).IsObject() && !wire.Blank(string(args)) {
		wire.Repaired(m, number, "input", wire.Shorten(string(args)), "")
		inside = append(inside, rawjson.Edit{Name: "arguments", Value: c.Input})
	}
	if string(function.Field("arguments")) == `""` { // the server itself takes an object only
		inside = append(inside, rawjson.Edit{Name: "arguments", Value: c.Input})
	}
	if !function.IsObject() {
		function = rawjson.Value("{}")
	}
	if len(inside) > 0 {
		edits = append(edits, rawjson.Edit{Name: "function", Value: function.With(inside...)})
	}
	if len(edits) > 0 {
		raw = raw.With(edits...)
	}
	clean := rawjson.Clean(raw)
	if !bytes.Equal(clean, raw) {
		wire.Repaired(m, number, "unicode", "", "")
	}
	c.Wire = oneloop.Wire{Raw: []byte(clean), API: API}
	return c
}

// Interrupted is what may be kept of a reply that was stopped while it came:
// its text as far as it was shown, but no call and no reasoning.
func (r *reply) Interrupted() *oneloop.Message {
	m := r.head()
	m.Stop = oneloop.StopInterrupted
	for i, p := range r.parts {
		if p.field != content {
			continue
		}
		if b := r.block(p, i, m); b != nil {
			m.Blocks = append(m.Blocks, b)
		}
	}
	return m
}
