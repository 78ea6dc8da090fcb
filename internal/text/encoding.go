// Package text changes text files of any encoding without touching what was
// not to be changed: a [Doc] shows the text of a file as UTF-8 with \n as the
// end of a line, and turns changes of that text into changes of the file's
// bytes.
package text

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// Encoding is how characters are written as bytes.
type Encoding int

const (
	UTF8 Encoding = iota
	UTF16LE
	UTF16BE
	GB18030
	Latin1
)

func (e Encoding) String() string {
	return [...]string{"UTF-8", "UTF-16LE", "UTF-16BE", "GB18030", "Latin-1"}[e]
}

// Form is what the bytes of a file say about how its text is written.
type Form struct {
	Encoding
	BOM   int  // bytes of the byte order mark at the beginning
	Guess bool // another encoding is possible
	Holes bool // UTF-8 in which some bytes are none, shown as U+FFFD
}

// marks are the byte order marks. That of UTF-32LE begins with that of
// UTF-16LE; [Binary] names it before.
var marks = []struct {
	bytes string
	Encoding
}{{"\xef\xbb\xbf", UTF8}, {"\xff\xfe", UTF16LE}, {"\xfe\xff", UTF16BE}, {"\x84\x31\x95\x33", GB18030}}

// Detect tells the form of a file from its bytes: what the byte order mark
// says, else UTF-8, else GB18030, else Latin-1, in which every byte is a
// character. The last two are a guess. Text with very few bytes that are no
// UTF-8 among many characters that are (a log that was cut) is UTF-8 with
// holes.
func Detect(raw []byte) Form {
	for _, m := range marks {
		if bytes.HasPrefix(raw, []byte(m.bytes)) && (m.Encoding != GB18030 || validGB18030(raw)) {
			f := Form{Encoding: m.Encoding, BOM: len(m.bytes)}
			f.Holes = m.Encoding == UTF8 && !utf8.Valid(raw)
			return f
		}
	}
	switch {
	case utf8.Valid(raw):
		return Form{}
	case almostUTF8(raw):
		return Form{Guess: true, Holes: true}
	case validGB18030(raw):
		return Form{Encoding: GB18030, Guess: true}
	}
	return Form{Encoding: Latin1, Guess: true}
}

// almostUTF8 reports whether raw has characters of several bytes and at least
// a hundred of them for every stray byte. In the text of another encoding
// every second or third such byte is a stray one. The pieces of one broken
// character at either end do not count: there the text was cut.
func almostUTF8(raw []byte) bool {
	begin := 0
	for begin < min(len(raw), 3) && !utf8.RuneStart(raw[begin]) {
		begin++
	}
	end := len(raw)
	for i := 1; i <= min(3, len(raw)-begin); i++ {
		if c := raw[len(raw)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(raw[len(raw)-i:]) {
				end = len(raw) - i
			}
			break
		}
	}
	good, stray := 0, 0
	for rest := raw[begin:end]; len(rest) > 0; {
		if rest[0] < utf8.RuneSelf {
			rest = rest[1:]
			continue
		}
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			stray++
		} else {
			good++
		}
		rest = rest[size:]
	}
	return good > 0 && good >= 100*stray
}

func validGB18030(raw []byte) bool {
	// The decoder takes some sequences for characters that are none.
	for rest := raw; len(rest) > 0; {
		n := GB18030.size(rest)
		if n == 1 && rest[0] > 0x80 {
			return false
		}
		rest = rest[n:]
	}
	decoder := simplifiedchinese.GB18030.NewDecoder()
	buf := make([]byte, 16<<10)
	for len(raw) > 0 {
		// A character is no more than twice as long in UTF-8.
		part := raw[:min(len(raw), 4<<10)]
		n, taken, _ := decoder.Transform(buf, part, len(part) == len(raw))
		if taken == 0 || bytes.ContainsRune(buf[:n], utf8.RuneError) {
			return false
		}
		raw = raw[taken:]
	}
	return true
}

// UnmappableError says that an encoding has no bytes for a character.
type UnmappableError struct {
	Rune     rune
	Encoding Encoding
}

func (e *UnmappableError) Error() string {
	return fmt.Sprintf("%s has no character %q (%U)", e.Encoding, e.Rune, e.Rune)
}

