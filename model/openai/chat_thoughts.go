package openai

import (
	"slices"
	"strings"

	"oneloop/internal/rawjson"
)

// thoughts finds reasoning between <think> and </think> at the beginning of a
// text.
type thoughts struct {
	state int
	bare  bool   // the opening tag is not to be expected: see [chatReply.unopened]
	held  string // what is not decided yet
	show  rawjson.Pieces
}

const (
	before = iota
	within
	between // space behind the tag, which is no part of the text
	behind
)

const (
	thoughtField = "thought"
	openTag      = "<think>"
	closeTag     = "</think>"
)

func (t *thoughts) take(r *chatReply, quoted []byte) {
	if t.state == behind && t.held == "" {
		r.join(contentField, quoted)
		return
	}
	t.held += t.show.Next(quoted)
	t.decide(r, false)
}

// decide gives away what is decided; last: nothing more comes.
func (t *thoughts) decide(r *chatReply, last bool) {
	give := func(field, text string) {
		if text != "" {
			r.join(field, quote(text))
		}
	}
	if t.state == before {
		begin := strings.TrimLeft(t.held, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, openTag):
			t.state, t.bare, t.held = within, false, begin[len(openTag):]
		case !last && strings.HasPrefix(openTag, begin):
			return
		case t.bare:
			t.state = within
		default:
			t.state = behind
		}
	}
	if t.state == within {
		if thought, rest, ok := strings.Cut(t.held, closeTag); ok {
			give(thoughtField, thought)
			t.state, t.held = between, rest
		} else {
			keep := 0
			for n := min(len(closeTag)-1, len(t.held)); n > 0 && keep == 0 && !last; n-- {
				if strings.HasSuffix(t.held, closeTag[:n]) {
					keep = n
				}
			}
			give(thoughtField, t.held[:len(t.held)-keep])
			t.held = t.held[len(t.held)-keep:]
			return
		}
	}
	if t.state == between {
		if t.held = strings.TrimLeft(t.held, " \t\r\n"); t.held == "" {
			return
		}
		t.state = behind
	}
	give(contentField, t.held)
	t.held = ""
}

// rest gives away what is still held.
func (t *thoughts) rest(r *chatReply) {
	t.held += t.show.Rest()
	if t.held != "" {
		t.decide(r, true)
	}
}

// quote is a text with its escapes, without the quotes.
func quote(text string) []byte {
	q := rawjson.AppendString(nil, text)
	return q[1 : len(q)-1]
}

// unopened sorts out reasoning whose opening tag never came. The templates of
// some models (DeepSeek R1, Qwen3) end the prompt with it, and a server that is
// started without its reasoning parser sends what follows: reasoning, the
// closing tag, the answer. That is known only when the closing tag comes, and
// the reasoning was shown as text by then; from then on texts of the model are
// taken for reasoning until they are closed.
func (r *chatReply) unopened() {
	switch t := &r.thoughts; {
	case !r.dialect.Think || slices.ContainsFunc(r.fields, func(f *chatField) bool { return f.name == reasoningA || f.name == reasoningB }):
	case t.bare && t.state == within: // it was not closed: this time it is an answer
		for _, f := range r.fields {
			if f.name == thoughtField {
				f.name = contentField
				f.show = rawjson.Pieces{}
				r.tell(contentField, rawjson.Value(slices.Concat([]byte(`"`), f.text, []byte(`"`))).Text())
			}
		}
	case t.state == behind && !t.bare:
		i := slices.IndexFunc(r.fields, func(f *chatField) bool { return f.name == contentField })
		if i < 0 {
			return
		}
		f := r.fields[i]
		thought, text, ok := closed(rawjson.Value(slices.Concat([]byte(`"`), f.text, []byte(`"`))).Text())
		if !ok {
			return
		}
		r.fields[i] = &chatField{name: thoughtField, text: quote(thought)}
		if text != "" {
			r.fields = append(r.fields, &chatField{name: contentField, text: quote(text)})
		}
		r.bare()
	}
}

// closed parts a text at a closing tag that nothing opened: on a line of its own
// and in no block of code, for an answer may speak of such tags.
func closed(text string) (thought, rest string, ok bool) {
	thought, rest, ok = strings.Cut(text, closeTag)
	if !ok || strings.Contains(thought, openTag) || strings.Count(thought, "```")%2 != 0 ||
		thought != "" && !strings.HasSuffix(thought, "\n") || rest != "" && !strings.HasPrefix(rest, "\n") {
		return "", "", false
	}
	return thought, strings.TrimLeft(rest, " \t\r\n"), true
}
