package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"

	"oneloop"
)

// Pretty prints the loop at work: the conversation before the first request
// of a turn, every request and reply, and the conversation after each round.
// JSON is indented, and characters stand as they are, but for those that
// steer a terminal or the direction of text.
type Pretty struct {
	*output
	messages []*oneloop.Message // of the first agent
}

// NewPretty returns a sink that prints to w. Secrets are masked wherever they
// appear.
func NewPretty(w io.Writer, secrets ...string) *Pretty {
	return &Pretty{output: newOutput(w, secrets)}
}

// Forget begins a new conversation: what was said before is printed no more.
func (p *Pretty) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.messages = nil
}

// Event prints what is to be seen of e.
func (p *Pretty) Event(e oneloop.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	who := ""
	for {
		c, ok := e.(oneloop.Child)
		if !ok {
			break
		}
		who += "/" + c.Agent
		e = c.Event
	}
	if who != "" {
		who = "[agent " + who + "] "
	}
	switch e := e.(type) {
	case oneloop.TurnStart:
		if who == "" {
			p.conversation(e.Messages...)
		}
	case oneloop.RequestSent:
		p.print(who+"request: "+e.Method+" "+e.URL, e.Body)
	case oneloop.ResponseStarted:
		p.write(fmt.Appendf(nil, "%sassistant response: HTTP %d %s\n", who, e.Status, e.RequestID))
	case oneloop.Discard:
		p.write(fmt.Appendf(nil, "%sassistant response void: %s\n", who, e.Reason))
	case oneloop.MessageAdded:
		p.added(who, e.Message)
	case oneloop.ToolStart:
		p.print(who+"tool call", e.Call)
	case oneloop.Compacted:
		if who == "" {
			p.messages = nil // a summary stands for them, which the next request has in it
		}
		p.write(fmt.Appendf(nil, "%sconversation made shorter: %d tokens before, %d now\n", who, e.Before, e.After))
	case oneloop.Boundary:
		p.write(fmt.Appendf(nil, "%scommands run in: %s\n", who, e.In))
	case oneloop.Retry:
		p.write(fmt.Appendf(nil, "%stry %d of %d failed: %s; next in %v\n", who, e.Attempt, e.Of, e.Error, e.Wait))
	}
}

func (p *Pretty) added(who string, m *oneloop.Message) {
	if m.Role == oneloop.Assistant {
		p.print(who+"assistant response", m)
	}
	if who != "" {
		return
	}
	p.messages = append(p.messages, m)
	if m.Role == oneloop.User && len(m.Blocks) > 0 {
		if _, results := m.Blocks[0].(*oneloop.ToolResult); results {
			p.conversation()
		}
	}
}

// said is a message as it goes to the API.
type said struct {
	Role    oneloop.Role    `json:"role"`
	Content []oneloop.Block `json:"content"`
}

// conversation prints all messages so far, and those that are about to come.
func (p *Pretty) conversation(next ...*oneloop.Message) {
	var all []said
	for _, m := range slices.Concat(p.messages, next) {
		all = append(all, said{m.Role, m.Blocks})
	}
	p.print("messages", all)
}

// print writes a title and v, indented.
func (p *Pretty) print(title string, v any) {
	var b bytes.Buffer
	if err := json.Indent(&b, encode(v), "", "  "); err != nil {
		fmt.Fprintf(&b, "(cannot be shown: %v)", err)
	}
	p.write(slices.Concat([]byte(title+":\n"), readable(b.Bytes()), []byte("\n")))
}

// readable writes the strings in a JSON text so that people can read them on a
// terminal: no escape where a character can stand for itself, and one where it
// would steer the terminal.
func readable(text []byte) []byte {
	var out []byte
	for len(text) > 0 {
		i := bytes.IndexByte(text, '"')
		if i < 0 {
			break
		}
		end := i + 1
		for end < len(text) && text[end] != '"' {
			if text[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(text))
		out = append(out, text[:i]...)
		out = append(out, literal(text[i:end])...)
		text = text[end:]
	}
	return append(out, text...)
}

func literal(quoted []byte) []byte {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return quoted
	}
	var out []byte
	for _, r := range string(encode(s)) {
		if r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) {
			out = fmt.Appendf(out, `\u%04x`, r)
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
