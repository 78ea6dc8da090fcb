package trace

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"oneloop"
)

// StreamOptions describe the agent whose events a [StreamJSON] writes.
type StreamOptions struct {
	Session string   // id of the session
	Dir     string   // working folder
	Model   string   // its id
	Mode    string   // permission mode
	Tools   []string // names, as the model sees them
	Agents  []string // kinds that the model can start
	Skills  []string // that it can load
	Slash   []string // commands and skills that a prompt can call
	Version string   // of the program
	Source  string   // where the key came from, e.g. "ANTHROPIC_API_KEY"
	Secrets []string // masked wherever they appear

	// Window and MaxOutput are the model's limits in tokens.
	Window, MaxOutput int

	Only Kinds
}

// Kinds chooses what a [StreamJSON] writes.
type Kinds int

const (
	Whole      Kinds = iota // everything but the pieces of a message
	Partial                 // the pieces too, as stream_event
	ResultOnly              // the last line alone
)

// StreamJSON writes what an agent does as JSON lines in the form that the
// SDKs of command-line agents read: system/init, assistant, user, result, and
// stream_event for the pieces of a message. Of agents that a call started the
// messages are shown, with the id of that call; of those that a command started
// nothing. What all cost is in the result.
type StreamJSON struct {
	*output
	o       StreamOptions
	began   time.Time
	api     time.Duration
	asked   time.Time
	turns   int
	usage   oneloop.Usage
	cost    float64
	unknown bool // a part of the cost is
	models  map[string]*modelUsage
	denials []denial
	last    *oneloop.Message
	pieces  *pieces
	calls   map[string]string // by an agent's path, the call that started it
	formed  json.RawMessage   // the answer, where one of a form was asked for
	unfit   error             // that there is none
}

type denial struct {
	Tool  string          `json:"tool_name"`
	ID    string          `json:"tool_use_id"`
	Input json.RawMessage `json:"tool_input"`
}

type modelUsage struct {
	Input      int64    `json:"inputTokens"`
	Output     int64    `json:"outputTokens"`
	CacheRead  int64    `json:"cacheReadInputTokens"`
	CacheWrite int64    `json:"cacheCreationInputTokens"`
	Searches   int64    `json:"webSearchRequests"`
	Cost       *float64 `json:"costUSD"` // null: unknown, like the total
	Window     int      `json:"contextWindow"`
	MaxOutput  int      `json:"maxOutputTokens"`

	cost    float64
	unknown bool // a part of the cost is
}

type wireUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	Output     int64 `json:"output_tokens"`
	Server     *struct {
		Searches int64 `json:"web_search_requests"`
	} `json:"server_tool_use,omitempty"`
}

func usageOnWire(u oneloop.Usage) wireUsage {
	w := wireUsage{Input: u.Input, CacheWrite: u.CacheWrite, CacheRead: u.CacheRead, Output: u.Output}
	if u.Searches > 0 {
		w.Server = &struct {
			Searches int64 `json:"web_search_requests"`
		}{u.Searches}
	}
	return w
}

// NewStreamJSON returns a sink that writes to w.
func NewStreamJSON(w io.Writer, o StreamOptions) *StreamJSON {
	s := &StreamJSON{output: newOutput(w, o.Secrets), o: o, began: time.Now(), models: map[string]*modelUsage{}, calls: map[string]string{}}
	s.pieces = newPieces(s.hide)
	return s
}

// line writes one object with the fields that every one has.
func (s *StreamJSON) line(fields map[string]any) {
	fields["session_id"] = s.o.Session
	fields["uuid"] = newUUID()
	s.write(append(encode(ordered(fields)), '\n'))
}

// ordered puts type and subtype first, which some readers look for.
type ordered map[string]any

func (o ordered) MarshalJSON() ([]byte, error) {
	out := []byte("{")
	for _, key := range []string{"type", "subtype"} {
		if v, ok := o[key]; ok {
			out = append(append(append(out, encode(key)...), ':'), encode(v)...)
			out = append(out, ',')
			delete(o, key)
		}
	}
	rest := encode(map[string]any(o))
	return append(out, rest[1:]...), nil
}

