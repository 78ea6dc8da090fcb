package mail

import (
	"strings"
	"time"
	"unicode"

	"oneloop"
	"oneloop/internal/unseen"
)

// Kind is what a message is.
type Kind string

// Kinds of messages. A request wants an answer, see package team/crew.
const (
	Plain            Kind = "message"
	ToAll            Kind = "broadcast"
	ShutdownRequest  Kind = "shutdown_request"
	ShutdownResponse Kind = "shutdown_response"
	PlanRequest      Kind = "plan_approval_request"
	PlanResponse     Kind = "plan_approval_response"
)

// Message is what one agent wrote to another.
type Message struct {
	ID      string // given when it is sent
	From    string // set by the program that runs the sender, never by its model
	To      string
	Kind    Kind   // empty: Plain
	Text    string // valid UTF-8
	Summary string // a few words for people who look on
	Time    time.Time
	ReplyTo string // the id of a message
	Request string // the id of the request that this is, or answers
	Verdict string // of an answer: "approved" or "rejected"
}

// Block is the message as a model reads it:
//
//	<message from="reviewer" id="01k9zq8w27h3kd">
//	The parser has no test for empty input.
//	</message>
//
// with kind, request_id and verdict where it has them. Text that would end it, or
// begin another one, has &lt; for its <.
func (m Message) Block() *oneloop.Text {
	var b strings.Builder
	b.WriteString("<message")
	attribute := func(name, value string) {
		if value != "" {
			b.WriteString(" " + name + `="` + plain(value) + `"`)
		}
	}
	attribute("from", m.From)
	attribute("id", m.ID)
	if m.Kind != Plain {
		attribute("kind", string(m.Kind))
	}
	attribute("reply_to", m.ReplyTo)
	attribute("request_id", m.Request)
	attribute("verdict", m.Verdict)
	b.WriteString(">\n")
	escape(&b, m.Text)
	b.WriteString("\n</message>")
	return &oneloop.Text{Text: b.String()}
}

// plain has nothing in it that could end an attribute. What is sent has not
// either; a file could.
func plain(value string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '?'
	}, value)
}

// escape writes text so that nothing in it looks like the tag of a message, and
// so that unescape gives it back.
func escape(b *strings.Builder, text string) {
	for i, r := range text {
		switch {
		case (r == '<' || r == '＜' || r == '﹤') && tag(text[i:]):
			b.WriteString("&lt;")
		case r == '&' && escaped(text[i:]) > 0:
			b.WriteString("&amp;")
		default:
			if r == unicode.ReplacementChar && !strings.HasPrefix(text[i:], "\uFFFD") {
				b.WriteRune('?') // no character: only a file that was changed has that
				continue
			}
			b.WriteRune(r)
		}
	}
}

// unescape is the way back; of a wide < it makes a plain one.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		n := 0
		if text[i] == '&' {
			n = escaped(text[i:])
		}
		switch {
		case n == len("&lt;"):
			b.WriteByte('<')
			i += n - 1
		case n > 0:
			b.WriteByte('&')
			i += len("&amp;") - 1
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// escaped is the length of what escape could have made of one < in front, or of
// what it made of that: &lt; &amp;lt; &amp;amp;lt; and so on. 0: none.
func escaped(text string) int {
	n := 1
	for strings.HasPrefix(text[n:], "amp;") {
		n += len("amp;")
	}
	if strings.HasPrefix(text[n:], "lt;") {
		return n + len("lt;")
	}
	return 0
}

// tag reports whether text, which begins with a <, could be read as a tag of a
// message, by a reader who is not strict: with space, a slash of any kind or
// something that is not seen between, in any case, in wide letters.
func tag(text string) bool {
	const word = "message"
	have := 0
	for i, r := range text {
		if i == 0 {
			continue
		}
		if 'Ａ' <= r && r <= 'ｚ' {
			r -= 'Ａ' - 'A'
		}
		switch {
		case unicode.ToLower(r) == rune(word[have]), r == 'ſ' && word[have] == 's':
			if have++; have == len(word) {
				return true
			}
		case unseen.Hidden(r) || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Mn, unicode.Me):
		case have == 0 && (unicode.IsSpace(r) || strings.ContainsRune(`/\∕⁄／＼`, r)):
		default:
			return false
		}
	}
	return false
}

// Parse reads the text of a [Message.Block], with nothing before or behind it.
// To, Summary and Time are not in it.
func Parse(text string) (Message, bool) {
	var m Message
	rest, ok := strings.CutPrefix(text, "<message")
	if !ok {
		return m, false
	}
	for _, a := range []struct {
		name string
		to   *string
	}{{"from", &m.From}, {"id", &m.ID}, {"kind", (*string)(&m.Kind)}, {"reply_to", &m.ReplyTo}, {"request_id", &m.Request}, {"verdict", &m.Verdict}} {
		after, is := strings.CutPrefix(rest, " "+a.name+`="`)
		if !is {
			continue
		}
		value, behind, closed := strings.Cut(after, `"`)
		if !closed || value == "" || plain(value) != value {
			return m, false
		}
		*a.to, rest = value, behind
	}
	if m.Kind == "" {
		m.Kind = Plain
	}
	rest, ok = strings.CutPrefix(rest, ">\n")
	if !ok || m.From == "" || m.ID == "" {
		return m, false
	}
	if rest, ok = strings.CutSuffix(rest, "\n</message>"); !ok {
		return m, false
	}
	m.Text = unescape(rest)
	return m, m.Block().Text == text
}

// Seen are the ids of the messages that were put into a conversation as the
// blocks of a user message, or of the result of a tool: what [Reader] wants to
// know. What is in the texts of others does not count.
func Seen(conversation []*oneloop.Message) map[string]bool {
	seen := map[string]bool{}
	note := func(b oneloop.Block) {
		if t, is := b.(*oneloop.Text); is {
			if m, is := Parse(t.Text); is {
				seen[m.ID] = true
			}
		}
	}
	for _, m := range conversation {
		if m.Role != oneloop.User {
			continue
		}
		for _, b := range m.Blocks {
			note(b)
			if r, is := b.(*oneloop.ToolResult); is {
				for _, b := range r.Content {
					note(b)
				}
			}
		}
	}
	return seen
}
