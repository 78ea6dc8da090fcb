package oneloop

import (
	"encoding/json"
	"strings"
)

// Role says who speaks in a [Message].
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// StopReason says why a model stopped. The names are those of the Anthropic
// Messages API; an adapter for another API translates. A value not listed
// here is possible and means that the turn is over.
type StopReason string

const (
	StopEndTurn       StopReason = "end_turn"
	StopToolUse       StopReason = "tool_use" // exactly when there is a call to run
	StopSequence      StopReason = "stop_sequence"
	StopMaxTokens     StopReason = "max_tokens"                    // cut at the output limit
	StopContextWindow StopReason = "model_context_window_exceeded" // cut at the window's end
	StopPause         StopReason = "pause_turn"                    // the server wants the same request again
	StopCompaction    StopReason = "compaction"
	StopRefusal       StopReason = "refusal"
	StopInterrupted   StopReason = "interrupted" // ours: the context ended while the model spoke
)

// Message is one entry of a conversation.
type Message struct {
	Role   Role
	Blocks []Block    // order is data
	Stop   StopReason // why the model stopped; on results, StopEndTurn when a tool ended the turn
	Origin Origin     // which API and model was asked; zero for messages of ours
	Usage  Usage
	ID     string // the API's id of the message, empty for ours
	Meta   Meta   // ours, never sent
}

// Origin says where a message came from. Model is the name that was asked
// for, which is not always the name the reply carries. Two providers may have
// one API and a model of one name: Host is whom of them was asked.
type Origin struct {
	API   string `json:"api,omitempty"`
	Model string `json:"model,omitempty"`
	Host  string `json:"host,omitempty"` // with its port, if it has one; empty: it is not known
}

// Same reports whether both are one model of one provider. Where a host is not
// known it is taken to be the other's.
func (o Origin) Same(p Origin) bool {
	return o.API == p.API && o.Model == p.Model && (o.Host == p.Host || o.Host == "" || p.Host == "")
}

// Usage counts the tokens of one reply, and what else is on its bill. Reported is false when the API said
// nothing usable; the numbers are then zero and mean "unknown". For a reply
// that was interrupted they are what had been said by then: an API counts the
// output at the end, so Output is then the least it can have been.
type Usage struct {
	Reported     bool  `json:"reported,omitempty"`
	Input        int64 `json:"input,omitempty"`          // neither read from nor written to a cache
	CacheRead    int64 `json:"cache_read,omitempty"`     //
	CacheWrite   int64 `json:"cache_write,omitempty"`    // all lifetimes together
	CacheWrite1h int64 `json:"cache_write_1h,omitempty"` // the part of CacheWrite with the one-hour lifetime
	Output       int64 `json:"output,omitempty"`         // reasoning included
	Thinking     int64 `json:"thinking,omitempty"`       // the part of Output that was reasoning
	Searches     int64 `json:"searches,omitempty"`       // of the web that the API made itself
	Context      int64 `json:"context,omitempty"`        // tokens in the window after this reply; 0: Input+CacheRead+CacheWrite+Output
}

// Total is the number of tokens that were read and written.
func (u Usage) Total() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// Window is the number of tokens in the model's window after this reply.
func (u Usage) Window() int64 {
	if u.Context > 0 {
		return u.Context
	}
	return u.Total()
}

// Add returns the sum of both. It is reported only when both are; Window is
// that of v, the later reply.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Reported:     u.Reported && v.Reported,
		Input:        u.Input + v.Input,
		CacheRead:    u.CacheRead + v.CacheRead,
		CacheWrite:   u.CacheWrite + v.CacheWrite,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
		Output:       u.Output + v.Output,
		Thinking:     u.Thinking + v.Thinking,
		Searches:     u.Searches + v.Searches,
		Context:      v.Window(),
	}
}

// Meta is what we know of a message and never send.
type Meta struct {
	RequestID   string          `json:"request_id,omitempty"`   // the API's id of the exchange
	StopDetails json.RawMessage `json:"stop_details,omitempty"` // as the API gave them, e.g. why it refused
	Source      string          `json:"source,omitempty"`       // who wrote a user message that the user did not, e.g. "driver"
	Repairs     []Repair        `json:"repairs,omitempty"`      // what was changed on arrival
}

func (m Meta) empty() bool {
	return m.RequestID == "" && m.StopDetails == nil && m.Source == "" && m.Repairs == nil
}

