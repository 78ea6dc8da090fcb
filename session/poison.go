package session

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"oneloop"
)

// A block that an API refuses stands in every later request too: the whole
// conversation would be lost with it. A transcript that can have a block sent
// otherwise than it is kept, as a [Log] can, loses that block only.

// redactor is such a transcript.
type redactor interface {
	Redact(...Redaction) error
	Strip() bool
}

const (
	repairsInARow = 3
	longText      = 8 << 10 // bytes of a tool's text that may be left out where a request is too large
	mostTexts     = 20      // of them; where more would have to go, a summary is the better way
	reasonBytes   = 300     // of what an API said, in what the model is told
)

// repaired reports whether what the API refused, if err says that it did, is
// left out from now on, so that the request can be made again. It differs then
// from the one before.
func (t *turn) repaired(err error) bool {
	log, ok := t.session.Transcript.(redactor)
	api, refused := errors.AsType[*oneloop.APIError](err)
	if !ok || !refused || t.asked == nil || t.repairs == Repairs || t.inARow == repairsInARow {
		return false
	}
	p := poison{req: t.asked, err: api}
	if !p.find() || p.strip && !log.Strip() || log.Redact(p.list...) != nil {
		return false // err tells
	}
	t.repairs++
	t.inARow++
	t.emit(oneloop.Notice{Text: p.notice()})
	return true
}

// poison is what is to be left out of a request that was refused.
type poison struct {
	req   *oneloop.Request
	err   *oneloop.APIError
	list  []Redaction
	strip bool     // all reasoning too
	what  []string // is left out, for the user
}

// find reports whether there is something.
func (p *poison) find() bool {
	switch p.err.Class {
	case oneloop.ErrTooLarge:
		p.shrink()
	case oneloop.ErrInvalidRequest:
		p.refused()
	}
	return p.strip || len(p.list) > 0
}

// refused looks for the block that a 400 is about.
func (p *poison) refused() {
	text := strings.ToLower(strings.Join([]string{p.err.Code, p.err.Message}, " "))
	about := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	thinking := about("thinking")
	switch {
	case about("bound to a different conversation"), thinking && about("signature", "cannot be modified"):
		p.strip = true
		p.what = append(p.what, "the reasoning in this conversation")
	case thinking && about("expected"):
		p.flatten()
	case p.err.At != nil && p.err.At.Block >= 0:
		p.named(*p.err.At, about("extra inputs"))
	}
	// The block that is named can be another one, where an API or a gateway
	// counts otherwise.
	if !p.strip && len(p.list) == 0 && about("image", "document", "pdf", "media type", "media_type") {
		p.media()
	}
}

// named leaves out the block that the API named.
func (p *poison) named(at oneloop.Position, extra bool) {
	if !slices.Contains(p.req.Messages, at.Message) || at.Block >= len(at.Message.Blocks) {
		return
	}
	b := at.Message.Blocks[at.Block]
	if oneloop.Reasoning(b) {
		p.strip = true
		p.what = append(p.what, "the reasoning in this conversation")
		return
	}
	if r, ok := b.(*oneloop.ToolResult); ok {
		p.inResult(at, r)
		return
	}
	change := Redaction{Message: at.Message, Block: at.Block, Inner: -1}
	switch b := b.(type) {
	case *oneloop.Media:
		p.replace(change, b.Type)
	case *oneloop.Opaque:
		if change.Message.Role == oneloop.Assistant {
			p.leave(change, nil, fmt.Sprintf("a block of the kind %q", b.Type))
			return
		}
		p.replace(change, b.Type)
	case *oneloop.ToolUse:
		input := []byte(`{"left_out":"the API refused this input"}`)
		p.leave(change, &oneloop.ToolUse{ID: b.ID, Name: b.Name, Input: input}, "the input of a call of "+b.Name)
	case *oneloop.Text:
		switch {
		case strings.TrimSpace(b.Text) == "":
			p.leave(change, nil, "a blank text")
		case extra && b.Raw != nil: // it came with something that this API does not know
			p.leave(change, &oneloop.Text{Text: b.Text}, "what stood beside a text")
		}
	}
}

