package gemini

import (
	"bytes"
	"encoding/json"
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
	host   string
	asCame bool // every event is told of
	calls  wire.Calls

	begun  bool // something of a message came
	shown  bool // a delta was emitted, which an error makes void
	id     string
	reason string // why it stopped, in the API's word
	why    rawjson.Value
	usage  usage
	parts  []*part
	open   *part // the call whose arguments come in pieces
}

func (r *reply) Begun() bool { return r.begun }

// Over is never known: the stream has no event that ends it.
func (r *reply) Over() bool { return false }

// Spent is what was used so far.
func (r *reply) Spent() (oneloop.Usage, bool) { return r.usage.sum(), r.shown }

// Complete reports whether the message is whole: a reason to stop came, and no
// call was left open by a model that says it is done.
func (r *reply) Complete() bool {
	return r.reason != "" && (r.open == nil || stopReason(r.reason, 0) != oneloop.StopEndTurn)
}

// Event takes in one event, which is a response in itself.
func (r *reply) Event(e sse.Event) error {
	v := rawjson.Parse(e.Data)
	if v == nil {
		data := bytes.TrimSpace(e.Data)
		if e.Cut || len(data) == 0 || string(data) == "[DONE]" {
			return nil // cut: the end of the stream comes next
		}
		return r.Malformed("an event is no JSON: %s", r.Quote(data))
	}
	if r.asCame {
		r.Emit(oneloop.Stream{Data: json.RawMessage(bytes.Clone(v))})
	}
	return r.take(v)
}

// take takes in one response.
func (r *reply) take(v rawjson.Value) error {
	var candidates, feedback rawjson.Value
	for key, val := range v.Fields() {
		switch string(key) {
		case "candidates":
			candidates = val
		case "usageMetadata":
			r.usage.take(val)
		case "promptFeedback":
			feedback = val
		case "responseId":
			if r.id == "" {
				r.id = val.Text()
			}
		case "error":
			if !val.IsNull() {
				return r.Said(v)
			}
		}
	}
	for c := range candidates.Items() {
		r.begun = true
		return r.candidate(c) // no other one was asked for
	}
	if why := feedback.Field("blockReason").Text(); why != "" {
		r.begun = true
		r.stop(why, feedback.Field("blockReasonMessage"), feedback)
		if stopReason(why, 0) != oneloop.StopRefusal {
			r.reason = "PROHIBITED_CONTENT" // whatever the reason is called, nothing is said
		}
	}
	return nil
}

func (r *reply) candidate(c rawjson.Value) error {
	var content, reason, message rawjson.Value
	for key, val := range c.Fields() {
		switch string(key) {
		case "content":
			content = val
		case "finishReason":
			reason = val
		case "finishMessage":
			message = val
		}
	}
	for p := range content.Field("parts").Items() {
		if p.IsObject() {
			r.part(p)
		}
	}
	said := reason.Text()
	if said == "" {
		return nil
	}
	if class, retry := failure(said); class != nil {
		e := r.Fail(class, "the reply ended without an answer: %s", message.Text())
		e.Type, e.Retry = wire.Printable([]byte(said), 80), retry
		if message.Text() == "" {
			e.Message = "the reply ended without an answer"
		}
		return e
	}
	r.stop(said, message, c)
	return nil
}

// stop keeps why the reply ended.
func (r *reply) stop(reason string, message, from rawjson.Value) {
	r.reason = reason
	details := rawjson.AppendString([]byte(`{"category":`), reason)
	details = rawjson.AppendString(append(details, `,"explanation":`...), message.Text())
	if ratings := from.Field("safetyRatings"); !ratings.IsNull() {
		details = append(append(details, `,"safetyRatings":`...), ratings...)
	}
	r.why = append(details, '}')
}

// failure is the class of a reason that stands for no reply; nil for others.
// The same request may well get a reply the next time, but for the last two.
func failure(reason string) (error, oneloop.Retryable) {
	switch reason {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "OTHER", "FINISH_REASON_UNSPECIFIED", "NO_IMAGE", "IMAGE_OTHER":
		return oneloop.ErrServer, oneloop.RetryYes
	case "TOO_MANY_TOOL_CALLS":
		return oneloop.ErrServer, oneloop.RetryNo
	case "MISSING_THOUGHT_SIGNATURE":
		return oneloop.ErrInvalidRequest, oneloop.RetryNo
	}
	return nil, oneloop.RetryUnsaid
}

// stopReason is StopToolUse exactly when there are calls and the model said
// that it was done. A reason not known here is kept and ends the turn.
func stopReason(said string, calls int) oneloop.StopReason {
	switch said {
	case "STOP":
		if calls > 0 {
			return oneloop.StopToolUse
		}
		return oneloop.StopEndTurn
	case "MAX_TOKENS":
		return oneloop.StopMaxTokens
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR", "JAILBREAK",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return oneloop.StopRefusal
	}
	return oneloop.StopReason(strings.ToLower(said))
}

// Whole takes in an answer that came in one piece: a response, or a list of
// those that a stream would have had.
func (r *reply) Whole(v rawjson.Value) (bool, error) {
	items := []rawjson.Value{v}
	if !v.IsObject() {
		items = items[:0]
		for item := range v.Items() {
			items = append(items, item)
		}
	}
	ours := false
	for _, item := range items {
		for _, name := range []string{"candidates", "promptFeedback", "error"} {
			ours = ours || !item.Field(name).IsNull()
		}
	}
	if !ours {
		return false, nil
	}
	for _, item := range items {
		if err := r.take(item); err != nil {
			return true, err
		}
	}
	if !r.Complete() {
		return true, r.Fail(oneloop.ErrStreamCut, "the answer ended before the reply was complete: it gives no reason to stop")
	}
	return true, nil
}

// Message is the whole reply.
func (r *reply) Message() *oneloop.Message {
	r.showRest()
	m := r.head()
	for _, p := range r.parts {
		if b := p.block(r, m); b != nil {
			m.Blocks = append(m.Blocks, b)
		}
	}
	m.Stop = stopReason(r.reason, len(m.ToolUses()))
	if m.Stop != oneloop.StopEndTurn && m.Stop != oneloop.StopToolUse {
		m.Meta.StopDetails = json.RawMessage(r.why)
	}
	m.Usage = r.usage.sum()
	return m
}

func (r *reply) head() *oneloop.Message {
	return &oneloop.Message{
		Role: oneloop.Assistant, ID: r.id, Origin: oneloop.Origin{API: API, Model: r.model, Host: r.host},
		Meta: oneloop.Meta{RequestID: r.RequestID},
	}
}

// Interrupted is what may be kept of a reply that was stopped while it came:
// text as far as it was shown, and what came whole, but no call, no reasoning
// and none of its signatures: they belong to a reply that goes on.
func (r *reply) Interrupted() *oneloop.Message {
	r.showRest()
	m := r.head()
	m.Stop = oneloop.StopInterrupted
	for _, p := range r.parts {
		if p.kind == callKind || p.kind == thoughtKind {
			continue
		}
		b := p.block(r, m)
		if o, ok := b.(*oneloop.Opaque); b == nil || ok && o.Type == signature {
			continue
		}
		m.Blocks = append(m.Blocks, b)
	}
	m.Usage = r.usage.sum()
	return m
}
