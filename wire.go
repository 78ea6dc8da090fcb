package oneloop

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendBlock appends b as JSON in the form the Anthropic Messages API takes,
// which is also the form sessions and traces keep: in its own bytes when it came
// in that form. Of a block of another API's that has no such form, an [Opaque],
// its type is all that is given. The same block always gives the same bytes.
func AppendBlock(dst []byte, b Block) ([]byte, error) {
	if raw := b.RawJSON(); raw != nil && b.RawAPI() == "" {
		return append(dst, raw...), nil
	}
	switch b := b.(type) {
	case *Text:
		dst = append(dst, `{"type":"text","text":`...)
		dst = appendString(dst, b.Text)
	case *Thinking:
		dst = append(dst, `{"type":"thinking","thinking":`...)
		dst = appendString(dst, b.Text)
		dst = append(dst, `,"signature":`...)
		dst = appendString(dst, b.Signature)
	case *Media:
		dst = append(dst, `{"type":`...)
		dst = appendString(dst, b.Type)
		dst = append(dst, `,"source":{"type":"base64","media_type":`...)
		dst = appendString(dst, b.MIME)
		dst = append(dst, `,"data":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, b.Data)
		dst = append(dst, `"}`...)
	case *ToolUse:
		dst = append(dst, `{"type":"tool_use","id":`...)
		dst = appendString(dst, b.ID)
		dst = append(dst, `,"name":`...)
		dst = appendString(dst, b.Name)
		dst = append(dst, `,"input":`...)
		if len(b.Input) == 0 {
			dst = append(dst, "{}"...)
		}
		dst = append(dst, b.Input...)
	case *ToolResult:
		return appendResult(dst, b)
	case *Opaque:
		if b.Raw == nil {
			return dst, fmt.Errorf("block of type %q has no JSON of its own", b.Type)
		}
		dst = append(dst, `{"type":`...)
		dst = appendString(dst, b.Type)
	default:
		return dst, fmt.Errorf("block of type %T has no JSON of its own", b)
	}
	return append(dst, '}'), nil
}

func appendResult(dst []byte, r *ToolResult) ([]byte, error) {
	dst = append(dst, `{"type":"tool_result","tool_use_id":`...)
	dst = appendString(dst, r.ID)
	dst = append(dst, `,"content":`...)
	if t, ok := soleText(r.Content); ok {
		dst = appendString(dst, t)
	} else {
		var err error
		if dst, err = appendBlocks(dst, r.Content); err != nil {
			return dst, err
		}
	}
	if r.IsError {
		dst = append(dst, `,"is_error":true`...)
	}
	return append(dst, '}'), nil
}

func soleText(blocks []Block) (string, bool) {
	if len(blocks) != 1 {
		return "", false
	}
	t, ok := blocks[0].(*Text)
	if !ok || t.Raw != nil && t.API == "" {
		return "", false
	}
	return t.Text, true
}

func appendBlocks(dst []byte, blocks []Block) ([]byte, error) {
	dst = append(dst, '[')
	for i, b := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = AppendBlock(dst, b); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendString appends s as a JSON string. <, > and & stay as they are;
// bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	if plain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string never fails
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// plain reports whether s is its own form between quotes: most names and ids
// are, and encoding/json takes four allocations for each.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// DecodeBlock reads a block in the form of the Anthropic Messages API and
// keeps its bytes in Raw. A type it does not know becomes an [Opaque]; an
// error means that data is no JSON object with a type.
func DecodeBlock(data json.RawMessage) (Block, error) {
	var b struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
		ToolUseID string          `json:"tool_use_id"`
		Content   json.RawMessage `json:"content"`
		IsError   bool            `json:"is_error"`
		Source    struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      string `json:"data"`
		} `json:"source"`
	}
	w := Wire{Raw: data}
	if err := json.Unmarshal(data, &b); err != nil {
		// None at all, or of a type that has another shape.
		var kind struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(data, &kind); err != nil {
			return nil, fmt.Errorf("read block: %w", err)
		}
		if kind.Type != "" {
			return &Opaque{Wire: w, Type: kind.Type}, nil
		}
	}
	if b.Type == "" {
		return nil, errors.New("read block: it has no type")
	}
	opaque := &Opaque{Wire: w, Type: b.Type}
	switch b.Type {
	case "text":
		return &Text{Wire: w, Text: b.Text}, nil
	case "thinking":
		return &Thinking{Wire: w, Text: b.Thinking, Signature: b.Signature}, nil
	case "tool_use":
		return &ToolUse{Wire: w, ID: b.ID, Name: b.Name, Input: b.Input}, nil
	case "tool_result":
		content, err := decodeContent(b.Content)
		if err != nil {
			return opaque, nil
		}
		return &ToolResult{Wire: w, ID: b.ToolUseID, Content: content, IsError: b.IsError}, nil
	case "image", "document":
	default:
		return opaque, nil
	}
	if b.Source.Type != "base64" {
		return opaque, nil
	}
	bytes, err := base64.StdEncoding.DecodeString(b.Source.Data)
	if err != nil {
		return opaque, nil
	}
	return &Media{Wire: w, Type: b.Type, MIME: b.Source.MediaType, Data: bytes}, nil
}

