package workspace

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Notes tell names and settings that a command chose. So they are short, each
// is one line, and nothing in them acts on a terminal or hides.
const (
	noteMost = 700     // bytes of a note
	notesAll = 4 << 10 // bytes of all notes of a command together
)

// tidy makes notes fit to be told.
func tidy(notes []string) []string {
	size := 0
	for i, note := range notes {
		note = shown(note, noteMost)
		if size += len(note); size > notesAll-100 {
			return append(notes[:i:i], fmt.Sprintf("%d more notes like these are left out", len(notes)-i))
		}
		notes[i] = note
	}
	return notes
}

// shown is text in one line that is seen as it is, of at most most bytes.
func shown(text string, most int) string {
	var b strings.Builder
	for i, r := range text {
		part := string(r)
		switch {
		case r == utf8.RuneError:
			part = `\ufffd`
		case !strconv.IsPrint(r):
			part = strings.Trim(strconv.QuoteRuneToASCII(r), "'")
		}
		if b.Len()+len(part) > most-len("…") && i < len(text) {
			return b.String() + "…"
		}
		b.WriteString(part)
	}
	return b.String()
}
