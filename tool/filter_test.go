package tool

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"oneloop"
)

func filtered(limit int, pieces ...string) string {
	f := filter{limit: limit}
	for _, p := range pieces {
		if n := f.write([]byte(p)); n < len(p) {
			break
		}
	}
	f.end()
	return string(f.text)
}

func TestTheFilterGivesWhatATerminalShowedAtTheEnd(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain\ttext\n", "plain\ttext\n"},
		{"10%\r20%\r100%\ndone", "100%\ndone"},
		{"a\r\nb\r\n", "a\nb\n"},
		{"a\r\r\nb", "a\nb"},
		{"kept\r", "kept"},
		{"|\b/\b-\bok", "ok"},
		{"b\bbo\bol\bld", "bold"},
		{"\b\bx", "x"},
		{"line\n\bx", "line\nx"},
		{"世界\b人", "世人"},
		{"\x1b[31mred\x1b[0m \x1b[1;38;5;196mx\x1b[K", "red x"},
		{"\x1b]0;title\x07a\x1b]8;;http://h\x1b\\link\x1b]8;;\x1b\\b", "alinkb"},
		{"\x1bPq#0;2~\x1b\\after", "after"},
		{"\x1b(Bcharset\x1b=\x1b7\x1bM", "charset"},
		{"cut\x1b[3", "cut"}, {"cut\x1b", "cut"}, {"cut\x1b]0;tit", "cut"},
		{"\x1b]0;cut title\nnext", "\nnext"},
		{"\x1b[31\nx", "\nx"},
		{"\x1b\x1b[1mx", "x"},
		{"\u009b31mred \u009d0;t\x07x\u0085y", "red x\ny"},
		{"a\x00b\x7fc\x07d\x0be", "abcde"},
		{"\xff\xfea", "\ufffd\ufffda"},
		{"\xe4\xbd", "\ufffd\ufffd"},
		{"\xe4\xbda", "\ufffd\ufffda"},
		{"\xe4\xbd\xa0\xe4\n", "你\ufffd\n"},
		{"\ufffd", "\ufffd"},
		{"\xed\xa0\xbd", "\ufffd\ufffd\ufffd"},
	} {
		if got := filtered(0, c.in); got != c.want {
			t.Errorf("%q: got %q, want %q", c.in, got, c.want)
		}
	}
}

func TestTheFilterStopsAtItsLimitAndGoesOnFromThere(t *testing.T) {
	in := "ab世\x1b[31m界\xe4c\rdefg\nh"
	whole := filtered(0, in)
	for limit := 1; limit < 12; limit++ {
		f := filter{limit: limit}
		n := f.write([]byte(in))
		if f.chars > limit || f.chars != utf8.RuneCount(f.text) {
			t.Errorf("limit %d: %d characters counted in %q", limit, f.chars, f.text)
		}
		f.limit = 0
		f.write([]byte(in[n:]))
		f.end()
		if string(f.text) != whole {
			t.Errorf("limit %d: got %q, want %q", limit, f.text, whole)
		}
	}
}

func FuzzTheFilterDoesNotDependOnHowItsInputIsSplit(f *testing.F) {
	f.Add([]byte("a\x1b[31mred\x1b[0m\r\n世\xff\xe4\x1b]0;t\x07\b\x1b"), uint16(3), uint8(0))
	f.Add([]byte("\u009b1m\xf0\x9f\x8c\x8d\rx"), uint16(1), uint8(5))
	f.Fuzz(func(t *testing.T, in []byte, split uint16, limit uint8) {
		want := filtered(int(limit), string(in))
		i := 0
		if len(in) > 0 {
			i = int(split) % len(in)
		}
		single := strings.Split(string(in), "")
		bytewise := make([]string, len(in))
		for i := range in {
			bytewise[i] = string(in[i : i+1])
		}
		for name, pieces := range map[string][]string{"in two": {string(in[:i]), string(in[i:])}, "by character": single, "by byte": bytewise} {
			if got := filtered(int(limit), pieces...); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		if !utf8.ValidString(want) {
			t.Errorf("not valid UTF-8: %q", want)
		}
		for _, r := range want {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Errorf("control character %U in %q", r, want)
			}
		}
		if n := utf8.RuneCountInString(want); limit > 0 && n > int(limit) {
			t.Errorf("%d characters, the limit is %d", n, limit)
		}
	})
}