// decodeContent reads a string or a list of blocks.
func decodeContent(data json.RawMessage) ([]Block, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	if data[0] == '"' {
		var s string
		err := json.Unmarshal(data, &s)
		return []Block{&Text{Text: s}}, err
	}
	if data[0] != '[' {
		return nil, errors.New("the content is neither a text nor a list")
	}
	var blocks []Block
	for raw := range elements(data) {
		b, err := DecodeBlock(raw)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// elements yields the elements of a JSON array that is known to be valid, where
// they stand. It is worth its lines when a long conversation is opened again:
// encoding/json would read every element twice more, and copy it.
func elements(array []byte) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		depth, from, quoted := 0, 1, false
		for i := 0; i < len(array); i++ {
			switch c := array[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == '[' || c == '{':
				depth++
			case c == ']' || c == '}':
				depth--
			}
			if quoted || depth > 1 || array[i] != ',' && depth > 0 {
				continue
			}
			if e := bytes.TrimSpace(array[from:i]); len(e) > 0 && !yield(e[:len(e):len(e)]) {
				return
			}
			if from = i + 1; depth == 0 {
				return
			}
		}
	}
}

// brokenCall is a call that cannot be run. A block is kept as the wire has it,
// which has no place for that.
type brokenCall struct {
	Block int    `json:"block"` // index in the message
	Why   string `json:"why"`
}

func brokenCalls(m *Message) []brokenCall {
	var all []brokenCall
	for i, b := range m.Blocks {
		if c, ok := b.(*ToolUse); ok && c.Broken != "" {
			all = append(all, brokenCall{i, c.Broken})
		}
	}
	return all
}

// messageFields are the fields of a message beside its content.
type messageFields struct {
	Stop   StopReason `json:"stop_reason,omitempty"`
	Origin Origin     `json:"origin,omitzero"`
	Usage  Usage      `json:"usage,omitzero"`
	ID     string     `json:"id,omitempty"`
	Meta   *Meta      `json:"meta,omitempty"`

	Broken []brokenCall `json:"broken,omitempty"`
}

// AppendJSON appends m as one JSON object: role and content as the Anthropic
// Messages API has them, and our own fields beside them. A reply of another API
// has its own bytes in the field "wire", for each block what stands for it, or
// null. The bytes of blocks that came from an API are kept, also insignificant
// white space; [Message.MarshalJSON] gives the same to encoding/json, which
// compacts it.
func (m *Message) AppendJSON(dst []byte) ([]byte, error) {
	parts, err := m.Parts()
	for _, p := range parts {
		dst = append(dst, p...)
	}
	return dst, err
}

