package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"oneloop"
)

// Bounds of a summary, in tokens.
const (
	summaryMost = 20_000 // what a model wrote is cut beyond that, and beyond a quarter of the room
	listMost    = 4_000  // of one made by rule
)

// summary is the text that takes the place of gone. The model is asked for it;
// where it gives none that can be used, why says so and the text is made by
// rule. An error is one that asking again would not have.
func (s *Session) summary(ctx context.Context, emit func(oneloop.Event), req *oneloop.Request, gone []*oneloop.Message, how shortening) (text, why string, err error) {
	room := how.room
	if !how.bare {
		text, why, err = s.asked(ctx, emit, req, gone, how)
	} else {
		why = "the conversation was still too long"
	}
	if err != nil {
		return "", "", err
	}
	if room == 0 {
		room = s.limit(req)
	}
	most, list := int64(summaryMost), int64(listMost)
	if room > 0 {
		most, list = min(most, room/4), min(list, room/8)
	}
	if text == "" {
		return clipTokens(listed(gone), list), why, nil
	}
	return clipTokens(text, most), "", nil
}

// asked is what the model says when it is asked for a summary. The request is
// the conversation as it was sent before, which an API has in its cache, with
// the wish behind it. Where that does not fit or is refused, the conversation is
// told in it as text, the longest and oldest of it cut, and once more with half
// of that.
func (s *Session) asked(ctx context.Context, emit func(oneloop.Event), req *oneloop.Request, gone []*oneloop.Message, how shortening) (text, why string, err error) {
	wish := wishFor(how.Focus)
	room := how.room
	if room == 0 {
		whole := *req
		whole.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], driver(&oneloop.Text{Text: wish}))
		text, why, err = s.askFor(ctx, emit, &whole)
		switch {
		case tooLong(err):
			room = s.learn(req, err)
		case errors.Is(err, oneloop.ErrInvalidRequest): // for something that stands in it, perhaps
			room = cmp.Or(s.limit(req), 4*summaryMost)
		default:
			return text, why, err
		}
	}
	for range 2 {
		told := *req
		tokens := room - fixed(req) - textBound(wish)
		told.Messages = []*oneloop.Message{driver(&oneloop.Text{Text: "This is a conversation between a user and you, told as text.\n\n" +
			tell(gone, max(tokens, 500)) + "\n\n" + wish})}
		text, why, err = s.askFor(ctx, emit, &told)
		if errors.Is(err, oneloop.ErrInvalidRequest) {
			return "", fmt.Sprintf("the request for a summary was refused (%v)", err), nil
		}
		if !tooLong(err) {
			return text, why, err
		}
		room /= 2
	}
	return "", "the conversation was too long to be summed up", nil
}

func tooLong(err error) bool {
	return errors.Is(err, oneloop.ErrContextOverflow) || errors.Is(err, oneloop.ErrTooLarge)
}

func wishFor(focus string) string {
	text := `Your context window is filling up, so what came before is about to be replaced by a summary. Write that summary now, as plain text. Make no calls: none is run.
It is for yourself: you will go on from it and see nothing else of what came before but the system prompt, the user's last message word for word, and at most the newest rounds. Say
- what the user wants, decided and ruled out, with the words that matter;
- what was done and found: files read and changed by their paths, commands and the results that still matter, errors and what solved them;
- where the work stands: what is under way, what is left, what comes next.
Keep names, paths, numbers and lines of code exact where they are still needed, and leave out what is not. Use 1,500 words at the most.`
	if focus != "" {
		text += "\nThe user wants the summary to look to this above all: " + focus
	}
	return text
}

// askFor asks the model for a text. A reply that makes calls gets a second
// chance. The text is empty, and why says why, when there is none to use.
func (s *Session) askFor(ctx context.Context, emit func(oneloop.Event), req *oneloop.Request) (text, why string, err error) {
	m, err := s.generate(ctx, emit, req)
	if err != nil {
		return "", "", err
	}
	if calls := m.ToolUses(); m.Stop == oneloop.StopToolUse {
		answer := driver()
		for _, c := range calls {
			r := oneloop.ErrorResult("Not run: only the summary is wanted now.")
			r.ID = c.ID
			answer.Blocks = append(answer.Blocks, r)
		}
		answer.Blocks = append(answer.Blocks, &oneloop.Text{Text: "Write the summary now, as plain text and without calls."})
		again := *req
		again.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], m, answer)
		if m, err = s.generate(ctx, emit, &again); err != nil {
			return "", "", err
		}
	}
	text = strings.TrimSpace(m.Text())
	switch m.Stop {
	case oneloop.StopRefusal:
		return "", "the model refused to write one", nil
	case oneloop.StopMaxTokens, oneloop.StopContextWindow:
		return "", "the model's was cut", nil
	case oneloop.StopPause, oneloop.StopCompaction:
		return "", "the model's was not finished", nil
	}
	if text == "" {
		return "", "the model wrote none", nil
	}
	return text, "", nil
}

