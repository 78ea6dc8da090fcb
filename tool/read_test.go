package tool_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/tool"
)

func TestReadNumbersTheLinesOfTheRangeThatIsAskedFor(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("f", "one\n\ttvå\n\n四\n")
	d.put("open", "one\ntwo")
	for _, c := range []struct {
		in   fields
		want string
	}{
		{fields{"file_path": "f"}, "1\tone\n2\t\ttvå\n3\t\n4\t四"},
		{fields{"file_path": filepath.Join(d.root, "f"), "offset": 2, "limit": 1}, "2\t\ttvå\n[lines 2 to 2 of 4; go on with offset 3]"},
		{fields{"file_path": "f", "offset": 4, "limit": 10}, "4\t四"},
		{fields{"file_path": "open", "offset": 2}, "2\ttwo\n[no newline at the end of the file]"},
	} {
		if got := d.works("Read", c.in); got != c.want {
			t.Errorf("%v: %s", c.in, cmp.Diff(c.want, got))
		}
	}
	d.fails("Read", fields{"file_path": "f", "offset": 5}, "has 4 lines", "offset 5 is beyond")
	d.fails("Read", fields{"file_path": "f", "offset": -1}, "from 1")
	d.fails("Read", fields{"file_path": "f", "limit": 1.5}, "limit")
	d.fails("Read", fields{"file_path": "g"}, "does not exist")
	d.fails("Read", fields{"file_path": "no/f"}, "Neither does its folder")
}

