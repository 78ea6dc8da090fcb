package tool

import "unicode/utf8"

// A filter turns what a program prints to a terminal into the text a reader
// would have seen at the end: escape sequences are gone, also those that were
// cut off; a carriage return starts the line again, a backspace takes back
// one character; what is no valid UTF-8 is U+FFFD. The text depends on the
// bytes alone and not on how they are split into writes.
type filter struct {
	limit   int    // characters it takes; 0: no limit
	text    []byte // valid UTF-8, no control characters but \n and \t
	chars   int    // in text
	invalid bool   // something was not valid UTF-8

	line  int  // where the current line begins in text
	again bool // a carriage return came: the next character starts the line anew
	state filterState
	held  []byte // beginning of a character, at most 3 bytes
}

type filterState byte

const (
	ground  filterState = iota
	escape              // after ESC
	between             // after ESC and an intermediate byte
	control             // in a control sequence, after ESC [
	quoted              // in a string such as a title, after ESC ] and others
)

const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
)

// write takes bytes until the limit is reached and returns how many.
func (f *filter) write(p []byte) int {
	for i := 0; i < len(p); {
		if n := f.plain(p[i:]); n > 0 {
			i += n
			continue
		}
		if !f.take(p[i]) {
			return i
		}
		i++
	}
	return len(p)
}

// plain takes a run of printable ASCII, which is most of what there is.
func (f *filter) plain(p []byte) int {
	if f.state != ground || len(f.held) > 0 || f.again {
		return 0
	}
	n := len(p)
	if f.limit > 0 {
		n = min(n, f.limit-f.chars)
	}
	for i, c := range p[:n] {
		if c < ' ' && c != '\n' && c != '\t' || c > '~' {
			n = i
			break
		}
		if c == '\n' {
			f.line = len(f.text) + i + 1
		}
	}
	f.text = append(f.text, p[:n]...)
	f.chars += n
	return n
}

// take takes one byte, or reports that the limit is reached.
func (f *filter) take(c byte) bool {
	switch f.state {
	case escape:
		return f.afterEscape(c)
	case between:
		switch {
		case c >= 0x20 && c <= 0x2f:
			return true
		case c >= 0x30 && c <= 0x7e:
			f.state = ground
			return true
		}
	case control:
		switch {
		case c >= 0x20 && c <= 0x3f:
			return true
		case c >= 0x40 && c <= 0x7e:
			f.state = ground
			return true
		}
	case quoted:
		switch c {
		case bel, can, sub:
			f.state = ground
			return true
		case esc:
			f.state = escape
			return true
		case '\n': // it was cut off
		default:
			return true
		}
	}
	f.state = ground
	return f.character(c)
}

func (f *filter) afterEscape(c byte) bool {
	switch {
	case c == '[':
		f.state = control
	case c == ']', c == 'P', c == 'X', c == '^', c == '_':
		f.state = quoted
	case c >= 0x20 && c <= 0x2f:
		f.state = between
	case c >= 0x30 && c <= 0x7e: // complete; so is the \ that ends a string
		f.state = ground
	case c == esc:
	default:
		f.state = ground
		return f.character(c)
	}
	return true
}

// character takes a byte of ordinary text.
func (f *filter) character(c byte) bool {
	for {
		n := len(f.held)
		if n == 0 && c < utf8.RuneSelf {
			return f.ascii(c)
		}
		var buf [utf8.UTFMax]byte
		s := append(append(buf[:0], f.held...), c)
		if !utf8.FullRune(s) {
			f.held = append(f.held, c)
			return true
		}
		if r, size := utf8.DecodeRune(s); size == n+1 && (r != utf8.RuneError || size > 1) {
			if !f.rune(r) {
				return false
			}
			f.held = f.held[:0]
			return true
		}
		if !f.put(utf8.RuneError) { // for the first byte of s
			return false
		}
		f.invalid = true
		if n == 0 {
			return true
		}
		f.held = append(f.held[:0], f.held[1:]...)
	}
}

func (f *filter) ascii(c byte) bool {
	switch {
	case c == '\n':
		f.again = false
		if !f.put('\n') {
			return false
		}
		f.line = len(f.text)
	case c == '\r':
		f.again = true
	case c == '\b':
		f.erase()
	case c == esc:
		f.state = escape
	case c == '\t', c >= ' ' && c <= '~':
		return f.put(rune(c))
	}
	return true
}

// rune takes a character beyond ASCII. Those up to U+009F are the same
// controls as ESC and a letter.
func (f *filter) rune(r rune) bool {
	switch r {
	case 0x85: // next line
		return f.ascii('\n')
	case 0x9b:
		f.state = control
		return true
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f:
		f.state = quoted
		return true
	}
	return r <= 0x9f || f.put(r)
}

func (f *filter) put(r rune) bool {
	if f.again {
		f.again = false
		f.chars -= utf8.RuneCount(f.text[f.line:])
		f.text = f.text[:f.line]
	}
	if f.limit > 0 && f.chars >= f.limit {
		return false
	}
	f.text = utf8.AppendRune(f.text, r)
	f.chars++
	return true
}

func (f *filter) erase() {
	if f.again || len(f.text) == f.line {
		return
	}
	_, size := utf8.DecodeLastRune(f.text)
	f.text = f.text[:len(f.text)-size]
	f.chars--
}

// end takes what was held back: the beginning of a character that never came
// to its end.
func (f *filter) end() {
	for range f.held {
		f.put(utf8.RuneError)
		f.invalid = true
	}
	f.held = nil
}
