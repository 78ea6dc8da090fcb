package gemini

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
	"oneloop/model/catalog"
)

// encoder renders the requests of one conversation. The JSON of its contents is
// one text that only grows. The parts of the last content are left open in it,
// so that a further message of the same role can join it: roles alternate.
type encoder struct {
	target
	conv  wire.Conversation
	head  head
	after []oneloop.Role  // of the content that is open after each message; empty: none
	calls map[string]call // in the conversation, by id
	taken map[string]bool // their ids
}

// call is a call that a result can answer.
type call struct {
	name string
	id   bool // the model gave it its id, so that the answer has to name it
}

func newEncoder(model, host string) *encoder {
	return &encoder{target: targetOf(model, host), calls: map[string]call{}, taken: map[string]bool{}}
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
	return e.conv.Grow(msgs, e.add)
}

// know keeps in mind the calls of a message.
func (e *encoder) know(m *oneloop.Message) {
	for _, c := range m.ToolUses() {
		e.taken[c.ID] = true
		e.calls[c.ID] = call{c.Name, e.asIs(c, m.Origin) && !functionCall(rawjson.Value(c.Raw)).Field("id").IsNull()}
	}
}

// open is the role of the content to which parts can be added.
func (e *encoder) open() oneloop.Role {
	if len(e.after) == 0 {
		return ""
	}
	return e.after[len(e.after)-1]
}

// add renders one message.
func (e *encoder) add(run *wire.Run, m *oneloop.Message) error {
	e.know(m)
	parts, err := e.project(m)
	if err != nil {
		return fmt.Errorf("gemini: encode %s message %d: %w", m.Role, len(e.after), err)
	}
	open := e.open()
	for _, p := range parts {
		to := run.Tail
		switch {
		case open == m.Role:
			to = append(to, ',')
		case open != "":
			to = append(to, "]},"...)
			fallthrough
		default:
			to = append(to, `{"role":"`...)
			to = append(to, role(m.Role)...)
			to = append(to, `","parts":[`...)
			open = m.Role
		}
		run.Tail = to
		run.Share(p)
	}
	e.after = append(e.after, open)
	return nil
}

func role(r oneloop.Role) string {
	if r == oneloop.Assistant {
		return "model"
	}
	return "user"
}

// encode returns the body of a request, in parts that are never changed
// afterwards.
func (m *Model) encode(e *encoder, req *oneloop.Request, emit func(oneloop.Event)) (oneloop.Parts, error) {
	params, err := m.params(req.Params, emit)
	if err != nil {
		return nil, err
	}
	if err := e.grow(req.Messages); err != nil {
		return nil, err
	}
	if e.open() == "" {
		return nil, errors.New("gemini: the request has no message with content")
	}
	if err := e.head.render(req, m.plainSchema.Load()); err != nil {
		return nil, err
	}
	parts := append(make(oneloop.Parts, 0, 8), params, e.head.json)
	parts = e.conv.Run.Parts(parts, 0, e.conv.Run.Len())
	return append(parts, []byte("]}]}")), nil
}

// params is the beginning of a request, without a comma at its end where there
// is nothing yet.
func (m *Model) params(p oneloop.Params, emit func(oneloop.Event)) ([]byte, error) {
	limit := p.MaxTokens
	if m.isKnown && (limit <= 0 || limit > m.known.MaxOutput) {
		limit = m.known.MaxOutput
	}
	thinking, err := m.thinking(p.Effort, emit)
	if err != nil {
		return nil, err
	}
	var config []byte
	if limit > 0 {
		config = strconv.AppendInt(append(config, `"maxOutputTokens":`...), int64(limit), 10)
	}
	if thinking != "" {
		if config != nil {
			config = append(config, ',')
		}
		config = append(config, `"thinkingConfig":{`+thinking+`}`...)
	}
	return slices.Concat([]byte(`{"generationConfig":{`), config, []byte{'}'}), nil
}

// budgets are what an effort is to models that take a number of tokens.
var budgets = []struct {
	effort string
	tokens int
}{{"minimal", 512}, {"low", 2048}, {"medium", 8192}, {"high", 24_576}, {"xhigh", 24_576}, {"max", 24_576}}

// thinking is what is asked of the model's reasoning: that it is shown, and how
// much of it there may be.
func (m *Model) thinking(effort string, emit func(oneloop.Event)) (string, error) {
	how := m.reasons()
	if how == catalog.NoThinking {
		if effort != "" {
			m.notice.Do(func() {
				emit(oneloop.Notice{Text: fmt.Sprintf("%s is not known to take an effort, so none is asked for", m.name)})
			})
		}
		return "", nil
	}
	config := `"includeThoughts":true`
	if effort == "" {
		return config, nil
	}
	i := slices.IndexFunc(budgets, func(b struct {
		effort string
		tokens int
	}) bool {
		return b.effort == effort
	})
	takes := m.known.Efforts
	if i < 0 || m.isKnown && len(takes) > 0 && !slices.Contains(takes, effort) {
		if len(takes) == 0 || !m.isKnown {
			takes = []string{"minimal", "low", "medium", "high"}
		}
		return "", &oneloop.APIError{Class: oneloop.ErrInvalidRequest, API: API, URL: m.caller.Shown(), Retry: oneloop.RetryNo,
			Message: fmt.Sprintf("%s takes no effort %q, only %s", m.name, effort, strings.Join(takes, ", "))}
	}
	if how == catalog.Budget {
		return config + `,"thinkingBudget":` + strconv.Itoa(budgets[i].tokens), nil
	}
	return config + `,"thinkingLevel":"` + strings.ToUpper(budgets[min(i, 3)].effort) + `"`, nil
}

