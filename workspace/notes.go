package workspace

import (
	"fmt"
	"strings"

	"oneloop/internal/unseen"
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
	text = unseen.Line(text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}
