package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/sse"
	"oneloop/internal/wire"
)

// responsesReply is a message in the making: items, each of which comes whole
// once it is done. What comes before that is shown and serves for no more, but
// for the text of a reply that is stopped while it comes.
type responsesReply struct {
	*wire.Answer
	model  string
	host   string
	asCame bool // every event is told of
	calls  wire.Calls

	begun  bool // something of a message came
	shown  bool // a delta was emitted, which an error makes void
	over   bool // the stream said that it is at its end
	id     string
	status string // in which the reply ended
	why    string // it is incomplete
	usage  chatUsage
	items  []*responsesItem // in order
	last   *responsesItem   // that an event was about
}

// responsesItem is an item in the making.
type responsesItem struct {
	index         int64 // -1: none was given
	id            string
	kind          string
	callID, name  string
	done          rawjson.Value // as it is in the end; nil: it has not ended
	show          rawjson.Pieces
	text          []byte // that was shown of a message, with its escapes
	told          string // which events were shown of it: a thought may come in two forms
	args          rawjson.Value
	lines, listed bool
}

func (r *responsesReply) Begun() bool { return r.begun }
func (r *responsesReply) Over() bool  { return r.over }

func (r *responsesReply) Complete() bool { return r.status != "" && r.finished() }

// finished reports whether all that was begun has ended. The limit may end what
// the model was at.
func (r *responsesReply) finished() bool {
	return r.status == "incomplete" || !slices.ContainsFunc(r.items, func(it *responsesItem) bool { return it.done == nil })
}

// Spent is what was used so far: all counts come at the end.
func (r *responsesReply) Spent() (oneloop.Usage, bool) { return r.usage.sum(), r.shown }

// responsesEvent is what an event may have.
type responsesEvent struct {
	kind                                     []byte
	itemID, delta, item, response, text, bad rawjson.Value
	index                                    int64
}

// Event takes in one event.
func (r *responsesReply) Event(e sse.Event) error {
	v := rawjson.Parse(e.Data)
	if v == nil {
		data := bytes.TrimSpace(e.Data)
		switch {
		case string(data) == "[DONE]":
			r.end()
		case !e.Cut && len(data) > 0: // cut: the end of the stream comes next
			return r.Malformed("an event is no JSON: %s", r.Quote(data))
		}
		return nil
	}
	if r.asCame {
		r.Emit(oneloop.Stream{Data: json.RawMessage(bytes.Clone(v))})
	}
	x := responsesEvent{index: -1}
	for key, val := range v.Fields() {
		switch string(key) {
		case "type":
			if q, ok := val.Quoted(); ok {
				x.kind = q
			}
		case "output_index":
			if n, ok := val.Int(); ok {
				x.index = n
			}
		case "item_id":
			x.itemID = val
		case "delta":
			x.delta = val
		case "item":
			x.item = val
		case "response":
			x.response = val
		case "arguments":
			x.text = val
		case "error":
			x.bad = val
		}
	}
	if x.kind == nil {
		x.kind = []byte(e.Name)
	}
	return r.take(x, v)
}

// end takes in that the server has no more to say, which some say without a word
// on how the reply ended.
func (r *responsesReply) end() {
	if r.status == "" && len(r.items) > 0 {
		r.status = "completed"
	}
	r.over = true
}

