package tool

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// window is how many bytes of the end of an output are kept in memory.
	// An output that is no longer is kept whole.
	window = 256 << 10
)

// output takes what a command prints, in constant memory. Nothing is looked
// at while it is short. A longer one goes to a file, its beginning through
// the filter, and its end to a ring.
type output struct {
	cap  int    // characters of the text it makes
	dir  string // for the file
	size int64  // bytes so far

	raw   []byte // the whole, while it fits in the window; then the ring
	next  int    // where in the ring the next byte goes
	long  bool   // it is a ring
	start filter // of the beginning, up to cap characters
	taken int64  // bytes that start has taken
	full  bool   // it takes no more
	file  spill
}

// Write never fails: what cannot be kept is said in the text.
func (o *output) Write(p []byte) (int, error) {
	n := len(p)
	if !o.long {
		if len(o.raw)+len(p) <= window {
			o.raw = append(o.raw, p...)
			o.size += int64(n)
			return n, nil
		}
		o.lengthen()
	}
	o.add(p)
	return n, nil
}

// lengthen goes over to a file and a ring.
func (o *output) lengthen() {
	first := o.raw
	o.long, o.size = true, 0
	o.raw = make([]byte, 0, window)
	o.start.limit = o.cap
	o.file.open(o.dir)
	o.add(first)
}

func (o *output) add(p []byte) {
	o.file.write(p)
	o.size += int64(len(p))
	if !o.full {
		n := o.start.write(p)
		o.taken += int64(n)
		o.full = n < len(p)
	}
	if len(p) >= window {
		o.raw, o.next = append(o.raw[:0], p[len(p)-window:]...), 0
		return
	}
	if room := window - len(o.raw); room > 0 {
		n := min(room, len(p))
		o.raw, p = append(o.raw, p[:n]...), p[n:]
	}
	for len(p) > 0 {
		n := copy(o.raw[o.next:], p)
		o.next, p = (o.next+n)%window, p[n:]
	}
}

// finish returns the text, at most cap characters, and what is to be said
// about it.
func (o *output) finish() (string, []string) {
	text, cut := o.text()
	var notes []string
	if o.start.invalid {
		notes = append(notes, "bytes that are not valid UTF-8 are shown as \ufffd")
	}
	if !cut {
		o.file.discard()
		return text, notes
	}
	if !o.long {
		o.file.open(o.dir)
		o.file.write(o.raw)
	}
	return text, append(notes, o.file.close())
}

// kept is the file that holds the whole output after finish; empty when there
// is none.
func (o *output) kept() string {
	if o.file.first == nil {
		return ""
	}
	return o.file.first.Name()
}

// text returns the whole when it is short enough, else its two ends.
func (o *output) text() (string, bool) {
	end := [][]byte{o.raw[o.next:], o.raw[:o.next]}
	first := &o.start // with a limit of cap when it is long
	tailOf := first
	switch missed := o.size - int64(len(o.raw)) - o.taken; {
	case o.long && !o.full: // all of it went through
	case missed <= 0: // the ring holds all that did not
		first.limit = 0
		for _, p := range end {
			skip := min(int64(len(p)), -missed)
			first.write(p[skip:])
			missed += skip
		}
	default:
		// The ring may begin inside a sequence or a character. A line that
		// begins in it is whole.
		tailOf = &filter{}
		ring := append(append(make([]byte, 0, window), end[0]...), end[1]...)
		for i, c := range ring {
			if c == '\n' && i < window/2 {
				ring = ring[i:]
				break
			}
		}
		tailOf.write(ring)
		tailOf.end()
		o.start.invalid = o.start.invalid || tailOf.invalid
	}
	if tailOf == first {
		first.end()
		if first.chars <= o.cap {
			return string(first.text), false
		}
	}
	var b strings.Builder
	b.Write(head(first.text, o.cap/2))
	b.WriteString("\n" + o.mark() + "\n")
	b.Write(tail(tailOf.text, o.cap/2))
	return b.String(), true
}

// mark stands where the middle was left out.
func (o *output) mark() string {
	return fmt.Sprintf("[output truncated here: %s bytes in all, only the beginning and the end are shown]", grouped(o.size))
}

// grouped is a number a reader can take in.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
