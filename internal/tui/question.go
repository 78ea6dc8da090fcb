package tui

import (
	"fmt"
	"io"
	"slices"
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
	lines := []styled{{bold, x.title(q)}}
	if q.Agent != "" {
		lines = append(lines, styled{dim, fmt.Sprintf(x.AskAgent, Visible(q.Agent))})
	}
	lines = append(lines, x.about(q)...)
	if q.In != "" {
		lines = append(lines, styled{dim, fmt.Sprintf(x.AskIn, x.isolation(q.In))})
	}
	if q.Reason != "" && q.Kind != "plan" { // a plan is asked about because it is one
		lines = append(lines, styled{dim, fmt.Sprintf(x.AskReason, x.Reason(q.Reason, q.Why))})
	}
	yes, no := x.AskYes, x.AskNo
	switch q.Kind {
	case "choice":
		return append(lines, x.choices(q)...)
	case "trust": // a yes is remembered, and there is no model yet
		yes, no = x.TrustYes, x.TrustNo
	case "plan":
		yes, no = x.PlanYes, x.PlanNo
	case "limit":
		yes, no = x.LimitYes, x.LimitNo
	}
	lines = append(lines, styled{normal, yes}, styled{normal, no})
	switch {
	case q.Rule != "" && q.File != "":
		lines = append(lines, styled{normal, fmt.Sprintf(x.AskAlways, q.Rule, q.File)})
	case q.Rule != "":
		lines = append(lines, styled{normal, fmt.Sprintf(x.AskSession, q.Rule)})
	}
	return lines
}

// about is what a question is about. Of a file that is to be changed, whose
// name comes first, it is the change and not the input that says it.
func (x *Text) about(q oneloop.Question) []styled {
	if q.Kind == "tool" && q.Call != nil {
		file, input, _ := strings.Cut(q.Detail, "\n")
		if strings.HasPrefix(input, q.Call.Name+" ") {
			if lines, ok := x.changes(q.Call); ok {
				return append(x.detail(file), lines...)
			}
		}
	}
	return x.detail(q.Detail)
}

// detail is text a question is about.
func (x *Text) detail(text string) []styled {
	if text == "" {
		return nil
	}
	var lines []styled
	shown := text
	if len(text) > detailBytes {
		shown = strings.ToValidUTF8(text[:detailBytes], "")
	}
	for l := range strings.SplitSeq(shown, "\n") {
		lines = append(lines, styled{normal, indent.text + l})
	}
	if hidden := len(text) - len(shown); hidden > 0 {
		lines = append(lines, styled{yellow, x.AskHidden.of(hidden)})
	}
	return lines
}

// title is the title of q in the language of x. What the model writes, the
// title of a choice, stays as it is.
func (x *Text) title(q oneloop.Question) string {
	switch q.Kind {
	case "choice":
		return short(q.Title, choiceBytes)
	case "trust":
		return q.Title
	}
	if i := slices.Index(english.AskTitles[:], q.Title); i >= 0 {
		return x.AskTitles[i]
	}
	if q.Call != nil && q.Title == fmt.Sprintf(english.AskTool, q.Call.Name) {
		return fmt.Sprintf(x.AskTool, q.Call.Name)
	}
	return q.Title
}

// isolations are what can confine a command, as the program calls it.
var isolations = [8]string{"no sandbox", "sandbox", "ns", "ll", "bwrap", "no network", "network by rules", "read-only"}

// isolation says what confines commands: a backend and what else holds, with
// commas between.
func (x *Text) isolation(in string) string {
	var parts []string
	for part := range strings.SplitSeq(in, ", ") {
		if i := slices.Index(isolations[:], part); i >= 0 {
			part = x.Isolations[i]
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, x.Comma)
}

// parse reads an answer; ok is false when it is none.
func (x *Text) parse(q oneloop.Question, line string) (a oneloop.Answer, ok bool) {
	if q.Kind == "choice" {
		return x.choose(q, line)
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
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
	case is(x.WordsYes) && q.Kind == "plan":
		return oneloop.Answer{Allow: true, Text: rest}, true
	case is(x.WordsNo):
		return oneloop.Answer{Reason: rest}, true
	case is(x.WordsAll) && rest == "" && q.Rule != "":
		return oneloop.Answer{Allow: true, Always: true}, true
	}
	return oneloop.Answer{}, false
}

// again says what an answer looks like.
func (x *Text) again(q oneloop.Question) string {
	switch {
	case q.Kind == "choice":
		return x.chooseAgain(q)
	case q.Rule != "":
		return x.AskAgainA
	}
	return x.AskAgain
}

// said is the line that keeps an answer.
func (x *Text) said(q oneloop.Question, a oneloop.Answer) string {
	switch {
	case q.Kind == "choice":
		return x.chosen(a)
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
		line := q.input.text
		a, ok := t.words.parse(q.Question, line)
		q.input.clear()
		if !ok {
			t.render.note(yellow, t.words.again(q.Question))
			return
		}
		t.said, t.reply = time.Now(), strings.TrimSpace(line)
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
		// A permission is typed; what is pasted may be anything.
		if q.Kind == "choice" || q.Kind == "plan" {
			q.input.key(k)
		}
	default:
		q.input.key(k)
	}
}
