package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// finds are what a search found.
type finds struct {
	mu    sync.Mutex
	files []*find
	size  int // lines and files so far
	bytes int // of lines
	large int // files that were passed over
	notes []string
	full  bool
}

// find is a file in which something was found.
type find struct {
	hit
	count int // lines that match
	lines []line
}

// line is one that matches, or one around it.
type line struct {
	n      int // from 1
	text   string
	around bool
}

// add keeps a file, and reports whether more can be kept.
func (f *finds) add(one find) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.full {
		return false
	}
	f.files = append(f.files, &one)
	f.size += 1 + len(one.lines)
	for _, l := range one.lines {
		f.bytes += len(l.text)
	}
	if f.size > mostFound || f.bytes > mostBytes {
		f.full = true
		f.note("incomplete: it was stopped after %s lines and files; narrow the search", grouped(int64(f.size)))
	}
	return !f.full
}

// compile makes the expression Go's, and finds what is quicker to look for.
func (q *query) compile() {
	flags, prefix := syntax.Perl, ""
	if q.Multiline {
		flags, prefix = flags|syntax.DotNL, "(?ms)"
		flags &^= syntax.OneLine
	}
	if q.Fold {
		flags, prefix = flags|syntax.FoldCase, prefix+"(?i)"
	}
	tree, err := syntax.Parse(q.Pattern, flags)
	if err == nil {
		q.re, err = regexp.Compile(prefix + "(?:" + q.Pattern + ")")
	}
	if err != nil {
		q.re, q.why = nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		for _, look := range []string{"(?<!", "(?<=", "(?!", "(?="} {
			if strings.Contains(q.Pattern, look) {
				q.why = fmt.Errorf("lookaround, as %s…), is not supported: the syntax is that of RE2. Search for more and leave out what is not meant", look)
			}
		}
		return
	}
	q.need = []byte(needed(tree))
	if tree.Op == syntax.OpLiteral && tree.Flags&syntax.FoldCase == 0 && utf8.ValidString(q.Pattern) {
		q.literal = q.need
	}
}

// needed is the longest text that every match of an expression holds.
func needed(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return needed(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needed(re.Sub[0])
		}
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if s := needed(sub); len(s) > len(best) {
				best = s
			}
		}
		return best
	}
	return ""
}

// largest is how many bytes of a file are searched here.
const largest = 32 << 20

// scanTree searches without rg.
func scanTree(ctx context.Context, t *tree, q *query) *finds {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &finds{}
	s := &scanner{t: t, q: q, finds: f, buffers: make([][]byte, workers())}
	if t.file {
		if !t.withholds(t.start) {
			s.single()
		}
		return f
	}
	notes := t.walk(ctx, func(worker int, dir *folder, files []entry) {
		for _, e := range files {
			if ctx.Err() != nil {
				return
			}
			if q.wanted(t.below(e.path)) && !t.withholds(e.path) && !s.file(worker, dir, e.path, e.name) {
				cancel()
				return
			}
		}
	})
	f.notes = append(f.notes, notes...)
	if f.large > 0 {
		f.note("%d files of more than %s bytes were not searched", f.large, grouped(largest))
	}
	return f
}

type scanner struct {
	t       *tree
	q       *query
	finds   *finds
	buffers [][]byte // of each worker
}

// single searches the one file that the path names.
func (s *scanner) single() {
	dir, err := openFolder(s.t.root, path.Dir(s.t.start))
	if err != nil {
		s.finds.note("it could not be read: %v", err)
		return
	}
	defer dir.close()
	f, err := dir.open(path.Base(s.t.start))
	if err != nil {
		s.finds.note("it could not be read: %v", err)
		return
	}
	defer f.Close()
	data, fits := s.read(0, f)
	text, ok := readable8(data)
	switch {
	case !fits:
		s.finds.note("the file has more than %s bytes and was not searched; use grep in Bash", grouped(largest))
	case !ok:
		s.finds.note("the file is binary and was not searched")
	default:
		s.search(dir, s.t.start, path.Base(s.t.start), text)
	}
}

// file searches one file, and reports whether to go on.
func (s *scanner) file(worker int, dir *folder, full, name string) bool {
	f, err := dir.open(name)
	if err != nil {
		return true // it is gone, or not ours to read
	}
	data, fits := s.read(worker, f)
	f.Close()
	if !fits {
		s.finds.mu.Lock()
		s.finds.large++
		s.finds.mu.Unlock()
		return true
	}
	if len(s.q.need) > 0 && !marked16(data) && !bytes.Contains(data, s.q.need) {
		return true
	}
	text, ok := readable8(data)
	return !ok || s.search(dir, full, name, text)
}

// read reads a whole file into the worker's buffer.
func (s *scanner) read(worker int, f *os.File) ([]byte, bool) {
	buf := s.buffers[worker][:cap(s.buffers[worker])]
	if buf == nil {
		buf = make([]byte, 64<<10)
	}
	n := 0
	for {
		if n == len(buf) {
			if n > largest {
				return nil, false
			}
			buf = append(buf, make([]byte, len(buf))...)
		}
		m, err := f.Read(buf[n:])
		n += m
		if err == io.EOF || err == nil && m == 0 {
			break
		}
		if err != nil {
			return nil, true
		}
	}
	if s.buffers[worker] = buf; cap(buf) > 4<<20 {
		s.buffers[worker] = nil
	}
	return buf[:n], n <= largest
}

func marked16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}

