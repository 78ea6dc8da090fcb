package text

import (
	"bytes"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Doc is a text file: its bytes, and its text in UTF-8 with \n for every line
// end. In a file without \n a \r is one; else \r\n and \r\r\n are, and another
// \r is a character. Neither the bytes nor the text may be changed.
type Doc struct {
	Raw  []byte
	Text []byte
	Form
	Ends Ends

	plain bool // the text is the bytes after the BOM
	// marks are places whose offsets in both are known, at most about span
	// bytes apart and in order.
	marks []mark
}

type mark struct{ text, raw int }

// span is how many bytes are walked through, at most, to find a place.
const span = 4 << 10

// Ends counts the line ends of a file by their kind.
type Ends struct{ LF, CRLF, CRCRLF, CR int }

func (e Ends) others() int { return e.CRLF + e.CRCRLF + e.CR }

// Uniform reports whether all lines end alike.
func (e Ends) Uniform() bool {
	kinds := 0
	for _, n := range []int{e.LF, e.CRLF, e.CRCRLF, e.CR} {
		if n > 0 {
			kinds++
		}
	}
	return kinds <= 1
}

func (e Ends) String() string {
	switch {
	case !e.Uniform():
		return "mixed"
	case e.CRLF > 0:
		return "CRLF"
	case e.CRCRLF > 0:
		return "CR CR LF"
	case e.CR > 0:
		return "CR"
	}
	return "LF"
}

// New reads a file of a form that [Detect] found in these bytes.
func New(raw []byte, form Form) *Doc {
	d := &Doc{Raw: raw, Form: form}
	body := raw[form.BOM:]
	var lf, cr bool
	if form.unit() == 1 {
		lf, cr = bytes.IndexByte(body, '\n') >= 0, bytes.IndexByte(body, '\r') >= 0
	} else {
		for i := 0; i+1 < len(body); i += 2 {
			c := form.order().Uint16(body[i:])
			lf, cr = lf || c == '\n', cr || c == '\r'
		}
	}
	if form.Encoding == UTF8 && !form.Holes && !cr {
		d.Text, d.plain = body, true
		d.Ends.LF = bytes.Count(body, []byte{'\n'})
		return d
	}
	d.Text = make([]byte, 0, form.room(len(body)))
	for at := form.BOM; at < len(raw); {
		n := d.chunk(raw[at:])
		d.marks = append(d.marks, mark{len(d.Text), at})
		piece := raw[at : at+n]
		if form.Encoding != UTF8 || form.Holes {
			piece = form.decode(d.Text, piece)[len(d.Text):]
		}
		d.Text = d.unify(d.Text, piece, !lf)
		at += n
	}
	return d
}

// chunk is the length of a piece that ends neither in a character nor in a
// line end.
func (d *Doc) chunk(raw []byte) int {
	if len(raw) <= span {
		return len(raw)
	}
	n := 0
	switch d.Encoding {
	case GB18030: // where a character begins is known from the beginning only
		for n < span {
			n += d.size(raw[n:])
		}
	case UTF8:
		for n = span; n > span-utf8.UTFMax && !utf8.RuneStart(raw[n]); n-- {
		}
	case Latin1:
		n = span
	default:
		for n = span; d.order().Uint16(raw[n-2:])>>10 == 0xd800>>10 && n > 2; n -= 2 {
		}
	}
	for range 2 {
		if d.ascii(raw[:n], n-d.unit()) == '\r' {
			n -= d.unit()
		}
	}
	return n
}

// ascii is the character at i if it is one of ASCII, else 0.
func (d *Doc) ascii(raw []byte, i int) byte {
	if i < 0 || i+d.unit() > len(raw) {
		return 0
	}
	if d.unit() == 1 {
		return raw[i]
	}
	if c := d.order().Uint16(raw[i:]); c < utf8.RuneSelf {
		return byte(c)
	}
	return 0
}

// unify appends s with \n for every line end, and counts them. What is
// appended may take the place of s.
func (d *Doc) unify(dst, s []byte, mac bool) []byte {
	from, before := len(dst), d.Ends
	for len(s) > 0 {
		next := bytes.IndexByte(s, '\r')
		if next < 0 {
			dst = append(dst, s...)
			break
		}
		end := lineEnd(s[next:])
		dst = append(dst, s[:next+1]...)
		s = s[next+max(1, end):]
		switch {
		case end == 3:
			d.Ends.CRCRLF++
		case end == 2:
			d.Ends.CRLF++
		case mac:
			d.Ends.CR++
		default:
			continue
		}
		dst[len(dst)-1] = '\n'
	}
	d.Ends.LF += bytes.Count(dst[from:], []byte{'\n'}) - (d.Ends.others() - before.others())
	return dst
}

// lineEnd is the length of the line end that begins with the \r at s[0]; 0 if
// that is none.
func lineEnd(s []byte) int {
	switch {
	case len(s) > 1 && s[1] == '\n':
		return 2
	case len(s) > 2 && s[1] == '\r' && s[2] == '\n':
		return 3
	}
	return 0
}

// Unify gives s as it would be found in the text of the file: with \n for
// every line end. A file of one line that has no end leaves s as it is.
func (d *Doc) Unify(s string) string {
	if strings.IndexByte(s, '\r') < 0 || d.Ends == (Ends{}) {
		return s
	}
	var scratch Doc
	mac := d.Ends.CR > 0 && strings.IndexByte(s, '\n') < 0
	return string(scratch.unify(nil, []byte(s), mac))
}

// place is a pair of offsets that moves forward.
type place struct {
	d         *Doc
	text, raw int
}

// to moves to an offset in the text, not before the current one, and returns
// that in the file.
func (p *place) to(text int) int {
	marks := p.d.marks
	if p.d.plain || len(marks) == 0 {
		p.text, p.raw = text, p.d.BOM+text
		return p.raw
	}
	if i := sort.Search(len(marks), func(i int) bool { return marks[i].text > text }) - 1; marks[i].text > p.text {
		p.text, p.raw = marks[i].text, marks[i].raw
	}
	for p.text < text {
		raw := p.d.Raw[p.raw:]
		switch c := p.d.ascii(raw, 0); {
		case c == '\r':
			n := p.d.unit()
			end := lineEnd([]byte{c, p.d.ascii(raw, n), p.d.ascii(raw, 2*n)})
			p.text, p.raw = p.text+1, p.raw+n*max(1, end)
		case c != 0 && c < utf8.RuneSelf:
			p.text, p.raw = p.text+1, p.raw+p.d.unit()
		default:
			n := p.d.size(raw)
			var buf [3 * utf8.UTFMax]byte
			p.text += len(p.d.decode(buf[:0], raw[:n]))
			p.raw += n
		}
	}
	return p.raw
}

// Change is a piece of the text and what is to stand there instead, with \n
// for line ends.
type Change struct {
	From, To int
	New      string
}

// Splice returns the bytes of the file with the changes made, which are in
// order and do not overlap. All other bytes are as they were. A new line end
// is that of the line it replaces or breaks, else that of the line before, else
// that of the line after. Its error is an [*UnmappableError].
func (d *Doc) Splice(changes []Change) ([]byte, error) {
	parts := make([][]byte, 0, 2*len(changes)+1)
	p := place{d: d, raw: d.BOM}
	done := 0
	for _, c := range changes {
		from := p.to(c.From)
		added, err := d.encode(c)
		if err != nil {
			return nil, err
		}
		parts = append(parts, d.Raw[done:from], added)
		done = p.to(c.To)
	}
	return bytes.Join(append(parts, d.Raw[done:]), nil), nil
}

// Diff is the diff that the changes make, of which there is at least one.
func (d *Doc) Diff(changes []Change, o DiffOptions) Diff {
	from := lineBefore(d.Text, changes[0].From, o.Context)
	to := lineAfter(d.Text, changes[len(changes)-1].To, o.Context)
	var now []byte
	done := from
	for _, c := range changes {
		now = append(append(now, d.Text[done:c.From]...), c.New...)
		done = c.To
	}
	now = append(now, d.Text[done:to]...)
	o.first = bytes.Count(d.Text[:from], []byte{'\n'})
	return Compare(d.Text[from:to], now, o)
}

// encode gives the bytes of a change's new text.
func (d *Doc) encode(c Change) ([]byte, error) {
	s, err := d.Encoding.Encode(c.New)
	if err != nil || !strings.Contains(c.New, "\n") || d.Ends.others() == 0 {
		return s, err
	}
	ends := d.ends(c, strings.Count(c.New, "\n"))
	var out []byte
	for i, line := range strings.Split(c.New, "\n") {
		if i > 0 {
			out = append(out, ends[min(i, len(ends))-1]...)
		}
		s, err := d.Encoding.Encode(line)
		if err != nil {
			return nil, err
		}
		out = append(out, s...)
	}
	return out, nil
}

// ends gives the first n line ends that c replaces, or else the one next to
// it. The file has line ends.
func (d *Doc) ends(c Change, n int) [][]byte {
	var ends [][]byte
	p := place{d: d, raw: d.BOM}
	add := func(text int) {
		from := p.to(text)
		ends = append(ends, d.Raw[from:p.to(text+1)])
	}
	for at := c.From; len(ends) < n; {
		i := bytes.IndexByte(d.Text[at:c.To], '\n')
		if i < 0 {
			break
		}
		add(at + i)
		at += i + 1
	}
	if len(ends) > 0 {
		return ends
	}
	// A line end that is far away tells nothing that the first does not.
	const far = 16 * span
	before := d.Text[max(0, c.From-far):c.From]
	last, next := bytes.LastIndexByte(before, '\n'), bytes.IndexByte(d.Text[c.To:min(len(d.Text), c.To+far)], '\n')
	inside := c.To > c.From || last < len(before)-1 // of a line, whose end is the next
	switch {
	case next >= 0 && (inside || last < 0):
		add(c.To + next)
	case last >= 0:
		add(c.From - len(before) + last)
	default:
		add(bytes.IndexByte(d.Text, '\n'))
	}
	return ends
}

// Replace returns the changes that turn each of the pieces of text, which
// begin at the given offsets and hold old, into new: no more than what
// differs, so that what both have in common keeps its bytes.
func Replace(at []int, old, new string) []Change {
	var diff []Change
	x, y := Lines(old), Lines(new)
	for _, h := range Hunks(x, y) {
		diff = append(diff, trim(h.OldAt, strings.Join(x[h.Old:h.Old+h.OldLines], ""), strings.Join(y[h.New:h.New+h.NewLines], "")))
	}
	changes := make([]Change, 0, len(at)*len(diff))
	for _, i := range at {
		for _, c := range diff {
			changes = append(changes, Change{c.From + i, c.To + i, c.New})
		}
	}
	return slices.Clip(changes)
}

// trim is the change of a into b without the characters that both begin or
// end with.
func trim(at int, a, b string) Change {
	c := Change{From: at, To: at + len(a)}
	for len(a) > 0 && len(b) > 0 {
		r, n := utf8.DecodeRuneInString(a)
		if s, m := utf8.DecodeRuneInString(b); r != s || n != m {
			break
		}
		a, b, c.From = a[n:], b[n:], c.From+n
	}
	for len(a) > 0 && len(b) > 0 {
		r, n := utf8.DecodeLastRuneInString(a)
		if s, m := utf8.DecodeLastRuneInString(b); r != s || n != m {
			break
		}
		a, b, c.To = a[:len(a)-n], b[:len(b)-n], c.To-n
	}
	c.New = b
	return c
}

// Rewrite returns the bytes of the file with s as its whole text. What stays
// keeps its bytes; s decides about line ends only where the file has none. Its
// error is an [*UnmappableError].
func (d *Doc) Rewrite(s string) ([]byte, error) {
	if d.BOM > 0 {
		s = strings.TrimPrefix(s, "\ufeff")
	}
	if d.Ends.Uniform() && d.Encoding == UTF8 && !d.Holes {
		// Nothing of the old text can be seen in the new bytes.
		c := Change{To: len(d.Text), New: d.Unify(s)}
		return d.Splice([]Change{c})
	}
	return d.Splice(Replace([]int{0}, string(d.Text), d.Unify(s)))
}