// inResult leaves out the named part of a tool's result; where none is named,
// all in it that is no text.
func (p *poison) inResult(at oneloop.Position, r *oneloop.ToolResult) {
	for k, b := range r.Content {
		if _, text := b.(*oneloop.Text); at.Inner == k || at.Inner < 0 && !text {
			p.replace(Redaction{Message: at.Message, Block: at.Block, Inner: k}, kindOf(b))
		}
	}
}

func kindOf(b oneloop.Block) string {
	switch b := b.(type) {
	case *oneloop.Media:
		return b.Type
	case *oneloop.Opaque:
		return b.Type
	}
	return "text"
}

// replace has words stand where a block stood.
func (p *poison) replace(r Redaction, kind string) {
	p.leave(r, &oneloop.Text{Text: fmt.Sprintf("[%s stood here that the API refused: %s%s", article(kind), p.why(), noLonger)}, p.place(r, kind))
}

// noLonger ends the words that stand for a block.
const noLonger = ". It is no longer sent.]"

// why is what the API said, in few words.
func (p *poison) why() string {
	why := strings.Join(strings.Fields(cmp.Or(p.err.Message, p.err.Class.Error())), " ")
	if len(why) > reasonBytes {
		why = strings.ToValidUTF8(why[:reasonBytes], "") + " …"
	}
	return strings.TrimSuffix(why, ".")
}

func article(kind string) string {
	if strings.ContainsAny(kind[:min(1, len(kind))], "aeiou") {
		return "An " + kind
	}
	return "A " + kind
}

// leave leaves a block out, or has another one stand there, unless that would
// be the same again.
func (p *poison) leave(r Redaction, with oneloop.Block, what string) {
	if with != nil && same(with, r.block()) {
		return
	}
	r.With, r.Why = with, p.err.Error()
	p.list = append(p.list, r)
	if !slices.Contains(p.what, what) {
		p.what = append(p.what, what)
	}
}

func (r *Redaction) block() oneloop.Block {
	b := r.Message.Blocks[r.Block]
	if result, ok := b.(*oneloop.ToolResult); ok && r.Inner >= 0 {
		return result.Content[r.Inner]
	}
	return b
}

// same reports whether b is sent as a is, or stands for what was left out
// already.
func same(a, b oneloop.Block) bool {
	if t, ok := b.(*oneloop.Text); ok && strings.HasSuffix(t.Text, noLonger) {
		return true
	}
	x, err := oneloop.AppendBlock(nil, a)
	if err != nil {
		return true
	}
	y, err := oneloop.AppendBlock(nil, b)
	return err == nil && bytes.Equal(x, y)
}

// place is where a block stands, in words.
func (p *poison) place(r Redaction, kind string) string {
	the := strings.ToLower(article(kind))
	if r.Inner < 0 {
		return the
	}
	result, _ := r.Message.Blocks[r.Block].(*oneloop.ToolResult)
	for _, m := range p.req.Messages {
		for _, c := range m.ToolUses() {
			if result != nil && c.ID == result.ID {
				return the + " in a result of " + c.Name
			}
		}
	}
	return the + " in the result of a tool"
}

// media leaves out the images and documents that no reply has followed yet:
// those before were accepted. Where there are none it is all of them, which
// another model than this one may have taken.
func (p *poison) media() {
	tail := p.tail()
	for _, from := range []int{tail, 0} {
		for _, r := range p.blocks(from, func(b oneloop.Block) bool { _, is := b.(*oneloop.Media); return is }) {
			p.replace(r.Redaction, kindOf(r.block))
		}
		if len(p.list) > 0 {
			return
		}
	}
}