// generate asks the model beside the conversation. What it says is no answer to
// the user, so only what it costs and how it goes is told.
func (s *Session) generate(ctx context.Context, emit func(oneloop.Event), req *oneloop.Request) (*oneloop.Message, error) {
	var limited *oneloop.LimitError
	m, err := s.Model.Generate(ctx, req, func(e oneloop.Event) {
		switch e := e.(type) {
		case oneloop.TextDelta, oneloop.ThinkingDelta, oneloop.InputDelta, oneloop.Stream:
			return
		case oneloop.Limited:
			limited = &oneloop.LimitError{What: e.What, Limit: e.Limit, Used: e.Used}
		}
		emit(e)
	})
	switch {
	case err != nil:
		return nil, err
	case m == nil:
		return nil, errNoMessage
	case m.Stop != oneloop.StopInterrupted:
		return m, nil
	case ctx.Err() != nil:
		return nil, ended(ctx)
	case limited != nil:
		return nil, limited
	}
	return nil, oneloop.ErrInterrupted
}

// piece is a part of a conversation that is told.
type piece struct {
	text   string
	result bool // of a call
	size   int64
}

// tell tells messages as text with at most so many tokens, about. The
// outputs of calls are cut first, the oldest before the others; then the
// oldest pieces go, an earlier summary last.
func tell(msgs []*oneloop.Message, tokens int64) string {
	pieces, size := piecesOf(msgs)
	const short = 600 // bytes
	for i := range pieces {
		if p := &pieces[i]; size > tokens && p.result && len(p.text) > 2*short {
			size -= p.cut(short)
		}
	}
	from, left := 0, 0
	if len(msgs) > 0 && msgs[0].Meta.Source == fromSummary {
		from = 1
	}
	for size > tokens && from+left < len(pieces)-1 {
		size -= pieces[from+left].size
		left++
	}
	var b strings.Builder
	for i, p := range pieces {
		if i == from && left > 0 {
			fmt.Fprintf(&b, "[%d parts are left out here.]\n\n", left)
		}
		if i < from || i >= from+left {
			b.WriteString(p.text + "\n\n")
		}
	}
	return clipTokens(strings.TrimSpace(b.String()), tokens)
}

// cut makes p shorter and returns what that wins.
func (p *piece) cut(n int) int64 {
	before := p.size
	p.text = clip(p.text, n)
	p.size = textBound(p.text)
	return before - p.size
}

func piecesOf(msgs []*oneloop.Message) (pieces []piece, size int64) {
	add := func(result bool, head, text string) {
		if text = strings.TrimSpace(text); text != "" {
			p := piece{text: head + text, result: result}
			p.size = textBound(p.text)
			pieces, size = append(pieces, p), size+p.size
		}
	}
	for _, m := range msgs {
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case *oneloop.Text:
				if len(results(m)) > 0 { // said by no one: a reminder behind results
					continue
				}
				if m.Role == oneloop.Assistant {
					add(false, "You said: ", b.Text)
				} else if m.Meta.Source == fromSummary {
					add(false, "", b.Text)
				} else {
					add(false, "The user said: ", b.Text)
				}
			case *oneloop.ToolUse:
				add(false, "You called "+b.Name+" ", string(b.Input))
			case *oneloop.ToolResult:
				head := "The answer: "
				if b.IsError {
					head = "It failed: "
				}
				add(true, head, b.Text())
			case *oneloop.Media:
				add(false, "", "["+b.Type+"]")
			}
		}
	}
	return pieces, size
}

// listed is a summary made by rule: what was asked, which calls were made, and
// what was said last.
func listed(msgs []*oneloop.Message) string {
	const calls, asks = 60, 20
	var earlier, said string
	var asked, made []string
	at := map[string]int{} // calls in made
	for _, m := range msgs {
		text := strings.TrimSpace(m.Text())
		switch {
		case m.Meta.Source == fromSummary:
			earlier = text
		case m.Role == oneloop.Assistant && text != "":
			said = text
		case m.Role == oneloop.User && text != "" && len(results(m)) == 0 && (m.Meta.Source == "" || m.Meta.Source == fromInbox):
			asked = append(asked, "- "+clip(text, 500))
		}
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case *oneloop.ToolUse:
				at[b.ID] = len(made)
				made = append(made, "- "+b.Name+" "+clip(string(b.Input), 200))
			case *oneloop.ToolResult:
				if i, ok := at[b.ID]; ok && b.IsError {
					made[i] += " (failed)"
				}
			}
		}
	}
	var b strings.Builder
	section := func(title string, lines []string, most int) {
		if len(lines) == 0 {
			return
		}
		b.WriteString(title + "\n")
		if n := len(lines) - most; n > 0 {
			fmt.Fprintf(&b, "[%d earlier ones are left out.]\n", n)
			lines = lines[n:]
		}
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
	b.WriteString("This was put together by rule and not written by you; look again at what you need to know.\n")
	section("The user said:", asked, asks)
	section("You made these calls:", made, calls)
	if said != "" {
		section("You said last:", []string{clip(said, 2000)}, 1)
	}
	if earlier != "" {
		section("Before that there was an earlier summary:", []string{clip(earlier, 6000)}, 1)
	}
	return strings.TrimSpace(b.String())
}

// clipTokens is s with about so many tokens at the most.
func clipTokens(s string, tokens int64) string {
	for range 3 { // the note in the middle counts too
		if have := textBound(s); have > tokens {
			s = clip(s, int(share(int64(len(s)), tokens*9/10, have)))
		}
	}
	return s
}

// clip is s with about n bytes at the most: its beginning and its end, and how
// much is left out between.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := n*2/3, len(s)-n/3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[%d characters are left out here.]\n%s", s[:head], utf8.RuneCountInString(s[head:tail]), s[tail:])
}
