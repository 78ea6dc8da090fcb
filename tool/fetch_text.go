package tool

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"oneloop/internal/unseen"
	"oneloop/internal/webpage"
)

// text is the page for a reader, with its title and what is to be said of it.
func (p *page) text() (text, title string, notes []string) {
	text, note := webpage.Decode(p.body, p.header)
	if note != "" {
		notes = append(notes, note)
	}
	if p.kind == "text/html" || p.kind == "application/xhtml+xml" {
		text, title = renderHTML(webpage.Parse(text), p.url)
	}
	text, gone := clean(text)
	if gone > 0 {
		notes = append(notes, fmt.Sprintf("%d invisible or control characters were removed", gone))
	}
	title, _ = clean(title)
	return text, oneLine(title), notes
}

// renderHTML is the text of a page, in the manner of Markdown.
func renderHTML(root *webpage.Node, base *url.URL) (text, title string) {
	r := &rendering{base: base}
	r.look(root)
	r.children(root)
	if text = r.String(); text != "" {
		return text, r.title
	}
	all := &rendering{base: r.base, title: r.title, whole: true} // a page that is nothing but navigation
	all.children(root)
	return all.String(), r.title
}

// rendering writes text as it walks a page.
type rendering struct {
	base  *url.URL
	title string
	whole bool // navigation too

	out   strings.Builder
	want  int    // line ends before the next text
	space bool   // a blank before the next text
	start string // before the next text, e.g. the mark of a list item
	depth int    // of lists
	pre   int    // inside so many <pre>

	nested int // so many such writings around this one
}

func (r *rendering) String() string { return strings.TrimSpace(r.out.String()) }

// look finds title and base before anything is written.
func (r *rendering) look(n *webpage.Node) {
	switch n.Name {
	case "svg", "math":
		return
	case "title":
		if r.title == "" && len(n.Kids) > 0 { // of raw text
			r.title = oneLine(n.Kids[0].Text)
		}
	case "base":
		if u, err := r.base.Parse(n.Value("href")); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			r.base = u
		}
	}
	for _, c := range n.Kids {
		r.look(c)
	}
}

// unseen reports whether a reader of the page does not see n, or does not
// read it.
func (r *rendering) unseen(n *webpage.Node) bool {
	switch n.Name {
	case "script", "style", "title", "template", "svg", "math", "iframe", "noembed", "noframes", "object", "canvas",
		"select", "button", "textarea", "datalist", "audio", "video", "map", "dialog":
		return true
	case "nav", "footer":
		return !r.whole
	}
	if role := n.Value("role"); !r.whole && (role == "navigation" || role == "search" || role == "contentinfo") {
		return true
	}
	style := strings.ToLower(strings.Join(strings.Fields(n.Value("style")), ""))
	for _, s := range []string{"display:none", "visibility:hidden", "font-size:0;", "font-size:0px", "opacity:0;"} {
		if strings.Contains(style+";", s) {
			return true
		}
	}
	return n.Has("hidden") || n.Value("aria-hidden") == "true"
}

func (r *rendering) children(n *webpage.Node) {
	for _, c := range n.Kids {
		r.block(c)
	}
}

// block writes n and what is in it.
func (r *rendering) block(n *webpage.Node) {
	if n.Name == "" {
		r.text(n.Text)
		return
	}
	if r.unseen(n) {
		return
	}
	switch n.Name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		r.lines(2)
		r.start = strings.Repeat("#", int(n.Name[1]-'0')) + " "
		r.children(n)
		r.start = ""
		r.lines(2)
	case "p", "blockquote", "table", "figure", "dl":
		r.around(2, n)
	case "ul", "ol":
		r.list(n)
	case "tr":
		r.row(n)
	case "br":
		r.lines(1)
	case "hr":
		r.around(2, n)
	case "pre", "listing", "xmp":
		r.code(n)
	case "a":
		r.link(n)
	case "img":
		if alt := oneLine(n.Value("alt")); alt != "" {
			r.text("[image: " + alt + "]")
		}
	case "code":
		r.mark("`", n)
	default:
		if !webpage.Block(n.Name) {
			r.children(n)
		} else {
			r.around(1, n)
		}
	}
}

// lines asks for n line ends before what is written next.
func (r *rendering) lines(n int) { r.want, r.space = max(r.want, n), false }

func (r *rendering) around(n int, node *webpage.Node) {
	r.lines(n)
	r.children(node)
	r.lines(n)
}

