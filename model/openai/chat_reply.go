package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/sse"
	"oneloop/internal/wire"
)

// chatReply is a message in the making. A message of this API is one object: it
// has each field once, and a list of calls.
type chatReply struct {
	*wire.Answer
	model   string
	host    string
	dialect Dialect
	asCame  bool // every event is told of
	calls   wire.Calls

	begun    bool // something of a message came
	shown    bool // a delta was emitted, which an error makes void
	done     bool // the stream said that it is at its end
	settled  bool // usage came with or behind the reason
	id       string
	reason   string
	usage    chatUsage
	fields   []*chatField
	details  []*detail
	parts    []*chatCall
	refusal  strings.Builder
	thoughts thoughts // in the text
	bare     func()   // told when reasoning came without its opening tag
	lost     []string // fields of deltas that are not known here
}

// chatField is a field that is a text, which comes in pieces.
type chatField struct {
	name string
	text []byte // with its escapes, after its opening quote
	show rawjson.Pieces
}

// Fields of a message. Reasoning has one of several names.
const (
	contentField = "content"
	reasoningA   = "reasoning_content"
	reasoningB   = "reasoning"
	detailsField = "reasoning_details"
	extraField   = "extra_content"
)

func (r *chatReply) Begun() bool    { return r.begun }
func (r *chatReply) Complete() bool { return r.reason != "" }
func (r *chatReply) Over() bool     { return r.done || r.settled }

// Spent is what was used so far: all counts come at the end.
func (r *chatReply) Spent() (oneloop.Usage, bool) { return r.usage.sum(), r.shown }

// Event takes in one chunk.
func (r *chatReply) Event(e sse.Event) error {
	v := rawjson.Parse(e.Data)
	if v == nil {
		data := bytes.TrimSpace(e.Data)
		switch {
		case string(data) == "[DONE]":
			r.done = true
		case !e.Cut && len(data) > 0: // cut: the end of the stream comes next
			return r.Malformed("an event is no JSON: %s", r.Quote(data))
		}
		return nil
	}
	if r.asCame {
		r.Emit(oneloop.Stream{Data: json.RawMessage(bytes.Clone(v))})
	}
	return r.take(v, e.Name)
}

// take takes in one chunk, or an answer that came in one piece.
func (r *chatReply) take(v rawjson.Value, name string) error {
	var choices, usage, failed rawjson.Value
	for key, val := range v.Fields() {
		switch string(key) {
		case "choices":
			choices = val
		case "usage":
			usage = val
		case "error":
			failed = val
		case "id":
			if r.id == "" {
				r.id = val.Text()
			}
		}
	}
	if !failed.IsNull() || name == "error" {
		if r.Complete() && !usage.IsNull() { // too late to be more than a remark, and with the bill
			r.usage.take(usage)
		}
		return r.Said(v)
	}
	for c := range choices.Items() {
		if err := r.choice(c); err != nil {
			return err
		}
		break // one was asked for
	}
	if !usage.IsNull() {
		r.usage.take(usage)
		r.settled = r.reason != ""
	}
	return nil
}

func (r *chatReply) choice(c rawjson.Value) error {
	var delta, reason rawjson.Value
	for key, val := range c.Fields() {
		switch string(key) {
		case "delta", "message":
			delta = val
		case "finish_reason":
			reason = val
		case "error":
			if !val.IsNull() {
				return r.Said(c)
			}
		case "usage": // as one provider has it
			if !val.IsNull() {
				r.usage.take(val)
			}
		}
	}
	r.delta(delta)
	if word := reason.Text(); word != "" {
		return r.end(word)
	}
	return nil
}

// end takes in why the reply is over.
func (r *chatReply) end(reason string) error {
	switch reason {
	case "error", "network_error": // OpenRouter, GLM
		return r.Fail(oneloop.ErrServer, "the model failed: %s", reason)
	case "insufficient_system_resource": // DeepSeek
		return r.Fail(oneloop.ErrOverloaded, "the model was stopped: %s", reason)
	}
	r.begun, r.reason = true, reason
	return nil
}

