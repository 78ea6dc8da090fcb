package session

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"oneloop"
)

// Repeats says what becomes of a turn that goes round in circles. A round is a
// reply with calls, and their results; one in which every call was made before
// in this turn, with the same input and the same result, brings nothing new.
// Polling something until it changes is no such circle once it does, and a
// round with anything new in it begins the count again.
type Repeats struct {
	// Tell is the round in a row without anything new, the first one of its
	// kind counted too, with which the model is told so, and again after as many
	// more; 0: the 4th, negative: it is never told.
	Tell int
	// End is the one with which the turn ends with a [*oneloop.LimitError];
	// 0: the 16th, negative: it never does.
	End int
	// Ask is asked first whether the turn is to go on; nil: nobody is there. A
	// no with a reason goes on too, and tells the model the reason.
	Ask oneloop.Ask
}

// Of a turn whose [Repeats] say nothing else.
const (
	RepeatsTold  = 4
	RepeatsEnded = 16
)

// silentRounds is how many rounds whose calls have nothing to say, as those that
// wait do, count as one.
const silentRounds = 20

// brake is tools that notice a turn that goes round in circles.
type brake struct {
	oneloop.Tools
	tell, end int
	ask       oneloop.Ask
	seen      map[[sha256.Size]byte]bool // calls with their results
	times     int                        // rounds in a row that were the same
	silent    int                        // of those that had nothing to say, what is not counted yet
}

func (r Repeats) brake(tools oneloop.Tools) oneloop.Tools {
	b := &brake{Tools: tools, tell: r.Tell, end: r.End, ask: r.Ask, seen: map[[sha256.Size]byte]bool{}}
	if b.tell == 0 {
		b.tell = RepeatsTold
	}
	if b.end == 0 {
		b.end = RepeatsEnded
	}
	return b
}

func (b *brake) Run(ctx context.Context, calls []*oneloop.ToolUse, emit func(oneloop.Event)) *oneloop.Message {
	m := b.Tools.Run(ctx, calls, emit)
	if !b.count(calls, results(m)) || ctx.Err() != nil || m.Stop == oneloop.StopEndTurn {
		return m
	}
	switch {
	case b.end > 0 && b.times >= b.end:
		return b.stop(ctx, calls, m, emit)
	case b.tell > 0 && b.times > 0 && b.times%b.tell == 0:
		return remark(m, fmt.Sprintf("%s as before, for the %s time in a row. Another time will give the same again: do something else, or end your turn and say what is in the way.", nothingNew, ordinal(b.times)))
	}
	return m
}

// nothingNew begins what is added to the last result of such a round.
const nothingNew = "[Nothing new: the same call and the same result"

// stop ends the turn, unless somebody wants it to go on.
func (b *brake) stop(ctx context.Context, calls []*oneloop.ToolUse, m *oneloop.Message, emit func(oneloop.Event)) *oneloop.Message {
	said := fmt.Sprintf("%s as before, for the %s time in a row", nothingNew, ordinal(b.times))
	if b.ask != nil {
		a, err := Put(ctx, b.ask, oneloop.Question{
			Kind: "limit", Title: "Let it go on?", Call: calls[len(calls)-1], Detail: detail(calls),
			Reason: fmt.Sprintf("the same call gave the same result %d times in a row", b.times),
		}, emit)
		switch {
		case err == nil && a.Allow:
			b.times = 0
			return remark(m, said+".")
		case err == nil && a.Reason != "":
			b.times = 0
			return remark(m, said+". The user says: "+a.Reason)
		case ctx.Err() != nil:
			return m
		}
	}
	emit(oneloop.Limited{What: "repetition", Limit: strconv.Itoa(b.end), Used: strconv.Itoa(b.times)})
	m = remark(m, said+", so the turn was ended here.")
	m.Stop = oneloop.StopEndTurn
	return m
}

