package script

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Reply is one scripted answer. The zero value is a message without content.
//
// A message is streamed as server-sent events when the request asked for a
// stream and OneShot is not set, else it is one JSON object. Status, Body and
// SSE make an answer of another form.
type Reply struct {
	Blocks       []Block         // the content
	Stop         string          // stop_reason; empty: tool_use with a call in Blocks, else end_turn
	StopSequence string          // the sequence that stopped it
	StopDetails  json.RawMessage // stop_details of message_delta
	Usage        *Usage          // nil: counted from the bytes, four to a token
	RawUsage     json.RawMessage // the usage as it stands; not nil and empty: none at all
	Model        string          // empty: the model that was asked for
	ID           string          // of the message; empty: one made from the request's number

	Status  int         // HTTP status; 0: 200
	Header  http.Header // added to, or in place of, what is sent by itself
	Body    []byte      // the whole answer, instead of a message; non-nil and empty: no body at all
	SSE     []byte      // the whole stream, instead of a message
	OneShot bool        // one JSON object, also to those who asked for a stream

	Error      *Error  // an error event after the content, then the end; with a Status from 400, the whole answer
	Interleave bool    // open all blocks first, then take turns with their deltas
	Padding    bool    // white space inside and after data, as the real API pads
	CRLF       bool    // lines end in \r\n
	Comments   bool    // a comment line before every event
	Extra      []Extra // raw text between events

	Wait   time.Duration // silence before the headers; see Forever
	Delay  time.Duration // before every event but the first
	Pauses []Pause       // silence within the stream
	Cut    *Cut          // where the connection ends too early
	Chunk  int           // bytes per flush; 0: one event per flush
	Gzip   bool          // compressed, flushed where the plain stream would be

	Repeat bool                // play it for all further requests too
	React  func(Request) Reply // makes the reply from the request; the other fields are not looked at
	Sent   func(n int)         // called when n events have been flushed, for tests that wait for it
}

// Forever, as a wait or a pause, lasts until the client leaves or the server
// is closed.
const Forever time.Duration = -1

// Usage is what a reply says it used, in tokens.
type Usage struct {
	Input        int64
	CacheRead    int64
	CacheWrite   int64 // all lifetimes together
	CacheWrite1h int64 // the part of CacheWrite with the one-hour lifetime
	Output       int64
	Thinking     int64 // the part of Output that was reasoning
}

// Error is an error as the Messages API words it. Other APIs say the same in
// words of their own.
type Error struct {
	Type    string // e.g. "overloaded_error", or [Overflow]
	Message string
	Retry   time.Duration // when to come back, where the API says so in a body
}

// Overflow is the type of the error that says that the conversation does not
// fit the model's window. Every API words it in its own way.
const Overflow = "context_overflow"

// Extra is raw text put into a stream before event number At, counted from 0;
// a negative At puts it at the end.
type Extra struct {
	At   int
	Text string
}

// Pause is silence once After events have been sent; For is how long.
type Pause struct {
	After int
	For   time.Duration // see Forever
}

// Cut ends the connection too early: after Bytes bytes of the plain body or,
// when Bytes is 0, after Events events. Negative numbers count from the end.
type Cut struct {
	Bytes  int
	Events int
	Clean  bool // end the body as if it were whole, instead of breaking the connection
}

// Say is the reply whose message has these blocks.
func Say(blocks ...Block) Reply { return Reply{Blocks: blocks} }

// Fail is an error answer in the API's form.
func Fail(status int, kind, message string) Reply {
	return Reply{Status: status, Header: http.Header{}, Error: &Error{Type: kind, Message: message}}
}

// HTML is an answer from something that is not the API.
func HTML(status int, page string) Reply {
	return Reply{
		Status: status,
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body:   []byte(page),
	}
}

// Turns is a reply that depends on how far the conversation has come: the
// n-th of replies answers a request with n messages of the assistant in it.
// It answers any number of conversations side by side, and tries again alike.
func Turns(replies ...Reply) Reply {
	return Reply{Repeat: true, React: func(r Request) Reply {
		n := 0
		for _, m := range r.Messages {
			if m.Role == "assistant" {
				n++
			}
		}
		if n >= len(replies) {
			return Fail(http.StatusInternalServerError, "api_error", fmt.Sprintf("nothing is scripted for turn %d", n+1))
		}
		return replies[n]
	}}
}

