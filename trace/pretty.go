package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"oneloop"
)

// Pretty prints the loop at work: the conversation before the first request
// of a turn, every request and reply, and the conversation after each round.
// JSON is indented, and characters stand as they are.
type Pretty struct {
	*output
	messages []*oneloop.Message // of the first agent
}

// NewPretty returns a sink that prints to w. Secrets are masked wherever they
// appear.
func NewPretty(w io.Writer, secrets ...string) *Pretty {
	return &Pretty{output: newOutput(w, secrets)}
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
			p.print("messages", append(p.messages[:len(p.messages):len(p.messages)], e.Messages...))
		}
	case oneloop.RequestSent:
		p.print(who+"assistant request: "+e.Method+" "+e.URL, e.Body)
	case oneloop.ResponseStarted:
		p.write(fmt.Appendf(nil, "%sassistant response: HTTP %d %s\n", who, e.Status, e.RequestID))
	case oneloop.Discard:
		p.write(fmt.Appendf(nil, "%sassistant response void: %s\n", who, e.Reason))
	case oneloop.MessageAdded:
		p.added(who, e.Message)
	case oneloop.ToolStart:
		p.print(who+"tool call", e.Call)
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
			p.print("messages", p.messages)
		}
	}
}

// print writes a title and v, indented.
func (p *Pretty) print(title string, v any) {
	var b bytes.Buffer
	b.WriteString(title + ":\n")
	if err := json.Indent(&b, encode(v), "", "  "); err != nil {
		fmt.Fprintf(&b, "(cannot be shown: %v)", err)
	}
	b.WriteString("\n")
	p.write(b.Bytes())
}
