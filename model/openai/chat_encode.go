package openai

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// chatEncoder renders the requests of one conversation. The JSON of its messages
// is one text that only grows.
type chatEncoder struct {
	chatTarget
	conv  wire.Conversation
	head  chatHead
	taken map[string]bool // ids of calls in the conversation, as they are sent
	begun bool            // something is rendered
	from  []bool          // begun before each message
	first int             // where the first message ends
}

// Messages are those that were rendered.
func (e *chatEncoder) Messages() []*oneloop.Message { return e.conv.Messages() }

// grow renders msgs.
func (e *chatEncoder) grow(msgs []*oneloop.Message) error {
	if n := wire.Common(e.conv.Messages(), msgs); n < len(e.conv.Messages()) {
		e.begun, e.from = e.from[n], e.from[:n]
		clear(e.taken)
		for _, m := range msgs[:n] {
			e.know(m)
		}
	}
	return e.conv.Grow(msgs, e.add)
}

// know keeps in mind the calls of a message.
func (e *chatEncoder) know(m *oneloop.Message) {
	for _, c := range m.ToolUses() {
		e.taken[chatID(c.ID)] = true
	}
}

// add renders one message.
func (e *chatEncoder) add(run *wire.Run, m *oneloop.Message) error {
	e.know(m)
	parts, err := e.messages(m)
	if err != nil {
		return fmt.Errorf("openai: encode %s message %d: %w", m.Role, len(e.conv.Messages()), err)
	}
	e.from = append(e.from, e.begun)
	for _, p := range parts {
		if e.begun {
			run.Tail = append(run.Tail, ',')
		}
		run.Share(p)
		if e.begun = true; len(e.from) == 1 {
			e.first = run.Len()
		}
	}
	return nil
}

// body returns a request in parts that are never changed afterwards.
func (e *chatEncoder) body(m *Chat, req *oneloop.Request, optional []param) (oneloop.Parts, error) {
	if err := e.grow(req.Messages); err != nil {
		return nil, err
	}
	if !e.begun {
		return nil, errors.New("openai: the request has no message with content")
	}
	if err := e.head.render(req, e.chatTarget); err != nil {
		return nil, err
	}
	params := append(rawjson.AppendString([]byte(`{"model":`), m.name), `,"stream":true`...)
	for _, p := range optional {
		if p.name == cacheKeyField {
			p.json = string(rawjson.AppendString([]byte(`"`+cacheKeyField+`":`), cacheKey(e.head.json, e.conv.Run.Parts(nil, 0, e.first))))
		}
		params = append(append(params, ','), p.json...)
	}
	parts := append(make(oneloop.Parts, 0, 8), params, e.head.json)
	if e.head.system {
		parts = append(parts, []byte{','})
	}
	parts = e.conv.Run.Parts(parts, 0, e.conv.Run.Len())
	return append(parts, []byte("]}")), nil
}

// chatHead is the tools and the system prompt, rendered once.
type chatHead struct {
	json   []byte
	tools  []oneloop.ToolDef
	blocks []oneloop.Block
	system bool // there is a system prompt
}

func (h *chatHead) render(req *oneloop.Request, to chatTarget) error {
	if h.json != nil && sameTools(h.tools, req.Tools) && sameBlocks(h.blocks, req.System) {
		return nil
	}
	next := chatHead{tools: slices.Clone(req.Tools), blocks: slices.Clone(req.System)}
	var tools [][]byte
	for _, t := range next.tools {
		j, err := chatTool(t)
		if err != nil {
			return err
		}
		tools = append(tools, j)
	}
	system, err := systemText(next.blocks)
	if err != nil {
		return err
	}
	next.json = list(nil, `,"tools":[`, tools, "]")
	next.json = append(next.json, `,"messages":[`...)
	if next.system = system != ""; next.system {
		role := "system"
		if to.dialect.Developer && reasons(to.model) {
			role = "developer"
		}
		next.json = append(next.json, `{"role":"`+role+`","content":`...)
		next.json = append(rawjson.AppendString(next.json, system), '}')
	}
	*h = next
	return nil
}

// systemText is the system prompt as one text.
func systemText(blocks []oneloop.Block) (string, error) {
	var texts [][]byte
	for _, b := range blocks {
		t, ok := b.(*oneloop.Text)
		if !ok {
			return "", fmt.Errorf("openai: the system prompt has a block in it that is no text: %T", b)
		}
		if !wire.Blank(t.Text) {
			texts = append(texts, []byte(t.Text))
		}
	}
	return string(bytes.Join(texts, []byte("\n\n"))), nil
}

func chatTool(t oneloop.ToolDef) ([]byte, error) {
	if t.Raw != nil {
		if !rawjson.Parse(t.Raw).IsObject() {
			return nil, fmt.Errorf("openai: the raw definition of a tool is no JSON object: %s", wire.Printable(t.Raw, 100))
		}
		return t.Raw, nil
	}
	schema, err := parameters(t)
	if err != nil {
		return nil, err
	}
	j := rawjson.AppendString([]byte(`{"type":"function","function":{"name":`), t.Name)
	if t.Description != "" {
		j = rawjson.AppendString(append(j, `,"description":`...), t.Description)
	}
	j = append(append(j, `,"parameters":`...), schema...)
	return append(j, "}}"...), nil
}

// parameters is the schema of a tool.
func parameters(t oneloop.ToolDef) ([]byte, error) {
	if t.Schema == nil {
		return []byte(`{"type":"object","properties":{}}`), nil
	}
	if !rawjson.Parse(t.Schema).IsObject() {
		return nil, fmt.Errorf("openai: the schema of tool %q is no JSON object", t.Name)
	}
	return t.Schema, nil
}

// list appends items between two texts; nothing when there are none.
func list(dst []byte, before string, items [][]byte, after string) []byte {
	for i, item := range items {
		if i > 0 {
			before = ","
		}
		dst = append(append(dst, before...), item...)
	}
	if len(items) > 0 {
		dst = append(dst, after...)
	}
	return dst
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
		return ok1 && ok2 && s.Text == t.Text
	})
}