// Repair records one of the changes that are made to a reply on arrival, so
// that it can be sent back: an id that is empty or taken, a tool name the API
// refuses, input that is no object, a blank text block; and, from servers that
// err, characters that are none ("unicode") and a part of a block that is of
// an unknown kind and had to be left out ("delta", From holds it).
type Repair struct {
	Block int    `json:"block"` // index in the reply as it came
	What  string `json:"what"`  // "id", "name", "input", "blank", "unicode" or "delta"
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// A Block is a *[Text], *[Thinking], *[Media], *[ToolUse], *[ToolResult] or
// *[Opaque].
type Block interface {
	// RawJSON is the provider's exact JSON, nil for blocks of ours.
	RawJSON() json.RawMessage
	// RawAPI is the API whose JSON that is; empty for the form of the
	// Anthropic Messages API.
	RawAPI() string
	setWire(Wire)
}

// Wire is embedded by every block. Raw is the provider's exact JSON and is
// replayed verbatim to the same API; whoever changes another field of a block
// clears it.
//
// API is empty when Raw is a block in the form of the Anthropic Messages API,
// the form that sessions and traces keep. For a reply of another API it is the
// API of the message's [Origin], and Raw what of the reply stands for this
// block: an item, a part, some fields.
type Wire struct {
	Raw json.RawMessage
	API string
}

func (w *Wire) RawJSON() json.RawMessage { return w.Raw }
func (w *Wire) RawAPI() string           { return w.API }
func (w *Wire) setWire(other Wire)       { *w = other }

// Text is what somebody said.
type Text struct {
	Wire
	Text string
}

// Thinking is reasoning the model lets us see. Text may be empty while the
// block still has to be sent back.
type Thinking struct {
	Wire
	Text      string
	Signature string
}

// Media is an image or a document. Type is the wire's word for it ("image",
// "document"), MIME the type of Data.
type Media struct {
	Wire
	Type string
	MIME string
	Data []byte
}

// ToolUse is one call. Input is a JSON object, byte for byte as the model
// wrote it.
type ToolUse struct {
	Wire
	ID    string
	Name  string
	Input json.RawMessage

	// Broken says why this call cannot be run, for calls whose input did not
	// arrive as a JSON object (Input is then a stand-in). Such a call is
	// answered with an error and never run.
	Broken string
}

// ToolResult answers the call with the same ID.
type ToolResult struct {
	Wire
	ID      string
	Content []Block // *Text, *Media, *Opaque
	IsError bool
	EndTurn bool // the turn ends once all results are delivered
	Details any  // for user interfaces; never sent
}

// Opaque is a block whose type this package does not know, kept and replayed.
type Opaque struct {
	Wire
	Type string
}

// NewMessage returns a message of ours.
func NewMessage(role Role, blocks ...Block) *Message {
	return &Message{Role: role, Blocks: blocks}
}

// UserText returns a user message that says text.
func UserText(text string) *Message { return NewMessage(User, &Text{Text: text}) }

// NoOutput is what a result says whose call had nothing to say: no API takes an
// empty text.
const NoOutput = "(no output)"

// TextResult returns the successful answer to a call, ID left for the
// [Toolbox] to fill in.
func TextResult(text string) *ToolResult {
	return &ToolResult{Content: []Block{&Text{Text: text}}}
}

// ErrorResult returns the answer to a call that failed. The text is for the
// model: what failed, and what to try next.
func ErrorResult(text string) *ToolResult {
	r := TextResult(text)
	r.IsError = true
	return r
}

// ToolUses returns the calls in m, in order.
func (m *Message) ToolUses() []*ToolUse {
	var calls []*ToolUse
	for _, b := range m.Blocks {
		if c, ok := b.(*ToolUse); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// Text returns the text blocks of m, one after the other.
func (m *Message) Text() string { return blocksText(m.Blocks) }

// Text returns the text of the result without its media.
func (r *ToolResult) Text() string { return blocksText(r.Content) }

func blocksText(blocks []Block) string {
	var b strings.Builder
	for _, x := range blocks {
		if t, ok := x.(*Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// Reasoning reports whether b is reasoning, also such that cannot be read.
func Reasoning(b Block) bool {
	switch b := b.(type) {
	case *Thinking:
		return true
	case *Opaque:
		return b.Type == "redacted_thinking"
	}
	return false
}

// Sendable reports whether m may stand in a request. Left out are messages
// that refused, messages without content, and messages that end in something
// an API takes only in a message that went on: a call that was never run, or
// reasoning with nothing after it.
func (m *Message) Sendable() bool {
	if len(m.Blocks) == 0 || m.Stop == StopRefusal {
		return false
	}
	if m.Role != Assistant || m.Stop == StopToolUse {
		return true
	}
	if len(m.ToolUses()) > 0 {
		return false
	}
	_, thinking := m.Blocks[len(m.Blocks)-1].(*Thinking)
	return !thinking
}
