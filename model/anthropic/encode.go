package anthropic

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
	"oneloop/model/catalog"
)

// encoder renders the requests of one conversation. The JSON of its messages
// is one run of bytes that only grows. The content of the last message is left open in it, so that a
// further message of the same role can join it.
type encoder struct {
	model string
	blind bool // it is known to take no images
	head  head
	run   wire.Run
	open  oneloop.Role       // of the last message in run; empty: there is none
	msgs  []*oneloop.Message // what run was made of
	at    []place            // of each of msgs
	ids   map[string]bool    // of all calls in run
	marks int                // blocks in run that carry a mark of their own
}

// place is where a message lies in the run.
type place struct {
	end  int          // its last byte is before it
	last int          // where its last block begins; -1: nothing of it is sent
	mark int          // where a cache mark may be spliced in; -1: nowhere
	role oneloop.Role // as of the message
	own  int          // encoder.marks before it
}

// Messages are those that the run was made of.
func (e *encoder) Messages() []*oneloop.Message { return e.msgs }

// grow makes the run that of msgs.
func (e *encoder) grow(msgs []*oneloop.Message) error {
	n := wire.Common(e.msgs, msgs)
	if n < len(e.msgs) {
		e.cut(n)
	}
	for _, m := range msgs[n:] {
		marks := e.marks
		if err := e.add(m); err != nil {
			e.cut(len(e.msgs)) // what it added is not on record
			e.marks = marks
			return err
		}
	}
	return nil
}

// cut goes back to the first n messages, in new memory.
func (e *encoder) cut(n int) {
	old := *e
	*e = encoder{model: old.model, blind: old.blind, head: old.head, ids: map[string]bool{}}
	if n > 0 {
		e.run = old.run.UpTo(old.at[n-1].end)
		e.msgs = slices.Clone(old.msgs[:n])
		e.at = slices.Clone(old.at[:n])
	}
	e.marks = old.marks
	if n < len(old.at) {
		e.marks = old.at[n].own
	}
	for i, p := range e.at {
		if p.last < 0 {
			continue
		}
		e.open = p.role
		for _, c := range e.msgs[i].ToolUses() {
			e.ids[wireID(c.ID)] = true
		}
	}
}

// add renders one message.
func (e *encoder) add(m *oneloop.Message) error {
	p := place{last: -1, mark: -1, role: m.Role, own: e.marks}
	for i, b := range m.Blocks {
		b = project(b, m.Origin, e.model)
		if b == nil {
			continue
		}
		if e.blind {
			b = unseen(b)
		}
		if p.last < 0 {
			e.run.Next()
		}
		to := e.run.Tail
		switch {
		case e.open == m.Role:
			to = append(to, ',')
		case e.open != "":
			to = append(to, "]},"...)
			fallthrough
		default:
			to = append(to, `{"role":`...)
			to = rawjson.AppendString(to, string(m.Role))
			to = append(to, `,"content":[`...)
			e.open = m.Role
		}
		e.run.Tail = to
		p.last = e.run.Len()
		if err := e.block(b); err != nil {
			return fmt.Errorf("anthropic: encode block %d of %s message %d: %w", i, m.Role, len(e.msgs), err)
		}
		if takesMark(b) {
			p.mark = e.run.Len() - 1
		}
	}
	p.end = e.run.Len()
	e.msgs = append(e.msgs, m)
	e.at = append(e.at, p)
	return nil
}

func (e *encoder) block(b oneloop.Block) error {
	if c, ok := b.(*oneloop.ToolUse); ok {
		if e.ids == nil {
			e.ids = map[string]bool{}
		}
		e.ids[c.ID] = true
	}
	raw := b.RawJSON()
	if raw == nil {
		var err error
		e.run.Tail, err = oneloop.AppendBlock(e.run.Tail, b)
		return err
	}
	v := rawjson.Parse(raw)
	if !v.IsObject() {
		return fmt.Errorf("its raw JSON is no object: %s", wire.Printable(raw, 100))
	}
	if hasMark(v) {
		e.marks++
	}
	e.run.Share(v)
	return nil
}

// takesMark reports whether a block may carry a cache mark. Reasoning may
// not, and of a block of unknown type nobody knows.
func takesMark(b oneloop.Block) bool {
	switch b.(type) {
	case *oneloop.Text, *oneloop.ToolUse, *oneloop.ToolResult, *oneloop.Media:
		return true
	}
	return false
}

func hasMark(v rawjson.Value) bool {
	return bytes.Contains(v, []byte(`"cache_control"`)) && !v.Field("cache_control").IsNull()
}

