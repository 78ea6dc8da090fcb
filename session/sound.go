package session

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
)

// A log is taken for damaged where it can be read and no API would take what it
// says: one bit that is another after years on a disk would else leave the
// session dead, as it is sent again with every request.

// sound is nil for a message that can be sent.
func sound(m *oneloop.Message) error {
	if m.Role != oneloop.User && m.Role != oneloop.Assistant {
		return fmt.Errorf("%q is no role", m.Role)
	}
	if near := stops.near(string(m.Stop)); near != "" {
		return fmt.Errorf("nothing stops for %q, it was %q", m.Stop, near)
	}
	ids := m.Origin.API == "" || m.Origin.API == "anthropic" // another API has its own
	for _, b := range m.Blocks {
		if c, ok := b.(*oneloop.ToolUse); ok && ids && (!word(c.ID) || !word(c.Name)) {
			return fmt.Errorf("the call %q of %q cannot be sent", c.ID, c.Name)
		}
		if err := soundBlock(b); err != nil {
			return err
		}
	}
	return nil
}

// word reports whether s may be the id of a call or the name of a tool.
func word(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return s != ""
}

// words is a set of words that something here is one of. Others may come from
// an API or a later program, but none that differs from one of these in one bit.
type words string

const (
	stops       words = "end_turn tool_use stop_sequence max_tokens model_context_window_exceeded pause_turn compaction refusal interrupted"
	blockKinds  words = "text thinking redacted_thinking tool_use tool_result image document search_result server_tool_use compaction"
	sourceKinds words = "base64 url file text content"
	mediaTypes  words = "image/jpeg image/png image/gif image/webp application/pdf text/plain"

	textFields   words = "type text citations cache_control"
	thinkFields  words = "type thinking signature"
	hiddenFields words = "type data"
	callFields   words = "type id name input caller toolset_name cache_control"
	resultFields words = "type tool_use_id content is_error toolset_name cache_control"
	mediaFields  words = "type source title context citations cache_control"
	sourceFields words = "type media_type data url file_id content"
)

// near is the word of the set that s differs from in one bit, if there is one.
func (w words) near(s string) (found string) {
	for x := range strings.FieldsSeq(string(w)) {
		if x == s {
			return ""
		}
		if len(x) == len(s) && found == "" && oneBit(x, s) {
			found = x
		}
	}
	return found
}

func oneBit(x, y string) bool {
	n := 0
	for i := range len(x) {
		if n += bits.OnesCount8(x[i] ^ y[i]); n > 1 {
			return false
		}
	}
	return n == 1
}

// fields is nil unless an object has a field that differs from one of the set
// in one bit. Readers here would not see it, and an API would.
func (w words) fields(object []byte) error {
	for key := range rawjson.Value(bytes.TrimSpace(object)).Fields() {
		if near := w.near(string(key)); near != "" {
			return fmt.Errorf("it has no field %q but %q", near, key)
		}
	}
	return nil
}

// soundBlock is nil for a block that can be sent.
func soundBlock(b oneloop.Block) error {
	var fields words
	var err error
	switch b := b.(type) {
	case *oneloop.Text:
		fields = textFields
	case *oneloop.Thinking:
		fields = thinkFields
	case *oneloop.ToolUse:
		if fields = callFields; b.Raw != nil && (len(b.Input) == 0 || b.Input[0] != '{') {
			err = fmt.Errorf("call %s has no input", b.ID)
		}
	case *oneloop.ToolResult:
		fields = resultFields
		for _, c := range b.Content {
			if t, ok := c.(*oneloop.Text); ok && strings.TrimSpace(t.Text) == "" {
				err = errors.Join(err, fmt.Errorf("the answer to call %s has a text without one", b.ID))
			}
			err = errors.Join(err, soundBlock(c))
		}
		if b.ID == "" || len(b.Content) == 0 {
			err = errors.Join(err, fmt.Errorf("the answer to call %q says nothing", b.ID))
		}
	case *oneloop.Media:
		fields, err = mediaFields, soundSource(b.Raw)
	case *oneloop.Opaque:
		switch near := blockKinds.near(b.Type); {
		case near != "":
			return fmt.Errorf("%q is no kind of block, it was %q", b.Type, near)
		case b.Type == "redacted_thinking":
			fields = hiddenFields
		case b.Type == "image" || b.Type == "document":
			fields, err = mediaFields, soundSource(b.Raw)
		case b.Type == "text" || b.Type == "thinking" || b.Type == "tool_use" || b.Type == "tool_result":
			return fmt.Errorf("a %s is not as it has to be", b.Type)
		}
	}
	if err == nil && fields != "" && b.RawAPI() == "" {
		err = fields.fields(b.RawJSON())
	}
	return err
}

// soundSource is nil for an image or a document whose data can be read.
func soundSource(raw []byte) error {
	source := rawjson.Value(bytes.TrimSpace(raw)).Field("source")
	if raw == nil || source == nil {
		return nil
	}
	kind := source.Field("type").Text()
	if near := sourceKinds.near(kind); near != "" {
		return fmt.Errorf("%q is no source, it was %q", kind, near)
	}
	mime := source.Field("media_type").Text()
	if near := mediaTypes.near(mime); near != "" {
		return fmt.Errorf("%q is no type, it was %q", mime, near)
	}
	return sourceFields.fields(source)
}

// fits says what is wrong with m where the conversation stands: a call whose id
// another one has, or an answer to no call. An answer to none is left out when
// all is read, and what stands beside it is not.
func (v *view) fits(m *oneloop.Message) (err error, usable bool) {
	if calls := m.ToolUses(); len(calls) > 0 && m.Role == oneloop.Assistant && m.Sendable() {
		if v.ids == nil {
			v.ids = map[string]bool{}
			for _, m := range v.msgs {
				for _, c := range m.ToolUses() {
					v.ids[c.ID] = true
				}
			}
		}
		for i, c := range calls {
			if v.ids[c.ID] {
				for _, c := range calls[:i] {
					delete(v.ids, c.ID)
				}
				return fmt.Errorf("the id %q of its call is that of another one", c.ID), false
			}
			v.ids[c.ID] = true
		}
	}
	var before *oneloop.Message
	for _, r := range results(m) {
		if before == nil {
			if before = new(oneloop.Message); len(v.msgs) > 0 {
				before = v.msgs[len(v.msgs)-1]
			}
		}
		if !slices.ContainsFunc(before.Blocks, func(b oneloop.Block) bool { c, ok := b.(*oneloop.ToolUse); return ok && c.ID == r.ID }) {
			return fmt.Errorf("it answers call %q, which is not there", r.ID), true
		}
	}
	return nil, true
}
