package ollama

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// encoder renders the requests of one conversation. The JSON of its messages is
// one text that only grows.
type encoder struct {
	target
	conv   wire.Conversation
	head   head
	after  []state         // after each message
	images images          // in the conversation
	calls  map[string]call // in the conversation, by id
	taken  map[string]bool // their ids
}

// state is what has to be known to go back to a message.
type state struct {
	begun  bool // something is rendered
	images images
}

// images are counted apart: what they take in a request says nothing of their
// tokens.
type images struct {
	n     int
	bytes int64
}

// call is a call that a result can answer.
type call struct {
	name string
	id   bool // the model gave it its id, so that the answer names it
}

func newEncoder(model string, sees bool) *encoder {
	return &encoder{target: target{model, sees}, calls: map[string]call{}, taken: map[string]bool{}}
}

// Messages are those that were rendered.
func (e *encoder) Messages() []*oneloop.Message { return e.conv.Messages() }

// grow renders msgs.
func (e *encoder) grow(msgs []*oneloop.Message) error {
	if n := wire.Common(e.conv.Messages(), msgs); n < len(e.after) {
		e.after = e.after[:n]
		clear(e.calls)
		clear(e.taken)
		for _, m := range msgs[:n] {
			e.know(m)
		}
	}
	e.images = e.last().images
	return e.conv.Grow(msgs, e.add)
}

// know keeps in mind the calls of a message.
func (e *encoder) know(m *oneloop.Message) {
	for _, c := range m.ToolUses() {
		e.taken[c.ID] = true
		e.calls[c.ID] = call{c.Name, e.asIs(c, m.Origin) && !rawjson.Value(c.Raw).Field("id").IsNull()}
	}
}

func (e *encoder) last() state {
	if len(e.after) == 0 {
		return state{}
	}
	return e.after[len(e.after)-1]
}

// add renders one message.
func (e *encoder) add(run *wire.Run, m *oneloop.Message) error {
	e.know(m)
	begun := e.last().begun
	var parts [][]byte
	if m.Role != oneloop.Assistant {
		parts = e.user(m)
	} else if j, err := e.reply(m); err != nil {
		return fmt.Errorf("ollama: encode %s message %d: %w", m.Role, len(e.after), err)
	} else if j != nil {
		parts = [][]byte{j}
	}
	for _, p := range parts {
		if begun {
			run.Tail = append(run.Tail, ',')
		}
		run.Share(p)
		begun = true
	}
	e.after = append(e.after, state{begun, e.images})
	return nil
}

// encode returns the body of a request, in parts that are never changed
// afterwards, and how it compares with the room there is.
func (m *Model) encode(e *encoder, req *oneloop.Request, info Info, emit func(oneloop.Event)) (oneloop.Parts, *fit, error) {
	if err := e.grow(req.Messages); err != nil {
		return nil, nil, err
	}
	if !e.last().begun {
		return nil, nil, errors.New("ollama: the request has no message with content")
	}
	if err := e.head.render(req); err != nil {
		return nil, nil, err
	}
	m.mu.Lock()
	f := &fit{size: size{images: e.images.n}, window: m.window, limit: int64(req.Params.MaxTokens), before: m.last}
	m.mu.Unlock()
	parts := append(make(oneloop.Parts, 0, 8), m.params(req.Params, info, f.window, emit), e.head.json)
	if e.head.system {
		parts = append(parts, []byte{','})
	}
	parts = append(e.conv.Run.Parts(parts, 0, e.conv.Run.Len()), []byte("]}"))
	for _, p := range parts[1:] {
		f.bytes += int64(len(p))
	}
	f.bytes -= e.images.bytes
	return parts, f, nil
}

// params is the beginning of a request, without a comma at its end.
func (m *Model) params(p oneloop.Params, info Info, window int, emit func(oneloop.Event)) []byte {
	j := rawjson.AppendString([]byte(`{"model":`), m.name)
	j = append(j, `,"stream":true,"truncate":false,"shift":false`...)
	level := ""
	switch p.Effort {
	case "", "minimal", "none":
	case "low", "medium":
		level = p.Effort
	default:
		level = "high"
	}
	leveled := info.Family == "gptoss" || info.Family == "gpt-oss"
	switch {
	case info.Thinking && leveled && level != "":
		j = append(j, `,"think":"`+level+`"`...)
	case info.Thinking:
		j = append(j, `,"think":true`...)
	}
	if p.Effort != "" && !leveled {
		m.notice.Do(func() {
			emit(oneloop.Notice{Text: fmt.Sprintf("%s is not known to take an effort, so none is asked for", m.name)})
		})
	}
	j = append(j, `,"options":{"num_ctx":`...)
	j = strconv.AppendInt(j, int64(window), 10)
	if p.MaxTokens > 0 {
		j = append(j, `,"num_predict":`...)
		j = strconv.AppendInt(j, int64(p.MaxTokens), 10)
	}
	return append(j, '}')
}

// head is the tools and the system prompt, rendered once.
type head struct {
	json   []byte
	tools  []oneloop.ToolDef
	blocks []oneloop.Block
	system bool // there is a system prompt
}

func (h *head) render(req *oneloop.Request) error {
	if h.json != nil && sameTools(h.tools, req.Tools) && sameBlocks(h.blocks, req.System) {
		return nil
	}
	next := head{tools: slices.Clone(req.Tools), blocks: slices.Clone(req.System)}
	if err := next.build(); err != nil {
		return err
	}
	*h = next
	return nil
}

func (h *head) build() error {
	var tools, system [][]byte
	for _, t := range h.tools {
		j, err := toolJSON(t)
		if err != nil {
			return err
		}
		tools = append(tools, j)
	}
	for _, b := range h.blocks {
		if t, ok := b.(*oneloop.Text); ok && !wire.Blank(t.Text) {
			system = append(system, []byte(t.Text))
		} else if !ok {
			return fmt.Errorf("ollama: the system prompt has a block in it that is no text: %T", b)
		}
	}
	h.json = list(nil, `,"tools":[`, tools, "]")
	h.json = append(h.json, `,"messages":[`...)
	if h.system = len(system) > 0; h.system {
		h.json = append(h.json, `{"role":"system","content":`...)
		h.json = append(rawjson.AppendString(h.json, string(bytes.Join(system, []byte("\n\n")))), '}')
	}
	return nil
}

func toolJSON(t oneloop.ToolDef) ([]byte, error) {
	if t.Raw != nil {
		if !rawjson.Parse(t.Raw).IsObject() {
			return nil, fmt.Errorf("ollama: the raw definition of a tool is no JSON object: %s", wire.Printable(t.Raw, 100))
		}
		return t.Raw, nil
	}
	schema := t.Schema
	if schema == nil {
		schema = []byte(`{"type":"object","properties":{}}`)
	}
	if !rawjson.Parse(schema).IsObject() {
		return nil, fmt.Errorf("ollama: the schema of tool %q is no JSON object", t.Name)
	}
	j := rawjson.AppendString([]byte(`{"type":"function","function":{"name":`), t.Name)
	j = rawjson.AppendString(append(j, `,"description":`...), t.Description)
	j = append(append(j, `,"parameters":`...), schema...)
	return append(j, "}}"...), nil
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