// readable8 is the text of a file without its mark, in UTF-8 if it was UTF-16.
func readable8(data []byte) ([]byte, bool) {
	if marked16(data) {
		units := make([]uint16, 0, len(data)/2)
		low := 0
		if data[0] == 0xfe {
			low = 1
		}
		for i := 2; i+1 < len(data); i += 2 {
			units = append(units, uint16(data[i+low])|uint16(data[i+1-low])<<8)
		}
		data = []byte(string(utf16.Decode(units)))
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), bytes.IndexByte(data, 0) < 0
}

// search searches the text of a file, and reports whether to go on.
func (s *scanner) search(dir *folder, full, name string, text []byte) bool {
	one := find{hit: hit{name: full}}
	spans := s.q.spans(text, s.q.OutputMode == modeFiles)
	if len(spans) == 0 {
		return true
	}
	one.count = len(spans)
	switch s.q.OutputMode {
	case modeFiles:
		one.at, _ = dir.changed(name)
	case modeContent:
		if one.lines = s.q.show(text, spans); len(one.lines) == 0 { // matches of nothing, with -o
			return true
		}
	}
	return s.finds.add(one)
}

// span is a line, or several when the match goes across them.
type span struct {
	start, end int // in the text, without the last line end
	n          int // number of the first line
}

// spans finds the lines that match, or the first only.
func (q *query) spans(text []byte, first bool) []span {
	var out []span
	n, counted := 1, 0
	for pos := 0; pos < len(text); {
		start, end, ok := q.next(text, pos)
		if !ok {
			break
		}
		n += bytes.Count(text[counted:start], newline)
		counted = start
		out = append(out, span{start, end, n})
		if first || len(out) > mostFound {
			break
		}
		pos = end + 1
	}
	return out
}

var newline = []byte("\n")

// next finds the first line from pos, where a line begins, that matches.
func (q *query) next(text []byte, pos int) (start, end int, ok bool) {
	if q.Multiline {
		m := q.re.FindIndex(text[pos:])
		if m == nil || pos+m[0] == len(text) && text[len(text)-1] == '\n' {
			return 0, 0, false
		}
		start = pos + bytes.LastIndexByte(text[pos:pos+m[0]], '\n') + 1
		last := max(m[0], m[1]-1) // a line end that the match ends with is that of its line
		return start, lineEnd(text, pos+last), true
	}
	for pos < len(text) {
		if len(q.need) > 0 {
			i := bytes.Index(text[pos:], q.need)
			if i < 0 {
				return 0, 0, false
			}
			pos += bytes.LastIndexByte(text[pos:pos+i], '\n') + 1
		}
		end = lineEnd(text, pos)
		if q.literal != nil && bytes.IndexByte(q.literal, '\n') < 0 || q.re.Match(stripped(text[pos:end])) {
			return pos, end, true
		}
		pos = end + 1
	}
	return 0, 0, false
}

func lineEnd(text []byte, pos int) int {
	if i := bytes.IndexByte(text[pos:], '\n'); i >= 0 {
		return pos + i
	}
	return len(text)
}

func stripped(line []byte) []byte { return bytes.TrimSuffix(line, []byte("\r")) }

// show gives the lines of a result: each once, with those around it.
func (q *query) show(text []byte, spans []span) []line {
	var out []line
	next := 0 // where the first line begins that was not shown
	for i, s := range spans {
		if q.Only {
			out = append(out, q.only(text[s.start:s.end], s.n)...)
			continue
		}
		from, n := s.start, s.n
		for k := 0; k < q.Before && from > next; k++ {
			from = bytes.LastIndexByte(text[:from-1], '\n') + 1
			n--
		}
		for from < s.start {
			end := lineEnd(text, from)
			out = append(out, line{n, shorten(stripped(text[from:end]), 0), true})
			from, n = end+1, n+1
		}
		for from <= s.end && from < len(text) {
			end := lineEnd(text, from)
			out = append(out, line{n, shorten(stripped(text[from:end]), q.place(text[from:end])), false})
			from, n = end+1, n+1
		}
		limit := len(text)
		if i+1 < len(spans) {
			limit = spans[i+1].start
		}
		for k := 0; k < q.After && from < limit; k++ {
			end := lineEnd(text, from)
			out = append(out, line{n, shorten(stripped(text[from:end]), 0), true})
			from, n = end+1, n+1
		}
		next = from
	}
	return out
}

// place is where in a line that is too long to be shown the match is.
func (q *query) place(text []byte) int {
	if len(text) <= mostShown {
		return 0
	}
	if m := q.re.FindIndex(stripped(text)); m != nil {
		return m[0]
	}
	return 0
}

// only gives each match in a line as a line.
func (q *query) only(text []byte, n int) []line {
	var out []line
	for _, m := range q.re.FindAllIndex(stripped(text), -1) {
		if m[0] < m[1] {
			at := n + bytes.Count(text[:m[0]], newline)
			for part := range bytes.SplitSeq(text[m[0]:m[1]], newline) {
				out = append(out, line{at, shorten(stripped(part), 0), false})
				at++
			}
		}
	}
	return out
}

// shorten is a line as it is shown: what is around place if it is long.
func shorten(text []byte, place int) string {
	before, after := "", ""
	if len(text) > mostShown {
		from := max(0, min(place-mostShown/4, len(text)-mostShown))
		to := from + mostShown
		for from > 0 && !utf8.RuneStart(text[from]) {
			from--
		}
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
		if from > 0 {
			before = fmt.Sprintf("[%d bytes] ", from)
		}
		if to < len(text) {
			after = fmt.Sprintf(" [%d bytes]", len(text)-to)
		}
		text = text[from:to]
	}
	s, _ := clean(strings.ToValidUTF8(string(text), "\ufffd"))
	return before + s + after
}