func TestReadShowsWhatIsInAnAdmittedFolderAndNothingBesideIt(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	other := t.TempDir()
	for name, text := range map[string]string{"skill/refs/a.md": "in it", "beside.md": "secret"} {
		path := filepath.Join(other, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inside := filepath.Join(other, "skill", "refs", "a.md")
	d.fails("Read", fields{"file_path": inside}, "outside")
	d.files.Admit(filepath.Join(other, "skill"))
	d.files.Admit(filepath.Join(other, "gone"))
	if got := d.works("Read", fields{"file_path": inside}); got != "1\tin it\n[no newline at the end of the file]" {
		t.Errorf("it shows %q", got)
	}
	d.fails("Read", fields{"file_path": filepath.Join(other, "beside.md")}, "outside")
	d.fails("Read", fields{"file_path": filepath.Join(other, "skill", "..", "beside.md")}, "outside")
	d.fails("Write", fields{"file_path": inside, "content": "x"}, "outside")
	d.fails("Edit", fields{"file_path": inside, "old_string": "in", "new_string": "x"}, "outside")
	if runtime.GOOS != "windows" {
		link := filepath.Join(other, "skill", "link.md")
		if err := os.Symlink(filepath.Join(other, "beside.md"), link); err != nil {
			t.Fatal(err)
		}
		d.fails("Read", fields{"file_path": link}, "outside")
	}
	touches, err := d.files.Read().Touches(&oneloop.ToolUse{Input: []byte(fmt.Sprintf(`{"file_path":%q}`, inside))})
	if err != nil || len(touches) != 1 || touches[0].Kind != oneloop.TouchRead || filepath.Base(touches[0].Name) != "a.md" {
		t.Errorf("it touches %v, %v: rules could not tell", touches, err)
	}
}

func TestReadShowsNoMoreThanItsCap(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("many", strings.Repeat("x\n", 5000))
	d.put("wide", strings.Repeat("字", 5000)+"\nnext\n")
	d.put("both", strings.Repeat(strings.Repeat("y", 999)+"\n", 500))
	got := d.works("Read", fields{"file_path": "many"})
	if !strings.HasSuffix(got, "2000\tx\n[lines 1 to 2000 of 5000; go on with offset 2001]") {
		t.Errorf("it ends %q", got[len(got)-200:])
	}
	if want := "1\t" + strings.Repeat("字", 2000) + "… [cut: the line has 15,000 bytes]\n2\tnext"; d.works("Read", fields{"file_path": "wide"}) != want {
		t.Errorf("the long line is not cut: %s", cmp.Diff(want, d.works("Read", fields{"file_path": "wide"})))
	}
	got = d.works("Read", fields{"file_path": "both"})
	if len(got) > 50_100 || !strings.Contains(got, "[lines 1 to 49 of 500; go on with offset 50]") {
		t.Errorf("%d bytes, the end is %q", len(got), got[len(got)-200:])
	}
	// The rest can be had.
	if got := d.works("Read", fields{"file_path": "both", "offset": 50}); !strings.HasPrefix(got, "50\ty") {
		t.Errorf("it goes on with %q", got[:20])
	}
}

func TestAnEmptyFileIsNamedSo(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("empty", "")
	d.put("mark", "\xef\xbb\xbf")
	d.put("blank", "\n")
	if got := d.works("Read", fields{"file_path": "empty"}); got != "[empty is empty]" {
		t.Errorf("%q", got)
	}
	if got := d.works("Read", fields{"file_path": "mark"}); !strings.Contains(got, "empty but for a byte order mark") {
		t.Errorf("%q", got)
	}
	if got := d.works("Read", fields{"file_path": "blank"}); got != "1\t" {
		t.Errorf("%q", got)
	}
}

func TestABinaryFileIsRefusedWithItsKind(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	noise := make([]byte, 4096)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for _, c := range []struct{ content, want string }{
		{string(noise), "a binary file"},
		{"\x7fELF\x02\x01\x01\x00\x00", "an ELF program"},
		{"PK\x03\x04\x00\x00", "application/zip"},
		{"%PDF-1.7\nmostly text", "pdftotext"},
		{"SQLite format 3\x00\x10", "SQLite"},
		{"a\x00b\x00c\x00", "UTF-16LE"},
		{"\x00a\x00b\x00c", "UTF-16BE"},
		{"\xff\xfe\x00\x00a\x00\x00\x00", "UTF-32"},
		{strings.Repeat("\x00", 100), "NUL bytes only"},
	} {
		d.put("f", c.content)
		d.fails("Read", fields{"file_path": "f"}, c.want, "no text")
		d.fails("Edit", d.edit("f", "a", "b"), "no text, nothing was changed")
		d.fails("Write", fields{"file_path": "f", "content": "x"}, "no text, nothing was changed")
		d.has("f", c.content)
	}
	d.put("f", strings.Repeat("a log\n", 2000)+"\x00\x00\n")
	if got := d.works("Read", fields{"file_path": "f", "offset": 2001}); got != "2001\t␀␀\n[NUL bytes are shown as ␀]" {
		t.Errorf("a log that ends in NUL reads %q", got)
	}
}

func TestAnImageIsABlockIfTheAPITakesIt(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	picture := image.NewGray(image.Rect(0, 0, 30, 20))
	encoded := map[string]*bytes.Buffer{"image/png": {}, "image/jpeg": {}, "image/gif": {}}
	for mime, err := range map[string]error{
		"image/png":  png.Encode(encoded["image/png"], picture),
		"image/jpeg": jpeg.Encode(encoded["image/jpeg"], picture, nil),
		"image/gif":  gif.Encode(encoded["image/gif"], picture, nil),
	} {
		if err != nil {
			t.Fatal(mime, err)
		}
	}
	webp := func(chunk string, body ...byte) *bytes.Buffer {
		b := append([]byte("RIFF\x00\x00\x00\x00WEBP"+chunk+"\x0a\x00\x00\x00"), append(body, make([]byte, 12)...)...)
		binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-8))
		return bytes.NewBuffer(b)
	}
	encoded["image/webp"] = webp("VP8X", 0, 0, 0, 0, 29, 0, 0, 19, 0, 0)
	show := func(data string) *oneloop.ToolResult {
		d.put("picture.txt", data) // what it is called does not matter
		return d.ask("Read", fields{"file_path": "picture.txt"})
	}
	check := func(mime, data string) {
		t.Helper()
		r := show(data)
		if r.IsError || len(r.Content) != 2 || !strings.Contains(r.Text(), "30×20") {
			t.Fatalf("%s gives %d blocks: %s", mime, len(r.Content), r.Text())
		}
		if m := r.Content[1].(*oneloop.Media); m.MIME != mime || m.Type != "image" || string(m.Data) != data {
			t.Errorf("%s gives a %s of type %s, %d bytes", mime, m.Type, m.MIME, len(m.Data))
		}
	}
	for mime, b := range encoded {
		check(mime, b.String())
		half := b.String()[:b.Len()-4]
		if r := show(half); !r.IsError || !strings.Contains(r.Text(), "damaged") {
			t.Errorf("half a %s gives %s", mime, r.Text())
		}
	}
	check("image/webp", webp("VP8L", 0x2f, 29, 0xc0, 0x04, 0, 0, 0, 0, 0, 0).String())
	check("image/webp", webp("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 30, 0, 20, 0).String())

	var wide bytes.Buffer
	if err := png.Encode(&wide, image.NewGray(image.Rect(0, 0, 8001, 1))); err != nil {
		t.Fatal(err)
	}
	if r := show(wide.String()); !r.IsError || !strings.Contains(r.Text(), "8001×1") || !strings.Contains(r.Text(), "resize") {
		t.Errorf("a wide one gives %s", r.Text())
	}
	heavy := encoded["image/png"].String() + strings.Repeat("\x00", 4<<20)
	r := show(heavy)
	if !r.IsError || !strings.Contains(r.Text(), "the API takes up to 3,932,160") || !strings.Contains(r.Text(), "resize") {
		t.Errorf("a heavy one gives %s", r.Text())
	}
	if n := base64.StdEncoding.EncodedLen(3_932_160); n > 5<<20 {
		t.Errorf("the limit is %d in base64", n)
	}
	// An image in an error is refused by the API with all that follows.
	for _, b := range r.Content {
		if _, ok := b.(*oneloop.Text); !ok {
			t.Errorf("the error has a %T", b)
		}
	}
}

// peak runs f and gives the most memory that was got from the system for it.
func peak(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestWhatIsNoOrdinaryTextIsAnsweredInBoundedTimeAndMemory(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	d.put("min.js", strings.Repeat("var a=1;", 40<<20/8))
	d.put("lines", strings.Repeat("中文 and more of it\n", 800_000))
	if err := os.Mkdir(filepath.Join(d.root, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	sparse := func(name string, size int64, begin string) {
		d.put(name, begin)
		if err := os.Truncate(filepath.Join(d.root, name), size); err != nil {
			t.Skip(err)
		}
	}
	sparse("huge", 5<<30, "")
	sparse("huge.log", 5<<30, strings.Repeat("a line of a log\n", 10_000))
	for link, to := range map[string]string{"circle": "circle", "zero": "/dev/zero"} {
		if err := os.Symlink(to, filepath.Join(d.root, link)); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		name          string
		offset, limit int
		fail          bool
		want          string
	}{
		{"min.js", 0, 0, false, "[cut: the line has 41,943,040 bytes]\n[no newline at the end of the file]"},
		{"lines", 0, 0, false, "[lines 1 to 2000 of 800000; go on with offset 2001]"},
		{"lines", 800000, 5, false, "800000\t中文 and more of it"},
		{"lines", 800001, 0, true, "has 800000 lines"},
		{"folder", 0, 0, true, "it is a folder"},
		{"huge", 0, 0, true, "NUL bytes only (5,368,709,120 bytes)"},
		{"huge.log", 0, 0, true, "has 5,368,709,120 bytes, too many to be shown as a whole"},
		{"huge.log", 9999, 2, false, "9999\ta line of a log\n10000\ta line of a log\n[lines 9999 to 10000; go on with offset 10001]"},
		{"huge.log", 20_000, 2, true, "not within the first 536,870,912 bytes (which hold 10000 lines)"},
		{"circle", 0, 0, true, "circle"},
		{"zero", 0, 0, true, "outside the workspace"},
		{"/dev/zero", 0, 0, true, "outside the workspace"},
	} {
		t.Run(fmt.Sprint(c.name, c.offset), func(t *testing.T) {
			in := fields{"file_path": c.name}
			if c.offset > 0 {
				in["offset"] = c.offset
			}
			if c.limit > 0 {
				in["limit"] = c.limit
			}
			var r *oneloop.ToolResult
			within(t, 20*time.Second, func() { // a second on an idle machine
				if used := peak(func() { r = d.ask("Read", in) }); used > 60<<20 {
					t.Errorf("%d MiB of memory were used", used>>20)
				}
			})
			if r.IsError != c.fail || !strings.Contains(r.Text(), c.want) || len([]rune(r.Text())) > 50_200 {
				t.Errorf("error %v, %d bytes, ends %q", r.IsError, len(r.Text()), r.Text()[max(0, len(r.Text())-300):])
			}
		})
	}
	d.fails("Edit", d.edit("huge.log", "a", "b"), "more than the 134,217,728")
	d.fails("Write", fields{"file_path": "huge", "content": "b"}, "more than the 134,217,728")
}

func TestALargeFileInAnyEncodingIsShownInPart(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	for name, c := range map[string]struct{ mark, line, about string }{
		"gbk":    {"", "\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7 0123456789012345678901\r\n", "GB18030, which is a guess; CRLF line ends"},
		"wide":   {"\xff\xfe", "`O}Y\x0c\xff\x16NLu \x000\x001\x002\x003\x004\x005\x006\x00\r\x00\n\x00", "UTF-16LE with a byte order mark; CRLF line ends"},
		"big":    {"\xfe\xff", "O`Y}\xff\x0cN\x16uL\x00 \x000\x001\x002\x003\x004\x005\x006\x00\r\x00\n", "UTF-16BE with a byte order mark; CRLF line ends"},
		"marked": {"\xef\xbb\xbf", "你好，世界 0123456789012\n", "UTF-8 with a byte order mark"},
	} {
		lines := 17<<20/len(c.line) + 1
		d.put(name, c.mark+strings.Repeat(c.line, lines))
		got := d.works("Read", fields{"file_path": name, "offset": lines - 1})
		if !strings.HasPrefix(got, fmt.Sprintf("%d\t你好，世界 0123", lines-1)) || !strings.HasSuffix(got, "\n["+c.about+"]") || strings.Count(got, "\n") != 2 {
			t.Errorf("%s reads %q", name, got)
		}
	}
	d.works("Write", fields{"file_path": "gbk", "content": "新\n"}) // it was read
	d.has("gbk", "\xd0\xc2\r\n")
	d.put("long", "\xc4\xe3\xba\xc3"+strings.Repeat("\xc4\xe3a", 6<<20)+"\nb\n")
	if got := d.works("Read", fields{"file_path": "long", "limit": 1}); !strings.HasPrefix(got, "1\t你好你a你a") || !strings.Contains(got, "[GB18030, which is a guess]") {
		t.Errorf("the long line reads %q … %q", got[:20], got[len(got)-100:])
	}
}
