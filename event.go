package oneloop

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

// Kind names a kind of [Event] in JSON. The list is closed: a new kind is a
// new version of the [Envelope] or an addition readers can pass over.
type Kind string

const (
	KindTurnStart     Kind = "turn_start"
	KindTurnEnd       Kind = "turn_end"
	KindRequest       Kind = "request"
	KindResponse      Kind = "response"
	KindReceived      Kind = "received"
	KindStream        Kind = "stream"
	KindTextDelta     Kind = "text_delta"
	KindThinkingDelta Kind = "thinking_delta"
	KindInputDelta    Kind = "input_delta"
	KindDiscard       Kind = "discard"
	KindRetry         Kind = "retry"
	KindMessage       Kind = "message"
	KindToolStart     Kind = "tool_start"
	KindToolOutput    Kind = "tool_output"
	KindToolEnd       Kind = "tool_end"
	KindQuestion      Kind = "question"
	KindAnswer        Kind = "answer"
	KindDenied        Kind = "denied"
	KindSpend         Kind = "spend"
	KindLimit         Kind = "limit"
	KindNotice        Kind = "notice"
	KindBoundary      Kind = "boundary"
	KindChildStart    Kind = "child_start"
	KindChildEnd      Kind = "child_end"
	KindCompacted     Kind = "compacted"
)

// Event is something that happened in a turn: one of the types below. Events
// of one call or one reply come in order.
type Event interface{ Kind() Kind }

// TurnStart opens a turn. Messages are what the turn adds to the transcript
// before its first request.
type TurnStart struct {
	Messages []*Message `json:"messages"`
}

// TurnEnd closes a turn.
type TurnEnd struct {
	Stop     StopReason    `json:"stop_reason,omitempty"` // of the last message
	Error    string        `json:"error,omitempty"`
	Requests int           `json:"requests"` // requests sent, tries included: the RequestSent events of the turn, of which a model that goes over no wire has none
	Duration time.Duration `json:"duration_ns"`
}

// RequestSent is one request on its way. Its body is made of parts that are
// never changed afterwards.
type RequestSent struct {
	Method string      `json:"method"`
	URL    string      `json:"url"`
	Header http.Header `json:"header"` // credentials masked
	Body   Parts       `json:"body"`
}

// Parts are bytes in pieces.
type Parts [][]byte

// Bytes returns a copy in one piece.
func (p Parts) Bytes() []byte { return bytes.Join(p, nil) }

// MarshalJSON gives the parts as the JSON they are.
func (p Parts) MarshalJSON() ([]byte, error) {
	b := p.Bytes()
	if !json.Valid(b) {
		return json.Marshal(string(b))
	}
	return b, nil
}

// ResponseStarted is the head of an answer.
type ResponseStarted struct {
	Status    int         `json:"status"`
	Header    http.Header `json:"header"`
	RequestID string      `json:"request_id,omitempty"`
}

// Received says that so many bytes of an answer's body have come.
type Received struct {
	Bytes int `json:"bytes"`
}

// Stream is one event of the provider's stream as it came, for those who
// asked their adapter for it.
type Stream struct {
	Data json.RawMessage `json:"data"`
}

// TextDelta is a piece of what the model says.
type TextDelta struct {
	Text string `json:"text"`
}

// ThinkingDelta is a piece of reasoning.
type ThinkingDelta struct {
	Text string `json:"text"`
}

// InputDelta is a piece of a call's input, JSON in the making. ID and Name
// are as the model wrote them.
type InputDelta struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	JSON string `json:"json"`
}

// Discard says that all deltas since the last message are void, if there were
// any. Usage is what the try that came to nothing had used, as far as the API
// had said so: it is on the bill and in no message. Each try tells it once.
type Discard struct {
	Reason string `json:"reason"`
	Usage  Usage  `json:"usage,omitzero"`
}

// Retry says that a request is sent again after a wait.
type Retry struct {
	Attempt int           `json:"attempt"` // the try that failed, from 1
	Of      int           `json:"of"`      // tries in all
	Wait    time.Duration `json:"wait_ns"`
	Error   string        `json:"error"`
}

// MessageAdded says that a message was appended to the transcript.
type MessageAdded struct {
	Message *Message `json:"message"`
}

// ToolStart says that a call is taken up, also one that will be refused.
type ToolStart struct {
	Call *ToolUse `json:"call"`
}

// ToolOutput is a piece of what a running call prints, for those who watch;
// pieces may be left out.
type ToolOutput struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// ToolEnd is the answer to a call. Every ToolStart has one.
type ToolEnd struct {
	Call     *ToolUse      `json:"call"`
	Result   *ToolResult   `json:"result"`
	Duration time.Duration `json:"duration_ns"`
}

// Asked says that a question waits for an answer.
type Asked struct {
	Question Question `json:"question"`
}

// Answered says how a question ended.
type Answered struct {
	Question Question `json:"question"`
	Answer   Answer   `json:"answer"`
}

// Denied says that a call was not run, or that its command was kept from a
// host. Nobody is set when it would have been asked for and nobody was there to
// answer.
type Denied struct {
	Call   *ToolUse `json:"call"`
	Reason string   `json:"reason"`
	Why    *Reason  `json:"why,omitempty"`  // the same for programs; nil: there are only words
	Rule   string   `json:"rule,omitempty"` // what would allow it
	Nobody bool     `json:"nobody,omitempty"`
}

