// Package unseen tells characters that nobody sees, or that change how others
// are seen, and writes text in which all of them show.
package unseen

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Is reports whether a character shows nothing of its own or changes how
// others are shown: those of [Hidden], blanks other than the usual one, and
// those that only private agreement gives a form. Controls are another matter:
// see [unicode.IsControl].
func Is(r rune) bool {
	return r > unicode.MaxASCII && (Hidden(r) || unicode.In(r, unicode.Cf, unicode.Zs, unicode.Co) || r == 0x2800) // braille without dots
}

// Hidden reports whether a character takes no room or directs the text around
// it: joiners, fillers, tags, marks of direction, separators of lines. Marks of
// format that are seen, as in Arabic numbers, are not among them.
func Hidden(r rune) bool {
	switch {
	case r < 0xad: // the first of them
		return false
	case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Zl, unicode.Zp):
		return true
	case 0x13430 <= r && r <= 0x1343f: // they join Egyptian hieroglyphs
		return false
	}
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// Visible is text as it is, but for what would not be seen or would change how
// the rest is seen: that stands as an escape, as in \u202e or \x1b. Line breaks
// and tabs stay.
func Visible(text string) string {
	return escaped(text, func(r rune) bool { return r == '\n' || r == '\t' })
}

// Line is [Visible] on one line, without tabs.
func Line(text string) string {
	return escaped(text, func(rune) bool { return false })
}

func escaped(text string, keep func(rune) bool) string {
	odd := func(r rune) bool { return (unicode.IsControl(r) || Is(r)) && !keep(r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, odd) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch broken := r == utf8.RuneError && n == 1; {
		case !broken && !odd(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case n == 1:
			digits(&b, 'x', 2, rune(text[0]))
		case r > 0xffff:
			digits(&b, 'U', 8, r)
		default:
			digits(&b, 'u', 4, r)
		}
		text = text[n:]
	}
	return b.String()
}

// digits writes an escape of so many digits.
func digits(b *strings.Builder, letter byte, n int, r rune) {
	b.WriteByte('\\')
	b.WriteByte(letter)
	for i := n - 1; i >= 0; i-- {
		b.WriteByte("0123456789abcdef"[r>>(4*i)&15])
	}
}
