package text

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"oneloop/internal/unseen"
)

// Find returns where s stands in the text, places that do not overlap.
func (d *Doc) Find(s string) []int {
	var found []int
	for at := 0; s != ""; {
		i := bytes.Index(d.Text[at:], []byte(s))
		if i < 0 {
			break
		}
		found = append(found, at+i)
		at += i + len(s)
	}
	return found
}

// Line is the number, from 1, of the line an offset of the text is in.
func (d *Doc) Line(at int) int { return 1 + bytes.Count(d.Text[:at], []byte{'\n'}) }

// Near is the place in a text that resembles most what was looked for.
type Near struct {
	Line, Lines int    // the first, from 1, and how many
	Text        string // the lines
	Why         string // what differs; empty when it cannot be put in words
}

// far is how much of a text is searched, so that a search takes no more than
// a fraction of a second.
const far = 8 << 20

// long is what a place may have beyond what was looked for, in bytes, before
// it is shown without the rest of its lines.
const long = 2000

// Nearest looks for the place that resembles s most. It looks at the first
// 8 MiB only.
func Nearest(text []byte, s string) (Near, bool) {
	text = text[:min(len(text), far)]
	s, _ = Cut(s, 64<<10)
	if len(appendKey(nil, s, every)) == 0 {
		return Near{}, false
	}
	f := foldLines(text)
	for _, guess := range guesses(s) {
		from, to, ok := f.find(guess.s)
		if !ok {
			continue
		}
		from, to = widen(text, from, to, guess.s)
		why := guess.why
		if why == "" {
			why = differences(string(text[from:to]), s)
		}
		n := f.near(f.line(from), f.line(max(from, to-1))-f.line(from)+1, why)
		if len(n.Text) > long+2*len(s) {
			n.Text = string(text[from:to])
		}
		return n, true
	}
	return f.alike(s)
}

// folded is a text in which white space, case and look-alikes do not count.
type folded struct {
	text  []byte
	keys  []byte
	lines []foldedLine
}

type foldedLine struct{ text, key int } // where it begins

func foldLines(text []byte) *folded {
	f := &folded{text: text, keys: make([]byte, 0, len(text))}
	for at := 0; at < len(text); {
		f.lines = append(f.lines, foldedLine{at, len(f.keys)})
		end := at + bytes.IndexByte(text[at:], '\n') + 1
		if end == at {
			end = len(text)
		}
		f.keys = appendKey(f.keys, text[at:end], every)
		at = end
	}
	return f
}

// kinds of differences that do not count in a key.
type kinds int

const (
	spaces kinds = 1 << iota
	letters
	lookalikes
	every = spaces | letters | lookalikes
)

// appendKey appends s without the differences of these kinds.
func appendKey[T []byte | string](key []byte, s T, k kinds) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			i++
			switch {
			case k&spaces != 0 && (c == ' ' || c >= '\t' && c <= '\r'):
				continue
			case k&letters != 0 && c >= 'A' && c <= 'Z':
				c += 'a' - 'A'
			}
			key = append(key, c)
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
		i += size
		if k&lookalikes != 0 {
			r = plain(r)
		}
		if k&spaces != 0 && unicode.IsSpace(r) || r < 0 {
			continue
		}
		if k&letters != 0 {
			r = unicode.ToLower(r)
		}
		key = utf8.AppendRune(key, r)
	}
	return key
}

// plain is the ASCII character that r looks like, or r. It is -1 for a
// character that is not seen at all.
func plain(r rune) rune {
	switch r {
	case '‘', '’', '‚', '‛', '′', '´', '＇':
		return '\''
	case '“', '”', '„', '‟', '″', '＂':
		return '"'
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return '-'
	case '…':
		return '.'
	}
	if r >= 0xff01 && r <= 0xff5e { // full width
		return r - 0xff01 + '!'
	}
	if unseen.Hidden(r) {
		return -1
	}
	return r
}