// Parts is what AppendJSON appends, in pieces. Those of blocks that came from an
// API are the blocks' own bytes, which can be many.
func (m *Message) Parts() (Parts, error) {
	head := append([]byte(`{"role":`), appendString(nil, string(m.Role))...)
	parts := Parts{append(head, `,"content":[`...)}
	for i, b := range m.Blocks {
		if i > 0 {
			parts = append(parts, []byte{','})
		}
		raw := []byte(b.RawJSON())
		if api := b.RawAPI(); api != "" {
			if api != m.Origin.API {
				return nil, fmt.Errorf("encode %s message: block %d has the JSON of %q, and the message is of %q", m.Role, i, api, m.Origin.API)
			}
			raw = nil
		}
		if raw == nil {
			var err error
			if raw, err = AppendBlock(nil, b); err != nil {
				return nil, fmt.Errorf("encode %s message: %w", m.Role, err)
			}
		}
		parts = append(parts, raw)
	}
	if m.Stop == "" && m.ID == "" && m.Origin == (Origin{}) && m.Usage == (Usage{}) && m.Meta.empty() && brokenCalls(m) == nil {
		return append(parts, []byte("]}")), nil // a prompt; encoding/json would first look at each type
	}
	own := messageFields{Stop: m.Stop, Origin: m.Origin, Usage: m.Usage, ID: m.ID, Broken: brokenCalls(m)}
	if !m.Meta.empty() {
		own.Meta = &m.Meta
	}
	parts = m.wire(parts)
	var b bytes.Buffer
	b.WriteByte(']')
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(own); err != nil {
		return nil, fmt.Errorf("encode %s message: %w", m.Role, err)
	}
	tail := bytes.TrimSpace(b.Bytes())
	if tail[1] = ','; len(tail) == len("]{}") {
		tail = []byte("]}")
	}
	return append(parts, tail), nil
}

// wire appends the field with the JSON of another API, if there is any.
func (m *Message) wire(parts Parts) Parts {
	if !slices.ContainsFunc(m.Blocks, func(b Block) bool { return b.RawAPI() != "" }) {
		return parts
	}
	open := `],"wire":[`
	for _, b := range m.Blocks {
		raw := []byte("null")
		if b.RawAPI() != "" && b.RawJSON() != nil {
			raw = b.RawJSON()
		}
		parts = append(parts, []byte(open), raw)
		open = ","
	}
	return parts
}

// unwire gives the blocks the JSON of the API that they came from.
func unwire(blocks []Block, list json.RawMessage, api string) error {
	var raws []json.RawMessage
	if list = bytes.TrimSpace(list); list[0] == '[' {
		raws = slices.Collect(elements(list))
	}
	if len(raws) != len(blocks) || api == "" {
		return fmt.Errorf("it has %d blocks and the JSON of %d in the form of %q", len(blocks), len(raws), api)
	}
	for i, raw := range raws {
		if string(raw) != "null" {
			blocks[i].setWire(Wire{Raw: raw, API: api})
		} else {
			blocks[i].setWire(Wire{})
		}
	}
	return nil
}

func (m *Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil) }

func (m *Message) UnmarshalJSON(data []byte) error {
	var j struct {
		Role    Role            `json:"role"`
		Content json.RawMessage `json:"content"`
		Wire    json.RawMessage `json:"wire"`
		messageFields
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("read message: %w", err)
	}
	blocks, err := decodeContent(j.Content)
	if err != nil {
		return fmt.Errorf("read %s message: %w", j.Role, err)
	}
	if j.Wire != nil {
		if err := unwire(blocks, j.Wire, j.Origin.API); err != nil {
			return fmt.Errorf("read %s message: %w", j.Role, err)
		}
	}
	*m = Message{Role: j.Role, Blocks: blocks, Stop: j.Stop, Origin: j.Origin, Usage: j.Usage, ID: j.ID}
	if j.Meta != nil {
		m.Meta = *j.Meta
	}
	for _, b := range j.Broken {
		if b.Block < 0 || b.Block >= len(blocks) {
			return fmt.Errorf("read %s message: it has no block %d to be broken", j.Role, b.Block)
		}
		call, ok := blocks[b.Block].(*ToolUse)
		if !ok {
			return fmt.Errorf("read %s message: block %d is to be a broken call and is none", j.Role, b.Block)
		}
		call.Broken = b.Why
	}
	return nil
}

