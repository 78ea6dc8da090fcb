package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// value is what a block means, whatever the order of its keys and its cache
// marks: two blocks are the same when their values are.
type value string

// played is a message that was sent, and the conversation it was sent in.
type played struct {
	blocks   []value
	thinking []value // those of blocks that are reasoning
	ids      []string
	types    []string
	paused   bool
	after    int  // blocks before it
	prefix   hash // of system, tools and those blocks
}

type hash [sha256.Size]byte

// remember keeps what the reply to req holds, so that the gate knows it when
// it comes back. The lock of s is held.
func (s *Server) remember(req Request, reply Reply) {
	p := played{paused: reply.ending() == "pause_turn"}
	for _, raw := range reply.content(req) {
		kind := blockType(raw)
		v := valueOf(raw)
		p.blocks = append(p.blocks, v)
		p.types = append(p.types, kind)
		if isThinking(kind) {
			p.thinking = append(p.thinking, v)
		}
		if kind == "tool_use" {
			var c struct{ ID string }
			// A client gives a call another id when this one is taken.
			if json.Unmarshal(raw, &c) == nil && !req.Called(c.ID) {
				p.ids = append(p.ids, c.ID)
			}
		}
	}
	if len(p.blocks) == 0 {
		return
	}
	f := flatten(&req, &sentBlocks{replies: s.sent})
	p.after, p.prefix = len(f.blocks), f.hashes[len(f.blocks)]
	s.sent = append(s.sent, p)
}

// content is the blocks of the reply as they are when it has arrived whole.
func (r Reply) content(req Request) []json.RawMessage {
	switch {
	case r.Body != nil:
		var m struct{ Content []json.RawMessage }
		if json.Unmarshal(r.Body, &m) != nil {
			return nil
		}
		return m.Content
	case r.SSE != nil:
		return assemble(r.SSE)
	}
	var out []json.RawMessage
	for _, b := range r.Blocks {
		out = append(out, b.whole)
	}
	return out
}

// ending is the stop_reason of the reply, empty when it has none.
func (r Reply) ending() string {
	var end struct {
		Stop string `json:"stop_reason"`
	}
	switch {
	case r.Body != nil:
		if json.Unmarshal(r.Body, &end) != nil {
			return ""
		}
		return end.Stop
	case r.SSE == nil:
		return r.stopReason()
	}
	for _, event := range splitEvents(r.SSE) {
		var e struct {
			Type  string
			Delta json.RawMessage
		}
		if json.Unmarshal(dataOf(event), &e) == nil && e.Type == "message_delta" && json.Unmarshal(e.Delta, &end) != nil {
			return ""
		}
	}
	return end.Stop
}

// sentBlocks is everything that was sent, made for looking up.
type sentBlocks struct {
	replies []played
	values  map[value]bool
	types   map[string]bool
}

func (s *Server) index() *sentBlocks {
	x := &sentBlocks{replies: s.sent, values: map[value]bool{}, types: map[string]bool{}}
	for _, p := range s.sent {
		for i, v := range p.blocks {
			x.values[v] = true
			x.types[p.types[i]] = true
		}
	}
	return x
}

func (x *sentBlocks) has(c Content) bool { return x.values[c.value] }

// paused finds the block with which a paused reply ended, where c is that block
// on its way back. Text at the end of a request loses the white space at its
// end, and blank text altogether, because the API takes neither there.
func (x *sentBlocks) paused(c Content) (value, bool) {
	for _, p := range x.replies {
		i := len(p.blocks) - 1
		for p.paused && i >= 0 && trimmed(p.blocks[i]) == "" {
			i--
		}
		if p.paused && i >= 0 && (p.blocks[i] == c.value || trimmed(p.blocks[i]) == c.value) {
			return p.blocks[i], true
		}
	}
	return "", false
}

// trimmed is v without white space at the end of its text, empty when nothing
// else is in it.
func trimmed(v value) value {
	raw := json.RawMessage(v)
	if blockType(raw) != "text" {
		return v
	}
	text := strings.TrimRightFunc(stringOf(keys(raw)["text"]), unicode.IsSpace)
	if text == "" {
		return ""
	}
	return valueOf(with(raw, "text", quote(text)))
}

// flat is a conversation as one run of blocks: where one message ends and
// the next of the same role begins makes no difference to the API.
type flat struct {
	blocks []value
	kinds  []string
	owner  []int  // the message each block stands in
	hashes []hash // of system, tools and the first n blocks
}

// The last block stands for the one it resumes, as later requests have it.
func flatten(req *Request, sent *sentBlocks) flat {
	var f flat
	h := sha256.New()
	add := func(parts ...string) hash {
		for _, p := range parts {
			h.Write(binary.AppendUvarint(nil, uint64(len(p))))
			h.Write([]byte(p))
		}
		return hash(h.Sum(nil))
	}
	for _, c := range req.System {
		add("system", string(c.value))
	}
	for _, t := range req.Tools {
		add("tool", string(valueOf(t.Raw)))
	}
	f.hashes = append(f.hashes, add("messages"))
	for i, m := range req.Messages {
		for j, c := range m.Content {
			v := c.value
			if m.Role == "assistant" && i == len(req.Messages)-1 && j == len(m.Content)-1 {
				if whole, ok := sent.paused(c); ok {
					v = whole
				}
			}
			f.blocks = append(f.blocks, v)
			f.kinds = append(f.kinds, c.Type)
			f.owner = append(f.owner, i)
			f.hashes = append(f.hashes, add(m.Role, string(v)))
		}
	}
	return f
}

