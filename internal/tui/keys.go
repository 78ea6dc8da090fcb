package tui

import (
	"bytes"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// code names a key. The zero code is text.
type code int

const (
	keyText  code = iota // text typed
	keyPaste             // text between the marks of a bracketed paste
	keyEnter
	keyNewline // Alt-Enter
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyWordLeft
	keyWordRight
	keyKillEnd
	keyKillStart
	keyKillWord
	keyYank
	keyClear
	keyInterrupt
	keyEOF // Ctrl-D: delete, or leave when there is nothing
	keySuspend
	keyQuit
	keyTab
	keyBackTab // Shift+Tab
	keyEscape
	keyNone // known and without meaning
)

type key struct {
	code code
	text string
}

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	// loneEscape is how long the rest of a sequence is waited for before an
	// escape byte is the key of that name.
	loneEscape = 50 * time.Millisecond
	// lostMark is how long a paste may be silent before its end mark is given
	// up; until then every key, Ctrl-C too, is part of the paste.
	lostMark = 2 * time.Second
	// longestSequence bounds what is taken for one escape sequence, in bytes;
	// anything longer is thrown away as noise.
	longestSequence = 256
)

// decoder turns what a terminal sends into keys. How the bytes are cut into
// reads makes no difference to it.
type decoder struct {
	rest  []byte // an unfinished sequence or character
	paste []byte // what a paste has brought so far
	in    bool   // inside a paste
	cr    bool   // the last byte was a carriage return
}

// waiting reports whether bytes are kept back that more bytes or time will
// explain.
func (d *decoder) waiting() bool { return len(d.rest) > 0 || d.in }

// patience is how long more bytes are waited for before flush.
func (d *decoder) patience() time.Duration {
	if d.in {
		return lostMark
	}
	return loneEscape
}

// feed takes the bytes of one read.
func (d *decoder) feed(b []byte) []key {
	if len(d.rest) > 0 && !d.in {
		b = append(d.rest, b...)
		d.rest = nil
	}
	var keys []key
	for len(b) > 0 {
		if d.in {
			var k key
			var done bool
			if k, b, done = d.feedPaste(b); done {
				keys = append(keys, k)
			}
			continue
		}
		k, n := d.next(b)
		if n == 0 {
			d.rest = bytes.Clone(b)
			break
		}
		b = b[n:]
		if k.code == keyText && len(keys) > 0 && keys[len(keys)-1].code == keyText {
			keys[len(keys)-1].text += k.text
		} else if k.code != keyNone {
			keys = append(keys, k)
		}
	}
	return keys
}

// feedPaste looks for the end mark, which may have come in pieces.
func (d *decoder) feedPaste(b []byte) (key, []byte, bool) {
	from := max(0, len(d.paste)-len(pasteEnd)+1)
	d.paste = append(d.paste, b...)
	i := bytes.Index(d.paste[from:], []byte(pasteEnd))
	if i < 0 {
		return key{}, nil, false
	}
	i += from
	rest := bytes.Clone(d.paste[i+len(pasteEnd):])
	d.paste = d.paste[:i]
	return d.endPaste(), rest, true
}

func (d *decoder) endPaste() key {
	k := key{keyPaste, pasted(d.paste)}
	d.in, d.paste, d.cr = false, nil, false
	return k
}

// pasted is the text of a paste: line ends are LF, bytes that are no UTF-8
// are replaced, NUL is dropped because no prompt may hold it.
func pasted(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	return strings.ReplaceAll(s, "\x00", "")
}

// flush says that nothing came for as long as patience: what is kept back
// means what it says, and the end mark of a paste got lost.
func (d *decoder) flush() []key {
	if d.in {
		return []key{d.endPaste()}
	}
	b := d.rest
	d.rest, d.cr = nil, false
	switch {
	case len(b) == 0:
		return nil
	case b[0] != 0x1b:
		return []key{{keyText, "\uFFFD"}}
	case len(b) == 1:
		return []key{{code: keyEscape}}
	}
	return nil
}

