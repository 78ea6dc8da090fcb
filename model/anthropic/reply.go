package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/sse"
	"oneloop/internal/wire"
)

// reply is a message in the making.
type reply struct {
	*wire.Answer
	model  string
	asCame bool // every event is told of
	calls  wire.Calls

	begun   bool // something of a message came
	shown   bool // a delta was emitted, which an error makes void
	over    bool // the stream said it was at its end
	id      string
	stop    string
	details json.RawMessage
	usage   usage
	parts   []*part
	byIndex map[int64]*part
}

func (r *reply) Begun() bool { return r.begun }
func (r *reply) Over() bool  { return r.over }

// Spent is what was used so far.
func (r *reply) Spent() (oneloop.Usage, bool) { return r.usage.soFar(), r.shown }

// Complete reports whether the message is whole: every block that was begun
// has stopped and a stop reason came. What the connection does afterwards
// does not matter.
func (r *reply) Complete() bool {
	return r.stop != "" && !slices.ContainsFunc(r.parts, func(p *part) bool { return !p.stopped })
}

// fields are those of an event that are read.
type fields struct {
	kind                                             string
	index, block, delta, message, usage, err, detail rawjson.Value
}

func readFields(v rawjson.Value) fields {
	var f fields
	for key, val := range v.Fields() {
		switch string(key) {
		case "type":
			f.kind = val.Text()
		case "index":
			f.index = val
		case "content_block":
			f.block = val
		case "delta":
			f.delta = val
		case "message":
			f.message = val
		case "usage":
			f.usage = val
		case "error":
			f.err = val
		case "stop_details":
			f.detail = val
		}
	}
	return f
}

// Event takes in one event. Kinds it does not know are passed over.
func (r *reply) Event(e sse.Event) error {
	v := rawjson.Parse(e.Data)
	if v == nil {
		data := bytes.TrimSpace(e.Data)
		if e.Cut || len(data) == 0 || string(data) == "[DONE]" || !known(e.Name) {
			return nil // cut: the end of the stream comes next
		}
		return r.Malformed("an event is no JSON: %s", r.Quote(data))
	}
	if r.asCame {
		r.Emit(oneloop.Stream{Data: json.RawMessage(bytes.Clone(v))})
	}
	f := readFields(v)
	if f.kind == "" {
		f.kind = e.Name
	}
	switch {
	case f.kind == "error", f.kind == "" && !f.err.IsNull():
		return r.Said(v)
	case f.kind == "message_start":
		return r.start(f.message)
	case f.kind == "content_block_start":
		return r.startBlock(f)
	case f.kind == "content_block_delta":
		return r.delta(f)
	case f.kind == "content_block_stop":
		return r.stopBlock(f)
	case f.kind == "message_delta":
		r.end(f.delta)
		if !f.detail.IsNull() {
			r.details = json.RawMessage(bytes.Clone(f.detail))
		}
		r.usage.take(f.usage, true)
	case f.kind == "message_stop":
		r.over = true
	}
	return nil
}

// known reports whether an event of this name tells something of the reply.
// One without a name may.
func known(name string) bool {
	return name == "" || name == "error" || strings.HasPrefix(name, "message_") || strings.HasPrefix(name, "content_block_")
}

func (r *reply) start(m rawjson.Value) error {
	if len(r.parts) > 0 {
		return r.Malformed("a second message begins inside the first")
	}
	r.begun = true
	r.id = m.Field("id").Text()
	if err := r.blocks(m); err != nil {
		return err
	}
	if len(r.parts) > 0 {
		r.end(m) // a message that needs no more than its start
	}
	r.usage.take(m.Field("usage"), r.stop != "")
	return nil
}

// blocks takes the blocks that a message holds already.
func (r *reply) blocks(m rawjson.Value) error {
	content := m.Field("content")
	if len(content) > 0 && content[0] == '"' { // short for one block of text
		content = slices.Concat(rawjson.Value(`[{"type":"text","text":`), content, rawjson.Value(`}]`))
	}
	for block := range content.Items() {
		if err := r.open(int64(len(r.parts)), block); err != nil {
			return err
		}
		r.parts[len(r.parts)-1].finish(r)
	}
	return nil
}

// end takes the fields that tell why a message is over.
func (r *reply) end(v rawjson.Value) {
	if s := v.Field("stop_reason").Text(); s != "" {
		r.stop = s
	}
	if d := v.Field("stop_details"); !d.IsNull() {
		r.details = json.RawMessage(bytes.Clone(d))
	}
}

func (r *reply) startBlock(f fields) error {
	index, ok := f.index.Int()
	if f.index.IsNull() {
		index, ok = int64(len(r.parts)), true
	}
	if !ok {
		return r.Malformed("a block has the index %s", wire.Printable(f.index, 40))
	}
	return r.open(index, f.block)
}

