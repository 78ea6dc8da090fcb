package script

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Wire is an API that a [Server] speaks: how its requests are read and judged,
// and how replies are put into its form. What it keeps in mind between
// requests is its own, so a server needs one of its own. The server calls one
// function at a time; Headers to Sent have the request's view at hand, which
// Read filled.
type Wire struct {
	Name   string
	Traits Traits

	// Aside answers requests that ask for no message, e.g. for the list of
	// models; nil: there are none. They are not recorded.
	Aside func(*Request) (Reply, bool)
	// Serves reports whether a request is for the API at all.
	Serves func(*Request) bool
	// Read fills the view of a request, in the form of the Messages API:
	// results are content of a message of the user.
	Read func(*Request) error
	// Headers and Check are the gate. Check is asked once the body is JSON that
	// Read took.
	Headers, Check func(*Request) []Breach

	// Stream is a reply as a stream, one element for every event as it goes
	// over the wire, and the type of the body.
	Stream func(Reply, *Request) (events [][]byte, contentType string)
	// Whole is a reply as one JSON value.
	Whole func(Reply, *Request) []byte
	// Error is the body of an answer whose status says that it is an error.
	Error func(Error) []byte
	// Sent is told of every reply that is played.
	Sent func(Reply, *Request)
}

// Traits are what an API is like, and what it cannot say, so that nobody waits
// for it.
type Traits struct {
	Hidden     bool // reasoning is not shown
	NoIDs      bool // calls have no ids
	NoRefusal  bool // no reply says that it is a refusal
	NoSequence bool // no reply says that it stopped at a sequence
	NoCache    bool // usage does not tell what was read from a cache
	NoThought  bool // usage does not tell how much was reasoning
	NoBilling  bool // no error says that the account cannot pay
	NoClasses  bool // errors in a stream have no types
	NoPieces   bool // a call comes whole
	InOrder    bool // pieces of calls come one call after the other
	Hint       bool // the body of an error says when to come back
	Lines      bool // a stream is lines, not server-sent events

	// Own is a block of a type of the API's own, which has to go back as it
	// came; nil: there is none.
	Own json.RawMessage
	// Finish is text that stands in the event that completes a reply, and in
	// none before: what ends before it is cut.
	Finish string
	// Usages are usages that make no sense.
	Usages []json.RawMessage
}

// messages is the Messages API.
func (s *Server) messages() *Wire {
	return &Wire{
		Name: "Messages",
		Traits: Traits{
			Own:    json.RawMessage(`{"type":"hologram","depth":18446744073709551616,"a":{"z":1,"b":2}}`),
			Finish: `"stop_reason":"`,
			Usages: odd(`{"input_tokens":-1,"output_tokens":1e30}`, `{"input_tokens":"x","output_tokens":1.5,"cache_creation":[]}`),
		},
		Serves: func(r *Request) bool {
			path, _, _ := strings.Cut(r.Path, "?")
			return r.Method == http.MethodPost && strings.HasSuffix(path, "/v1/messages")
		},
		Read: (*Request).parse,
		Headers: func(r *Request) []Breach {
			g := &gate{req: r}
			g.headers()
			return g.found
		},
		Check: s.check,
		Stream: func(r Reply, req *Request) ([][]byte, string) {
			return r.Events(*req), "text/event-stream; charset=utf-8"
		},
		Whole: func(r Reply, req *Request) []byte { return r.message(*req, false) },
		Error: func(e Error) []byte { return e.body() },
		Sent:  func(r Reply, req *Request) { s.remember(*req, r) },
	}
}

func odd(usages ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, u := range usages {
		out = append(out, json.RawMessage(u))
	}
	return out
}

func (s *Server) wire() *Wire {
	if s.Wire != nil {
		return s.Wire
	}
	return s.messages()
}

// Speaks is the API that s speaks.
func (s *Server) Speaks() *Wire { return s.wire() }

// Filled is r with what it leaves to the server filled in: why it stopped, its
// usage, its model and its id.
func (r Reply) Filled(req *Request) Reply {
	u := r.usage(*req)
	r.Stop, r.Usage, r.Model, r.ID = r.stopReason(), &u, r.model(*req), r.id(*req)
	return r
}

// Parts is what a block consists of, for APIs that put it in another form.
type Parts struct {
	Type      string   // "text", "thinking", "tool_use", or that of a block of another kind
	ID, Name  string   // of a call
	Pieces    []string // text, reasoning or input, as it is streamed
	Signature string   // of reasoning
	Whole     json.RawMessage
	Open      bool // its end is never sent
}

// Text is all pieces together.
func (p Parts) Text() string { return strings.Join(p.Pieces, "") }

// Parts takes b apart.
func (b Block) Parts() Parts {
	if p := b.parts; p.Type != "" {
		p.Whole, p.Open = b.whole, b.open
		return p
	}
	p := Parts{Type: blockType(b.whole), Whole: b.whole, Open: b.open}
	head := keys(b.start)
	p.ID, p.Name = stringOf(head["id"]), stringOf(head["name"])
	for _, d := range b.deltas {
		delta := keys(d)
		for _, key := range []string{"text", "thinking", "partial_json"} {
			if piece, ok := delta[key]; ok {
				p.Pieces = append(p.Pieces, stringOf(piece))
			}
		}
		if s, ok := delta["signature"]; ok {
			p.Signature += stringOf(s)
		}
	}
	return p
}

// Frames puts the events of a reply into the form of the wire, with what the
// reply adds between them.
type Frames struct {
	Reply   Reply
	Comment string // the comment before events, where the reply has some; empty: one that says it is one
	events  [][]byte
}

func (f *Frames) newline() string {
	if f.Reply.CRLF {
		return "\r\n"
	}
	return "\n"
}

// Event adds a server-sent event; one without a name has no line for it.
func (f *Frames) Event(name string, data []byte) {
	nl := f.newline()
	var b strings.Builder
	if f.Reply.Comments {
		comment := f.Comment
		if comment == "" {
			comment = "a comment"
		}
		b.WriteString(": " + comment + nl)
	}
	if name != "" {
		b.WriteString("event: " + name + nl)
	}
	b.WriteString("data: ")
	if f.Reply.Padding && len(data) > 0 && data[len(data)-1] == '}' {
		pad := strings.Repeat(" ", 3+len(f.events)%5)
		b.Write(data[:len(data)-1])
		b.WriteString(pad + "}" + pad)
	} else {
		b.Write(data)
	}
	b.WriteString(nl + nl)
	f.events = append(f.events, []byte(b.String()))
}

// Line adds one line, for APIs that stream lines.
func (f *Frames) Line(data []byte) {
	f.events = append(f.events, []byte(string(data)+f.newline()))
}

// All returns the events, with the reply's raw text between them.
func (f *Frames) All() [][]byte {
	var out [][]byte
	for i := 0; i <= len(f.events); i++ {
		for _, x := range f.Reply.Extra {
			at := x.At
			if at < 0 || at > len(f.events) {
				at = len(f.events)
			}
			if at == i {
				out = append(out, []byte(x.Text))
			}
		}
		if i < len(f.events) {
			out = append(out, f.events[i])
		}
	}
	return out
}
