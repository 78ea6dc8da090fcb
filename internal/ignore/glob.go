package ignore

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Glob is one pattern: "*" and "?" match within a part of a path, "**" as a
// whole part matches any number of parts, at the end at least one.
type Glob struct {
	parts []part
	plain string // the whole, when it has nothing special
	end   string // when it is "*" and this
	bytes bool   // "?" is a byte, as for git, and not a character
	text  string // the pattern
}

// String is the pattern.
func (g *Glob) String() string { return g.text }

// part is what stands between two slashes.
type part struct {
	text  string
	any   bool // it is "**"
	plain bool // nothing in it is special
}

// NewGlob reads a pattern. "{a,b}" is for [Expand]; here it is text.
func NewGlob(text string) (Glob, error) {
	g, ok := compile(text, false)
	if !ok {
		return Glob{}, fmt.Errorf("the pattern %q has a [ without its ], ends with a backslash, or is too long", text)
	}
	return g, nil
}

const special = `*?[\`

func compile(text string, bytewise bool) (Glob, bool) {
	text = slashes(text)
	g := Glob{bytes: bytewise, text: text}
	switch {
	case len(text) > longest:
		return g, false
	case !strings.ContainsAny(text, special):
		g.plain = text
		return g, text != ""
	case len(text) > 1 && text[0] == '*' && !strings.ContainsAny(text[1:], special+"/"):
		g.end = text[1:]
		return g, true
	}
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] != '/' {
			switch text[i] {
			case '\\':
				if i++; i == len(text) {
					return g, false
				}
			case '[':
				n := bracket(text[i:])
				if n == 0 {
					return g, false
				}
				i += n - 1
			}
			continue
		}
		s := text[start:i]
		g.parts = append(g.parts, part{text: s, any: s == "**", plain: !strings.ContainsAny(s, special)})
		start = i + 1
	}
	return g, true
}

// slashes makes "\/" what it means.
func slashes(text string) string {
	if !strings.Contains(text, `\/`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if i++; text[i] != '/' {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// bracket is the length of the class p begins with; 0 if it has no end.
func bracket(p string) int {
	i := 1
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		i++
	}
	for first := true; i < len(p); first = false {
		switch {
		case p[i] == ']' && !first:
			return i + 1
		case p[i] == '\\':
			i += 2
		case strings.HasPrefix(p[i:], "[:"):
			if n := strings.Index(p[i+2:], ":]"); n >= 0 {
				i += n + 4
				continue
			}
			i++
		default:
			i++
		}
	}
	return 0
}

// Match reports whether the whole of path matches.
func (g *Glob) Match(path string) bool {
	switch {
	case g.plain != "":
		return path == g.plain
	case g.end != "":
		return strings.HasSuffix(path, g.end) && strings.IndexByte(path, '/') < 0
	case len(g.parts) == 2 && g.parts[0].any && !g.parts[1].any:
		return g.parts[1].match(path[strings.LastIndexByte(path, '/')+1:], g.bytes)
	case len(g.parts) == 1 && !g.parts[0].any:
		return strings.IndexByte(path, '/') < 0 && g.parts[0].match(path, g.bytes)
	}
	return g.walk(path)
}

// Prefix is the beginning of the pattern, whole parts, that has nothing
// special: all that matches lies there. It never holds the last part.
func (g *Glob) Prefix() string {
	if g.plain != "" {
		return g.plain[:max(0, strings.LastIndexByte(g.plain, '/'))]
	}
	var plain []string
	for i, p := range g.parts {
		if !p.plain || i == len(g.parts)-1 {
			break
		}
		plain = append(plain, p.text)
	}
	return strings.Join(plain, "/")
}

// walk matches part by part. A "**" takes as few parts as it can; when what
// follows fails, only the last one has to take more.
func (g *Glob) walk(path string) bool {
	rest, next := path, 0 // what is not matched yet; len(path)+1 parts are over
	over := false
	backPart, backRest := -1, ""
	for {
		if next < len(g.parts) && g.parts[next].any {
			if next == len(g.parts)-1 {
				return !over
			}
			next++
			backPart, backRest = next, rest
			continue
		}
		if over && next == len(g.parts) {
			return true
		}
		if !over && next < len(g.parts) {
			name, after, more := strings.Cut(rest, "/")
			if g.parts[next].match(name, g.bytes) {
				rest, over = after, !more
				next++
				continue
			}
		}
		if backPart < 0 {
			return false
		}
		_, after, more := strings.Cut(backRest, "/")
		if !more {
			return false
		}
		backRest = after
		rest, over, next = after, false, backPart
	}
}

// match matches one part of a path. A "*" takes as little as it can; when
// what follows fails, only the last one has to take more.
func (p part) match(name string, bytewise bool) bool {
	if p.plain {
		return name == p.text
	}
	if p.text == "*" {
		return true
	}
	pat := p.text
	i, j := 0, 0 // in pat, in name
	backI, backJ := -1, 0
	for {
		switch {
		case i < len(pat) && pat[i] == '*':
			i++
			backI, backJ = i, j
			continue
		case i == len(pat) && j == len(name):
			return true
		case i < len(pat) && j < len(name):
			if n, m := one(pat[i:], name[j:], bytewise); m > 0 {
				i, j = i+n, j+m
				continue
			}
		}
		if backI < 0 || backJ >= len(name) {
			return false
		}
		backJ += width(name[backJ:], bytewise)
		i, j = backI, backJ
	}
}

func width(s string, bytewise bool) int {
	if bytewise {
		return 1
	}
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// one matches the first element of pat, which is no "*", with the first of
// name, and returns how long they are; 0, 0 if they differ.
func one(pat, name string, bytewise bool) (int, int) {
	switch pat[0] {
	case '?':
		return 1, width(name, bytewise)
	case '[':
		n := bracket(pat)
		m := width(name, bytewise)
		if class(pat[1:n-1], name[:m], bytewise) {
			return n, m
		}
		return 0, 0
	case '\\':
		if pat[1] == name[0] {
			return 2, 1
		}
		return 0, 0
	}
	if pat[0] == name[0] {
		return 1, 1
	}
	return 0, 0
}

// class reports whether the character c is one of those in brackets.
func class(set, c string, bytewise bool) bool {
	r := first(c, bytewise)
	negated := set[0] == '!' || set[0] == '^'
	if negated {
		set = set[1:]
	}
	found := false
	for set != "" {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(set, "[:"), ":]"); ok && strings.HasPrefix(set, "[:") {
			found = found || posix(name, r)
			set = rest
			continue
		}
		lo, n := element(set, bytewise)
		set = set[n:]
		hi := lo
		if len(set) > 1 && set[0] == '-' {
			hi, n = element(set[1:], bytewise)
			set = set[1+n:]
		}
		found = found || r == lo || lo <= r && r <= hi // also where the range is none
	}
	return found != negated
}

func first(s string, bytewise bool) rune {
	if bytewise {
		return rune(s[0])
	}
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// element is the first character of a class, and its length there.
func element(set string, bytewise bool) (rune, int) {
	if set[0] == '\\' && len(set) > 1 {
		return first(set[1:], bytewise), 1 + width(set[1:], bytewise)
	}
	return first(set, bytewise), width(set, bytewise)
}

// posix reports whether r is in a named class of ASCII.
func posix(name string, r rune) bool {
	in := func(lo, hi rune) bool { return lo <= r && r <= hi }
	alpha, digit := in('a', 'z') || in('A', 'Z'), in('0', '9')
	switch name {
	case "alpha":
		return alpha
	case "digit":
		return digit
	case "alnum":
		return alpha || digit
	case "upper":
		return in('A', 'Z')
	case "lower":
		return in('a', 'z')
	case "space":
		return r == ' ' || in('\t', '\r')
	case "blank":
		return r == ' ' || r == '\t'
	case "punct":
		return in('!', '~') && !alpha && !digit
	case "cntrl":
		return in(0, 0x1f) || r == 0x7f
	case "print":
		return in(' ', '~')
	case "graph":
		return in('!', '~')
	case "xdigit":
		return digit || in('a', 'f') || in('A', 'F')
	}
	return false
}

// alternatives is how many patterns [Expand] makes at most.
const alternatives = 200

// Expand gives the patterns that "{a,b}" in one stands for. A backslash, and
// brackets, keep braces as text.
func Expand(pattern string) ([]string, error) {
	out, err := expand(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q: %w", pattern, err)
	}
	return out, nil
}

// longest is how many bytes a pattern may have: no path is longer.
const longest = 4096

func expand(pattern string) ([]string, error) {
	if len(pattern) > longest {
		return nil, fmt.Errorf("it is longer than %d bytes", longest)
	}
	open, parts, rest := braces(pattern)
	switch {
	case open < 0:
		return []string{pattern}, nil
	case parts == nil:
		return nil, errors.New("it has a { without its }")
	}
	tails, err := expand(rest)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range parts {
		heads, err := expand(p)
		if err != nil {
			return nil, err
		}
		for _, h := range heads {
			for _, t := range tails {
				if out = append(out, pattern[:open]+h+t); len(out) > alternatives {
					return nil, fmt.Errorf("it stands for more than %d patterns", alternatives)
				}
			}
		}
	}
	return out, nil
}

// braces finds the first pair: where it opens (-1: there is none), what is
// between its commas (nil: it does not close), and what follows.
func braces(p string) (open int, parts []string, rest string) {
	open, depth, from := -1, 0, 0
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			if n := bracket(p[i:]); n > 0 {
				i += n - 1
			}
		case '{':
			if depth++; depth == 1 {
				open, from = i, i+1
			}
		case ',':
			if depth == 1 {
				parts, from = append(parts, p[from:i]), i+1
			}
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth == 0 {
				return open, append(parts, p[from:i]), p[i+1:]
			}
		}
	}
	return open, nil, ""
}
