package tool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"net/http"
	"strings"

	"oneloop"
)

// signatures are beginnings of binary files that net/http does not know.
var signatures = []struct{ begin, kind string }{
	{"\x7fELF", "an ELF program or library"},
	{"\xcf\xfa\xed\xfe", "a Mach-O program or library"},
	{"\xca\xfe\xba\xbe", "a Java class or Mach-O file"},
	{"MZ", "a Windows program"},
	{"SQLite format 3\x00", "an SQLite database"},
	{"%PDF-", "a PDF document"},
	{"\x28\xb5\x2f\xfd", "a zstd archive"},
	{"\xfd7zXZ\x00", "an xz archive"},
	{"BZh", "a bzip2 archive"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive"},
	{"\xff\xfe\x00\x00", "UTF-32 text"},
	{"\x00\x00\xfe\xff", "UTF-32 text"},
	{"\x00asm", "a WebAssembly module"},
}

// sample is how much of a file is looked at to tell whether it is text.
const sample = 8 << 10

// isBinary says what kind of binary file begins like this; empty for text.
func isBinary(head []byte) string {
	head = head[:min(len(head), sample)]
	// These two are text to the eye of the rules below.
	if bytes.HasPrefix(head, []byte("%PDF-")) {
		return "a PDF document"
	}
	if wide := bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")); wide && !bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")) {
		return ""
	}
	controls, nuls, even := 0, 0, 0
	for i, c := range head {
		switch {
		case c == 0:
			nuls++
			even += 1 - i%2
		case c < ' ' && (c < '\a' || c > '\r') && c != 0x1b || c == 0x7f:
			controls++
		}
	}
	// A program that prints control characters still prints mostly text.
	if nuls == 0 && controls*20 <= len(head) {
		return ""
	}
	for _, s := range signatures {
		if bytes.HasPrefix(head, []byte(s.begin)) {
			return s.kind
		}
	}
	switch mime, _, _ := strings.Cut(http.DetectContentType(head), ";"); {
	case mime != "application/octet-stream" && !strings.HasPrefix(mime, "text/"):
		return "a file of type " + mime
	case nuls*5 >= len(head)*2 && nuls == even:
		return "probably UTF-16BE text without a byte order mark"
	case nuls*5 >= len(head)*2 && even == 0:
		return "probably UTF-16LE text without a byte order mark"
	case nuls == len(head):
		return "a file that begins with NUL bytes only"
	}
	return "a binary file"
}

// how says what to do with a kind of file.
func how(kind string) string {
	switch {
	case strings.HasPrefix(kind, "a PDF"):
		return "Get its text with a command, e.g. pdftotext -layout FILE -"
	case strings.Contains(kind, "UTF-"):
		return "Convert it with a command, e.g. iconv -t UTF-8"
	case strings.Contains(kind, "archive") || strings.Contains(kind, "zip"):
		return "List what is in it with a command"
	}
	return "Look at it with a command, e.g. file, strings or xxd"
}

// Limits of the Messages API for an image, in bytes before base64 and in
// pixels of a side.
const (
	imageBytes = 5 << 20 * 3 / 4
	imageSide  = 8000
)

// imageType is the type of an image the API takes; empty for anything else.
func imageType(head []byte) string {
	switch mime := http.DetectContentType(head); mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return mime
	}
	return ""
}

// image shows an image. One the API would refuse must not get into the
// conversation: it would be refused with every request that follows.
func (f *Files) image(name, mime string, r io.Reader, info fs.FileInfo) (*oneloop.ToolResult, error) {
	const smaller = "Make a smaller copy with a command, e.g. convert IN -resize 1500x1500 OUT, and read that"
	data, err := io.ReadAll(io.LimitReader(r, imageBytes+1))
	if err != nil {
		return nil, f.explain(name, err)
	}
	if len(data) > imageBytes {
		return nil, fmt.Errorf("%s is an image of %s bytes, the API takes up to %s. %s", name, grouped(info.Size()), grouped(imageBytes), smaller)
	}
	width, height, err := dimensions(mime, data)
	if err != nil {
		return nil, fmt.Errorf("%s looks like %s but is damaged or incomplete (%w), so it is not shown", name, mime, err)
	}
	if width > imageSide || height > imageSide {
		return nil, fmt.Errorf("%s is an image of %d×%d pixels, the API takes up to %d on a side. %s", name, width, height, imageSide, smaller)
	}
	return &oneloop.ToolResult{Content: []oneloop.Block{
		&oneloop.Text{Text: fmt.Sprintf("%s: %s, %d×%d pixels", name, mime, width, height)},
		&oneloop.Media{Type: "image", MIME: mime, Data: data},
	}}, nil
}

var errIncomplete = errors.New("its end is missing")

// dimensions reads the size of an image, and sees to it that its end is there.
func dimensions(mime string, data []byte) (width, height int, err error) {
	r := bytes.NewReader(data)
	whole := true
	switch mime {
	case "image/png":
		c, e := png.DecodeConfig(r)
		width, height, err = c.Width, c.Height, e
		whole = bytes.Contains(data[max(0, len(data)-1024):], []byte("IEND\xaeB`\x82"))
	case "image/jpeg":
		c, e := jpeg.DecodeConfig(r)
		width, height, err = c.Width, c.Height, e
		whole = bytes.Contains(data[len(data)/2:], []byte("\xff\xd9"))
	case "image/gif":
		c, e := gif.DecodeConfig(r)
		width, height, err = c.Width, c.Height, e
		whole = bytes.Contains(data[max(0, len(data)-1024):], []byte{0x3b})
	default:
		width, height, err = webp(data)
	}
	switch {
	case err != nil:
		return 0, 0, err
	case !whole:
		return 0, 0, errIncomplete
	case width == 0 || height == 0:
		return 0, 0, errors.New("it has no size")
	}
	return width, height, nil
}

// webp reads the size of a WebP image, in the first chunk after its header.
func webp(data []byte) (width, height int, err error) {
	const header = 12
	if len(data) < header+18 || len(data) < int(binary.LittleEndian.Uint32(data[4:]))+8 {
		return 0, 0, errIncomplete
	}
	chunk, body := string(data[header:header+4]), data[header+8:]
	switch chunk {
	case "VP8X":
		size := func(b []byte) int { return 1 + int(b[0]) + int(b[1])<<8 + int(b[2])<<16 }
		return size(body[4:]), size(body[7:]), nil
	case "VP8L":
		bits := binary.LittleEndian.Uint32(body[1:])
		return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff), nil
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(body[6:]) & 0x3fff), int(binary.LittleEndian.Uint16(body[8:]) & 0x3fff), nil
	}
	return 0, 0, fmt.Errorf("unknown chunk %q", chunk)
}