// The sizes are as in use: a small input is repeated up to beyond the window.
func FuzzTheTextOfAnOutputDoesNotDependOnHowItIsSplit(f *testing.F) {
	f.Add([]byte("a\x1b[31mred\x1b[0m\r\n世\xff\xe4"), uint32(300_000), uint16(777), uint16(100))
	f.Add([]byte("progress\r"), uint32(400_000), uint16(65535), uint16(20))
	f.Add([]byte("👩\u200d👩\u200d👧e\u0301"), uint32(5000), uint16(1), uint16(333))
	f.Fuzz(func(t *testing.T, in []byte, size uint32, chunk, limit uint16) {
		if len(in) == 0 || chunk == 0 || limit < 2 {
			return
		}
		data := bytes.Repeat(in, int(size%600_000)/len(in)+1)
		dir := t.TempDir()
		run := func(chunk int) string {
			o := output{cap: int(limit), dir: dir}
			for p := data; len(p) > 0; {
				n := min(chunk, len(p))
				o.Write(p[:n])
				p = p[n:]
			}
			text, _ := o.finish()
			return text
		}
		want := run(64 << 10)
		if got := run(int(chunk)); got != want {
			t.Errorf("in chunks of %d: got %.200q, want %.200q", chunk, got, want)
		}
		shown := strings.Replace(want, "\n"+(&output{size: int64(len(data))}).mark()+"\n", "", 1)
		if !utf8.ValidString(want) || strings.ContainsAny(want, "\x1b\x07") || utf8.RuneCountInString(shown) > int(limit) {
			t.Errorf("%d characters of at most %d, or no text: %.200q", utf8.RuneCountInString(shown), limit, want)
		}
	})
}

func TestWhatTheWindowHoldsIsNotTakenTwice(t *testing.T) {
	var in strings.Builder
	in.WriteString(strings.Repeat("\x1b[0m", 10_000))          // many bytes and no character
	in.WriteString("one\ntwo\n" + strings.Repeat("x", 50_500)) // beyond the cap
	in.WriteString(strings.Repeat("\r12345", 35_000) + "\rdone\n")
	if in.Len() <= window || in.Len() > window+40_000 {
		t.Fatalf("%d bytes: the window is to begin in the noise", in.Len())
	}
	o := output{cap: 50_000, dir: t.TempDir()}
	o.Write([]byte(in.String()))
	if text, _ := o.finish(); text != "one\ntwo\ndone\n" {
		t.Errorf("got %.100q", text)
	}
}

func TestNothingIsShownAfterTheEnd(t *testing.T) {
	shown := 0
	l := &live{emit: func(oneloop.Event) { shown++ }}
	l.write([]byte("a"))
	l.end()
	l.show() // as a timer does that could not be stopped any more
	if shown > 0 {
		t.Error("an event came after the end")
	}
}

func TestACutFallsBetweenLinesOrCharacters(t *testing.T) {
	family := "👩\u200d👩\u200d👧"
	for _, c := range []struct {
		text       string
		n          int
		head, tail string
	}{
		{"abcdef", 3, "abc", "def"},
		{"ab\ncd\nef", 4, "ab\n", "ef"},
		{"one\ntwo\n", 5, "one\n", "two\n"},
		{"xe\u0301y", 2, "x", "y"},
		{family + family, 6, family, family},
		{"x" + family + "y", 3, "x", "y"},
		{"🇩🇪", 1, "", ""},
		{"short", 10, "short", "short"},
	} {
		if got := string(head([]byte(c.text), c.n)); got != c.head {
			t.Errorf("head of %q to %d: got %q, want %q", c.text, c.n, got, c.head)
		}
		if got := string(tail([]byte(c.text), c.n)); got != c.tail {
			t.Errorf("tail of %q to %d: got %q, want %q", c.text, c.n, got, c.tail)
		}
	}
}

func TestALineShownToWatchersIsNotStartedAgainOnTheSameLine(t *testing.T) {
	for in, want := range map[string]bool{"\r50%": true, "%\r60%": true, "\r\nnext": false, "\n\r": false, "text": false} {
		if restarts([]byte(in)) != want {
			t.Errorf("%q: got %v", in, !want)
		}
	}
}