// Encode gives the bytes of s. Its error is an [*UnmappableError].
func (e Encoding) Encode(s string) ([]byte, error) {
	switch e {
	case UTF16LE, UTF16BE:
		out := make([]byte, 0, 2*len(s))
		for _, r := range s {
			if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
				out = e.order().AppendUint16(e.order().AppendUint16(out, uint16(hi)), uint16(lo))
				continue
			}
			out = e.order().AppendUint16(out, uint16(r))
		}
		return out, nil
	case Latin1:
		out := make([]byte, 0, len(s))
		for _, r := range s {
			if r > 0xff {
				return nil, &UnmappableError{r, e}
			}
			out = append(out, byte(r))
		}
		return out, nil
	case GB18030:
		return encodeGB18030(s)
	}
	return []byte(s), nil
}

// encodeGB18030 takes nothing that would not be read back as it is.
func encodeGB18030(s string) ([]byte, error) {
	out, err := simplifiedchinese.GB18030.NewEncoder().Bytes([]byte(s))
	if err == nil && string(GB18030.decode(nil, out)) == s {
		return out, nil
	}
	for _, r := range s {
		one, err := simplifiedchinese.GB18030.NewEncoder().String(string(r))
		if err != nil || string(GB18030.decode(nil, []byte(one))) != string(r) {
			return nil, &UnmappableError{r, GB18030}
		}
	}
	return out, err
}

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func (e Encoding) order() byteOrder {
	if e == UTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// unit is the least number of bytes of a character.
func (e Encoding) unit() int {
	if e == UTF16LE || e == UTF16BE {
		return 2
	}
	return 1
}

// room is how many bytes the text of n bytes takes, or a little less.
func (e Encoding) room(n int) int {
	if e == UTF8 {
		return n
	}
	return n + n/2
}

// size is the number of bytes of the character raw begins with.
func (e Encoding) size(raw []byte) int {
	n := 1
	switch e {
	case UTF8:
		_, n = utf8.DecodeRune(raw)
	case UTF16LE, UTF16BE:
		n = 2
		if len(raw) >= 4 && utf16.DecodeRune(rune(e.order().Uint16(raw)), rune(e.order().Uint16(raw[2:]))) != utf8.RuneError {
			n = 4
		}
	case GB18030:
		if len(raw) < 2 || raw[0] <= 0x80 || raw[0] == 0xff {
			break
		}
		switch c := raw[1]; {
		case c >= 0x40 && c != 0x7f && c != 0xff:
			n = 2
		case c >= 0x30 && c <= 0x39 && len(raw) >= 4 && raw[2] >= 0x81 && raw[2] != 0xff && raw[3] >= 0x30 && raw[3] <= 0x39:
			n = 4
		}
	}
	return min(n, len(raw))
}

// decode appends the UTF-8 of raw, which holds whole characters.
func (e Encoding) decode(dst, raw []byte) []byte {
	switch e {
	case UTF16LE, UTF16BE:
		for len(raw) > 0 {
			n, r := e.size(raw), utf8.RuneError
			if n == 4 {
				r = utf16.DecodeRune(rune(e.order().Uint16(raw)), rune(e.order().Uint16(raw[2:])))
			} else if n == 2 {
				r = rune(e.order().Uint16(raw))
			}
			dst = utf8.AppendRune(dst, r) // half a pair becomes U+FFFD
			raw = raw[n:]
		}
		return dst
	case GB18030:
		// A character is no more than three times as long in UTF-8: 0x80 is
		// the euro sign.
		from := len(dst)
		dst = append(dst, make([]byte, 3*len(raw))...)
		n, _, _ := simplifiedchinese.GB18030.NewDecoder().Transform(dst[from:], raw, true)
		return dst[:from+n]
	case Latin1:
		for _, c := range raw {
			dst = utf8.AppendRune(dst, rune(c))
		}
		return dst
	}
	if utf8.Valid(raw) {
		return append(dst, raw...)
	}
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		dst = utf8.AppendRune(dst, r)
		raw = raw[n:]
	}
	return dst
}

// Decode gives the text of a piece of a file in UTF-8, line ends as they are.
func (e Encoding) Decode(raw []byte) string {
	var b strings.Builder
	b.Write(e.decode(nil, raw))
	return b.String()
}