// CheckObject refuses data that is not exactly one JSON object, that names a
// key twice in an object at any depth, or that has text in it which is none:
// half of a surrogate pair, bytes that are not UTF-8. Two readers of a
// twice-named key may each take another value, and readers replace what is no
// text, so that what was checked or asked for is not what is run.
func CheckObject(data []byte) error {
	c := &objectCheck{dec: json.NewDecoder(bytes.NewReader(data)), data: data}
	c.dec.UseNumber()
	tok, err := c.next("")
	if err != nil {
		return err
	}
	if tok != json.Delim('{') {
		return errors.New("it is no JSON object")
	}
	if err := c.inside('{', "", 1); err != nil {
		return err
	}
	if _, err := c.dec.Token(); err != io.EOF {
		return errors.New("something follows the JSON object")
	}
	return nil
}

// maxDepth is where encoding/json stops too. Without it a reply could make
// the check use up the stack.
const maxDepth = 10_000

type objectCheck struct {
	dec  *json.Decoder
	data []byte
}

// next is the next token, which belongs to the field of that name.
func (c *objectCheck) next(field string) (json.Token, error) {
	from := c.dec.InputOffset()
	tok, err := c.dec.Token()
	if err != nil {
		return nil, fmt.Errorf("it is no valid JSON: %w", err)
	}
	if _, ok := tok.(string); !ok {
		return tok, nil
	}
	raw := c.data[from:c.dec.InputOffset()]
	raw = raw[bytes.IndexByte(raw, '"')+1:]
	bad, before := brokenText(raw)
	if bad == "" {
		return tok, nil
	}
	where := "at its beginning"
	if before != "" {
		where = fmt.Sprintf("after %q", before)
	}
	return nil, fmt.Errorf("%q has %s in it, %s, which is no character; send it again with the whole character, or without it", field, bad, where)
}

// inside checks what follows the bracket that opened the value of field.
func (c *objectCheck) inside(open json.Delim, field string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	seen := map[string]bool{}
	for c.dec.More() {
		tok, err := c.next(field)
		if err != nil {
			return err
		}
		inner := field
		if open == '{' {
			inner = tok.(string)
			if seen[inner] {
				return fmt.Errorf("it names %q twice", inner)
			}
			seen[inner] = true
			if tok, err = c.next(inner); err != nil {
				return err
			}
		}
		if d, ok := tok.(json.Delim); ok {
			if err := c.inside(d, inner, depth+1); err != nil {
				return err
			}
		}
	}
	_, err := c.next(field)
	return err
}

// brokenText finds what is no character in a JSON string, given as it stands
// behind its opening quote, and some of what comes before it; nothing when the
// string is sound.
func brokenText(s []byte) (bad, before string) {
	for i := 0; i < len(s); {
		n := 1
		switch c := s[i]; {
		case c == '\\' && s[i+1] != 'u':
			n = 2
		case c == '\\':
			n = 6
			if r := escaped(s[i:]); utf16.IsSurrogate(r) {
				n = 12
				if utf16.DecodeRune(r, escaped(s[i+6:])) == utf8.RuneError {
					return fmt.Sprintf("half of a surrogate pair (%s)", s[i:i+6]), tail(s[:i])
				}
			}
		case c >= utf8.RuneSelf:
			var r rune
			if r, n = utf8.DecodeRune(s[i:]); r == utf8.RuneError && n == 1 {
				return fmt.Sprintf("a byte that is not UTF-8 (%#02x)", c), tail(s[:i])
			}
		}
		i += n
	}
	return "", ""
}

// escaped is the rune of an escape \uXXXX that s begins with, or -1.
func escaped(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// tail is what s ends with, short enough to be quoted.
func tail(s []byte) string {
	return strings.ToValidUTF8(string(s[max(0, len(s)-20):]), "")
}