func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// Event writes the lines that e gives.
func (s *StreamJSON) Event(e oneloop.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	agent, inner := whose(e)
	switch e := inner.(type) {
	case oneloop.Spend:
		s.spend(e, agent != "")
	case oneloop.ChildStart:
		if e.Call != "" && (agent == "" || s.calls[agent] != "") {
			s.calls[e.Agent] = e.Call
		}
	}
	if agent == "" {
		s.count(e)
	}
	if s.o.Only != ResultOnly {
		s.pieces.pass(e, s.show)
	}
}

// whose is the path of the agent whose event e is, empty for the first, and
// the event itself.
func whose(e oneloop.Event) (agent string, inner oneloop.Event) {
	for {
		c, ok := e.(oneloop.Child)
		if !ok {
			return agent, e
		}
		agent, e = agent+"/"+c.Agent, c.Event
	}
}

// count keeps what the result tells of the first agent.
func (s *StreamJSON) count(e oneloop.Event) {
	switch e := e.(type) {
	case oneloop.RequestSent:
		s.asked = time.Now()
	case oneloop.Denied:
		s.denials = append(s.denials, denial{e.Call.Name, e.Call.ID, e.Call.Input})
	case oneloop.MessageAdded:
		if e.Message.Role == oneloop.Assistant {
			s.turns++
			s.last = e.Message
			if !s.asked.IsZero() {
				s.api += time.Since(s.asked)
			}
		}
	}
}

func (s *StreamJSON) show(e oneloop.Event) {
	if agent, inner := whose(e); agent != "" {
		if m, is := inner.(oneloop.MessageAdded); is && s.calls[agent] != "" {
			s.message(m.Message, s.calls[agent])
		}
		return
	}
	switch e := e.(type) {
	case oneloop.TurnStart:
		s.init()
	case oneloop.Stream:
		if s.o.Only == Partial {
			s.line(map[string]any{"type": "stream_event", "event": e.Data, "parent_tool_use_id": nil})
		}
	case oneloop.MessageAdded:
		s.message(e.Message, nil)
	case oneloop.Retry:
		s.line(map[string]any{"type": "system", "subtype": "api_retry", "attempt": e.Attempt, "max_retries": e.Of - 1,
			"retry_delay_ms": e.Wait.Milliseconds(), "error": e.Error})
	case oneloop.Compacted:
		s.line(map[string]any{"type": "system", "subtype": "compact_boundary", "compact_metadata": map[string]any{
			"trigger": e.Trigger, "pre_tokens": e.Before, "post_tokens": e.After}})
	case oneloop.Notice:
		s.line(map[string]any{"type": "system", "subtype": "informational", "content": e.Text})
	}
}

func (s *StreamJSON) init() {
	none := []string{}
	list := func(names []string) []string { return append(none, names...) } // an empty one is not null
	s.line(map[string]any{"type": "system", "subtype": "init", "cwd": s.o.Dir, "tools": s.o.Tools, "mcp_servers": none,
		"model": s.o.Model, "permissionMode": s.o.Mode, "slash_commands": list(s.o.Slash), "agents": list(s.o.Agents), "apiKeySource": s.o.Source,
		"claude_code_version": "oneloop " + s.o.Version, "output_style": "default", "skills": list(s.o.Skills), "plugins": none})
}

