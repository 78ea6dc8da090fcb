package tui

import (
	"slices"
	"strings"
)

// Completion is what may take the place of the word before the cursor.
type Completion struct {
	From int      // where that word begins, in bytes
	Full []string // what it may become, each whole
	Show []string // the same as a list shows it
}

// mostShown is how many possibilities are listed.
const mostShown = 60

// complete is Tab: it puts in what is certain of the word before the cursor, or
// lists what is possible. False: there is nothing to complete.
func (t *Terminal) complete() bool {
	if t.o.Complete == nil {
		return false
	}
	c := t.o.Complete(t.input.text[:t.input.at])
	if len(c.Full) == 0 || c.From < 0 || c.From > t.input.at {
		return false
	}
	word := t.input.text[c.From:t.input.at]
	if with := common(c.Full); with != word && len(with) >= len(word) {
		t.input.cut(c.From, t.input.at)
		t.input.insert(with)
		return true
	}
	if len(c.Full) > 1 {
		shown := c.Show[:min(len(c.Show), mostShown)]
		if n := len(c.Show) - len(shown); n > 0 {
			shown = append(slices.Clone(shown), "…")
		}
		t.render.note(dim, strings.Join(shown, "  "))
	}
	return true
}

// common is what all of list begin with, not cut inside of a character.
func common(list []string) string {
	with := list[0]
	for _, s := range list[1:] {
		for !strings.HasPrefix(s, with) {
			e := editor{text: with, at: len(with)}
			with = with[:e.before(e.at)]
		}
	}
	return with
}