// next decodes the first key of b and says how many bytes it took; 0 means
// that more must come first.
func (d *decoder) next(b []byte) (key, int) {
	c := b[0]
	cr := d.cr
	d.cr = c == '\r'
	switch {
	case c == '\n' && cr:
		return key{code: keyNone}, 1
	case c == 0x1b:
		return d.escape(b)
	case c < 0x20 || c == 0x7f:
		return control(c), 1
	case c < utf8.RuneSelf:
		n := 1
		for n < len(b) && b[n] >= 0x20 && b[n] < 0x7f {
			n++
		}
		return key{keyText, string(b[:n])}, n
	case !utf8.FullRune(b):
		return key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	if unicode.IsControl(r) {
		return key{code: keyNone}, n
	}
	return key{keyText, string(r)}, n
}

var controls = map[byte]code{
	'\r': keyEnter, '\n': keyEnter, 0x7f: keyBackspace, 0x08: keyBackspace,
	0x01: keyHome, 0x05: keyEnd, 0x02: keyLeft, 0x06: keyRight, 0x10: keyUp, 0x0e: keyDown,
	0x0b: keyKillEnd, 0x15: keyKillStart, 0x17: keyKillWord, 0x19: keyYank, 0x0c: keyClear,
	0x03: keyInterrupt, 0x04: keyEOF, 0x1a: keySuspend, 0x1c: keyQuit,
}

func control(c byte) key {
	if c == '\t' {
		return key{keyTab, "\t"}
	}
	if k, ok := controls[c]; ok {
		return key{code: k}
	}
	return key{code: keyNone}
}

// escape decodes a sequence that begins with ESC.
func (d *decoder) escape(b []byte) (key, int) {
	if len(b) == 1 {
		return key{}, 0
	}
	switch b[1] {
	case '[':
		return d.csi(b)
	case 'O':
		if len(b) < 3 {
			return key{}, 0
		}
		return key{code: finals[b[2]].or(keyNone)}, 3
	case ']', 'P', '_', '^', 'X': // answers to questions we never ask
		return stringSequence(b)
	case 0x1b:
		return key{code: keyEscape}, 1
	case '\r', '\n':
		return key{code: keyNewline}, 2
	case 'b', 'B':
		return key{code: keyWordLeft}, 2
	case 'f', 'F':
		return key{code: keyWordRight}, 2
	case 0x7f, 0x08:
		return key{code: keyKillWord}, 2
	}
	if b[1] < 0x20 { // ESC, and then a key of its own
		return key{code: keyEscape}, 1
	}
	if !utf8.FullRune(b[1:]) {
		return key{}, 0
	}
	_, n := utf8.DecodeRune(b[1:])
	return key{code: keyNone}, 1 + n
}

// or is c, or other when c is not set.
func (c code) or(other code) code {
	if c == 0 {
		return other
	}
	return c
}

var finals = map[byte]code{
	'A': keyUp, 'B': keyDown, 'C': keyRight, 'D': keyLeft, 'H': keyHome, 'F': keyEnd, 'M': keyEnter, 'Z': keyBackTab,
}

var tildes = map[string]code{
	"1": keyHome, "7": keyHome, "4": keyEnd, "8": keyEnd, "3": keyDelete,
}

// csi decodes ESC [ parameters final.
func (d *decoder) csi(b []byte) (key, int) {
	i := 2
	for i < len(b) && b[i] >= 0x20 && b[i] <= 0x3f {
		i++
	}
	if i == len(b) {
		if i > longestSequence {
			return key{code: keyNone}, i
		}
		return key{}, 0
	}
	if b[i] < 0x40 || b[i] > 0x7e { // broken off by something else
		return key{code: keyNone}, i
	}
	seq, param, final := string(b[:i+1]), string(b[2:i]), b[i]
	first, mod, _ := strings.Cut(param, ";")
	switch {
	case seq == pasteBegin:
		d.in = true
		return key{code: keyNone}, i + 1
	case seq == pasteEnd: // the text around a stray mark was pasted, too
		return key{code: keyPaste}, i + 1
	case final == '~':
		return key{code: tildes[first].or(keyNone)}, i + 1
	case final == 'u' && first == "13":
		return key{code: keyNewline}, i + 1 // Shift-Enter where the terminal tells
	}
	k := finals[final].or(keyNone)
	if strings.ContainsAny(mod, "35") { // Alt or Ctrl
		switch k {
		case keyLeft:
			k = keyWordLeft
		case keyRight:
			k = keyWordRight
		}
	}
	return key{code: k}, i + 1
}

// stringSequence skips a sequence that ends with BEL or ESC \.
func stringSequence(b []byte) (key, int) {
	for i := 2; i < len(b) && i < longestSequence; i++ {
		if b[i] == 0x07 {
			return key{code: keyNone}, i + 1
		}
		if b[i] == 0x1b && i+1 < len(b) {
			if b[i+1] == '\\' {
				return key{code: keyNone}, i + 2
			}
			return key{code: keyNone}, i
		}
	}
	if len(b) >= longestSequence {
		return key{code: keyNone}, longestSequence
	}
	return key{}, 0
}
