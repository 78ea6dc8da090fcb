package webpage

import (
	"html"
	"strings"
	"unicode/utf8"
)

// Attr is an attribute of a tag, its name in lower case.
type Attr struct{ Name, Value string }

type kind int

const (
	words kind = iota
	start
	end
)

// token is a piece of a page: words, or a tag.
type token struct {
	kind
	name  string // of a tag, in lower case
	attrs []Attr // as written: of two by one name the first counts
	text  string // words; or what is in a start tag of raw text, up to the end tag
	empty bool   // the tag ends in />
}

// tokens reads a page piece by piece. A tag that does not end is dropped with
// what comes after it, as browsers do.
type tokens struct {
	page    string
	at      int
	foreign bool // inside of svg or math, which have CDATA and no raw text
}

const blanks = " \t\n\f\r"

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// lower is s with A to Z in lower case.
func lower(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' || s[i] >= utf8.RuneSelf {
			return strings.Map(func(r rune) rune {
				if 'A' <= r && r <= 'Z' {
					r += 'a' - 'A'
				}
				return r
			}, s)
		}
	}
	return s
}

// next gives the next piece, and false at the end of the page.
func (z *tokens) next() (token, bool) {
	for z.at < len(z.page) {
		if n := markup(z.page[z.at:]); n > 0 {
			return token{text: unescape(z.take(n))}, true
		}
		switch rest := z.page[z.at:]; {
		case strings.HasPrefix(rest, "<!--"):
			z.comment()
		case z.foreign && strings.HasPrefix(rest, "<![CDATA["):
			z.at += len("<![CDATA[")
			if text := z.past("]]>"); text != "" {
				return token{text: text}, true
			}
		case letter(rest[1]), rest[1] == '/' && letter(rest[2]):
			return z.tag()
		default: // a doctype, a processing instruction, or nothing that is known
			z.past(">")
		}
	}
	return token{}, false
}

// markup is the number of bytes before the next tag or comment.
func markup(s string) int {
	for i := 0; ; i++ {
		n := strings.IndexByte(s[i:], '<')
		if n < 0 || i+n+1 == len(s) {
			return len(s)
		}
		i += n
		if c := s[i+1]; letter(c) || c == '!' || c == '?' || c == '/' && i+2 < len(s) {
			return i
		}
	}
}

func (z *tokens) take(n int) string {
	z.at += n
	return z.page[z.at-n : z.at]
}

// past goes behind the next mark and gives what is before it. Without a mark
// that is the rest of the page.
func (z *tokens) past(mark string) string {
	n := strings.Index(z.page[z.at:], mark)
	if n < 0 {
		return z.take(len(z.page) - z.at)
	}
	text := z.take(n)
	z.at += len(mark)
	return text
}

// until takes what is before the next byte of set.
func (z *tokens) until(set string) string {
	n := strings.IndexAny(z.page[z.at:], set)
	if n < 0 {
		n = len(z.page) - z.at
	}
	return z.take(n)
}

// skip goes behind bytes of set and reports whether the last was a slash.
func (z *tokens) skip(set string) (slash bool) {
	for z.at < len(z.page) && strings.IndexByte(set, z.page[z.at]) >= 0 {
		slash = z.page[z.at] == '/'
		z.at++
	}
	return slash
}

func (z *tokens) comment() {
	z.at += len("<!--")
	for _, short := range []string{">", "->"} {
		if strings.HasPrefix(z.page[z.at:], short) {
			z.at += len(short)
			return
		}
	}
	for z.at < len(z.page) {
		z.past("--")
		switch rest := z.page[z.at:]; {
		case strings.HasPrefix(rest, ">"):
			z.at++
			return
		case strings.HasPrefix(rest, "!>"):
			z.at += 2
			return
		case strings.HasPrefix(rest, "-"):
			z.at-- // of three dashes the last two may be the end
		}
	}
}

