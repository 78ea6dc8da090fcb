package tool

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// text is the page for a reader, with its title and what is to be said of it.
func (p *page) text() (text, title string, notes []string) {
	text, guessed := decodeText(p.body, p.header)
	if guessed != "" {
		notes = append(notes, "the encoding is not declared; read as "+guessed)
	}
	if p.kind == "text/html" || p.kind == "application/xhtml+xml" {
		root, err := html.ParseWithOptions(strings.NewReader(text), html.ParseOptionEnableScripting(false))
		if err != nil {
			notes = append(notes, fmt.Sprintf("the structure of the page could not be read (%v), so its links and headings are not marked", err))
			text = flatHTML(text)
		} else {
			text, title = renderHTML(root, p.url)
		}
	}
	text, gone := clean(text)
	if gone > 0 {
		notes = append(notes, fmt.Sprintf("%d invisible or control characters were removed", gone))
	}
	title, _ = clean(title)
	return text, oneLine(title), notes
}

// decodeText gives a page in UTF-8. Where nothing declares an encoding it is
// UTF-8 if it can be, else GB18030, else Windows-1252, and guessed names it.
func decodeText(body []byte, header string) (text, guessed string) {
	enc, name, certain := charset.DetermineEncoding(body, header)
	if !certain && !bytes.Contains(bytes.ToLower(body[:min(len(body), 1024)]), []byte("charset")) {
		plain := body
		for n := 0; n < utf8.UTFMax && !utf8.Valid(plain); n++ { // the last character may be cut
			plain = plain[:max(0, len(plain)-1)]
		}
		if utf8.Valid(plain) {
			return strings.ToValidUTF8(string(body), "\ufffd"), ""
		}
		if s, ok := decoded(simplifiedchinese.GB18030, body); ok {
			return s, "gb18030"
		}
		guessed = name
	}
	s, _ := decoded(enc, body)
	return s, guessed
}

// decoded reports whether all of it could be read.
func decoded(enc encoding.Encoding, body []byte) (string, bool) {
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\ufffd"), false
	}
	out = bytes.TrimPrefix(out, []byte("\ufeff"))
	return strings.ToValidUTF8(string(out), "\ufffd"), !bytes.ContainsRune(out, utf8.RuneError)
}

// renderHTML is the text of a page, in the manner of Markdown.
func renderHTML(root *html.Node, base *url.URL) (text, title string) {
	r := &rendering{base: base}
	r.look(root)
	r.block(root)
	if text = r.String(); text != "" {
		return text, r.title
	}
	all := &rendering{base: r.base, title: r.title, whole: true} // a page that is nothing but navigation
	all.block(root)
	return all.String(), r.title
}

// flatHTML is the text of a page that is too odd to be parsed.
func flatHTML(page string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	for skip := ""; ; {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.TextToken:
			if skip == "" {
				if s := oneLine(string(z.Text())); s != "" {
					b.WriteString(s + "\n")
				}
			}
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) == "script" || string(name) == "style" {
				skip = string(name)
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == skip {
				skip = ""
			}
		}
	}
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
func (r *rendering) look(n *html.Node) {
	for c := range n.Descendants() {
		switch {
		case c.DataAtom == atom.Title && r.title == "" && c.Namespace == "":
			r.title = oneLine(textOf(c))
		case c.DataAtom == atom.Base:
			if u, err := r.base.Parse(attr(c, "href")); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
				r.base = u
			}
		}
	}
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// unseen reports whether a reader of the page does not see n, or does not
// read it.
func (r *rendering) unseen(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object, atom.Canvas, atom.Head,
		atom.Select, atom.Button, atom.Textarea, atom.Datalist, atom.Audio, atom.Video, atom.Map, atom.Dialog:
		return true
	case atom.Nav, atom.Footer:
		return !r.whole
	}
	if role := attr(n, "role"); !r.whole && (role == "navigation" || role == "search" || role == "contentinfo") {
		return true
	}
	style := strings.ToLower(strings.Join(strings.Fields(attr(n, "style")), ""))
	for _, s := range []string{"display:none", "visibility:hidden", "font-size:0;", "font-size:0px", "opacity:0;"} {
		if strings.Contains(style+";", s) {
			return true
		}
	}
	return has(n, "hidden") || attr(n, "aria-hidden") == "true"
}