// Spend is what one reply, or one try that failed, used and what the agent and its children have used
// so far. Costs are in US dollars; a cost without a price is not Known.
type Spend struct {
	Model string  `json:"model"`
	Usage Usage   `json:"usage"`
	Cost  float64 `json:"cost_usd"`
	Known bool    `json:"cost_known"`

	TotalUsage Usage   `json:"total_usage"`
	TotalCost  float64 `json:"total_cost_usd"`
	TotalKnown bool    `json:"total_cost_known"`
	Requests   int     `json:"requests"`
}

// Limited says that a limit somebody set was reached.
type Limited struct {
	What  string `json:"what"`
	Limit string `json:"limit"`
	Used  string `json:"used"`
}

// Notice is something the user should know and need not answer.
type Notice struct {
	Text string `json:"text"`
}

// Boundary says what holds for commands from then on.
type Boundary struct {
	Mode    string   `json:"permission_mode"`
	In      string   `json:"in"`               // what confines them, as in [Question]
	Weaker  []string `json:"weaker,omitempty"` // what that does not do here that it could
	Write   []string `json:"write,omitempty"`  // folders they may change; empty where nothing confines them, and where they are read-only
	Network string   `json:"network,omitempty"`
}

// Compacted says that a summary took the place of the earlier part of the
// conversation. Before and After are tokens in the model's window, partly
// estimated.
type Compacted struct {
	Trigger string `json:"trigger"` // "auto" or "manual"
	Before  int64  `json:"before"`
	After   int64  `json:"after"`
}

// ChildStart says that a subagent begins.
type ChildStart struct {
	Agent   string `json:"agent"` // its path
	Prompt  string `json:"prompt"`
	Title   string `json:"title,omitempty"`   // what it is to do, in a few words
	Type    string `json:"type,omitempty"`    // the name of its definition
	Session string `json:"session,omitempty"` // in which its transcript is kept
	Call    string `json:"call,omitempty"`    // the call that started it; empty: a command did
}

// ChildEnd says that a subagent ended.
type ChildEnd struct {
	Agent string `json:"agent"`
	Error string `json:"error,omitempty"`
}

// Child carries an event of a subagent. It has no kind of its own: the
// [Envelope] names the agent and the event inside.
type Child struct {
	Agent string // path below the agent that emits it, e.g. "2" or "2/1"
	Event Event
}

func (TurnStart) Kind() Kind       { return KindTurnStart }
func (TurnEnd) Kind() Kind         { return KindTurnEnd }
func (RequestSent) Kind() Kind     { return KindRequest }
func (ResponseStarted) Kind() Kind { return KindResponse }
func (Received) Kind() Kind        { return KindReceived }
func (Stream) Kind() Kind          { return KindStream }
func (TextDelta) Kind() Kind       { return KindTextDelta }
func (ThinkingDelta) Kind() Kind   { return KindThinkingDelta }
func (InputDelta) Kind() Kind      { return KindInputDelta }
func (Discard) Kind() Kind         { return KindDiscard }
func (Retry) Kind() Kind           { return KindRetry }
func (MessageAdded) Kind() Kind    { return KindMessage }
func (ToolStart) Kind() Kind       { return KindToolStart }
func (ToolOutput) Kind() Kind      { return KindToolOutput }
func (ToolEnd) Kind() Kind         { return KindToolEnd }
func (Asked) Kind() Kind           { return KindQuestion }
func (Answered) Kind() Kind        { return KindAnswer }
func (Denied) Kind() Kind          { return KindDenied }
func (Spend) Kind() Kind           { return KindSpend }
func (Limited) Kind() Kind         { return KindLimit }
func (Notice) Kind() Kind          { return KindNotice }
func (Boundary) Kind() Kind        { return KindBoundary }
func (ChildStart) Kind() Kind      { return KindChildStart }
func (ChildEnd) Kind() Kind        { return KindChildEnd }
func (Compacted) Kind() Kind       { return KindCompacted }
func (c Child) Kind() Kind         { return c.Event.Kind() }

// EnvelopeVersion is the version of the envelope's form that is written here.
const EnvelopeVersion = 1

// Envelope is an event with its place in a session: the form in which events
// are kept and handed to other programs.
type Envelope struct {
	Version int       `json:"v"`
	Seq     uint64    `json:"seq"` // from 1, without gaps within a session
	Time    time.Time `json:"time"`
	Session string    `json:"session"`
	Agent   string    `json:"agent"` // "/" for the session's own agent, "/2/1" for a child's child
	Kind    Kind      `json:"kind"`
	Data    Event     `json:"data"`
}

// NewEnvelope puts e into an envelope. An event of a child gives the agent's
// path and the event inside.
func NewEnvelope(seq uint64, at time.Time, session string, e Event) Envelope {
	path := "/"
	for {
		c, ok := e.(Child)
		if !ok {
			break
		}
		if path != "/" {
			path += "/"
		}
		path += c.Agent
		e = c.Event
	}
	return Envelope{EnvelopeVersion, seq, at, session, path, e.Kind(), e}
}

// AppendJSON appends the envelope as one line without its end. Strings are
// not escaped for HTML, so that code in them can be read.
func (e Envelope) AppendJSON(dst []byte) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return dst, err
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...), nil
}

// MarshalJSON gives the block as [AppendBlock] does.
func (b *Text) MarshalJSON() ([]byte, error)       { return AppendBlock(nil, b) }
func (b *Thinking) MarshalJSON() ([]byte, error)   { return AppendBlock(nil, b) }
func (b *Media) MarshalJSON() ([]byte, error)      { return AppendBlock(nil, b) }
func (b *ToolUse) MarshalJSON() ([]byte, error)    { return AppendBlock(nil, b) }
func (b *ToolResult) MarshalJSON() ([]byte, error) { return AppendBlock(nil, b) }
func (b *Opaque) MarshalJSON() ([]byte, error)     { return AppendBlock(nil, b) }
