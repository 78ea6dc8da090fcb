package script

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Events returns the stream of the reply to req, one element per event as it
// goes over the wire, cut nowhere.
func (r Reply) Events(req Request) [][]byte {
	if r.React != nil {
		r = r.React(req)
	}
	if r.SSE != nil {
		return splitEvents(r.SSE)
	}
	f := framer{Frames: Frames{Reply: r}}
	f.event("message_start", object("type", "message_start", "message", r.message(req, true)))
	f.event("ping", object("type", "ping"))
	if r.Interleave {
		f.interleaved(r.Blocks)
	} else {
		for i, b := range r.Blocks {
			f.start(i, b)
			for _, d := range b.deltas {
				f.delta(i, d)
			}
			f.stop(i, b)
		}
	}
	if r.Error != nil {
		f.event("error", r.Error.body())
	} else {
		f.event("message_delta", r.end(req))
		f.event("message_stop", object("type", "message_stop"))
	}
	return f.All()
}

// Stream returns the whole stream of the reply in one piece.
func (r Reply) Stream(req Request) []byte { return bytes.Join(r.Events(req), nil) }

// framer puts events of the Messages API into the form of the wire.
type framer struct{ Frames }

func (f *framer) event(name string, data json.RawMessage) { f.Event(name, data) }

func (f *framer) start(i int, b Block) {
	f.event("content_block_start", object("type", "content_block_start", "index", i, "content_block", b.start))
}

func (f *framer) delta(i int, d json.RawMessage) {
	f.event("content_block_delta", object("type", "content_block_delta", "index", i, "delta", d))
}

func (f *framer) stop(i int, b Block) {
	if !b.open {
		f.event("content_block_stop", object("type", "content_block_stop", "index", i))
	}
}

// interleaved starts all blocks in order, then gives each one delta in turn.
func (f *framer) interleaved(blocks []Block) {
	left := len(blocks)
	for i, b := range blocks {
		f.start(i, b)
	}
	for n := 0; left > 0; n++ {
		for i, b := range blocks {
			switch {
			case n < len(b.deltas):
				f.delta(i, b.deltas[n])
			case n == len(b.deltas):
				f.stop(i, b)
				left--
			}
		}
	}
}

// splitEvents cuts a stream behind its blank lines.
func splitEvents(sse []byte) [][]byte {
	var out [][]byte
	for len(sse) > 0 {
		end := len(sse)
		for _, blank := range []string{"\n\n", "\r\n\r\n"} {
			if i := bytes.Index(sse, []byte(blank)); i >= 0 {
				end = min(end, i+len(blank))
			}
		}
		out = append(out, sse[:end])
		sse = sse[end:]
	}
	return out
}

// message is the message object: complete, or as it stands in message_start.
func (r Reply) message(req Request, started bool) json.RawMessage {
	content := []json.RawMessage{}
	stop, sequence := any(nil), any(nil)
	usage := r.usage(req)
	if started {
		usage.Output, usage.Thinking = min(usage.Output, 1), 0
	} else {
		for _, b := range r.Blocks {
			content = append(content, b.whole)
		}
		stop = r.stopReason()
		if r.StopSequence != "" {
			sequence = r.StopSequence
		}
	}
	pairs := []any{
		"model", r.model(req), "id", r.id(req), "type", "message", "role", "assistant",
		"content", json.RawMessage(joinRaw(content)), "stop_reason", stop, "stop_sequence", sequence,
	}
	if !started && r.StopDetails != nil {
		pairs = append(pairs, "stop_details", r.StopDetails)
	}
	return object(r.withUsage(pairs, usage)...)
}

// end is the data of message_delta.
func (r Reply) end(req Request) json.RawMessage {
	sequence := any(nil)
	if r.StopSequence != "" {
		sequence = r.StopSequence
	}
	delta := []any{"stop_reason", r.stopReason(), "stop_sequence", sequence}
	if r.StopDetails != nil {
		delta = append(delta, "stop_details", r.StopDetails)
	}
	return object(r.withUsage([]any{"type", "message_delta", "delta", object(delta...)}, r.usage(req))...)
}

func (r Reply) withUsage(pairs []any, u Usage) []any {
	switch {
	case r.RawUsage == nil:
		return append(pairs, "usage", u.json())
	case len(r.RawUsage) > 0:
		return append(pairs, "usage", r.RawUsage)
	}
	return pairs
}

func (r Reply) stopReason() string {
	if r.Stop != "" {
		return r.Stop
	}
	for _, b := range r.Blocks {
		if b.call {
			return "tool_use"
		}
	}
	return "end_turn"
}

func (r Reply) model(req Request) string {
	if r.Model != "" {
		return r.Model
	}
	return req.Model
}

func (r Reply) id(req Request) string {
	if r.ID != "" {
		return r.ID
	}
	return fmt.Sprintf("msg_script_%04d", req.N)
}

func (r Reply) usage(req Request) Usage {
	if r.Usage != nil {
		return *r.Usage
	}
	out := 0
	for _, b := range r.Blocks {
		out += len(b.whole)
	}
	return Usage{Input: int64(len(req.Body)/4 + 1), Output: int64(out/4 + 1)}
}

func (u Usage) json() json.RawMessage {
	pairs := []any{
		"input_tokens", u.Input,
		"cache_creation_input_tokens", u.CacheWrite,
		"cache_read_input_tokens", u.CacheRead,
		"cache_creation", object(
			"ephemeral_5m_input_tokens", u.CacheWrite-u.CacheWrite1h,
			"ephemeral_1h_input_tokens", u.CacheWrite1h),
		"output_tokens", u.Output,
	}
	if u.Thinking > 0 {
		pairs = append(pairs, "output_tokens_details", object("thinking_tokens", u.Thinking))
	}
	return object(append(pairs, "service_tier", "standard")...)
}

// body is the error as the Messages API has it.
func (e Error) body() json.RawMessage {
	kind, message := e.Type, e.Message
	if kind == Overflow {
		kind, message = "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"
	}
	return object("type", "error", "error", object("type", kind, "message", message))
}

func joinRaw(list []json.RawMessage) []byte {
	b := []byte{'['}
	for i, raw := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, raw...)
	}
	return append(b, ']')
}

// quote is s as a JSON string, without escapes for HTML.
func quote(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("script: quote: " + err.Error()) // a string never fails
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
