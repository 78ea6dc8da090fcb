package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"oneloop"
	"oneloop/internal/text"
)

type readInput struct {
	FilePath string `json:"file_path"`
	Offset   int    `json:"offset,omitempty"`
	Limit    int    `json:"limit,omitempty"`
}

const readSchema = `{"type":"object","properties":{"file_path":{"type":"string"},"offset":{"type":"integer","description":"first line, from 1"},` +
	`"limit":{"type":"integer","description":"lines"}},"required":["file_path"],"additionalProperties":false}`

const (
	// mostLines is how many lines are shown when no limit is asked for.
	mostLines = 2000
	// lineWidth is how many characters of a line are shown.
	lineWidth = 2000
	// mostScan is how many bytes are read to find a line.
	mostScan = 512 << 20
)

// Read is the tool that shows a file: text with numbered lines, or an image.
// Long files are shown in part, with how to go on; lines longer than 2,000
// characters are cut. Devices, pipes and other things that are no files are
// not opened, binary files are named and not shown. It takes bounded time and
// memory for a file of any size.
func (f *Files) Read() oneloop.Tool {
	t := build("Read", "Show a text file with line numbers, or an image. Long files come in parts: use offset and limit.",
		json.RawMessage(readSchema), f.read)
	t.Parallel = true
	t.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
	t.Touches = f.readTouches
	return t
}

func (f *Files) read(ctx context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event), in readInput) (*oneloop.ToolResult, error) {
	if in.Offset < 0 || in.Limit < 0 {
		return nil, errors.New("offset and limit are numbers of lines, from 1")
	}
	path, file, info, err := f.source(in.FilePath)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(file, head)
	head = head[:n]
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, f.explain(in.FilePath, err)
	}
	if mime := imageType(head); mime != "" {
		return f.image(in.FilePath, mime, io.MultiReader(bytes.NewReader(head), file), info)
	}
	if kind := isBinary(head); kind != "" {
		return nil, fmt.Errorf("%s is %s (%s bytes) and no text, so it is not shown. %s", in.FilePath, kind, grouped(info.Size()), how(kind))
	}
	if info.Size() > mostEdit && in.Offset == 0 && in.Limit == 0 {
		return nil, fmt.Errorf("%s has %s bytes, too many to be shown as a whole. Ask for some lines with offset and limit, or search it with Grep", in.FilePath, grouped(info.Size()))
	}
	p := view{name: in.FilePath, first: max(1, in.Offset), lines: in.Limit, cap: f.opts.Cap}
	if p.lines == 0 {
		p.lines = mostLines
	}
	if info.Size() <= mostWhole {
		return f.readWhole(path, file, head, info, &p)
	}
	return f.readPart(ctx, path, file, head, info, &p)
}

// readWhole shows lines of a file that fits into memory.
func (f *Files) readWhole(path string, file io.Reader, head []byte, info fs.FileInfo, p *view) (*oneloop.ToolResult, error) {
	b := bytes.NewBuffer(make([]byte, 0, max(int64(len(head)), info.Size())+bytes.MinRead))
	b.Write(head)
	if _, err := b.ReadFrom(io.LimitReader(file, mostWhole)); err != nil {
		return nil, f.explain(p.name, err)
	}
	raw := b.Bytes()
	v := version{info: info, looked: time.Now(), size: int64(len(raw)), sum: maphash.Bytes(f.shared.seed, raw)}
	v.form = f.form(path, raw, v.sum)
	f.learn(path, &known{version: v, kept: f.shared.shelf.put(raw)})
	doc := text.New(raw, v.form)
	if len(doc.Text) == 0 {
		return oneloop.TextResult(fmt.Sprintf("[%s is empty%s]", p.name, unless(doc.BOM == 0, " but for a byte order mark"))), nil
	}
	p.total = bytes.Count(doc.Text, []byte{'\n'})
	p.ended = doc.Text[len(doc.Text)-1] == '\n'
	if !p.ended {
		p.total++
	}
	rest := doc.Text
	for n := 1; len(rest) > 0 && !p.full(n); n++ {
		line, after, _ := bytes.Cut(rest, []byte{'\n'})
		if n >= p.first {
			p.add(line, len(line))
		}
		rest = after
	}
	return p.result(doc.Form, doc.Ends)
}