// find returns the place whose key is that of s.
func (f *folded) find(s string) (from, to int, ok bool) {
	key := appendKey(nil, s, every)
	if len(key) == 0 {
		return 0, 0, false
	}
	i := bytes.Index(f.keys, key)
	if i < 0 {
		return 0, 0, false
	}
	return f.offset(i, false), f.offset(i+len(key), true), true
}

// offset is the place in the text of one in the keys, before or after the
// white space that stands there.
func (f *folded) offset(key int, before bool) int {
	n := sort.Search(len(f.lines), func(i int) bool { return f.lines[i].key > key || before && f.lines[i].key == key }) - 1
	at, k := f.lines[max(0, n)].text, f.lines[max(0, n)].key
	for at < len(f.text) && (k < key || !before) {
		_, size := utf8.DecodeRune(f.text[at:])
		var buf [utf8.UTFMax]byte
		n := len(appendKey(buf[:0], f.text[at:at+size], every))
		if k == key && n > 0 {
			break
		}
		at, k = at+size, k+n
	}
	return at
}

// widen takes the white space around a place to it where s has some too.
func widen(text []byte, from, to int, s string) (int, int) {
	blank := func(c byte) bool { return c == ' ' || c == '\t' }
	if blank(s[0]) {
		for from > 0 && blank(text[from-1]) {
			from--
		}
	}
	if last := s[len(s)-1]; blank(last) || last == '\n' {
		for to < len(text) && blank(text[to]) {
			to++
		}
		if last == '\n' && to < len(text) && text[to] == '\n' {
			to++
		}
	}
	return from, to
}

// line is the number of the line, from 0, that an offset is in.
func (f *folded) line(at int) int {
	return sort.Search(len(f.lines), func(i int) bool { return f.lines[i].text > at }) - 1
}

func (f *folded) near(line, lines int, why string) Near {
	from, to := f.lines[line].text, len(f.text)
	if line+lines < len(f.lines) {
		to = f.lines[line+lines].text
	}
	return Near{line + 1, lines, string(f.text[from:to]), why}
}

type guess struct{ s, why string }

var (
	escapes   = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`)
	unescapes = []*strings.Replacer{strings.NewReplacer("\n", `\n`, "\t", `\t`), strings.NewReplacer("\n", `\n`, "\t", `\t`, `"`, `\"`)}
)

// guesses are what may have been meant by s.
func guesses(s string) []guess {
	list := []guess{{s, ""}}
	if t := escapes.Replace(s); t != s {
		list = append(list, guess{t, `it has backslashes (as in \n or \") that the file does not have`})
	}
	for _, r := range unescapes {
		if t := r.Replace(s); t != s {
			list = append(list, guess{t, `the file has backslashes (as in \n or \") there`})
		}
	}
	numbers := regexp.MustCompile(`(?m)^ *\d+(\t|→|: ?|\| ?)`)
	if t := numbers.ReplaceAllString(s, ""); t != s {
		list = append(list, guess{t, "it has line numbers in it; they are not in the file"})
	}
	return list
}

// differences says how s differs from what the file has, given that they have
// the same key.
func differences(has, s string) string {
	var what []string
	for _, k := range []kinds{spaces, letters, lookalikes, spaces | letters, spaces | lookalikes, letters | lookalikes, every} {
		if !bytes.Equal(appendKey(nil, has, k), appendKey(nil, s, k)) {
			continue
		}
		if k&spaces != 0 {
			what = append(what, space(has, s))
		}
		if k&letters != 0 {
			what = append(what, "the case of letters differs")
		}
		if k&lookalikes != 0 {
			what = append(what, lookalike(has, s))
		}
		break
	}
	return strings.Join(what, ", ")
}

// space says how the white space of two texts differs.
func space(has, s string) string {
	a, b := strings.Split(has, "\n"), strings.Split(s, "\n")
	same := func(f func(string) string) bool {
		return slices.EqualFunc(a, b, func(x, y string) bool { return f(x) == f(y) })
	}
	end := func(x string) string { return strings.TrimRightFunc(x, unicode.IsSpace) }
	begin := func(x string) string { return strings.TrimLeftFunc(x, unicode.IsSpace) }
	switch {
	case same(end):
		return "the white space at the ends of lines differs"
	case same(begin):
		tabs := func(lines []string) bool {
			return slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "\t") })
		}
		switch {
		case tabs(a) && !tabs(b):
			return "the file indents with tabs"
		case tabs(b) && !tabs(a):
			return "the file indents with spaces"
		}
		return "the indentation differs"
	case len(a) != len(b):
		return "the lines are broken elsewhere, or blank lines differ"
	}
	return "white space differs"
}

