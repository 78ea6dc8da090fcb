package webpage

import (
	"bytes"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"

	"oneloop/internal/text"
)

// prescan is in how many bytes of a page an encoding is declared.
const prescan = 1024

// Decode gives a page in UTF-8, and a note where its encoding is not certain.
// A byte order mark says what it is, else contentType (the header), else the
// page itself. Where nothing does, it is UTF-8 if it can be, else GB18030,
// else Windows-1252.
func Decode(body []byte, contentType string) (page, note string) {
	if f := text.Detect(body); f.BOM > 0 {
		return f.Decode(body[f.BOM:]), ""
	}
	unknown := ""
	for _, label := range []string{inHeader(contentType), inPage(body)} {
		if label == "" {
			continue
		}
		if decode := known(label); decode != nil {
			return sound(decode(body)), ""
		}
		if unknown == "" {
			unknown = label
		}
	}
	page, name := guess(body)
	switch {
	case unknown != "":
		return page, fmt.Sprintf("the page declares the encoding %.40q, which is not known here; read as %s", unknown, name)
	case name != "utf-8":
		return page, "the encoding is not declared; read as " + name
	}
	return page, ""
}

// guess reads a page of which nothing tells the encoding. Its last character
// may be cut.
func guess(body []byte) (page, name string) {
	for n := range 1 + min(len(body), utf8.UTFMax-1) {
		switch f := text.Detect(body[:len(body)-n]); f.Encoding {
		case text.UTF8:
			return sound(string(body)), "utf-8"
		case text.GB18030:
			return f.Decode(body), "gb18030"
		}
	}
	return single(windows1252, body), "windows-1252"
}

// sound is s as valid UTF-8 without a byte order mark.
func sound(s string) string {
	return strings.ToValidUTF8(strings.TrimPrefix(s, "\ufeff"), "\ufffd")
}

// inHeader is the encoding that a header declares.
func inHeader(contentType string) string {
	_, params, err := mime.ParseMediaType(contentType)
	if err != nil { // some write text/html;charset=gbk;
		return afterCharset(contentType)
	}
	return params["charset"]
}

// inPage is the encoding that a page declares of itself. As it is read
// without knowing that encoding, it cannot be UTF-16.
func inPage(body []byte) string {
	head := body[:min(len(body), prescan)]
	if !bytes.Contains(bytes.ToLower(head), []byte("charset")) {
		return ""
	}
	for z := (&tokens{page: string(head)}); ; {
		t, ok := z.next()
		if !ok {
			return ""
		}
		if t.kind != start || t.name != "meta" {
			continue
		}
		n := Node{Attr: t.attrs}
		label := n.Value("charset")
		if label == "" && strings.EqualFold(n.Value("http-equiv"), "content-type") {
			label = afterCharset(n.Value("content"))
		}
		if strings.HasPrefix(squeezed(label), "utf16") {
			return "utf-8"
		}
		if label != "" {
			return label
		}
	}
}

// afterCharset finds charset=label in text.
func afterCharset(s string) string {
	_, label, _ := strings.Cut(lower(s), "charset")
	label, ok := strings.CutPrefix(strings.TrimLeft(label, blanks), "=")
	if !ok {
		return ""
	}
	label = strings.Trim(label, blanks+`"'`)
	if i := strings.IndexAny(label, blanks+`;"'`); i >= 0 {
		label = label[:i]
	}
	return label
}

// squeezed is a label without what is written in many ways.
func squeezed(label string) string {
	label = strings.TrimPrefix(strings.Trim(lower(label), blanks), "x-")
	label, _, _ = strings.Cut(label, ":") // iso_8859-2:1987
	return strings.NewReplacer("-", "", "_", "").Replace(label)
}

// known gives what decodes the encoding of that label, nil if nothing does.
func known(label string) func([]byte) string {
	var multi encoding.Encoding
	switch label = squeezed(label); label {
	case "utf8", "unicode11utf8", "unicode20utf8":
		return func(b []byte) string { return string(b) }
	case "utf16", "utf16le", "unicode", "ucs2", "iso10646ucs2", "csunicode", "unicodefeff":
		return text.UTF16LE.Decode
	case "utf16be", "unicodefffe":
		return text.UTF16BE.Decode
	case "gb18030", "gbk", "gb2312", "gb231280", "csgb2312", "csiso58gb231280", "chinese", "isoir58", "euccn", "cp936", "windows936":
		multi = simplifiedchinese.GB18030 // has all of the others
	case "big5", "big5hkscs", "cnbig5", "csbig5", "xbig5", "cp950":
		multi = traditionalchinese.Big5
	case "shiftjis", "sjis", "csshiftjis", "ms932", "mskanji", "windows31j", "cp932":
		multi = japanese.ShiftJIS
	case "eucjp", "cseucpkdfmtjapanese":
		multi = japanese.EUCJP
	case "iso2022jp", "csiso2022jp":
		multi = japanese.ISO2022JP
	case "euckr", "cseuckr", "korean", "ksc56011987", "ksc56011989", "ksc5601", "csksc56011987", "isoir149", "windows949", "cp949":
		multi = korean.EUCKR
	default:
		if table := singles(label); table != "" {
			return func(b []byte) string { return single(table, b) }
		}
		return nil
	}
	return func(b []byte) string {
		out, err := multi.NewDecoder().Bytes(b)
		if err != nil { // these decoders write U+FFFD instead
			return string(b)
		}
		return string(out)
	}
}

// single reads an encoding of one byte a character. The table has those from
// 0x80 on.
func single(table string, body []byte) string {
	upper := []rune(table)
	out := make([]byte, 0, len(body)+len(body)/2)
	for _, c := range body {
		if c < utf8.RuneSelf {
			out = append(out, c)
		} else {
			out = utf8.AppendRune(out, upper[c-utf8.RuneSelf])
		}
	}
	return string(out)
}
