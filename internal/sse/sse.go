// Package sse reads server-sent events: the framing only, in constant memory
// beside the event at hand, and the same however the bytes are split.
package sse

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Event is one event. Data is valid until the next call of Next.
type Event struct {
	Name string // empty when the stream gave none
	Data []byte // the data lines, joined by line feeds
	Cut  bool   // the stream ended before the blank line that ends an event
}

// TooLongError says that an event has more bytes than the reader takes.
type TooLongError struct{ Max int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("an event of the stream has more than %d MiB", e.Max>>20)
}

// Reader reads events.
type Reader struct {
	r   io.Reader
	max int
	err error // of r, once it came

	base  []byte // the memory buf lies in
	buf   []byte // unread bytes; the event at hand begins at 0
	pos   int    // where the line at hand begins
	seen  int    // up to where it was searched for its end
	begun bool   // a byte-order mark was looked for
	lf    bool   // the line before ended in CR: an LF that follows belongs to it

	name     string
	word     string // the last name that came: most events have the name of the one before
	lines    int    // data lines of the event at hand
	from, to int    // the first of them in buf
	joined   []byte // all of them when there are several; kept between events
}

// NewReader returns a reader of r that refuses events of more than max bytes.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{r: r, max: max}
}

// Next returns the next event that has data. Comments, unknown fields and
// events without data are passed over. The error is that of the underlying
// reader, io.EOF at the end, or a *TooLongError; an event that was cut short
// by it is returned first.
func (r *Reader) Next() (Event, error) {
	r.start()
	for {
		from, to, ok := r.line()
		switch {
		case !ok && r.err != nil:
			return r.last()
		case !ok:
			if err := r.fill(); err != nil {
				return Event{}, err
			}
		case from < to:
			r.field(from, to)
			if r.lines == 0 && r.name == "" {
				r.start() // a comment: nothing of it needs to be kept
			}
		case r.lines > 0:
			return r.event(), nil
		default:
			r.start()
		}
	}
}

// start begins an event at the line at hand.
func (r *Reader) start() {
	r.buf = r.buf[r.pos:]
	r.seen -= r.pos
	r.pos = 0
	r.name, r.lines = "", 0
}

func (r *Reader) event() Event {
	if r.lines > 1 {
		return Event{Name: r.name, Data: r.joined}
	}
	return Event{Name: r.name, Data: r.buf[r.from:r.to:r.to]}
}

// last returns what is left when the stream has ended.
func (r *Reader) last() (Event, error) {
	if r.pos < len(r.buf) {
		r.field(r.pos, len(r.buf))
	}
	r.pos, r.seen = len(r.buf), len(r.buf)
	if r.lines == 0 {
		return Event{}, r.err
	}
	e := r.event()
	e.Cut = true
	return e, nil
}

// line returns where the line at hand begins and ends and moves on, or
// reports false when its end is not there yet.
func (r *Reader) line() (from, to int, ok bool) {
	if r.lf && r.pos < len(r.buf) {
		if r.buf[r.pos] == '\n' {
			r.pos++
			r.seen = r.pos
		}
		r.lf = false
	}
	rest := r.buf[r.seen:]
	n := bytes.IndexByte(rest, '\n')
	if n >= 0 {
		rest = rest[:n]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		n = cr
		r.lf = true
	}
	if n < 0 {
		r.seen = len(r.buf)
		return 0, 0, false
	}
	from, to = r.pos, r.seen+n
	r.pos = to + 1
	r.seen = r.pos
	return from, to, true
}

// field takes in one line. What it names beside data and event is not for us.
func (r *Reader) field(from, to int) {
	name, value, _ := bytes.Cut(r.buf[from:to], []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		if r.name = r.word; r.word != string(value) {
			r.name = string(value)
			r.word = r.name
		}
	case "data":
		r.lines++
		if r.lines == 1 {
			r.from, r.to = to-len(value), to
			return
		}
		if r.lines == 2 {
			r.joined = append(r.joined[:0], r.buf[r.from:r.to]...)
		}
		r.joined = append(append(r.joined, '\n'), value...)
	}
}

// first are first buffers: most streams need no other.
var first = sync.Pool{New: func() any { return new([chunk]byte) }}

// Free gives the reader's memory back. Neither the reader nor the data of its
// events is used after it.
func (r *Reader) Free() {
	if len(r.base) == chunk {
		first.Put((*[chunk]byte)(r.base))
	}
	*r = Reader{err: io.ErrClosedPipe}
}

const (
	chunk = 32 << 10 // the first buffer
	room  = 4 << 10  // a read gets at least so much
)

// fill reads more behind the event at hand, which it moves to the front or
// into a larger buffer when there is no room.
func (r *Reader) fill() error {
	if len(r.buf) > r.max {
		return &TooLongError{Max: r.max}
	}
	if cap(r.buf)-len(r.buf) < room {
		if len(r.buf) > len(r.base)/2 || r.base == nil {
			if r.base == nil {
				r.base = first.Get().(*[chunk]byte)[:]
			} else {
				r.base = make([]byte, 2*len(r.base))
			}
		}
		r.buf = r.base[:copy(r.base, r.buf)]
	}
	n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf, r.err = r.buf[:len(r.buf)+n], err
	if !r.begun {
		r.skipMark()
	}
	return nil
}

// skipMark passes over a byte-order mark, once the first bytes tell.
func (r *Reader) skipMark() {
	const mark = "\xef\xbb\xbf"
	switch {
	case bytes.HasPrefix(r.buf, []byte(mark)):
		r.pos, r.seen = len(mark), len(mark)
	case len(r.buf) < len(mark) && string(r.buf) == mark[:len(r.buf)]:
		return
	}
	r.begun = true
}