// reasons says how the model is asked to reason.
func (m *Model) reasons() catalog.Thinking {
	switch {
	case m.noThoughts.Load():
		return catalog.NoThinking
	case m.isKnown && m.known.Thinking != catalog.NoThinking:
		return m.known.Thinking
	case m.generation >= 3:
		return catalog.Adaptive
	case m.generation >= 2.5 && !strings.Contains(m.name, "image"):
		return catalog.Budget
	case m.isKnown && len(m.known.Efforts) > 0:
		return catalog.Adaptive
	}
	return catalog.NoThinking
}

// generation is the number in the name of a model, such as 2.5 in
// "gemini-2.5-flash". A name without one stands for the newest; one that is not
// Gemini's has none.
func generation(name string) float64 {
	_, rest, ok := strings.Cut(strings.ToLower(name), "gemini-")
	if !ok {
		return 0
	}
	number, _, _ := strings.Cut(rest, "-")
	if n, err := strconv.ParseFloat(number, 64); err == nil {
		return n
	}
	return 1000
}

// head is the system prompt and the tools, rendered once.
type head struct {
	json   []byte
	plain  bool // schemas are not JSON Schema
	tools  []oneloop.ToolDef
	system []oneloop.Block
}

func (h *head) render(req *oneloop.Request, plain bool) error {
	if h.json != nil && h.plain == plain && sameTools(h.tools, req.Tools) && sameBlocks(h.system, req.System) {
		return nil
	}
	next := head{tools: slices.Clone(req.Tools), system: slices.Clone(req.System), plain: plain}
	if err := next.build(); err != nil {
		return err
	}
	*h = next
	return nil
}

func (h *head) build() error {
	var system, functions, own [][]byte
	for _, b := range h.system {
		if t, ok := b.(*oneloop.Text); ok && !wire.Blank(t.Text) {
			system = append(system, textPart(t.Text))
		} else if !ok {
			return fmt.Errorf("gemini: the system prompt has a block in it that is no text: %T", b)
		}
	}
	for _, t := range h.tools {
		j, err := h.tool(t)
		switch {
		case err != nil:
			return err
		case t.Raw != nil:
			own = append(own, j)
		default:
			functions = append(functions, j)
		}
	}
	if len(functions) > 0 {
		list := slices.Concat([]byte(`{"functionDeclarations":[`), bytes.Join(functions, []byte{','}), []byte(`]}`))
		own = slices.Concat([][]byte{list}, own)
	}
	h.json = field(nil, `,"systemInstruction":{"parts":[`, system, "]}")
	h.json = field(h.json, `,"tools":[`, own, "]")
	h.json = append(h.json, `,"contents":[`...)
	return nil
}

// field appends items between two texts; nothing when there are none.
func field(dst []byte, before string, items [][]byte, after string) []byte {
	if len(items) == 0 {
		return dst
	}
	dst = append(dst, before...)
	dst = append(dst, bytes.Join(items, []byte{','})...)
	return append(dst, after...)
}

// tool is the declaration of a function, or a tool of the API's own.
func (h *head) tool(t oneloop.ToolDef) ([]byte, error) {
	if t.Raw != nil {
		if !rawjson.Parse(t.Raw).IsObject() {
			return nil, fmt.Errorf("gemini: the raw definition of a tool is no JSON object: %s", wire.Printable(t.Raw, 100))
		}
		return t.Raw, nil
	}
	schema := t.Schema
	if schema == nil {
		schema = []byte(`{"type":"object"}`)
	}
	if !rawjson.Parse(schema).IsObject() {
		return nil, fmt.Errorf("gemini: the schema of tool %q is no JSON object", t.Name)
	}
	name := "parametersJsonSchema"
	if h.plain {
		var err error
		if schema, err = subset(schema); err != nil {
			return nil, fmt.Errorf("gemini: the schema of tool %q: %w", t.Name, err)
		}
		name = "parameters"
	}
	j := append([]byte(nil), `{"name":`...)
	j = rawjson.AppendString(j, t.Name)
	j = append(j, `,"description":`...)
	j = rawjson.AppendString(j, t.Description)
	if schema != nil {
		j = append(j, `,"`+name+`":`...)
		j = append(j, schema...)
	}
	return append(j, '}'), nil
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
