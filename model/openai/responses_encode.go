package openai

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
	"oneloop/model/catalog"
)

// responsesEncoder renders the requests of one conversation. The JSON of its
// items is one text that only grows.
type responsesEncoder struct {
	responsesTarget
	conv  wire.Conversation
	head  responsesHead
	taken map[string]bool // ids of calls in the conversation, as they are sent
	begun bool            // something is rendered
	from  []bool          // begun before each message
	first int             // where the first message ends
	bare  int             // so many messages go without their reasoning
}

func newResponsesEncoder(to responsesTarget) *responsesEncoder {
	to.custom = map[string]bool{}
	return &responsesEncoder{responsesTarget: to, taken: map[string]bool{}}
}

// forget renders anew, without the reasoning of the first n messages.
func (e *responsesEncoder) forget(n int) {
	*e = *newResponsesEncoder(e.responsesTarget)
	e.bare = n
}

// Messages are those that were rendered.
func (e *responsesEncoder) Messages() []*oneloop.Message { return e.conv.Messages() }

// grow renders msgs.
func (e *responsesEncoder) grow(msgs []*oneloop.Message) error {
	if n := wire.Common(e.conv.Messages(), msgs); n < len(e.conv.Messages()) {
		e.begun, e.from, e.bare = e.from[n], e.from[:n], min(e.bare, n)
		clear(e.taken)
		clear(e.custom)
		for _, m := range msgs[:n] {
			e.know(m)
		}
	}
	return e.conv.Grow(msgs, e.add)
}

// know keeps in mind the calls of a message.
func (e *responsesEncoder) know(m *oneloop.Message) {
	for _, c := range m.ToolUses() {
		id := responsesID(c.ID)
		e.taken[id] = true
		if e.isCustom(c, m.Origin) {
			e.custom[id] = true
		}
	}
}

// add renders one message.
func (e *responsesEncoder) add(run *wire.Run, m *oneloop.Message) error {
	e.know(m)
	items, err := e.items(m, len(e.from) < e.bare)
	if err != nil {
		return fmt.Errorf("openai: encode %s message %d: %w", m.Role, len(e.conv.Messages()), err)
	}
	e.from = append(e.from, e.begun)
	for _, item := range items {
		if e.begun {
			run.Tail = append(run.Tail, ',')
		}
		run.Share(item)
		if e.begun = true; len(e.from) == 1 {
			e.first = run.Len()
		}
	}
	return nil
}

// body returns a request in parts that are never changed afterwards.
func (e *responsesEncoder) body(m *Responses, req *oneloop.Request, emit func(oneloop.Event)) (oneloop.Parts, error) {
	if err := e.grow(req.Messages); err != nil {
		return nil, err
	}
	if !e.begun {
		return nil, errors.New("openai: the request has no message with content")
	}
	if err := e.head.render(req); err != nil {
		return nil, err
	}
	params := m.params(req.Params, emit)
	key := cacheKey(e.head.json, e.conv.Run.Parts(nil, 0, e.first))
	params = rawjson.AppendString(append(params, `,"prompt_cache_key":`...), key)
	parts := append(make(oneloop.Parts, 0, 8), params, e.head.json)
	parts = e.conv.Run.Parts(parts, 0, e.conv.Run.Len())
	return append(parts, []byte("]}")), nil
}

// cacheKey is the same for all requests of a conversation: the provider sends
// those to where the beginning is cached.
func cacheKey(head []byte, first [][]byte) string {
	h := fnv.New64a()
	h.Write(head)
	for _, p := range first {
		h.Write(p)
	}
	return fmt.Sprintf("oneloop-%016x", h.Sum64())
}

// params is the beginning of a request, without a comma at its end.
func (m *Responses) params(p oneloop.Params, emit func(oneloop.Event)) []byte {
	j := rawjson.AppendString([]byte(`{"model":`), m.name)
	j = append(j, `,"stream":true,"store":false`...)
	known := m.reasonsHere()
	if (known || !m.vendor) && !m.unsealed.Load() {
		j = append(j, `,"include":["reasoning.encrypted_content"]`...)
	}
	if p.MaxTokens > 0 {
		j = strconv.AppendInt(append(j, `,"max_output_tokens":`...), int64(p.MaxTokens), 10)
	}
	effort := p.Effort
	if effort != "" && !known && (m.vendor || m.corrected && m.known.Reasoning == catalog.No) {
		m.effortNotice.Do(func() {
			emit(oneloop.Notice{Text: fmt.Sprintf("%s is not known to take an effort, so none is asked for", m.name)})
		})
		effort = ""
	}
	var fields [][]byte
	if effort != "" {
		fields = append(fields, rawjson.AppendString([]byte(`"effort":`), effort))
	}
	if known && !m.unsummed.Load() {
		fields = append(fields, []byte(`"summary":"auto"`))
	}
	return list(j, `,"reasoning":{`, fields, "}")
}

// responsesHead is the tools and the system prompt, rendered once.
type responsesHead struct {
	json   []byte
	tools  []oneloop.ToolDef
	blocks []oneloop.Block
}

func (h *responsesHead) render(req *oneloop.Request) error {
	if h.json != nil && sameTools(h.tools, req.Tools) && sameBlocks(h.blocks, req.System) {
		return nil
	}
	next := responsesHead{tools: slices.Clone(req.Tools), blocks: slices.Clone(req.System)}
	var tools [][]byte
	for _, t := range next.tools {
		j, err := responsesTool(t)
		if err != nil {
			return err
		}
		tools = append(tools, j)
	}
	system, err := systemText(next.blocks)
	if err != nil {
		return err
	}
	if len(tools) > 0 {
		next.json = append(next.json, `,"parallel_tool_calls":true`...)
	}
	next.json = list(next.json, `,"tools":[`, tools, "]")
	if system != "" {
		next.json = rawjson.AppendString(append(next.json, `,"instructions":`...), system)
	}
	next.json = append(next.json, `,"input":[`...)
	*h = next
	return nil
}

// responsesTool is the definition of a tool. A schema is taken as it is: without
// a word the API would hold it to be strict.
func responsesTool(t oneloop.ToolDef) ([]byte, error) {
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
	j := rawjson.AppendString([]byte(`{"type":"function","name":`), t.Name)
	if t.Description != "" {
		j = rawjson.AppendString(append(j, `,"description":`...), t.Description)
	}
	j = append(append(j, `,"parameters":`...), schema...)
	return append(j, `,"strict":false}`...), nil
}
