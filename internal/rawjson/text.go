package rawjson

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. <, > and & stay as they are; bytes
// that are not UTF-8 become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	if plain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // a string never fails
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// plain reports whether s is its own form between quotes: most names and ids
// are, and encoding/json takes four allocations for each.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// AppendUnquoted appends the text of what stands between the quotes of a
// valid JSON string. Halves of surrogate pairs and bytes that are not UTF-8
// become U+FFFD.
func AppendUnquoted(dst, quoted []byte) []byte {
	for len(quoted) > 0 {
		n := bytes.IndexByte(quoted, '\\')
		if n < 0 {
			n = len(quoted)
		}
		if n > 0 {
			plain := quoted[:n]
			if !utf8.Valid(plain) {
				plain = toValid(plain)
			}
			dst = append(dst, plain...)
			quoted = quoted[n:]
			continue
		}
		if quoted[1] != 'u' {
			dst = append(dst, unescaped(quoted[1]))
			quoted = quoted[2:]
			continue
		}
		r := hex4(quoted)
		quoted = quoted[6:]
		if utf16.IsSurrogate(r) {
			pair := utf16.DecodeRune(r, hex4(quoted))
			if r = pair; pair != utf8.RuneError {
				quoted = quoted[6:]
			}
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// toValid writes U+FFFD for every byte that is not UTF-8.
func toValid(b []byte) []byte {
	var out []byte
	for _, r := range string(b) {
		out = utf8.AppendRune(out, r)
	}
	return out
}

func unescaped(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // ", \ and /
}

// hex4 returns the rune of an escape \uXXXX that quoted begins with, or -1.
func hex4(quoted []byte) rune {
	if len(quoted) < 6 || quoted[0] != '\\' || quoted[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(quoted[2:6]), 16, 32)
	if err != nil {
		return -1
	}
	return rune(n)
}

// Pieces turns the pieces of one JSON string into text. Half a character at
// the end of a piece waits for the next one.
type Pieces struct {
	Lost bool // something was no character and became U+FFFD

	held []byte
}

// Next returns the text of a piece, given as it stands between the quotes.
func (p *Pieces) Next(quoted []byte) string {
	if len(p.held) > 0 {
		quoted = append(p.held, quoted...)
		p.held = nil
	}
	if n := half(quoted); n > 0 {
		p.held = bytes.Clone(quoted[len(quoted)-n:])
		quoted = quoted[:len(quoted)-n]
	}
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return string(quoted)
	}
	p.Lost = p.Lost || !bytes.Equal(Clean(quoted), quoted)
	return string(AppendUnquoted(make([]byte, 0, len(quoted)), quoted))
}

// Rest returns what was held back.
func (p *Pieces) Rest() string {
	held := p.held
	p.held = nil
	p.Lost = p.Lost || len(held) > 0
	return string(AppendUnquoted(nil, held))
}

// half returns the length of the beginning of a character that quoted ends
// with: the first half of a surrogate pair, or some bytes of UTF-8.
func half(quoted []byte) int {
	n := len(quoted)
	if n >= 6 && utf16.IsSurrogate(hex4(quoted[n-6:])) && hex4(quoted[n-6:]) < 0xdc00 && backslashes(quoted[:n-6])%2 == 0 {
		return 6
	}
	for k := 1; k < utf8.UTFMax && k <= n; k++ {
		if c := quoted[n-k]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(quoted[n-k:]) {
				return k
			}
			break
		}
	}
	return 0
}

func backslashes(b []byte) int {
	return len(b) - len(bytes.TrimRight(b, `\`))
}

// Clean returns JSON that may be sent: halves of surrogate pairs and bytes
// that are not UTF-8, which strict readers refuse, become U+FFFD. It returns
// v itself when there is nothing to do.
func Clean(v Value) Value {
	if whole(v) {
		return v
	}
	const unknown = `\ufffd`
	out := make([]byte, 0, len(v)+len(unknown))
	for {
		at, n := broken(v)
		out = append(out, v[:at]...)
		if n == 0 {
			return out
		}
		out = append(out, unknown...)
		v = v[at+n:]
	}
}

// Unclean reports whether there is something in v that [Clean] replaces.
func Unclean(v Value) bool {
	if whole(v) {
		return false
	}
	_, n := broken(v)
	return n > 0
}

// whole reports whether nothing in JSON looks like half a character.
func whole(v []byte) bool {
	return utf8.Valid(v) && !bytes.Contains(v, []byte(`\ud`)) && !bytes.Contains(v, []byte(`\uD`))
}

// broken is where the first n bytes of JSON are that are no character. When
// there are none it is the end, and n is 0.
func broken(v []byte) (at, n int) {
	for at < len(v) {
		size := 1
		switch {
		case v[at] >= utf8.RuneSelf:
			var r rune
			if r, size = utf8.DecodeRune(v[at:]); r == utf8.RuneError && size == 1 {
				return at, size
			}
		case v[at] == '\\' && v[at+1] != 'u':
			size = 2
		case v[at] == '\\':
			size = 6
			if r := hex4(v[at:]); utf16.IsSurrogate(r) {
				if utf16.DecodeRune(r, hex4(v[at+6:])) == utf8.RuneError {
					return at, size
				}
				size = 12
			}
		}
		at += size
	}
	return at, 0
}