// detail is the calls that repeat, for who is asked.
func detail(calls []*oneloop.ToolUse) string {
	var lines []string
	for _, c := range calls {
		lines = append(lines, fmt.Sprintf("%s %s", c.Name, c.Input))
	}
	return strings.Join(lines, "\n")
}

// remark is results with text added to the last one. Those that were handed out
// stay as they are.
func remark(m *oneloop.Message, text string) *oneloop.Message {
	more := *m
	more.Blocks = append([]oneloop.Block(nil), m.Blocks...)
	for i := len(more.Blocks) - 1; i >= 0; i-- {
		r, ok := more.Blocks[i].(*oneloop.ToolResult)
		if !ok {
			continue
		}
		said := *r
		said.Raw = nil
		said.Content = append(content(r), &oneloop.Text{Text: text + "]"})
		more.Blocks[i] = &said
		break
	}
	return &more
}

// content is what a result holds without what was added here: a result that is
// played back has that already.
func content(r *oneloop.ToolResult) []oneloop.Block {
	n := len(r.Content)
	if n > 0 {
		if t, ok := r.Content[n-1].(*oneloop.Text); ok && strings.HasPrefix(t.Text, nothingNew) {
			n--
		}
	}
	return r.Content[:n:n]
}

// Unremarked is r as its call gave it: without what a session adds to the last
// answer of a round that brings nothing new.
func Unremarked(r *oneloop.ToolResult) *oneloop.ToolResult {
	given := content(r)
	if len(given) == len(r.Content) {
		return r
	}
	plain := *r
	plain.Raw, plain.Content = nil, given
	if len(given) == 1 {
		if t, ok := given[0].(*oneloop.Text); ok { // which has another form than in a list
			plain.Content = []oneloop.Block{&oneloop.Text{Text: t.Text}}
		}
	}
	return &plain
}

// count notes a round. It reports whether that made one round more in a row.
func (b *brake) count(calls []*oneloop.ToolUse, given []*oneloop.ToolResult) bool {
	fresh, silent := len(calls) == 0 || len(calls) != len(given), true
	for i := range min(len(calls), len(given)) {
		key := fingerprint(calls[i], given[i])
		fresh = fresh || !b.seen[key]
		b.seen[key] = true
		silent = silent && given[i].Text() == oneloop.NoOutput
	}
	switch {
	case fresh:
		b.times, b.silent = 1, 0
		return true
	case silent:
		if b.silent++; b.silent < silentRounds {
			return false
		}
		b.silent = 0
	}
	b.times++
	return true
}

// fingerprint is that of a call and its result. How the input is written, but
// not what it says, makes no difference.
func fingerprint(c *oneloop.ToolUse, r *oneloop.ToolResult) (sum [sha256.Size]byte) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %t\n", c.Name, r.IsError)
	h.Write(canonical(c.Input))
	h.Write([]byte("\n"))
	for _, b := range content(r) {
		text, err := oneloop.AppendBlock(nil, b)
		if err != nil {
			text = fmt.Appendf(nil, "%p", b) // like no other
		}
		h.Write(text)
	}
	h.Sum(sum[:0])
	return sum
}

// large is from where on input is compared as it is written: to read megabytes
// into values takes many times their memory.
const large = 64 << 10 // bytes

func canonical(input json.RawMessage) []byte {
	if len(input) > large {
		return input
	}
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber() // two large numbers can be the same as a float64
	var v any
	if d.Decode(&v) != nil {
		return input
	}
	text, err := json.Marshal(v)
	if err != nil {
		return input
	}
	return text
}

func ordinal(n int) string {
	switch {
	case n%100/10 == 1:
	case n%10 == 1:
		return fmt.Sprintf("%dst", n)
	case n%10 == 2:
		return fmt.Sprintf("%dnd", n)
	case n%10 == 3:
		return fmt.Sprintf("%drd", n)
	}
	return fmt.Sprintf("%dth", n)
}