// message writes a reply block by block, and results as they go back. parent is
// the call that started the agent whose they are; nil: it is the first.
func (s *StreamJSON) message(m *oneloop.Message, parent any) {
	if m.Role == oneloop.Assistant {
		id := m.ID
		if id == "" {
			id = "msg_" + newUUID() // lines of one message share it
		}
		for i, b := range m.Blocks {
			var stop any // of the message, known with its last block
			if i == len(m.Blocks)-1 {
				stop = m.Stop
			}
			s.line(map[string]any{"type": "assistant", "parent_tool_use_id": parent, "message": map[string]any{
				"id": id, "type": "message", "role": "assistant", "model": m.Origin.Model, "content": []oneloop.Block{b},
				"stop_reason": stop, "stop_sequence": nil, "usage": usageOnWire(m.Usage)}})
		}
		return
	}
	if len(m.Blocks) == 0 {
		return
	}
	if _, results := m.Blocks[0].(*oneloop.ToolResult); results {
		s.line(map[string]any{"type": "user", "parent_tool_use_id": parent,
			"message": map[string]any{"role": "user", "content": m.Blocks}})
	}
}

func (s *StreamJSON) spend(e oneloop.Spend, child bool) {
	m := s.models[e.Model]
	if m == nil {
		m = &modelUsage{}
		if e.Model == s.o.Model {
			m.Window, m.MaxOutput = s.o.Window, s.o.MaxOutput
		}
		s.models[e.Model] = m
	}
	m.Input += e.Usage.Input
	m.Output += e.Usage.Output
	m.CacheRead += e.Usage.CacheRead
	m.CacheWrite += e.Usage.CacheWrite
	m.Searches += e.Usage.Searches
	m.cost += e.Cost
	m.unknown = m.unknown || !e.Known
	m.Cost = &m.cost
	if m.unknown {
		m.Cost = nil
	}
	s.cost += e.Cost
	s.unknown = s.unknown || !e.Known
	if !child {
		s.usage = s.usage.Add(e.Usage)
	}
}

// Structured gives the result an answer in a form that was asked for, as JSON.
func (s *StreamJSON) Structured(value json.RawMessage) { s.formed = value }

// Unfit says that err is that there is no answer of that form.
func (s *StreamJSON) Unfit(err error) { s.unfit = err }

// Result writes the last line: how the turn ended. Answer is the final text;
// err is what ended the turn, nil when it was done.
func (s *StreamJSON) Result(answer string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fields := map[string]any{"type": "result", "subtype": "success", "is_error": err != nil,
		"duration_ms": time.Since(s.began).Milliseconds(), "duration_api_ms": s.api.Milliseconds(), "num_turns": s.turns,
		"total_cost_usd": s.cost, "usage": usageOnWire(s.usage), "modelUsage": s.models, "stop_reason": nil,
		"permission_denials": append([]denial{}, s.denials...)}
	if s.unknown {
		fields["total_cost_usd"] = nil // not zero, which would be an answer
	}
	if s.last != nil {
		fields["stop_reason"] = s.last.Stop
	}
	fields["result"], fields["terminal_reason"] = answer, "completed"
	if err != nil {
		fields["subtype"], fields["terminal_reason"] = ending(err, s.last)
		fields["errors"] = []string{err.Error()}
	}
	if s.unfit != nil && errors.Is(err, s.unfit) {
		fields["subtype"], fields["terminal_reason"] = "error_max_structured_output_retries", nil
	}
	if s.formed != nil {
		fields["structured_output"] = s.formed
	}
	s.line(fields)
}

// ending is the subtype of the result, and the reason as far as there is a
// word for it.
func ending(err error, last *oneloop.Message) (subtype string, reason any) {
	subtype = "error_during_execution"
	interrupted := "aborted_streaming"
	if last != nil && last.Stop == oneloop.StopToolUse {
		interrupted = "aborted_tools"
	}
	if limit, ok := errors.AsType[*oneloop.LimitError](err); ok {
		switch limit.What {
		case "turns":
			return "error_max_turns", "max_turns"
		case "cost", "tokens":
			return "error_max_budget_usd", "budget_exhausted"
		}
		return subtype, nil
	}
	switch {
	case errors.Is(err, oneloop.ErrContextOverflow):
		return subtype, "prompt_too_long"
	case errors.Is(err, oneloop.ErrInterrupted), errors.Is(err, oneloop.ErrShutdown):
		return subtype, interrupted
	}
	return subtype, nil
}