// lookalike names the first characters that only look alike.
func lookalike(has, s string) string {
	visible := func(s string) []rune {
		return slices.DeleteFunc([]rune(s), unicode.IsSpace)
	}
	a, b := visible(has), visible(s)
	for i := range a {
		switch {
		case plain(a[i]) < 0:
			return fmt.Sprintf("the file has the invisible character %U", a[i])
		case i >= len(b) || plain(b[i]) < 0:
			return "it has an invisible character"
		case a[i] != b[i] && unicode.ToLower(a[i]) != unicode.ToLower(b[i]):
			return fmt.Sprintf("the file has %q (%U) where it has %q (%U)", a[i], a[i], b[i], b[i])
		}
	}
	return "characters differ that look alike"
}

// alike is the place with the most lines of s, or else with the line that has
// the most in common with one of them.
func (f *folded) alike(s string) (Near, bool) {
	lines := Lines(s)
	if len(lines) == 0 || len(f.lines) == 0 {
		return Near{}, false
	}
	start, ok := f.vote(lines)
	if !ok {
		start, ok = f.similar(lines)
	}
	if !ok {
		return Near{}, false
	}
	start = min(max(0, start), len(f.lines)-1)
	n := f.near(start, min(len(lines), len(f.lines)-start), "")
	for i, has := range Lines(n.Text) {
		if has != lines[i] && (strings.HasSuffix(lines[i], "\n") || !strings.Contains(has, lines[i])) {
			if len(lines) > 1 {
				n.Why = fmt.Sprintf("line %d differs", n.Line+i)
			}
			break
		}
	}
	return n, true
}

func (f *folded) key(line int) []byte {
	if line+1 < len(f.lines) {
		return f.keys[f.lines[line].key:f.lines[line+1].key]
	}
	return f.keys[f.lines[line].key:]
}

// vote lets every line that is the same say where the first one would be.
func (f *folded) vote(lines []string) (int, bool) {
	where := map[string][]int{}
	for i, l := range lines {
		if k := string(appendKey(nil, l, every)); len(k) > 2 && len(where[k]) < 8 {
			where[k] = append(where[k], i)
		}
	}
	votes := map[int]int{}
	best, most := 0, 0
	for i := range f.lines {
		k := f.key(i)
		for _, j := range where[string(k)] {
			votes[i-j] += len(k)
			if votes[i-j] > most {
				best, most = i-j, votes[i-j]
			}
		}
	}
	return best, most > 0
}

// similar compares the pairs of characters of the longest line with those of
// every line of the text. Half of them in common is similar.
func (f *folded) similar(lines []string) (int, bool) {
	longest, key := 0, []byte(nil)
	for i, l := range lines {
		if k := appendKey(nil, l, every); len(k) > len(key) {
			longest, key = i, k
		}
	}
	var pairs [1 << 16]bool
	count := 0
	for i := 0; i+1 < len(key); i++ {
		if p := int(key[i])<<8 | int(key[i+1]); !pairs[p] {
			pairs[p] = true
			count++
		}
	}
	best, most := 0, 0.5
	seen := make([]int32, len(pairs)) // the line a pair was last seen in
	for i := range f.lines {
		k := f.key(i)
		common := 0
		for j := 0; j+1 < len(k); j++ {
			if p := int(k[j])<<8 | int(k[j+1]); pairs[p] && seen[p] != int32(i+1) {
				seen[p] = int32(i + 1)
				common++
			}
		}
		if score := 2 * float64(common) / float64(max(1, count+max(common, len(k)-1))); score > most {
			best, most = i-longest, score
		}
	}
	return best, count > 0 && most > 0.5
}