func (r *responsesReply) take(x responsesEvent, v rawjson.Value) error {
	switch string(x.kind) {
	case "response.created", "response.in_progress", "response.queued":
		r.id = cmp.Or(r.id, x.response.Field("id").Text())
	case "response.output_item.added":
		r.add(x.item, x.index)
	case "response.output_item.done":
		r.finish(x.item, x.index)
	case "response.output_text.delta", "response.refusal.delta":
		r.text(r.find(x), x.delta)
	case "response.reasoning_summary_part.added":
		if it := r.find(x); it != nil && it.told != "" {
			it.lines = true
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.thought(r.find(x), x)
	case "response.function_call_arguments.delta":
		r.input(r.find(x), x.delta)
	case "response.function_call_arguments.done":
		if it := r.find(x); it != nil {
			it.args = bytes.Clone(x.text)
		}
	case "response.completed", "response.incomplete", "response.failed":
		return r.ended(x.response)
	case "error":
		return r.Said(v)
	default:
		if !x.bad.IsNull() { // of a gateway
			return r.Said(v)
		}
	}
	return nil
}

// find is the item that an event is about; nil when it was not begun.
func (r *responsesReply) find(x responsesEvent) *responsesItem {
	is := func(it *responsesItem) bool {
		if x.index >= 0 && it.index >= 0 {
			return it.index == x.index
		}
		id, ok := x.itemID.Quoted()
		return !ok || string(id) == it.id
	}
	if r.last != nil && is(r.last) {
		return r.last
	}
	for _, it := range slices.Backward(r.items) {
		if is(it) {
			r.last = it
			return it
		}
	}
	return nil
}

// add begins an item.
func (r *responsesReply) add(v rawjson.Value, index int64) *responsesItem {
	it := &responsesItem{
		index: index, id: v.Field("id").Text(), kind: itemKind(v), callID: v.Field("call_id").Text(), name: v.Field("name").Text(),
	}
	at := len(r.items)
	for index >= 0 && at > 0 && r.items[at-1].index > index {
		at--
	}
	r.items = slices.Insert(r.items, at, it)
	r.begun, r.last = true, it
	if it.kind == itemCall {
		r.shown = true
		r.Emit(oneloop.InputDelta{ID: it.callID, Name: it.name})
	}
	return it
}

// itemKind is the type of an item; a message needs not name it.
func itemKind(v rawjson.Value) string {
	if t := v.Field("type").Text(); t != "" || v.Field("role").IsNull() {
		return t
	}
	return itemMessage
}

// finish takes in an item as it is in the end, and shows what was not shown of
// it: some servers send no deltas.
func (r *responsesReply) finish(v rawjson.Value, index int64) {
	if !v.IsObject() {
		return
	}
	it := r.find(responsesEvent{index: index, itemID: v.Field("id")})
	if it == nil || it.done != nil {
		if it != nil && it.id != "" && it.id == v.Field("id").Text() {
			return // it is said twice
		}
		it = r.add(v, index)
	}
	it.done = bytes.Clone(v)
	it.callID, it.name = cmp.Or(v.Field("call_id").Text(), it.callID), cmp.Or(v.Field("name").Text(), it.name)
	if rest := it.show.Rest(); rest != "" {
		r.tell(it, rest)
	}
	if it.told != "" {
		return
	}
	it.told = "done"
	switch it.kind {
	case itemMessage:
		text, _ := said(it.done)
		r.tell(it, text)
	case itemReasoning:
		r.tell(it, thoughtOf(it.done))
	case itemCall:
		r.tell(it, v.Field("arguments").Text())
	case itemCustom:
		r.tell(it, string(freeform(it.done)))
	}
}

// tell shows a piece of an item.
func (r *responsesReply) tell(it *responsesItem, text string) {
	if text == "" {
		return
	}
	r.shown = true
	switch it.kind {
	case itemMessage:
		r.Emit(oneloop.TextDelta{Text: text})
	case itemReasoning:
		r.Emit(oneloop.ThinkingDelta{Text: text})
	case itemCall, itemCustom:
		r.Emit(oneloop.InputDelta{ID: it.callID, Name: it.name, JSON: text})
	}
}

// text takes in a piece of a message.
func (r *responsesReply) text(it *responsesItem, delta rawjson.Value) {
	q, ok := delta.Quoted()
	if it == nil || it.kind != itemMessage || !ok {
		return
	}
	it.told = "text"
	it.text = append(it.text, q...)
	r.tell(it, it.show.Next(q))
}

// thought takes in a piece of reasoning: of its summary, or of itself.
func (r *responsesReply) thought(it *responsesItem, x responsesEvent) {
	q, ok := x.delta.Quoted()
	if it == nil || it.kind != itemReasoning || !ok || it.told != "" && it.told != string(x.kind) {
		return
	}
	if it.told == "" {
		it.told = string(x.kind)
	}
	if it.lines {
		it.lines = false
		r.tell(it, it.show.Rest()+"\n\n")
	}
	r.tell(it, it.show.Next(q))
}

// input takes in a piece of the arguments of a call.
func (r *responsesReply) input(it *responsesItem, delta rawjson.Value) {
	q, ok := delta.Quoted()
	if it == nil || it.kind != itemCall || !ok {
		return
	}
	it.told = "input"
	r.tell(it, it.show.Next(q))
}

// ended takes in how the reply ended, with all of its items.
func (r *responsesReply) ended(v rawjson.Value) error {
	var output rawjson.Value
	status := "completed"
	for key, val := range v.Fields() {
		switch string(key) {
		case "id":
			r.id = cmp.Or(val.Text(), r.id)
		case "status":
			status = cmp.Or(val.Text(), status)
		case "incomplete_details":
			r.why = val.Field("reason").Text()
		case "usage":
			if !val.IsNull() {
				r.usage.takeResponses(val)
			}
		case "output":
			output = val
		}
	}
	if failed := v.Field("error"); !failed.IsNull() {
		return r.Said(v)
	}
	switch status {
	case "completed", "incomplete":
	default:
		return r.Fail(oneloop.ErrServer, "the reply ended as %s", wire.Printable([]byte(status), 40))
	}
	r.listed(output)
	r.begun, r.over, r.status = true, true, status
	return nil
}

// listed takes from the list at the end what did not come on its own.
func (r *responsesReply) listed(output rawjson.Value) {
	known := len(r.items) > 0
	n := int64(0)
	for v := range output.Items() {
		it := r.inList(v, n)
		if n++; it != nil {
			it.listed = true
			if it.done != nil {
				continue
			}
		} else if known && v.Field("id").IsNull() && v.Field("call_id").IsNull() {
			continue // it cannot be told from those that came
		}
		if it == nil {
			r.finish(v, n-1)
			r.last.listed = true
			continue
		}
		r.last = it
		r.finish(v, it.index)
	}
}

// inList is the item that one of the list is; nil: it has not come.
func (r *responsesReply) inList(v rawjson.Value, n int64) *responsesItem {
	id, call := v.Field("id").Text(), v.Field("call_id").Text()
	for _, it := range r.items {
		switch {
		case it.listed:
		case id != "" && it.id != "":
			if id == it.id {
				return it
			}
		case call != "" && it.callID != "":
			if call == it.callID {
				return it
			}
		case it.index == n && it.kind == itemKind(v):
			return it
		}
	}
	return nil
}

// Whole takes in an answer that came in one piece.
func (r *responsesReply) Whole(v rawjson.Value) (bool, error) {
	if output := v.Field("output"); len(output) == 0 || output[0] != '[' {
		return false, nil
	}
	return true, r.ended(v)
}