// tail is the index of the first message behind the last reply.
func (p *poison) tail() int {
	for i, m := range slices.Backward(p.req.Messages) {
		if m.Role == oneloop.Assistant {
			return i + 1
		}
	}
	return 0
}

// found is a block of a request.
type found struct {
	Redaction
	block oneloop.Block
	size  int // bytes in the request
}

// blocks are the blocks and parts of results that are wanted, from a message
// on, oldest first.
func (p *poison) blocks(from int, want func(oneloop.Block) bool) (list []found) {
	add := func(m *oneloop.Message, block, inner int, b oneloop.Block) {
		if want(b) {
			list = append(list, found{Redaction{Message: m, Block: block, Inner: inner}, b, size(b)})
		}
	}
	for _, m := range p.req.Messages[from:] {
		for i, b := range m.Blocks {
			add(m, i, -1, b)
			if r, ok := b.(*oneloop.ToolResult); ok {
				for k, inner := range r.Content {
					add(m, i, k, inner)
				}
			}
		}
	}
	return list
}

// size is about what a block takes in a request.
func size(b oneloop.Block) int {
	text, err := oneloop.AppendBlock(nil, b)
	if err != nil {
		return 0
	}
	return len(text)
}

// shrink makes a request that was too large a quarter smaller at least: images
// and documents go first, the oldest before all, and then what tools printed,
// the longest first. Where that is not enough nothing is changed.
func (p *poison) shrink() {
	whole := 0
	for _, m := range p.req.Messages {
		for _, b := range m.Blocks {
			whole += size(b)
		}
	}
	list := p.blocks(0, func(b oneloop.Block) bool { _, is := b.(*oneloop.Media); return is })
	texts := slices.DeleteFunc(p.blocks(0, func(b oneloop.Block) bool {
		t, is := b.(*oneloop.Text)
		return is && len(t.Text) > longText
	}), func(f found) bool { return f.Inner < 0 })
	slices.SortStableFunc(texts, func(a, b found) int { return cmp.Compare(b.size, a.size) })
	less := 0
	for i, f := range append(list, texts...) {
		if less >= whole/4 || i == len(list)+mostTexts {
			break
		}
		less += f.size
		p.replace(f.Redaction, kindOf(f.block))
	}
	if less < whole/4 {
		p.list = nil
	}
}

// flatten tells the calls of the turn that goes on, and their results, in
// words: an API that misses the reasoning before a call takes them so.
func (p *poison) flatten() {
	for _, m := range p.req.Messages[p.goesOn():] {
		for i, b := range m.Blocks {
			r := Redaction{Message: m, Block: i, Inner: -1}
			switch b := b.(type) {
			case *oneloop.ToolUse:
				p.leave(r, &oneloop.Text{Text: fmt.Sprintf("[I called %s with %s]", b.Name, b.Input)}, "the form of the last calls, which are told in words")
			case *oneloop.ToolResult:
				p.leave(r, &oneloop.Text{Text: "[The result of the call:]\n" + b.Text()}, "the form of the last calls, which are told in words")
			}
		}
	}
}

// goesOn is the index of the first message of the turn that goes on: it lies
// behind the last thing the user said that no results stand beside.
func (p *poison) goesOn() int { return goesOn(p.req.Messages) }

func goesOn(msgs []*oneloop.Message) int {
	for from := len(msgs); from > 0; {
		end := from
		beside := false
		for from > 0 && msgs[from-1].Role == oneloop.User {
			from--
			beside = beside || len(results(msgs[from])) > 0
		}
		if from < end && !beside {
			return end
		}
		for from > 0 && msgs[from-1].Role == oneloop.Assistant {
			from--
		}
	}
	return 0
}

func (p *poison) notice() string {
	return fmt.Sprintf("The API refused the request (%s), so it is sent again without %s. Later requests leave that out too; the log of the session keeps it.",
		p.why(), strings.Join(p.what, ", "))
}
