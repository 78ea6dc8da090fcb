package tool

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// slack is how far, in bytes, a cut is moved to fall between two lines.
const slack = 1000

// head returns the first n characters of text, or a little less: it ends
// with a line where that is near, and never inside a character, also one that
// is made of several code points.
func head(text []byte, n int) []byte {
	end := 0
	for ; n > 0 && end < len(text); n-- {
		_, size := utf8.DecodeRune(text[end:])
		end += size
	}
	if end == len(text) {
		return text
	}
	if i := bytes.LastIndexByte(text[max(0, end-slack):end], '\n'); i >= 0 {
		return text[:max(0, end-slack)+i+1]
	}
	for moved := 0; moved < slack && end > 0 && joined(text, end); {
		_, size := utf8.DecodeLastRune(text[:end])
		end -= size
		moved += size
	}
	return text[:end]
}

// tail returns the last n characters of text, or a little less; see head.
func tail(text []byte, n int) []byte {
	start := len(text)
	for ; n > 0 && start > 0; n-- {
		_, size := utf8.DecodeLastRune(text[:start])
		start -= size
	}
	if start == 0 || text[start-1] == '\n' {
		return text[start:]
	}
	if i := bytes.IndexByte(text[start:min(len(text), start+slack)], '\n'); i >= 0 && start+i+1 < len(text) {
		return text[start+i+1:]
	}
	for moved := 0; moved < slack && start < len(text) && joined(text, start); {
		_, size := utf8.DecodeRune(text[start:])
		start += size
		moved += size
	}
	return text[start:]
}

const joiner = '\u200d'

// joined reports whether the code points before and after i are shown as one
// character.
func joined(text []byte, i int) bool {
	before, _ := utf8.DecodeLastRune(text[:i])
	after, _ := utf8.DecodeRune(text[i:])
	regional := func(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }
	skinTone := after >= 0x1f3fb && after <= 0x1f3ff
	return before == joiner || after == joiner || skinTone || unicode.Is(unicode.M, after) || regional(before) && regional(after)
}