// text writes words. Blanks are one, except in <pre>.
func (r *rendering) text(s string) {
	if r.pre > 0 {
		r.put(s)
		return
	}
	for s != "" {
		i := strings.IndexAny(s, " \t\r\n\f")
		if i != 0 {
			if i < 0 {
				i = len(s)
			}
			r.put(s[:i])
		}
		rest := strings.TrimLeft(s[i:], " \t\r\n\f")
		r.space = len(rest) < len(s[i:]) || r.space && i == 0
		s = rest
	}
}

func (r *rendering) put(s string) {
	if r.out.Len() > 0 {
		for range r.want {
			r.out.WriteByte('\n')
		}
	}
	if r.space && r.want == 0 && r.out.Len() > 0 {
		r.out.WriteByte(' ')
	}
	if r.want > 0 || r.out.Len() == 0 {
		r.out.WriteString(strings.Repeat("  ", max(0, r.depth-1)))
	}
	r.out.WriteString(r.start)
	r.out.WriteString(s)
	r.want, r.space, r.start = 0, false, ""
}

func (r *rendering) mark(mark string, n *webpage.Node) {
	if r.pre > 0 {
		r.children(n)
	} else if s, ok := r.inside(n); ok && s != "" {
		r.put(mark + s + mark)
	}
}

func (r *rendering) list(n *webpage.Node) {
	gap := 2
	if r.depth > 0 {
		gap = 1
	}
	r.lines(gap)
	r.depth++
	number := 0
	for _, c := range n.Kids {
		if c.Name != "li" {
			r.block(c)
			continue
		}
		if r.unseen(c) {
			continue
		}
		r.lines(1)
		r.start = "- "
		if number++; n.Name == "ol" {
			r.start = fmt.Sprintf("%d. ", number)
		}
		r.children(c)
		r.start = ""
	}
	r.depth--
	r.lines(gap)
}

// row writes a table's row in one line.
func (r *rendering) row(n *webpage.Node) {
	r.lines(1)
	var cells []string
	for _, c := range n.Kids {
		if c.Name == "" || r.unseen(c) {
			continue
		}
		if s, ok := r.inside(c); ok {
			cells = append(cells, oneLine(s))
		}
	}
	if line := strings.Join(cells, " | "); strings.Trim(line, " |") != "" {
		r.put(line)
	}
	r.lines(1)
}

func (r *rendering) code(n *webpage.Node) {
	r.pre++
	s, ok := r.inside(n)
	r.pre--
	if s = strings.Trim(s, "\r\n"); ok && s != "" {
		r.lines(2)
		r.put("```\n" + s + "\n```")
		r.lines(2)
	}
}

func (r *rendering) link(n *webpage.Node) {
	href := strings.TrimSpace(n.Value("href"))
	u, err := r.base.Parse(href)
	if href == "" || href[0] == '#' || err != nil || u.Scheme != "http" && u.Scheme != "https" || r.pre > 0 {
		r.children(n)
		return
	}
	s, ok := r.inside(n)
	switch {
	case !ok, s == "":
	case strings.Contains(s, "\n"): // a link around whole blocks
		r.put(s + " (" + u.String() + ")")
	default:
		r.put("[" + s + "](" + u.String() + ")")
	}
}

// within is how deep what is written apart may lie in other such text: each
// time it is copied.
const within = 8

// inside gives what is in n. Where that lies too deep it is written right
// away instead.
func (r *rendering) inside(n *webpage.Node) (string, bool) {
	if r.nested >= within {
		r.children(n)
		return "", false
	}
	inner := &rendering{base: r.base, whole: r.whole, pre: r.pre, nested: r.nested + 1}
	inner.children(n)
	if r.pre > 0 {
		return inner.out.String(), true
	}
	return inner.String(), true
}

// clean removes from text what a reader does not see: controls, characters
// that turn the direction, tags, and joiners that join nothing.
func clean(text string) (string, int) {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text, 0
	}
	var b strings.Builder
	gone := 0
	before := rune(0)
	for i, r := range text {
		keep := !unprintable(r)
		switch r {
		case '\u200c', '\u200d', '\ufe0e', '\ufe0f': // they shape letters and emoji, one at a time
			after, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
			keep = before > 0x7f && !unprintable(before) && (r >= '\ufe00' || after > 0x7f && !unprintable(after))
		case '\r':
			keep, gone = false, gone-1
		}
		if before = r; keep {
			b.WriteRune(r)
		} else {
			gone++
		}
	}
	return b.String(), gone
}

// unprintable are the characters that clean looks at.
func unprintable(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unseen.Hidden(r))
}

// visible is text of others within a line of ours.
func visible(text string) string {
	text, _ = clean(text)
	return oneLine(text)
}