// body returns the request in parts that are never changed afterwards. params
// is the beginning of the object, without a comma at its end.
func (e *encoder) body(params []byte, req *oneloop.Request) (oneloop.Parts, error) {
	if err := e.grow(req.Messages); err != nil {
		return nil, err
	}
	if e.open == "" {
		return nil, fmt.Errorf("anthropic: the request has no message with content")
	}
	mark, err := cacheMark(req.Params.CacheTTL)
	if err != nil {
		return nil, err
	}
	if e.marks > 0 {
		mark = ""
	}
	if err := e.head.render(req, mark); err != nil {
		return nil, err
	}
	if e.head.own {
		mark = ""
	}
	parts := append(make(oneloop.Parts, 0, 10), params, e.head.json)
	parts = e.messages(parts, mark)
	return append(parts, []byte("]}]}")), nil
}

// messages appends the run with cache marks in it, and with the white space
// cut off that may not stand at the end of a final assistant message.
func (e *encoder) messages(parts oneloop.Parts, mark string) oneloop.Parts {
	end, tail := e.run.Len(), []byte(nil)
	if last := e.lastBlock(); e.open == oneloop.Assistant && last >= 0 {
		if tail = trimmed(rawjson.Value(e.run.From(last))); tail != nil {
			end = last
		}
	}
	from := 0
	splice := []byte(mark)
	for _, at := range e.places(mark) {
		if at < end {
			parts = append(e.run.Parts(parts, from, at), splice)
			from = at
		} else if tail != nil {
			tail = append(tail[:len(tail)-1:len(tail)-1], mark+"}"...)
		}
	}
	if parts = e.run.Parts(parts, from, end); tail != nil {
		parts = append(parts, tail)
	}
	return parts
}

func (e *encoder) lastBlock() int {
	for i := len(e.at) - 1; i >= 0; i-- {
		if e.at[i].last >= 0 {
			return e.at[i].last
		}
	}
	return -1
}

// trimmed returns a text block without white space at its end, nil when it
// has none or is no text block.
func trimmed(v rawjson.Value) []byte {
	if v.Field("type").Text() != "text" {
		return nil
	}
	text := v.Field("text").Text()
	short := strings.TrimRightFunc(text, unicode.IsSpace)
	if short == text {
		return nil
	}
	return v.With(rawjson.Edit{Name: "text", Value: rawjson.AppendString(nil, short)})
}

// places says where in the run the marks go: at the end of what the previous
// request sent, and at the end. It looks at nothing but the messages, so the
// same request has the same marks however often it is sent.
func (e *encoder) places(mark string) []int {
	if mark == "" {
		return nil
	}
	tail := len(e.at) - 1
	for tail >= 0 && e.at[tail].mark < 0 {
		tail--
	}
	if tail < 0 {
		return nil
	}
	asked := len(e.at) - 1 // the newest reply, if there is one
	for asked >= 0 && (e.at[asked].role != oneloop.Assistant || e.at[asked].last < 0) {
		asked--
	}
	before := min(asked, tail) - 1
	if asked == tail {
		before = tail - 1
	}
	for before >= 0 && (e.at[before].mark < 0 || e.at[before].role != oneloop.User) {
		before--
	}
	if before < 0 {
		return []int{e.at[tail].mark}
	}
	return []int{e.at[before].mark, e.at[tail].mark}
}

// cacheMark is the field that marks the end of a cached prefix, empty for no
// caching.
func cacheMark(ttl string) (string, error) {
	switch ttl {
	case "", "5m":
		return `,"cache_control":{"type":"ephemeral"}`, nil
	case "1h":
		return `,"cache_control":{"type":"ephemeral","ttl":"1h"}`, nil
	case "off":
		return "", nil
	}
	return "", fmt.Errorf(`anthropic: cache lifetime %q is not "5m", "1h" or "off"`, ttl)
}

// head is the tools and the system prompt, rendered once.
type head struct {
	json   []byte
	tools  []oneloop.ToolDef
	system []oneloop.Block
	mark   string
	own    bool // a tool or a system block carries a mark of its own
}

func (h *head) render(req *oneloop.Request, mark string) error {
	if h.json != nil && h.mark == mark && sameTools(h.tools, req.Tools) && sameBlocks(h.system, req.System) {
		return nil
	}
	next := head{tools: slices.Clone(req.Tools), system: slices.Clone(req.System), mark: mark}
	if err := next.build(mark); err != nil {
		return err
	}
	if next.own && mark != "" {
		if err := next.build(""); err != nil {
			return err
		}
	}
	*h = next
	return nil
}

