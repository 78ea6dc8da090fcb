package oneloop

import (
	"context"
	"encoding/json"
)

// Request is what a model is asked. Adapters read it and never change it; the
// messages in it are never changed once they were sent.
type Request struct {
	System   []Block
	Messages []*Message
	Tools    []ToolDef
	Params   Params
}

// Params are the settings of a request. The zero value asks for the adapter's
// defaults.
type Params struct {
	MaxTokens int    `json:"max_tokens,omitempty"` // output limit in tokens
	Effort    string `json:"effort,omitempty"`     // "low" … "max"; left out where the model has no such setting
	CacheTTL  string `json:"cache_ttl,omitempty"`  // "5m" (the default), "1h", or "off"
}

// Model asks a language model for one message.
type Model interface {
	// Generate returns the model's message. It calls emit, possibly many
	// times and from several goroutines, before it returns.
	//
	// With a nil error the message is never nil. Stop is [StopToolUse]
	// exactly when the message has a call that is to be run. When ctx ends
	// while the model speaks, Generate returns what is finished (text, but no
	// unsigned thinking and no call) with [StopInterrupted], possibly without
	// blocks, or the cause of ctx if nothing had begun.
	//
	// With an error the message is nil and what was streamed is void; a
	// [Discard] says so, with what was used for nothing. Errors of an API are
	// an [*APIError].
	Generate(ctx context.Context, req *Request, emit func(Event)) (*Message, error)
}

// ModelFunc is a function that is a [Model].
type ModelFunc func(ctx context.Context, req *Request, emit func(Event)) (*Message, error)

func (f ModelFunc) Generate(ctx context.Context, req *Request, emit func(Event)) (*Message, error) {
	return f(ctx, req, emit)
}

// Transcript keeps a conversation.
type Transcript interface {
	// Request says what the model should see next. It returns the cause of
	// ctx when ctx has ended.
	Request(ctx context.Context) (*Request, error)
	// Append records messages. When it returns nil they survive whatever the
	// implementation promises to survive.
	Append(ctx context.Context, msgs ...*Message) error
}

// Tools answer calls.
type Tools interface {
	// Run answers every call, in order, in one user message whose blocks are
	// the results. It does not fail: what went wrong is a call's answer. Its
	// Stop is [StopEndTurn] when a tool asked for the turn to end. Under an
	// ended ctx it answers "not started".
	Run(ctx context.Context, calls []*ToolUse, emit func(Event)) *Message
}

// ToolDef is what a model is told of a tool: plain data.
type ToolDef struct {
	Name        string // letters, digits, _ and -, at most 64
	Description string
	Schema      json.RawMessage // JSON Schema of the input, of type object
	Raw         json.RawMessage // a provider's own tool, sent instead of the three above
}

// Effect says what may be done with a call whose outcome is unknown after a
// crash, and what a replay may run again.
type Effect int

const (
	Once       Effect = iota // never run again by itself
	Idempotent               // running it twice is running it once
	ReadOnly                 // changes nothing
)

func (e Effect) String() string {
	switch e {
	case Idempotent:
		return "idempotent"
	case ReadOnly:
		return "read-only"
	}
	return "once"
}

// ToolFunc runs one call. The text of an error is told to the model: what
// failed, and what to try next. It may return both a result and an error; the
// error is then told after the result.
type ToolFunc func(ctx context.Context, call *ToolUse, emit func(Event)) (*ToolResult, error)

// Tool is something a model can call. Middleware is a func(Tool) Tool.
type Tool struct {
	ToolDef
	Parallel bool                        // may run beside other calls that are marked so
	Check    func(json.RawMessage) error // refuses input before anything sees it; nil: any object will do
	Effect   func(*ToolUse) Effect       // nil: Once
	Run      ToolFunc

	// Touches lists what a call would run, read, change or reach, for whoever
	// judges calls; an error means that it cannot be told. Nil: nothing that
	// is to be judged. It belongs to the tool whatever its name is.
	Touches func(*ToolUse) ([]Touch, error)
}

// Touch is one thing outside of the conversation that a call would touch.
type Touch struct {
	Kind TouchKind
	Name string // the command, the file's real path, or the host
}

// TouchKind says how a thing is touched.
type TouchKind string

const (
	TouchCommand TouchKind = "command" // a shell command is run
	TouchRead    TouchKind = "read"    // a file or folder is read
	TouchWrite   TouchKind = "write"   // a file is made or changed
	TouchHost    TouchKind = "host"    // a host is connected to; a port other than the usual follows it
)