// delta takes in a piece of the message.
func (r *chatReply) delta(d rawjson.Value) {
	reasoned := false
	for key, val := range d.Fields() {
		if val.IsNull() {
			continue
		}
		switch name := string(key); name {
		case contentField:
			r.content(val)
		case reasoningA, reasoningB:
			if !reasoned || len(r.fields) > 0 && r.fields[0].name == name { // some say the same twice
				r.text(name, val)
			}
			reasoned = true
		case detailsField:
			r.detailed(val, d)
		case "refusal":
			if s := val.Text(); s != "" {
				r.begun, r.shown = true, true
				r.refusal.WriteString(s)
				r.Emit(oneloop.TextDelta{Text: s})
			}
		case "tool_calls":
			for call := range val.Items() {
				r.call(call)
			}
		case "function_call": // of the time before tools
			r.call(slices.Concat(rawjson.Value(`{"type":"function","function":`), val, rawjson.Value(`}`)))
		case extraField:
			r.extra(val)
		case "role", "name", "tool_call_id", "annotations", "audio", "token_ids", "provider_specific_fields", "index", "reasoning_token_count":
		default:
			r.unknown(name, val)
		}
	}
}

// unknown says once that a field is not known here, and records what was in it.
func (r *chatReply) unknown(name string, val rawjson.Value) {
	if s := string(val); s == `""` || s == "[]" || s == "{}" || s == "false" {
		return
	}
	if len(r.lost) == 0 {
		r.Emit(oneloop.Notice{Text: "the reply has a field that is not known here (" + wire.Printable([]byte(name), 40) + "); it is kept without it"})
	}
	r.lost = append(r.lost, wire.Shorten(`{"`+name+`":`+string(val)+"}"))
}

// content is text, or a list of parts of which some are text.
func (r *chatReply) content(v rawjson.Value) {
	if _, ok := v.Quoted(); ok {
		r.text(contentField, v)
		return
	}
	for part := range v.Items() {
		switch part.Field("type").Text() {
		case "text":
			r.text(contentField, part.Field("text"))
		case "thinking", "reasoning":
			if t := part.Field("thinking"); len(t) > 0 && t[0] == '[' {
				for inner := range t.Items() {
					r.text(reasoningA, inner.Field("text"))
				}
			} else {
				r.text(reasoningA, t)
			}
		case "refusal":
			r.refusal.WriteString(part.Field("refusal").Text())
		default:
			r.unknown(contentField, part)
		}
	}
}

// text appends to a field.
func (r *chatReply) text(name string, v rawjson.Value) {
	q, ok := v.Quoted()
	if !ok || len(q) == 0 {
		return
	}
	r.begun = true
	if name == contentField && r.dialect.Think {
		r.thoughts.take(r, q)
		return
	}
	r.join(name, q)
}

// join appends what came to a field and shows it.
func (r *chatReply) join(name string, quoted []byte) {
	f := r.field(name)
	f.text = append(f.text, quoted...)
	r.tell(name, f.show.Next(quoted))
}

func (r *chatReply) field(name string) *chatField {
	for _, f := range r.fields {
		if f.name == name {
			return f
		}
	}
	f := &chatField{name: name}
	r.fields = append(r.fields, f)
	return f
}

func (r *chatReply) tell(name, text string) {
	switch {
	case text == "":
		return
	case name == contentField:
		r.Emit(oneloop.TextDelta{Text: text})
	default:
		r.Emit(oneloop.ThinkingDelta{Text: text})
	}
	r.shown = true
}

// extra are fields beside the message's that have to come back with it.
func (r *chatReply) extra(v rawjson.Value) {
	r.begun = true
	r.fields = slices.DeleteFunc(r.fields, func(f *chatField) bool { return f.name == extraField })
	r.fields = append(r.fields, &chatField{name: extraField, text: bytes.Clone(v)})
}

// Whole takes in an answer that came in one piece.
func (r *chatReply) Whole(v rawjson.Value) (bool, error) {
	first := rawjson.Value(nil)
	for c := range v.Field("choices").Items() {
		first = c
		break
	}
	if first.Field("message") == nil {
		return false, nil
	}
	if err := r.take(v, ""); err != nil {
		return true, err
	}
	if r.reason == "" {
		return true, r.Fail(oneloop.ErrNotAPI, "a message without a reason why it ended: %s", r.Quote(v))
	}
	return true, nil
}

// Message is the whole reply.
func (r *chatReply) Message() *oneloop.Message {
	m := r.head()
	r.blocks(m)
	for _, c := range r.parts {
		m.Blocks = append(m.Blocks, r.toolUse(c, len(m.Blocks), m))
	}
	m.Stop = r.stop(len(r.parts))
	if m.Stop == oneloop.StopRefusal {
		m.Meta.StopDetails = refusalDetails(r.reason, r.refusal.String())
	}
	m.Usage = r.usage.sum()
	return m
}