// readPart shows lines of a large file, of which it keeps no more than these.
func (f *Files) readPart(ctx context.Context, path string, file io.Reader, head []byte, info fs.FileInfo, p *view) (*oneloop.ToolResult, error) {
	s := scan{view: p, whole: info.Size() <= mostEdit}
	if form := text.Detect(head); form.BOM > 0 {
		s.form = form // else to be told by what is shown
	}
	s.sum.SetSeed(f.shared.seed)
	body := head[s.form.BOM:]
	s.sum.Write(head[:s.form.BOM])
	buf := make([]byte, 256<<10)
	for {
		s.take(body)
		if s.done || ctx.Err() != nil {
			break
		}
		if s.read > mostScan {
			return nil, fmt.Errorf("line %d of %s is not within the first %s bytes (which hold %d lines). Use a command, e.g. tail or sed -n", p.first, p.name, grouped(mostScan), s.line)
		}
		n, err := file.Read(buf)
		body = buf[:n]
		if n == 0 && errors.Is(err, io.EOF) {
			s.end()
			break
		}
		if n == 0 && err != nil {
			return nil, f.explain(p.name, err)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if s.whole {
		f.learn(path, &known{version: version{info: info, looked: time.Now(), size: s.read + int64(s.form.BOM), sum: s.sum.Sum64(), form: s.form}})
	}
	return s.result()
}

// scan finds lines in a stream of bytes.
type scan struct {
	*view
	form  text.Form
	whole bool // to the end, to know what the file is
	done  bool
	sum   maphash.Hash
	read  int64
	line  int // complete lines so far

	now    []byte // the beginning of the current line
	length int    // of all of it
	last   byte   // the last byte of it
	shown  []rawLine
	bytes  int // in shown
}

type rawLine struct {
	raw    []byte
	length int
}

// take takes the next bytes of the file.
func (s *scan) take(b []byte) {
	if s.whole {
		s.sum.Write(b)
	}
	for len(b) > 0 && !s.done {
		n := s.newline(b)
		part := b
		if n >= 0 {
			part = b[:n]
		}
		s.keep(part)
		s.read += int64(len(part))
		if n < 0 {
			return
		}
		s.read++
		if s.wide() { // the other byte of the line end
			s.length--
			s.now = s.now[:min(len(s.now), s.length)]
		}
		s.complete()
		b = b[n+1:]
	}
}

// newline is where the last byte of a line end is.
func (s *scan) newline(b []byte) int {
	if !s.wide() {
		return bytes.IndexByte(b, '\n')
	}
	for i := int(1 - s.read%2); i < len(b); i += 2 {
		before := s.last
		if i > 0 {
			before = b[i-1]
		}
		if s.form.Encoding == text.UTF16LE && before == '\n' && b[i] == 0 || s.form.Encoding == text.UTF16BE && before == 0 && b[i] == '\n' {
			return i
		}
	}
	return -1
}

func (s *scan) wide() bool { return s.form.Encoding == text.UTF16LE || s.form.Encoding == text.UTF16BE }

// widest is how many bytes of a line are kept: enough for what is shown in
// every encoding.
const widest = 4*lineWidth + 4

func (s *scan) keep(part []byte) {
	if len(part) > 0 {
		s.last = part[len(part)-1]
	}
	s.length += len(part)
	if room := widest - len(s.now); room > 0 {
		s.now = append(s.now, part[:min(room, len(part))]...)
	}
}

// complete takes the current line as whole.
func (s *scan) complete() {
	s.line++
	if s.line >= s.first && len(s.shown) < s.lines && s.bytes <= 4*s.cap {
		s.shown = append(s.shown, rawLine{bytes.Clone(s.now), s.length})
		s.bytes += len(s.now)
		s.done = !s.whole && (len(s.shown) == s.lines || s.bytes > 4*s.cap)
	}
	s.now, s.length = s.now[:0], 0
}

// end takes what follows the last line end.
func (s *scan) end() {
	s.ended = s.length == 0
	if !s.ended {
		s.complete()
	}
	s.total = s.line
}

func (s *scan) result() (*oneloop.ToolResult, error) {
	var all []byte
	for _, l := range s.shown {
		all = append(append(all, l.uncut()...), '\n')
	}
	form := s.form
	if form.BOM == 0 {
		form = text.Detect(all)
	} else {
		form.Holes = form.Encoding == text.UTF8 && !utf8.Valid(all)
	}
	var ends text.Ends
	for i, l := range s.shown {
		if s.full(s.first + i) {
			break
		}
		line := []byte(form.Decode(l.raw))
		if bytes.HasSuffix(line, []byte{'\r'}) && len(l.raw) == l.length {
			line = line[:len(line)-1]
			ends.CRLF++
		} else {
			ends.LF++
		}
		s.add(line, l.length)
	}
	return s.view.result(form, ends)
}

// uncut is the line without the piece of a character that it may end with.
func (l rawLine) uncut() []byte {
	if len(l.raw) == l.length {
		return l.raw
	}
	for _, encoding := range []text.Encoding{text.UTF8, text.GB18030} {
		for n := range utf8.UTFMax {
			part := l.raw[:len(l.raw)-n]
			if form := text.Detect(part); form.Encoding == encoding && !form.Holes {
				return part
			}
		}
	}
	return l.raw
}

// view is what Read shows of a file.
type view struct {
	name         string
	first, lines int // what was asked for
	cap          int

	b     strings.Builder
	chars int
	shown int
	nul   bool

	total int  // lines of the file; 0: not known
	ended bool // the last line ends with a newline
}

// full reports whether line n is beyond what is shown.
func (p *view) full(n int) bool { return n >= p.first+p.lines || p.chars >= p.cap }

// add shows a line, of which there are that many bytes in all.
func (p *view) add(line []byte, length int) {
	s, whole := text.Cut(string(line[:min(len(line), 4*lineWidth+4)]), lineWidth)
	if !whole || len(s) < len(line) {
		s += fmt.Sprintf("… [cut: the line has %s bytes]", grouped(int64(length)))
	}
	if strings.IndexByte(s, 0) >= 0 {
		p.nul = true
		s = strings.ReplaceAll(s, "\x00", "␀")
	}
	row := fmt.Sprintf("%d\t%s\n", p.first+p.shown, s)
	n := utf8.RuneCountInString(row)
	if p.chars+n > p.cap && p.shown > 0 {
		p.chars = p.cap
		return
	}
	p.b.WriteString(row)
	p.chars += n
	p.shown++
}

// result is the answer, with what else is to be known of the file.
func (p *view) result(form text.Form, ends text.Ends) (*oneloop.ToolResult, error) {
	if p.shown == 0 {
		return nil, fmt.Errorf("%s has %d lines; the offset %d is beyond its end", p.name, p.total, p.first)
	}
	last := p.first + p.shown - 1
	note := func(format string, args ...any) { fmt.Fprintf(&p.b, "["+format+"]\n", args...) }
	switch {
	case p.total == 0:
		note("lines %d to %d; go on with offset %d", p.first, last, last+1)
	case last < p.total:
		note("lines %d to %d of %d; go on with offset %d", p.first, last, p.total, last+1)
	case !p.ended:
		note("no newline at the end of the file")
	}
	if about := aboutForm(form, ends); about != "" {
		note("%s", about)
	}
	if p.nul {
		note("NUL bytes are shown as ␀")
	}
	return oneloop.TextResult(strings.TrimSuffix(p.b.String(), "\n")), nil
}

// aboutForm says how a file is written, unless it is as most are.
func aboutForm(form text.Form, ends text.Ends) string {
	var what []string
	switch {
	case form.Holes:
		what = append(what, "UTF-8, but bytes that are not are shown as \ufffd")
	case form.Guess:
		what = append(what, form.Encoding.String()+", which is a guess")
	case form.BOM > 0:
		what = append(what, form.Encoding.String()+" with a byte order mark")
	}
	if kind := ends.String(); kind != "LF" {
		what = append(what, kind+" line ends")
	}
	return strings.Join(what, "; ")
}

// copyTo reads at most limit bytes.
func copyTo(w io.Writer, r io.Reader, limit int64) error {
	_, err := io.Copy(w, io.LimitReader(r, limit))
	return err
}
