package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"oneloop/internal/unseen"
)

// MostInstructions is how long instructions are in a prompt, in bytes, unless
// it is said otherwise: about a tenth of a window of 200,000 tokens.
const MostInstructions = 64 << 10

// instructionsBegin is how instructions begin in a prompt.
const instructionsBegin = "Instructions from files of the user and of this folder. Of two that differ the later one is nearer to the work and holds. The user's own words hold over all of them."

// AreInstructions reports whether a text is one that [Instructions.Text] made.
func AreInstructions(text string) bool { return strings.HasPrefix(text, instructionsBegin) }

// RenderOptions are the options of [Instructions.Text].
type RenderOptions struct {
	// May says whether a file of the folder may instruct; nil: none may. The
	// user's own always does.
	May func(Instruction) bool
	Max int                 // bytes; 0: MostInstructions
	Put func(string) string // makes secrets unreadable; nil: there are none
}

// Text is the instructions as they stand in a system prompt, and what is not in
// it although it was found. It is empty when there is nothing to say.
//
// Where it becomes too long the files nearest to the work are kept, and the
// text names what was cut and where it is.
func (in *Instructions) Text(o RenderOptions) (text string, notices []string) {
	var used []Instruction
	for _, f := range in.Files {
		by := f.By == "" || slices.ContainsFunc(used, func(u Instruction) bool { return u.Name == f.By })
		if by && strings.TrimSpace(f.Text) != "" && (f.Own || o.May != nil && o.May(f)) {
			used = append(used, f)
		}
	}
	if len(used) == 0 {
		return "", nil
	}
	room := o.Max
	if room == 0 {
		room = MostInstructions
	}
	parts := make([]string, len(used))
	for i, f := range slices.Backward(used) {
		said := f.Text
		if o.Put != nil {
			said = o.Put(said)
		}
		said, hidden := revealed(strings.TrimSpace(said))
		if hidden > 0 {
			notices = append(notices, unseen.Line(fmt.Sprintf("%s holds %d characters that nobody sees; the model is shown them as escapes.", f.Name, hidden)))
		}
		kept := cut(said, room)
		room -= len(kept)
		if left := len(said) - len(kept); left > 0 {
			notices = append(notices, unseen.Line(fmt.Sprintf("%s is too long: the last %d of its %d bytes are not in the prompt.", f.Name, left, len(said))))
			kept += fmt.Sprintf("\n[%d more bytes are in %s: read it when they matter]", left, f.Name)
		}
		parts[i] = fmt.Sprintf("<file name=%q>\n%s\n</file>", f.Name, strings.TrimPrefix(kept, "\n"))
	}
	slices.Reverse(notices)
	return instructionsBegin + "\n\n" + strings.Join(parts, "\n\n"), few(notices)
}

// revealed is text in which what nobody sees stands as escapes, and how much
// that is. Joiners and variations are part of how some scripts and pictures
// are written and stay.
func revealed(text string) (string, int) {
	n := 0
	odd := func(r rune) bool {
		return r >= utf8.RuneSelf && unseen.Hidden(r) && r != 0x200c && r != 0x200d && !unicode.Is(unicode.Variation_Selector, r)
	}
	if strings.IndexFunc(text, odd) < 0 {
		return text, 0
	}
	var b strings.Builder
	for _, r := range text {
		if !odd(r) {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteString(unseen.Line(string(r)))
	}
	return b.String(), n
}

// cut is the beginning of text within n bytes, by whole lines where that leaves
// something.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[:max(0, n)]
	if i := strings.LastIndexByte(text, '\n'); i > 0 {
		return text[:i]
	}
	for len(text) > 0 && !utf8.ValidString(text[max(0, len(text)-utf8.UTFMax):]) && !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text
}
