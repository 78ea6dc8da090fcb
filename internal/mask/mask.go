// Package mask hides secrets in text: as they are, and as they stand in JSON,
// in addresses and in base64. It knows exact forms only. A secret that is
// spelled backwards or one letter a line is not recognised.
package mask

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
)

// Text stands where a secret stood.
const Text = "[masked]"

// shortest is the length in bytes from which a secret is masked. A shorter one
// is no secret, and hiding every "1" or "test" would spoil the record.
const shortest = 8

// Mask hides secrets. Nil hides nothing. It is safe for concurrent use.
type Mask struct {
	forms    []string // the longest first
	starts   [256]bool
	replacer *strings.Replacer
}

// New returns a mask for secrets of at least eight bytes, nil if there is none.
func New(secrets ...string) *Mask {
	var forms []string
	for _, s := range secrets {
		if len(s) >= shortest {
			forms = append(forms, formsOf(s)...)
		}
	}
	if forms == nil {
		return nil
	}
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	m := &Mask{forms: slices.Compact(forms)}
	var pairs []string
	for _, f := range m.forms {
		m.starts[f[0]] = true
		pairs = append(pairs, f, Text)
	}
	m.replacer = strings.NewReplacer(pairs...)
	return m
}

// String is s without secrets.
func (m *Mask) String(s string) string {
	if m == nil {
		return s
	}
	return m.replacer.Replace(s)
}

// Write writes text to w without secrets.
func (m *Mask) Write(w io.Writer, text []byte) error {
	var err error
	if m == nil {
		_, err = w.Write(text)
	} else {
		_, err = m.replacer.WriteString(w, string(text))
	}
	return err
}

// partial is the index in text from which on it could be the beginning of a
// secret; its length if nothing could.
func (m *Mask) partial(text string) int {
	for i := max(0, len(text)-len(m.forms[0])+1); i < len(text); i++ {
		if !m.starts[text[i]] {
			continue
		}
		for _, f := range m.forms {
			if len(f) > len(text)-i && strings.HasPrefix(f, text[i:]) {
				return i
			}
		}
	}
	return len(text)
}

// Pieces hides secrets in a text that comes in pieces, wherever it is cut.
type Pieces struct {
	mask *Mask
	held string // could be the beginning of a secret
}

// Pieces returns the beginning of such a text.
func (m *Mask) Pieces() *Pieces { return &Pieces{mask: m} }

// Next takes a piece and gives what can be shown of the text by now.
func (p *Pieces) Next(piece string) string {
	if p.mask == nil {
		return piece
	}
	all := p.mask.String(p.held + piece)
	cut := p.mask.partial(all)
	p.held = all[cut:]
	return all[:cut]
}

// End gives what is left when no more pieces come. More than half of a secret
// is hidden as the whole.
func (p *Pieces) End() string {
	held := p.held
	p.held = ""
	if held == "" {
		return ""
	}
	for _, f := range p.mask.forms {
		if strings.HasPrefix(f, held) && 2*len(held) > len(f) {
			return Text
		}
	}
	return held
}

// formsOf gives s in all its forms.
func formsOf(s string) []string {
	forms := inJSON(s)
	for _, u := range []string{url.QueryEscape(s), url.PathEscape(s)} {
		forms = append(forms, u, lowerHex(u))
	}
	return append(forms, inBase64(s)...)
}

// inJSON gives s as it is, in a string of JSON, and in one that is in another
// and so on; with and without escapes for HTML.
func inJSON(s string) []string {
	const depth = 3
	forms := []string{s}
	level := []string{s}
	for range depth {
		var next []string
		for _, t := range level {
			next = append(next, quoted(t, false), quoted(t, true))
		}
		slices.Sort(next)
		level = slices.Compact(next)
		forms = append(forms, level...)
	}
	return forms
}

// quoted is s as it stands inside a JSON string.
func quoted(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(b.String(), "\"\n")[1:]
}

// lowerHex is an escaped address with its escapes in lower case.
func lowerHex(u string) string {
	b := []byte(u)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(u[i+1:i+3]))
		}
	}
	return string(b)
}

// inBase64 gives what stands in the base64 of any text that holds s, whatever
// is around it: three bytes become four characters, so that there are three
// ways, and the characters at both ends are not of s alone.
func inBase64(s string) []string {
	var forms []string
	for before := range 3 {
		skip := []int{0, 2, 3}[before]
		whole := (before + len(s)) * 8 / 6
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := enc.EncodeToString([]byte(strings.Repeat("\x00", before) + s))[skip:whole]
			forms = append(forms, text, url.QueryEscape(text), lowerHex(url.QueryEscape(text)))
			if before == 0 {
				forms = append(forms, wrapped(text)...)
			}
		}
	}
	return forms
}

// wrapped gives text that is longer than a line in lines, as programs print
// base64 that begins with it, also as that stands in JSON.
func wrapped(text string) []string {
	var forms []string
	for _, width := range []int{64, 76} {
		for _, end := range []string{"\n", `\n`, `\\n`, "\r\n", `\r\n`} {
			if len(text) > width {
				forms = append(forms, strings.Join(chunks(text, width), end))
			}
		}
	}
	return forms
}

func chunks(text string, width int) []string {
	var lines []string
	for len(text) > width {
		lines, text = append(lines, text[:width]), text[width:]
	}
	return append(lines, text)
}