// thinking checks the reasoning that comes back: all of it was sent, it
// stands where it was sent, and none is missing in the turn that goes on.
func (g *gate) thinking(sent *sentBlocks, unbound bool) {
	f := flatten(g.req, sent)
	for i, v := range f.blocks {
		switch {
		case !isThinking(f.kinds[i]):
		case !sent.values[v]:
			g.breach(RuleThinking, "messages.%d: Invalid `signature` in `thinking` block: this block was not sent, or was changed", f.owner[i])
		case !unbound && !sent.bound(f, i):
			g.breach(RuleThinking, "messages.%d: Invalid `signature` in `thinking` block. The block is bound to a different conversation: system, tools or an earlier block is not what it was", f.owner[i])
		}
	}
	turns := g.req.turns()
	for i := len(turns) - 1; i >= 0; i-- {
		t := turns[i]
		if t.role == "assistant" {
			g.continued(t, f, sent)
		} else if !slices.ContainsFunc(t.content, func(c Content) bool { return c.Type == "tool_result" }) {
			return // here the turn began
		}
	}
}

// bound reports whether block i of f stands where it was sent.
func (x *sentBlocks) bound(f flat, i int) bool {
	return slices.ContainsFunc(x.replies, func(p played) bool {
		at := i - p.after
		return at >= 0 && at < len(p.blocks) && p.blocks[at] == f.blocks[i] && f.hashes[p.after] == p.prefix
	})
}

// continued checks one message of the turn that goes on against the reply it
// came in: by the place in the conversation, else by the ids of its calls.
func (g *gate) continued(t turn, f flat, sent *sentBlocks) {
	first := slices.Index(f.owner, t.first)
	if first < 0 {
		return
	}
	var have []value
	var ids []string
	for i, c := range t.content {
		if isThinking(c.Type) {
			have = append(have, f.blocks[first+i])
		}
		if c.Type == "tool_use" {
			ids = append(ids, c.ID)
		}
	}
	end := first + len(t.content)
	candidates, fits := 0, false
	for _, p := range sent.replies {
		here := p.after >= first && p.after < end && f.hashes[p.after] == p.prefix
		named := slices.ContainsFunc(p.ids, func(id string) bool { return slices.Contains(ids, id) })
		if !here && !named {
			continue
		}
		candidates++
		// A reply after a pause adds to the message, so its own reasoning is
		// a part of what the message holds.
		fits = fits || len(p.thinking) == 0 && len(have) == 0 || len(p.thinking) > 0 && contains(have, p.thinking)
	}
	if candidates > 0 && !fits && len(have) == 0 {
		g.breach(RuleThinking, "messages.%d: Expected `thinking` or `redacted_thinking`, but found none: the turn that goes on needs its reasoning back", t.first)
	} else if candidates > 0 && !fits {
		g.breach(RuleThinking, "messages.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", t.first)
	}
}

// contains reports whether part stands in list, in one piece.
func contains(list, part []value) bool {
	for i := 0; i+len(part) <= len(list); i++ {
		if slices.Equal(list[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// valueOf gives blocks that mean the same the same value.
func valueOf(raw json.RawMessage) value {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return value(raw)
	}
	if m, ok := v.(map[string]any); ok {
		delete(m, "cache_control")
		if list, ok := m["content"].([]any); ok {
			for _, inner := range list {
				if c, ok := inner.(map[string]any); ok {
					delete(c, "cache_control")
				}
			}
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return value(raw)
	}
	return value(b)
}

// assemble puts the blocks of a raw stream together. What is not understood
// is left out.
func assemble(sse []byte) []json.RawMessage {
	var out []json.RawMessage
	index := map[int]int{}
	inputs := map[int]string{}
	for _, event := range splitEvents(sse) {
		var e struct {
			Type  string
			Index int
			Block json.RawMessage            `json:"content_block"`
			Delta map[string]json.RawMessage `json:"delta"`
		}
		if json.Unmarshal(dataOf(event), &e) != nil {
			continue
		}
		at, known := index[e.Index]
		switch {
		case e.Type == "content_block_start":
			index[e.Index] = len(out)
			out = append(out, e.Block)
		case !known:
		case e.Type == "content_block_delta":
			if part, ok := e.Delta["partial_json"]; ok {
				inputs[e.Index] += stringOf(part)
				continue
			}
			out[at] = grow(out[at], e.Delta)
		case e.Type == "content_block_stop":
			if in := inputs[e.Index]; in != "" && json.Valid([]byte(in)) {
				out[at] = with(out[at], "input", json.RawMessage(in))
			}
		}
	}
	return out
}

// grow adds a delta to a block.
func grow(block json.RawMessage, delta map[string]json.RawMessage) json.RawMessage {
	for _, key := range []string{"text", "thinking", "signature"} {
		if part, ok := delta[key]; ok {
			return with(block, key, quote(stringOf(keys(block)[key])+stringOf(part)))
		}
	}
	if citation, ok := delta["citation"]; ok {
		var list []json.RawMessage
		if json.Unmarshal(keys(block)["citations"], &list) != nil {
			list = nil
		}
		return with(block, "citations", joinRaw(append(list, citation)))
	}
	if stringOf(delta["type"]) == "compaction_delta" {
		for key, part := range delta {
			if key != "type" {
				block = with(block, key, part)
			}
		}
	}
	return block
}

func with(block json.RawMessage, key string, v json.RawMessage) json.RawMessage {
	m := keys(block)
	if m == nil {
		return block
	}
	m[key] = v
	return encode(m)
}

func stringOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// dataOf joins the data lines of an event.
func dataOf(event []byte) []byte {
	var data []string
	for line := range strings.Lines(string(event)) {
		if d, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:"); ok {
			data = append(data, strings.TrimPrefix(d, " "))
		}
	}
	return []byte(strings.Join(data, "\n"))
}