func (z *tokens) tag() (token, bool) {
	t := token{kind: start}
	if z.at++; z.page[z.at] == '/' {
		z.at++
		t.kind = end
	}
	t.name = lower(z.until(blanks + "/>"))
	for {
		slash := z.skip(blanks + "/")
		if z.at == len(z.page) {
			return token{}, false
		}
		if z.page[z.at] == '>' {
			z.at++
			t.empty = slash
			break
		}
		a, ok := z.attr()
		if !ok {
			return token{}, false
		}
		t.attrs = append(t.attrs, a)
	}
	if t.kind == start && !z.foreign && raw(t.name) {
		t.text = z.raw(t.name)
	}
	return t, true
}

// attr reads an attribute. It reports false where the page ends within.
func (z *tokens) attr() (Attr, bool) {
	first := z.take(1) // also =, which is no sign of a value here
	a := Attr{Name: lower(first + z.until(blanks+"/>="))}
	z.skip(blanks)
	if z.at == len(z.page) || z.page[z.at] != '=' {
		return a, true
	}
	z.at++
	z.skip(blanks)
	if z.at == len(z.page) {
		return a, false
	}
	if c := z.page[z.at]; c != '"' && c != '\'' {
		a.Value = unescapeValue(z.until(blanks + ">"))
		return a, true
	}
	quote := z.take(1)
	n := strings.Index(z.page[z.at:], quote)
	if n < 0 {
		z.at = len(z.page)
		return a, false
	}
	a.Value = unescapeValue(z.past(quote))
	return a, true
}

// raw reports whether there are no tags inside of an element.
func raw(name string) bool {
	switch name {
	case "script", "style", "title", "textarea", "xmp", "iframe", "noembed", "noframes", "plaintext":
		return true
	}
	return false
}

// raw takes what is in an element of raw text, and its end tag.
func (z *tokens) raw(name string) string {
	rest := z.page[z.at:]
	n := len(rest)
	switch name {
	case "plaintext": // nothing ends it
	case "script":
		n = scriptEnd(rest)
	default:
		for i := 0; i < len(rest); i++ {
			j := strings.IndexByte(rest[i:], '<')
			if j < 0 {
				break
			}
			if i += j; isTag(rest[i:], "</", name) {
				n = i
				break
			}
		}
	}
	text := z.take(n)
	if z.at < len(z.page) {
		z.tag()
	}
	if name == "title" || name == "textarea" {
		return unescape(text)
	}
	return text
}

// isTag reports whether s begins with a tag of that name.
func isTag(s, open, name string) bool {
	n := len(open) + len(name)
	return len(s) > n && s[:len(open)] == open && strings.EqualFold(s[len(open):n], name) && strings.IndexByte(blanks+"/>", s[n]) >= 0
}

// scriptEnd is where a script ends. In <!-- --> within it, a second pair of
// script tags does not end it.
func scriptEnd(s string) int {
	comment, inner := false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '-' && comment && strings.HasPrefix(s[i:], "-->"):
			comment, inner = false, false
		case c != '<':
		case !comment && strings.HasPrefix(s[i:], "<!--"):
			comment = true
			i++ // <!--> is whole
		case comment && !inner && isTag(s[i:], "<", "script"):
			inner = true
		case isTag(s[i:], "</", "script"):
			if !inner {
				return i
			}
			inner = false
		}
	}
	return len(s)
}

// unescape replaces the entities of text.
func unescape(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return html.UnescapeString(s)
}

// unescapeValue replaces the entities of an attribute. In there &copy= and
// &copying without a semicolon are none, so that addresses keep their
// parameters.
func unescapeValue(s string) string {
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			break
		}
		b.WriteString(s[:i])
		s = s[i:]
		n := 1
		for n < len(s) && (letter(s[n]) || '0' <= s[n] && s[n] <= '9' || n == 1 && s[n] == '#') {
			n++
		}
		if n < len(s) && s[n] == ';' {
			n++
		}
		text := html.UnescapeString(s[:n])
		if s[n-1] != ';' && !strings.HasPrefix(s, "&#") && (n < len(s) && s[n] == '=' || utf8.RuneCountInString(text) > 1) {
			text = s[:n]
		}
		b.WriteString(text)
		s = s[n:]
	}
	return b.String() + s
}
