package main

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mention is a place in a prompt that names a file: @path, or @"a path".
type mention struct {
	names []string // what it may name, the longest first
	path  bool     // it looks like a path: that there is no such file is worth a word
}

const (
	mostNames    = 40  // files that are looked for at one place
	mostMentions = 100 // places of one text, the same word counted once
)

// mentions finds the places that may name files. An @ inside of a word, as in
// an address, begins none.
func mentions(text string) (found []mention) {
	seen := map[string]bool{}
	for i := 0; len(found) < mostMentions; {
		at := strings.IndexByte(text[i:], '@')
		if at < 0 {
			break
		}
		at += i
		before, n := utf8.DecodeLastRuneInString(text[i:at])
		i = at + 1
		if n > 0 && !opens(before) {
			continue
		}
		m, size := mentioned(text[i:])
		if i += size; len(m.names) > 0 && !seen[m.names[0]] {
			seen[m.names[0]] = true
			found = append(found, m)
		}
	}
	return found
}

// opens reports whether a mention can follow r: a space, an opening mark, or
// script that is written without spaces.
func opens(r rune) bool {
	return unicode.IsSpace(r) || glued(r) || strings.ContainsRune("([{<\"'“‘「『（《【,;:，。、；：！？", r)
}

// glued is script whose words have no spaces between them.
func glued(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// mentioned reads what follows an @, and how much of it belongs to the name.
func mentioned(rest string) (m mention, size int) {
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		name, _, closed := strings.Cut(quoted, `"`)
		if !closed || strings.TrimSpace(name) == "" || strings.Contains(name, "\n") {
			return mention{}, 0
		}
		return mention{[]string{name}, true}, len(name) + 2
	}
	word := rest
	if i := strings.IndexFunc(rest, unicode.IsSpace); i >= 0 {
		word = rest[:i]
	}
	if word == "" || strings.HasPrefix(word, "@") {
		return mention{}, 0
	}
	m.names = candidates(word)
	if len(m.names) > 0 {
		m.path = pathLike(m.names[len(m.names)-1]) || pathLike(strings.TrimRight(word, closing))
	}
	return m, 0
}

// closing are marks that may stand behind a name.
const closing = `.,;:!?)]}>"'”’」』）》】，。、；：！？…`

// within are marks that may end a name in the middle of a word.
const within = `,;:!?()[]{}<>"'#“”‘’「」『』（）《》【】，。、；：！？…`

// candidates are the names that word may begin with, the longest first: it ends
// at its end, before marks at its end, before a mark in it, or where another
// script begins that is written without spaces.
func candidates(word string) (names []string) {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) && len(names) < mostNames {
			names = append(names, name)
		}
	}
	add(word)
	for s := word; ; {
		_, n := utf8.DecodeLastRuneInString(s)
		if n == 0 || !strings.ContainsAny(s[len(s)-n:], closing) {
			break
		}
		s = s[:len(s)-n]
		add(s)
	}
	for i := len(word); i > 0; {
		r, n := utf8.DecodeLastRuneInString(word[:i])
		i -= n
		if strings.ContainsRune(within, r) || glued(r) && !strings.HasSuffix(word[:i], "/") {
			add(word[:i])
		}
	}
	return names
}

// pathLike reports whether a name has a folder or an ending in it.
func pathLike(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	return strings.Contains(name, "/") || dot >= 0 && dot < len(name)-1
}
