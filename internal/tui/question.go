package tui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"oneloop"
)

// question is one that is open, with what is typed in answer to it.
type question struct {
	oneloop.Question
	input editor
	done  chan reply // takes one
}

type reply struct {
	answer oneloop.Answer
	err    error
}

// detailBytes is how much of what a question is about is shown.
const detailBytes = 32 << 10

// put shows the question that waits. The reader calls it when nothing is left
// to read and nothing was typed for a moment, so that no key of before is taken for an answer.
func (t *Terminal) put() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == nil || time.Since(t.typed) < quiet {
		return
	}
	t.open()
	t.refresh()
}

type styled struct {
	style style
	text  string
}

// question is how q is put, line by line.
func (x *Text) question(q oneloop.Question) []styled {
	lines := []styled{{bold, q.Title}}
	if q.Detail != "" {
		detail, hidden := q.Detail, 0
		if len(detail) > detailBytes {
			detail = strings.ToValidUTF8(detail[:detailBytes], "")
			hidden = len(q.Detail) - len(detail)
		}
		for l := range strings.SplitSeq(detail, "\n") {
			lines = append(lines, styled{normal, indent.text + l})
		}
		if hidden > 0 {
			lines = append(lines, styled{yellow, x.AskHidden.of(hidden)})
		}
	}
	if q.Reason != "" {
		lines = append(lines, styled{dim, fmt.Sprintf(x.AskReason, q.Reason)})
	}
	yes, no := x.AskYes, x.AskNo
	if q.Kind == "trust" { // a yes is remembered, and there is no model yet
		yes, no = x.TrustYes, x.TrustNo
	}
	lines = append(lines, styled{normal, yes}, styled{normal, no})
	if q.Rule != "" {
		lines = append(lines, styled{normal, fmt.Sprintf(x.AskAlways, q.Rule)})
	}
	return lines
}

// parse reads an answer; ok is false when it is none.
func (x *Text) parse(q oneloop.Question, line string) (a oneloop.Answer, ok bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	is := func(words string) bool {
		for w := range strings.FieldsSeq(words) {
			if strings.EqualFold(w, word) {
				return true
			}
		}
		return false
	}
	switch {
	case is(x.WordsYes) && rest == "":
		return oneloop.Answer{Allow: true}, true
	case is(x.WordsNo):
		return oneloop.Answer{Reason: strings.TrimSpace(rest)}, true
	case is(x.WordsAll) && rest == "" && q.Rule != "":
		return oneloop.Answer{Allow: true, Always: true}, true
	}
	return oneloop.Answer{}, false
}

// again says what an answer looks like.
func (x *Text) again(q oneloop.Question) string {
	if q.Rule != "" {
		return x.AskAgainA
	}
	return x.AskAgain
}

// said is the line that keeps an answer.
func (x *Text) said(q oneloop.Question, a oneloop.Answer) string {
	switch {
	case a.Always:
		return fmt.Sprintf(x.AnswerAll, q.Rule)
	case a.Allow:
		return x.AnswerYes
	}
	return x.AnswerNo
}

// key is a key for the answer.
func (q *question) key(t *Terminal, k key) {
	switch k.code {
	case keyEnter:
		a, ok := t.words.parse(q.Question, q.input.text)
		q.input.clear()
		if !ok {
			t.render.note(yellow, t.words.again(q.Question))
			return
		}
		t.said = time.Now()
		t.render.note(dim, t.words.said(q.Question, a))
		t.answer(a, nil)
	case keyEOF:
		if q.input.text == "" {
			t.answer(oneloop.Answer{}, io.EOF)
			t.leave()
			return
		}
		q.input.key(k)
	case keyPaste, keyNewline:
		// An answer is typed; what is pasted may be anything.
	default:
		q.input.key(k)
	}
}