// open begins a block.
func (r *reply) open(index int64, block rawjson.Value) error {
	p := &part{stub: bytes.Clone(block), kind: block.Field("type").Text(), number: len(r.parts)}
	switch {
	case r.byIndex[index] != nil:
		return r.Malformed("block %d begins twice", index)
	case p.kind == "":
		return r.Malformed("block %d has no type", index)
	}
	r.begun = true
	if r.byIndex == nil {
		r.byIndex = map[int64]*part{}
	}
	r.byIndex[index] = p
	r.parts = append(r.parts, p)
	p.begin(r)
	return nil
}

// part finds the block an event is for: without an index it is the last one.
func (r *reply) part(index rawjson.Value) (*part, error) {
	if index.IsNull() && len(r.parts) > 0 {
		return r.parts[len(r.parts)-1], nil
	}
	if n, ok := index.Int(); ok && r.byIndex[n] != nil {
		return r.byIndex[n], nil
	}
	return nil, r.Malformed("it goes on with block %s, which never began", wire.Printable(index, 40))
}

func (r *reply) delta(f fields) error {
	p, err := r.part(f.index)
	if err != nil {
		return err
	}
	if p.stopped {
		return r.Malformed("block %d goes on after its end", p.number)
	}
	p.take(r, f.delta)
	return nil
}

func (r *reply) stopBlock(f fields) error {
	p, err := r.part(f.index)
	if err != nil {
		return err
	}
	if !p.stopped { // said twice, it is no more stopped than before
		p.finish(r)
	}
	return nil
}

// Whole takes in a message that came in one piece.
func (r *reply) Whole(m rawjson.Value) (bool, error) {
	if m.Field("type").Text() != "message" {
		return false, nil
	}
	r.begun = true
	r.id = m.Field("id").Text()
	r.usage.take(m.Field("usage"), true)
	r.end(m)
	if r.stop == "" {
		return true, r.Fail(oneloop.ErrNotAPI, "a message without a stop reason: %s", r.Quote(m))
	}
	return true, r.blocks(m)
}

// Message is the whole reply.
func (r *reply) Message() *oneloop.Message {
	m := r.head()
	hop := -1 // the last place where another model took over
	for i, p := range r.parts {
		if p.kind == "fallback" {
			hop = i
		}
	}
	calls, results := 0, 0
	for i, p := range r.parts {
		b := p.block(r, m)
		switch b := b.(type) {
		case nil:
			continue
		case *oneloop.ToolUse:
			if i < hop {
				continue // of a model that gave up; nobody waits for an answer
			}
			calls++
		case *oneloop.Opaque:
			results += len(b.Raw)
		}
		m.Blocks = append(m.Blocks, b)
	}
	m.Stop = stopReason(r.stop, calls)
	m.Usage = r.usage.sum(results)
	return m
}

func (r *reply) head() *oneloop.Message {
	return &oneloop.Message{
		Role: oneloop.Assistant, ID: r.id, Origin: oneloop.Origin{API: API, Model: r.model},
		Meta: oneloop.Meta{RequestID: r.RequestID, StopDetails: r.details},
	}
}

// stopReason is StopToolUse exactly when there are calls and the model was
// neither refused, cut nor paused. A reason not known here is kept and ends
// the turn, whatever the message holds.
func stopReason(said string, calls int) oneloop.StopReason {
	switch s := oneloop.StopReason(said); s {
	case oneloop.StopToolUse, oneloop.StopEndTurn, oneloop.StopSequence:
		if calls > 0 {
			return oneloop.StopToolUse
		}
		if s == oneloop.StopToolUse {
			return oneloop.StopEndTurn
		}
		return s
	default:
		return s
	}
}

// Interrupted is what may be kept of a reply that was stopped while it came:
// text as far as it was shown, and what is finished, but no call, no
// reasoning without signature, and no reasoning or call of the server's at
// the end, after which nothing may follow. Reasoning behind anything left out
// goes, too: it is sealed together with what stood before it.
func (r *reply) Interrupted() *oneloop.Message {
	m := r.head()
	m.Stop = oneloop.StopInterrupted
	answered := map[string]bool{}
	for _, p := range r.parts {
		if id := p.stub.Field("tool_use_id").Text(); id != "" && p.stopped {
			answered[id] = true
		}
	}
	whole := true
	for _, p := range r.parts {
		open := strings.HasSuffix(p.kind, "_tool_use") && !answered[p.stub.Field("id").Text()]
		if open || p.kind == "tool_use" || !p.stopped && p.kind != "text" {
			whole = false
			continue
		}
		if !p.stopped {
			p.finish(r)
		}
		b := p.block(r, m)
		if t, ok := b.(*oneloop.Thinking); b == nil || ok && t.Signature == "" || oneloop.Reasoning(b) && !whole {
			continue
		}
		m.Blocks = append(m.Blocks, b)
	}
	for n := len(m.Blocks); n > 0 && oneloop.Reasoning(m.Blocks[n-1]); n-- {
		m.Blocks = m.Blocks[:n-1]
	}
	m.Usage = r.usage.soFar()
	return m
}

func (r *reply) notice(format string, args ...any) {
	r.Emit(oneloop.Notice{Text: fmt.Sprintf(format, args...)})
}