func (h *head) build(mark string) error {
	var tools, system []rawjson.Value
	for _, t := range h.tools {
		j, err := toolJSON(t)
		if err != nil {
			return err
		}
		tools = append(tools, j)
	}
	for i, b := range h.system {
		if b = project(b, oneloop.Origin{}, ""); b == nil {
			continue
		}
		j, err := oneloop.AppendBlock(nil, b)
		v := rawjson.Parse(j)
		if err == nil && !v.IsObject() {
			err = fmt.Errorf("its raw JSON is no object")
		}
		if err != nil {
			return fmt.Errorf("anthropic: encode block %d of the system prompt: %w", i, err)
		}
		system = append(system, v)
	}
	h.json = h.list(h.json[:0:0], "tools", tools, mark)
	h.json = h.list(h.json, "system", system, mark)
	h.json = append(h.json, `,"messages":[`...)
	return nil
}

// list appends a field of the request with the mark in its last item; nothing
// when the list is empty.
func (h *head) list(dst []byte, name string, items []rawjson.Value, mark string) []byte {
	if len(items) == 0 {
		return dst
	}
	dst = append(dst, `,"`+name+`":[`...)
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		h.own = h.own || hasMark(item)
		dst = append(dst, item...)
	}
	if mark != "" && dst[len(dst)-1] == '}' {
		dst = append(dst[:len(dst)-1], mark+"}"...)
	}
	return append(dst, ']')
}

func toolJSON(t oneloop.ToolDef) (rawjson.Value, error) {
	if t.Raw != nil {
		raw := rawjson.Parse(t.Raw)
		if !raw.IsObject() {
			return nil, fmt.Errorf("anthropic: the raw definition of a tool is no JSON object: %s", wire.Printable(t.Raw, 100))
		}
		return raw, nil
	}
	schema := t.Schema
	if schema == nil {
		schema = []byte(`{"type":"object"}`)
	}
	if !rawjson.Parse(schema).IsObject() {
		return nil, fmt.Errorf("anthropic: the schema of tool %q is no JSON object", t.Name)
	}
	j := append([]byte(nil), `{"name":`...)
	j = rawjson.AppendString(j, t.Name)
	if t.Description != "" {
		j = append(j, `,"description":`...)
		j = rawjson.AppendString(j, t.Description)
	}
	j = append(j, `,"input_schema":`...)
	return append(append(j, schema...), '}'), nil
}

func sameTools(a, b []oneloop.ToolDef) bool {
	return slices.EqualFunc(a, b, func(x, y oneloop.ToolDef) bool {
		return x.Name == y.Name && x.Description == y.Description && bytes.Equal(x.Schema, y.Schema) && bytes.Equal(x.Raw, y.Raw)
	})
}

func sameBlocks(a, b []oneloop.Block) bool {
	return slices.EqualFunc(a, b, func(x, y oneloop.Block) bool {
		if x == y {
			return true
		}
		s, ok1 := x.(*oneloop.Text)
		t, ok2 := y.(*oneloop.Text)
		return ok1 && ok2 && s.Text == t.Text && bytes.Equal(s.Raw, t.Raw)
	})
}

// encode returns the body of a request for this model.
func (m *Model) encode(e *encoder, req *oneloop.Request, emit func(oneloop.Event)) (oneloop.Parts, error) {
	limit := req.Params.MaxTokens
	if limit <= 0 || m.isKnown && limit > m.known.MaxOutput {
		limit = m.known.MaxOutput
	}
	p := append(make([]byte, 0, 256), `{"model":`...)
	p = rawjson.AppendString(p, m.name)
	p = append(p, `,"max_tokens":`...)
	p = strconv.AppendInt(p, int64(limit), 10)
	p = append(p, `,"stream":true`...)
	if m.known.Hidden && m.known.Thinking == catalog.Adaptive {
		p = append(p, `,"thinking":{"type":"adaptive","display":"summarized"}`...)
	}
	if effort := req.Params.Effort; effort != "" {
		switch {
		case len(m.known.Efforts) == 0:
			m.effortNotice.Do(func() {
				emit(oneloop.Notice{Text: fmt.Sprintf("%s is not known to take an effort, so none is asked for", m.name)})
			})
		case !slices.Contains(m.known.Efforts, effort):
			return nil, &oneloop.APIError{Class: oneloop.ErrInvalidRequest, API: API, URL: m.caller.Shown(), Retry: oneloop.RetryNo,
				Message: fmt.Sprintf("%s takes no effort %q, only %s", m.name, effort, strings.Join(m.known.Efforts, ", "))}
		default:
			p = append(p, `,"output_config":{"effort":`...)
			p = append(rawjson.AppendString(p, effort), '}')
		}
	}
	return e.body(p, req)
}