// Block is one block of a message's content.
type Block struct {
	start  json.RawMessage   // as it stands in content_block_start
	deltas []json.RawMessage // what follows
	whole  json.RawMessage   // as it stands in a message that is not streamed
	call   bool              // a call to be run by the client
	open   bool              // its stop is never sent
	parts  Parts             // of those made of text; see Block.Parts
}

// Text is text, streamed in two pieces when it can be.
func Text(text string) Block { return TextPieces(halves(text)...) }

// TextPieces is text, streamed in exactly these pieces.
func TextPieces(pieces ...string) Block {
	b := Block{start: json.RawMessage(`{"type":"text","text":""}`)}
	whole := ""
	for _, p := range pieces {
		whole += p
		b.deltas = append(b.deltas, object("type", "text_delta", "text", p))
	}
	b.whole = object("type", "text", "text", whole)
	b.parts = Parts{Type: "text", Pieces: pieces}
	return b
}

// Thinking is reasoning with the signature that seals it.
func Thinking(text, signature string) Block {
	b := Block{start: json.RawMessage(`{"type":"thinking","thinking":"","signature":""}`)}
	pieces := halves(text)
	for _, p := range pieces {
		b.deltas = append(b.deltas, object("type", "thinking_delta", "thinking", p))
	}
	b.parts = Parts{Type: "thinking", Pieces: pieces, Signature: signature}
	b.deltas = append(b.deltas, object("type", "signature_delta", "signature", signature))
	b.whole = object("type", "thinking", "thinking", text, "signature", signature)
	return b
}

// Redacted is reasoning nobody may read.
func Redacted(data string) Block {
	return Raw(object("type", "redacted_thinking", "data", data))
}

// Tool is a call; input is its JSON, streamed in two pieces after an empty
// one. Input that is no JSON is streamed as it stands.
func Tool(id, name, input string) Block {
	return ToolPieces(id, name, append([]string{""}, halves(input)...)...)
}

// ToolPieces is a call whose input is streamed in exactly these pieces, or in
// none.
func ToolPieces(id, name string, pieces ...string) Block {
	b := Block{call: true}
	b.start = object("type", "tool_use", "id", id, "name", name, "input", json.RawMessage(`{}`))
	whole := ""
	for _, p := range pieces {
		whole += p
		b.deltas = append(b.deltas, object("type", "input_json_delta", "partial_json", p))
	}
	in := json.RawMessage(whole)
	switch {
	case whole == "":
		in = json.RawMessage(`{}`)
	case !json.Valid(in):
		in = quote(whole)
	}
	b.whole = object("type", "tool_use", "id", id, "name", name, "input", in)
	b.parts = Parts{Type: "tool_use", ID: id, Name: name, Pieces: pieces}
	return b
}

// Raw is a block that arrives complete, e.g. one of a type of its own. Its
// JSON is sent as it stands.
func Raw(block json.RawMessage) Block {
	return Block{start: block, whole: block, call: blockType(block) == "tool_use"}
}

// Stream is a block with this start and these deltas; whole is what they add
// up to.
func Stream(whole, start json.RawMessage, deltas ...json.RawMessage) Block {
	return Block{start: start, deltas: deltas, whole: whole, call: blockType(start) == "tool_use"}
}

// Open is b without its end, for streams that stop in the middle.
func Open(b Block) Block {
	b.open = true
	return b
}

func blockType(block json.RawMessage) string {
	var t struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(block, &t) != nil {
		return ""
	}
	return t.Type
}

// halves cuts s in two near its middle, never inside a character.
func halves(s string) []string {
	at := len(s) / 2
	for at < len(s) && at > 0 && s[at]&0xC0 == 0x80 {
		at++
	}
	if at == 0 || at == len(s) {
		return []string{s}
	}
	return []string{s[:at], s[at:]}
}

// Object builds a JSON object with its keys in the order given: a key, its
// value, the next key …
func Object(pairs ...any) json.RawMessage { return object(pairs...) }

// object builds a JSON object with its keys in the order given.
func object(pairs ...any) json.RawMessage {
	b := []byte{'{'}
	for i := 0; i < len(pairs); i += 2 {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quote(pairs[i].(string))...)
		b = append(b, ':')
		b = append(b, encode(pairs[i+1])...)
	}
	return append(b, '}')
}

func encode(v any) []byte {
	switch v := v.(type) {
	case json.RawMessage:
		return v
	case string:
		return quote(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("script: encode %T: %v", v, err))
	}
	return b
}
