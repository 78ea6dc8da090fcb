package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"oneloop"
)

// choiceBytes is how much of a choice is shown.
const choiceBytes = 2000

// leaveOpen is the answer that is none.
const leaveOpen = "-"

// choices is what a question is between, each with its number, and how to
// answer.
func (x *Text) choices(q oneloop.Question) []styled {
	var lines []styled
	for i, c := range q.Choices {
		lines = append(lines, styled{bold, fmt.Sprintf("%d  %s", i+1, short(c.Label, choiceBytes))})
		if detail := strings.TrimSpace(c.Detail); detail != "" {
			for l := range strings.SplitSeq(short(detail, choiceBytes), "\n") {
				lines = append(lines, styled{normal, "   " + l})
			}
		}
	}
	how := x.ChoiceOne
	switch {
	case len(q.Choices) == 0:
		how = x.ChoiceFree
	case q.Several:
		how = x.ChoiceMany
	}
	return append(lines, styled{dim, how})
}

// choose reads an answer to a choice: numbers, labels, or anything else as the
// person's own words. Numbers that stand for nothing are no answer.
func (x *Text) choose(q oneloop.Question, line string) (a oneloop.Answer, ok bool) {
	line = strings.TrimSpace(line)
	switch line {
	case "":
		return a, false
	case leaveOpen, "－", "—", "\x1b": // Esc, where a line is all that is seen of it
		return a, true
	}
	for _, c := range q.Choices {
		if strings.EqualFold(line, c.Label) {
			return oneloop.Answer{Allow: true, Chosen: []string{c.Label}}, true
		}
	}
	picked, numbers := numbers(line)
	if len(q.Choices) == 0 || !numbers {
		return oneloop.Answer{Allow: true, Text: line}, true
	}
	if len(picked) > 1 && !q.Several {
		return a, false
	}
	for _, n := range picked {
		if n < 1 || n > len(q.Choices) {
			return oneloop.Answer{}, false
		}
		if label := q.Choices[n-1].Label; !slices.Contains(a.Chosen, label) {
			a.Chosen = append(a.Chosen, label)
		}
	}
	a.Allow = true
	return a, true
}

// numbers reads a line of nothing but numbers, also in the wide digits and
// with the commas of a Chinese keyboard.
func numbers(line string) (list []int, ok bool) {
	line = strings.Map(func(r rune) rune {
		if r >= '０' && r <= '９' {
			return r - '０' + '0'
		}
		return r
	}, line)
	for f := range strings.FieldsFuncSeq(line, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",，、;；", r) }) {
		n, err := strconv.Atoi(f)
		if err != nil {
			return nil, false
		}
		list = append(list, n)
	}
	return list, len(list) > 0
}

// chooseAgain says what an answer to a choice looks like.
func (x *Text) chooseAgain(q oneloop.Question) string {
	if len(q.Choices) == 0 {
		return x.ChoiceBlank
	}
	return fmt.Sprintf(x.ChoiceAgain, len(q.Choices))
}

// chosen is the line that keeps an answer to a choice.
func (x *Text) chosen(a oneloop.Answer) string {
	parts := slices.Clone(a.Chosen)
	if a.Text != "" {
		parts = append(parts, a.Text)
	}
	if len(parts) == 0 {
		return x.ChoiceLeft
	}
	return fmt.Sprintf(x.ChoiceSaid, visible(strings.ReplaceAll(strings.Join(parts, x.Comma), "\n", " "), exactSight))
}