func (r *rendering) children(n *html.Node) {
	for c := range n.ChildNodes() {
		r.block(c)
	}
}

// block writes n and what is in it.
func (r *rendering) block(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		r.text(n.Data)
		return
	case html.DocumentNode:
		r.children(n)
		return
	case html.ElementNode:
	default:
		return
	}
	if r.unseen(n) {
		return
	}
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.lines(2)
		r.start = strings.Repeat("#", int(n.Data[1]-'0')) + " "
		r.children(n)
		r.start = ""
		r.lines(2)
	case atom.P, atom.Blockquote, atom.Table, atom.Figure, atom.Dl:
		r.around(2, n)
	case atom.Ul, atom.Ol:
		r.list(n)
	case atom.Tr:
		r.row(n)
	case atom.Br:
		r.lines(1)
	case atom.Hr:
		r.around(2, n)
	case atom.Pre:
		r.code(n)
	case atom.A:
		r.link(n)
	case atom.Img:
		if alt := oneLine(attr(n, "alt")); alt != "" {
			r.text("[image: " + alt + "]")
		}
	case atom.Code:
		r.mark("`", n)
	default:
		if inline[n.DataAtom] {
			r.children(n)
		} else {
			r.around(1, n)
		}
	}
}

// inline elements do not begin a line of their own.
var inline = map[atom.Atom]bool{
	0: true, atom.Abbr: true, atom.B: true, atom.Bdi: true, atom.Bdo: true, atom.Cite: true, atom.Data: true, atom.Del: true, atom.Dfn: true,
	atom.Em: true, atom.Font: true, atom.I: true, atom.Ins: true, atom.Kbd: true, atom.Label: true, atom.Mark: true, atom.Noscript: true, atom.Q: true,
	atom.Rp: true, atom.Rt: true, atom.Ruby: true, atom.S: true, atom.Samp: true, atom.Small: true, atom.Span: true, atom.Strong: true, atom.Sub: true,
	atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true, atom.Picture: true, atom.Input: true,
}

// lines asks for n line ends before what is written next.
func (r *rendering) lines(n int) { r.want, r.space = max(r.want, n), false }

func (r *rendering) around(n int, node *html.Node) {
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

func (r *rendering) mark(mark string, n *html.Node) {
	if r.pre > 0 {
		r.children(n)
	} else if s, ok := r.inside(n); ok && s != "" {
		r.put(mark + s + mark)
	}
}

func (r *rendering) list(n *html.Node) {
	gap := 2
	if r.depth > 0 {
		gap = 1
	}
	r.lines(gap)
	r.depth++
	number := 0
	for c := range n.ChildNodes() {
		if c.DataAtom != atom.Li {
			r.block(c)
			continue
		}
		if r.unseen(c) {
			continue
		}
		r.lines(1)
		r.start = "- "
		if number++; n.DataAtom == atom.Ol {
			r.start = fmt.Sprintf("%d. ", number)
		}
		r.children(c)
		r.start = ""
	}
	r.depth--
	r.lines(gap)
}

// row writes a table's row in one line.
func (r *rendering) row(n *html.Node) {
	r.lines(1)
	var cells []string
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode || r.unseen(c) {
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

func (r *rendering) code(n *html.Node) {
	r.pre++
	s, ok := r.inside(n)
	r.pre--
	if s = strings.Trim(s, "\r\n"); ok && s != "" {
		r.lines(2)
		r.put("```\n" + s + "\n```")
		r.lines(2)
	}
}

func (r *rendering) link(n *html.Node) {
	href := strings.TrimSpace(attr(n, "href"))
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
func (r *rendering) inside(n *html.Node) (string, bool) {
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
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < ' ', 0x7f <= r && r <= 0x9f, r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xfeff, r == 0xffa0:
		return true
	case 0x180b <= r && r <= 0x180f, 0x200b <= r && r <= 0x200f, 0x2028 <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f, 0xfe00 <= r && r <= 0xfe0f, 0xfff0 <= r && r <= 0xfffb, 0xe0000 <= r && r <= 0xe0fff:
		return true
	}
	return false
}

// visible is text of others within a line of ours.
func visible(text string) string {
	text, _ = clean(text)
	return oneLine(text)
}