func (r *chatReply) head() *oneloop.Message {
	m := &oneloop.Message{
		Role: oneloop.Assistant, ID: r.id, Origin: oneloop.Origin{API: ChatAPI, Model: r.model, Host: r.host}, Meta: oneloop.Meta{RequestID: r.RequestID},
	}
	for _, what := range r.lost {
		wire.Repaired(m, 0, "delta", what, "")
	}
	return m
}

// refusalDetails say why a model refused, in the form of the Messages API.
func refusalDetails(category, text string) json.RawMessage {
	if category == "stop" {
		category = ""
	}
	j := rawjson.AppendString([]byte(`{"type":"refusal","category":`), category)
	return append(rawjson.AppendString(append(j, `,"explanation":`...), text), '}')
}

// stop is StopToolUse exactly when there are calls and the reply was neither cut
// nor refused. Servers say "stop" with calls and "tool_calls" without. A reason
// not known here is kept and ends the turn.
func (r *chatReply) stop(calls int) oneloop.StopReason {
	switch r.reason {
	case "stop", "tool_calls", "function_call", "eos", "eos_token", "end_turn", "stop_sequence", "tool_use":
		switch {
		case calls > 0:
			return oneloop.StopToolUse
		case r.refusal.Len() > 0:
			return oneloop.StopRefusal
		}
		return oneloop.StopEndTurn
	case "length", "max_tokens":
		return oneloop.StopMaxTokens
	case "content_filter", "sensitive", "safety":
		return oneloop.StopRefusal
	}
	return oneloop.StopReason(r.reason)
}

// blocks adds what is no call.
func (r *chatReply) blocks(m *oneloop.Message) {
	r.thoughts.rest(r)
	r.unopened()
	said := false
	for _, f := range r.order() {
		if f.name == extraField {
			m.Blocks = append(m.Blocks, &oneloop.Opaque{Wire: rawField(f.name, f.text), Type: extraField})
			continue
		}
		if b := r.block(f, m); b != nil {
			m.Blocks = append(m.Blocks, b)
			said = said || f.name == contentField
		}
	}
	if text := r.refusal.String(); !said && !wire.Blank(text) {
		m.Blocks = append(m.Blocks, &oneloop.Text{Text: text})
	}
}

// order are the fields as they are kept: reasoning, its details, the text, what
// else there is.
func (r *chatReply) order() []*chatField {
	rank := func(f *chatField) int {
		return slices.Index([]string{reasoningA, reasoningB, detailsField, contentField, extraField}, f.name)
	}
	all := r.fields
	if len(r.details) > 0 {
		all = append(slices.Clone(all), &chatField{name: detailsField, text: joinDetails(r.details)})
	}
	slices.SortStableFunc(all, func(a, b *chatField) int { return rank(a) - rank(b) })
	return all
}

func rawField(name string, value []byte) oneloop.Wire {
	return oneloop.Wire{Raw: json.RawMessage(slices.Concat([]byte(`{"`), []byte(name), []byte(`":`), value, []byte(`}`))), API: ChatAPI}
}

// block is a finished field, repaired where it could not be sent back, nil when
// it is dropped.
func (r *chatReply) block(f *chatField, m *oneloop.Message) oneloop.Block {
	if f.name == detailsField {
		return &oneloop.Opaque{Wire: rawField(f.name, f.text), Type: detailsField}
	}
	r.tell(f.name, f.show.Rest())
	quoted := slices.Concat([]byte(`"`), f.text, []byte(`"`))
	clean := rawjson.Clean(quoted)
	if !bytes.Equal(clean, quoted) {
		wire.Repaired(m, len(m.Blocks), "unicode", "", "")
	}
	w, text := rawField(f.name, clean), rawjson.Value(clean).Text()
	switch {
	case wire.Blank(text):
		wire.Repaired(m, len(m.Blocks), "blank", text, "")
		return nil
	case f.name == contentField:
		return &oneloop.Text{Wire: w, Text: text}
	case f.name == thoughtField || f.name == shownField: // which the API has no field for
		return &oneloop.Thinking{Text: text}
	}
	return &oneloop.Thinking{Wire: w, Text: text}
}

// Interrupted is what may be kept of a reply that was stopped while it came: its
// text as far as it was shown, but no call and no reasoning.
func (r *chatReply) Interrupted() *oneloop.Message {
	m := r.head()
	m.Stop = oneloop.StopInterrupted
	r.thoughts.rest(r)
	if !r.thoughts.bare { // else it may be reasoning, as before
		r.unopened()
	}
	for _, f := range r.fields {
		if f.name != contentField {
			continue
		}
		if b := r.block(f, m); b != nil {
			m.Blocks = append(m.Blocks, b)
		}
	}
	m.Usage = r.usage.sum()
	return m
}
