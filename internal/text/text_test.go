package text_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"oneloop/internal/text"
)

func TestTheEncodingIsThatOfTheMarkElseUTF8ElseGB18030ElseLatin1(t *testing.T) {
	chinese := []byte("\xc4\xe3\xba\xc3\xa3\xac\xca\xc0\xbd\xe7\r\n")
	for _, c := range []struct {
		name, raw string
		want      text.Form
	}{
		{"empty", "", text.Form{}},
		{"ASCII", "a\n", text.Form{}},
		{"UTF-8", "北京🌤\n", text.Form{}},
		{"UTF-8 with a mark", "\xef\xbb\xbfa", text.Form{BOM: 3}},
		{"UTF-16LE", "\xff\xfea\x00", text.Form{Encoding: text.UTF16LE, BOM: 2}},
		{"UTF-16BE", "\xfe\xff\x00a", text.Form{Encoding: text.UTF16BE, BOM: 2}},
		{"GB18030", string(chinese), text.Form{Encoding: text.GB18030, Guess: true}},
		{"GB18030 with four bytes", "\x81\x30\x89\x38 \x95\x32\x82\x36", text.Form{Encoding: text.GB18030, Guess: true}},
		{"GB18030 with a mark", "\x84\x31\x95\x33" + string(chinese), text.Form{Encoding: text.GB18030, BOM: 4}},
		{"Latin-1", "caf\xe9 au lait\n", text.Form{Encoding: text.Latin1, Guess: true}},
		{"Latin-1 like the mark of GB18030", "\x84\x31\x95\x33 caf\xe9 x", text.Form{Encoding: text.Latin1, Guess: true}},
		{"a digit too high for GB18030", "\x81\x3a\x81\x30", text.Form{Encoding: text.Latin1, Guess: true}},
		{"half a character at the end", "\xc4\xe3\xba", text.Form{Encoding: text.Latin1, Guess: true}},
		{"UTF-8 cut in a character", strings.Repeat("日志", 20)[:118], text.Form{Guess: true, Holes: true}},
		{"UTF-8 cut at its beginning", strings.Repeat("日志", 20)[1:], text.Form{Guess: true, Holes: true}},
		{"UTF-8 with one stray byte", strings.Repeat("日志\n", 60) + "\xff" + strings.Repeat("日志\n", 60), text.Form{Guess: true, Holes: true}},
	} {
		if got := text.Detect([]byte(c.raw)); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestACharacterTheEncodingLacksIsNamed(t *testing.T) {
	_, err := text.Latin1.Encode("naïve 中")
	var lack *text.UnmappableError
	if !errors.As(err, &lack) || lack.Rune != '中' || !strings.Contains(err.Error(), "Latin-1") || !strings.Contains(err.Error(), "U+4E2D") {
		t.Errorf("got %v", err)
	}
	for _, e := range []text.Encoding{text.UTF8, text.UTF16LE, text.UTF16BE, text.GB18030} {
		raw, err := e.Encode("aé中🌍")
		if err != nil || e.Decode(raw) != "aé中🌍" {
			t.Errorf("%v: %x, %v", e, raw, err)
		}
	}
	if _, err := text.GB18030.Encode("中\ue5e5"); !errors.As(err, &lack) || lack.Rune != '\ue5e5' {
		t.Errorf("got %v for a character without a place in GB18030", err)
	}
}

// file is a file made of lines whose bytes are known.
type file struct {
	raw  []byte
	text string
	form text.Form
	at   []int // the offset in raw of every character of the text, and of its end
}

var alphabets = map[text.Encoding][]rune{
	text.UTF8:    []rune("aab \t$&\\é中🌍\u0301\u2028"),
	text.UTF16LE: []rune("aab \t$&\\é中🌍\u0a0d"),
	text.UTF16BE: []rune("aab \t$&\\é中🌍\u0d0a"),
	text.GB18030: []rune("aab \t0$&\\é中文€🌍\u0e01"),
	text.Latin1:  []rune("aab \t$&\\éÿ\u0085ü"),
}

var bom = map[text.Encoding]string{text.UTF8: "\xef\xbb\xbf", text.UTF16LE: "\xff\xfe", text.UTF16BE: "\xfe\xff", text.GB18030: "\x84\x31\x95\x33"}

func drawFile(t *rapid.T) file {
	f := file{form: text.Form{Encoding: rapid.SampledFrom([]text.Encoding{text.UTF8, text.UTF16LE, text.UTF16BE, text.GB18030, text.Latin1}).Draw(t, "encoding")}}
	enc := f.form.Encoding
	if mark := bom[enc]; mark != "" && (enc == text.UTF16LE || enc == text.UTF16BE || rapid.Bool().Draw(t, "mark")) {
		f.raw, f.form.BOM = []byte(mark), len(mark)
	}
	ends := rapid.SampledFrom([][]string{{"\n"}, {"\r\n"}, {"\r"}, {"\n", "\r\n"}, {"\n", "\r\n", "\r\r\n"}}).Draw(t, "ends")
	// Longer ones have a test of their own: drawing them takes long.
	count := rapid.SampledFrom([]int{0, 1, 3, 30}).Draw(t, "lines")
	line := rapid.SliceOfN(rapid.SampledFrom(alphabets[enc]), 0, 6)
	lines := make([]string, count)
	for i := range lines {
		lines[i] = string(line.Draw(t, "line"))
	}
	var b strings.Builder
	add := func(s, as string) {
		raw, err := enc.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		for range as {
			f.at = append(f.at, len(f.raw))
			for range len(as)/utf8.RuneCountInString(as) - 1 {
				f.at = append(f.at, -1)
			}
		}
		f.raw = append(f.raw, raw...)
		b.WriteString(as)
	}
	for i := range count {
		for _, r := range lines[i] {
			add(string(r), string(r))
		}
		if i < count-1 || rapid.Bool().Draw(t, "final newline") {
			add(ends[i*i%len(ends)], "\n")
		}
	}
	f.text, f.at = b.String(), append(f.at, len(f.raw))
	return f
}

func (f file) doc(t *rapid.T) *text.Doc {
	d := text.New(f.raw, f.form)
	if got := string(d.Text); got != f.text {
		t.Fatalf("the text of %q is %q, want %q", f.raw, got, f.text)
	}
	return d
}

// place draws an offset of the text between two characters.
func (f file) place(t *rapid.T, from int, label string) int {
	i := rapid.IntRange(from, len(f.text)).Draw(t, label)
	for f.at[i] < 0 {
		i++
	}
	return i
}

func TestAChangeTouchesNoOtherByteInAnyEncoding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFile(t)
		d := f.doc(t)
		var changes []text.Change
		var want strings.Builder
		at := 0
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			from := f.place(t, at, "from")
			to := f.place(t, from, "to")
			now := string(rapid.SliceOfN(rapid.SampledFrom(append([]rune("\n"), alphabets[f.form.Encoding]...)), 0, 8).Draw(t, "new"))
			changes = append(changes, text.Change{From: from, To: to, New: now})
			want.WriteString(f.text[at:from] + now)
			at = to
		}
		want.WriteString(f.text[at:])
		got, err := d.Splice(changes)
		if err != nil {
			t.Fatal(err)
		}
		o := text.DiffOptions{Context: 2}
		if diff, all := d.Diff(changes, o), text.Compare(d.Text, []byte(want.String()), o); !sameChange(t, f.text, diff, all) {
			t.Fatalf("the diff is\n%s\nwant\n%s", diff.Text, all.Text)
		}
		rest, done := got, 0
		for i, c := range changes {
			same := f.raw[done:f.at[c.From]]
			if !bytes.HasPrefix(rest, same) {
				t.Fatalf("before change %d %q became %q", i, same, rest)
			}
			rest, done = rest[len(same):], f.at[c.To]
			rest = rest[writtenLen(t, d, rest, c.New):]
		}
		if !bytes.Equal(rest, f.raw[done:]) {
			t.Fatalf("after the last change %q became %q", f.raw[done:], rest)
		}
		if now := text.New(got, f.form); string(now.Text) != want.String() {
			t.Fatalf("the text is %q, want %q", now.Text, want.String())
		}
	})
}

func TestALongFileIsTakenApartBetweenCharactersAndLineEnds(t *testing.T) {
	for _, enc := range []text.Encoding{text.UTF8, text.UTF16LE, text.UTF16BE, text.GB18030, text.Latin1} {
		for _, end := range []string{"\r\n", "\r\r\n", "\r"} {
			for shift := range 4 {
				var raw []byte
				var want strings.Builder
				for i := range 1200 {
					line := strings.Repeat("-", shift*btoi(i == 0)) + string(alphabets[enc][1+i%(len(alphabets[enc])-1)]) + "0"
					bytes, err := enc.Encode(line + end)
					if err != nil {
						t.Fatal(err)
					}
					raw = append(raw, bytes...)
					want.WriteString(line + "\n")
				}
				d := text.New(raw, text.Form{Encoding: enc})
				if string(d.Text) != want.String() {
					t.Fatalf("%v, %q, %d: the text differs: %+v", enc, end, shift, text.Compare([]byte(want.String()), d.Text, text.DiffOptions{Lines: 10}))
				}
				// Every line is changed, which takes every place of the file.
				got, err := d.Splice(text.Replace(d.Find("0\n"), "0\n", "00\n"))
				if err != nil {
					t.Fatal(err)
				}
				zero, _ := enc.Encode("0" + end)
				twice, _ := enc.Encode("00" + end)
				if !bytes.Equal(got, bytes.ReplaceAll(raw, zero, twice)) {
					t.Fatalf("%v, %q, %d: other bytes changed", enc, end, shift)
				}
			}
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// writtenLen is how many bytes of raw are the characters of s, whatever its
// line ends are.
func writtenLen(t *rapid.T, d *text.Doc, raw []byte, s string) int {
	n := 0
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			found := false
			for _, end := range []string{"\r\r\n", "\r\n", "\n", "\r"} {
				e, _ := d.Encoding.Encode(end)
				if bytes.HasPrefix(raw[n:], e) {
					n, found = n+len(e), true
					break
				}
			}
			if !found {
				t.Fatalf("no line end where %q begins", raw[n:])
			}
		}
		e, err := d.Encoding.Encode(line)
		if err != nil || !bytes.HasPrefix(raw[n:], e) {
			t.Fatalf("%q does not begin with %q (%v)", raw[n:], e, err)
		}
		n += len(e)
	}
	return n
}

func TestANewLineEndsAsItsNeighboursDo(t *testing.T) {
	for _, c := range []struct{ raw, old, new, want string }{
		{"a\r\nb\r\nc", "a\nb", "a\nX\nb", "a\r\nX\r\nb\r\nc"},
		{"a\nb\nc\n", "a\r\nb", "a\r\nX\r\nb", "a\nX\nb\nc\n"},
		{"a\nb\r\nc\nd\n", "b\nc\n", "b\nX\nc\n", "a\nb\r\nX\r\nc\nd\n"},
		{"a\r\nb\nc\n", "b", "X\nY", "a\r\nX\nY\nc\n"},
		{"a\r\nb", "b", "b\nc\n", "a\r\nb\r\nc\r\n"},
		{"a\nb\r\n", "b\n", "X\nY\n", "a\nX\r\nY\r\n"},
		{"a\r\nb\n", "a", "X\na", "X\r\na\r\nb\n"},
		{"a\rb\rc", "b\n", "b\nX\n", "a\rb\rX\rc"},
		{"a\rb\rc", "a\rb", "a\rX\rb", "a\rX\rb\rc"},
		{"a\r\r\nb", "a\nb", "a\nX\nb", "a\r\r\nX\r\r\nb"},
		{"a", "a", "a\nb", "a\nb"},
		{"a", "a", "a\r\nb", "a\r\nb"},
		{"a\rb\n", "a\rb", "a\rc", "a\rc\n"},
		{"1\n2\r\n3\n4\r\n5\n", "1\n2\n3\n4\n5\n", "1\nX\n3\nY\n5\n", "1\nX\r\n3\nY\r\n5\n"},
	} {
		d := text.New([]byte(c.raw), text.Detect([]byte(c.raw)))
		old, now := d.Unify(c.old), d.Unify(c.new)
		found := d.Find(old)
		if len(found) != 1 {
			t.Errorf("%q in %q: found at %v", c.old, c.raw, found)
			continue
		}
		got, err := d.Splice(text.Replace(found, old, now))
		if err != nil || string(got) != c.want {
			t.Errorf("%q for %q in %q gives %q, want %q (%v)", c.new, c.old, c.raw, got, c.want, err)
		}
	}
}

func TestWhatOldAndNewHaveInCommonKeepsItsBytes(t *testing.T) {
	// Half a surrogate pair, which no text can hold, in a line that is named
	// but not changed.
	raw := []byte("\xff\xfea\x00\x00\xd8\n\x00b\x00")
	d := text.New(raw, text.Detect(raw))
	old := string(d.Text)
	got, err := d.Splice(text.Replace([]int{0}, old, strings.Replace(old, "b", "c", 1)))
	if want := "\xff\xfea\x00\x00\xd8\n\x00c\x00"; err != nil || string(got) != want {
		t.Errorf("got %q, want %q (%v)", got, want, err)
	}
}

func FuzzADocumentOfAnyBytesIsRead(f *testing.F) {
	for _, s := range []string{"", "a\r\r\r\n\r", "\xff\xfe\x00\xd8\x0d\x00\n\x00x", "\x81\x30\x81\x30\r\n\x80\xff", "\xef\xbb\xbf\xff\r\n"} {
		f.Add([]byte(s), "a", "b\n")
	}
	f.Fuzz(func(t *testing.T, raw []byte, old, now string) {
		d := text.New(raw, text.Detect(raw))
		if !utf8.Valid(d.Text) {
			t.Fatalf("%q is no UTF-8", d.Text)
		}
		if got, err := d.Splice(nil); err != nil || !bytes.Equal(got, raw) {
			t.Fatalf("no change makes %q of %q (%v)", got, raw, err)
		}
		whole := []text.Change{{From: 0, To: len(d.Text)}}
		if got, err := d.Splice(whole); err != nil || !bytes.Equal(got, raw[:d.BOM]) {
			t.Fatalf("without its text %q is %q (%v)", raw, got, err)
		}
		old = d.Unify(old)
		if at := d.Find(old); len(at) > 0 {
			if _, err := d.Splice(text.Replace(at, old, d.Unify(now))); err != nil {
				var lack *text.UnmappableError
				if !errors.As(err, &lack) {
					t.Fatal(err)
				}
			}
		}
		text.Nearest(d.Text, old)
	})
}

func TestHunksTurnTheOldTextIntoTheNew(t *testing.T) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "{\n", "}\n", "\n", "1\n", "2\n", "3\n", "4\n"})
	rapid.Check(t, func(t *rapid.T) {
		old, now := rapid.SliceOfN(line, 0, 40).Draw(t, "old"), rapid.SliceOfN(line, 0, 40).Draw(t, "new")
		var got []string
		at := 0
		for _, h := range text.Hunks(old, now) {
			if h.Old < at || at > 0 && h.Old == at {
				t.Fatalf("hunks touch at line %d", at)
			}
			got = append(append(got, old[at:h.Old]...), now[h.New:h.New+h.NewLines]...)
			if want := len(strings.Join(old[:h.Old], "")); h.OldAt != want {
				t.Fatalf("line %d is at %d, not at %d", h.Old, want, h.OldAt)
			}
			at = h.Old + h.OldLines
		}
		got = append(got, old[at:]...)
		if strings.Join(got, "") != strings.Join(now, "") {
			t.Fatalf("got %q, want %q", got, now)
		}
	})
}

// sameChange reports whether both make the same of old.
func sameChange(t *rapid.T, old string, a, b text.Diff) bool {
	x, err := patch(old, a.Text)
	if err != nil {
		t.Fatal(err)
	}
	y, err := patch(old, b.Text)
	return err == nil && x == y
}

// patch applies a unified diff.
func patch(old, diff string) (string, error) {
	lines, at := text.Lines(old), 0
	var out strings.Builder
	rows := text.Lines(diff)
	for i, row := range rows {
		body := row[1:]
		if i+1 < len(rows) && strings.HasPrefix(rows[i+1], "\\") {
			body = strings.TrimSuffix(body, "\n")
		}
		switch row[0] {
		case '@':
			var first int
			count := 1
			if n, _ := fmt.Sscanf(row, "@@ -%d,%d", &first, &count); n == 2 && count == 0 {
				first++
			}
			for ; at < first-1; at++ {
				out.WriteString(lines[at])
			}
		case '+':
			out.WriteString(body)
		case ' ', '-':
			if at >= len(lines) || lines[at] != body {
				return "", fmt.Errorf("line %d is not %q", at+1, body)
			}
			if row[0] == ' ' {
				out.WriteString(body)
			}
			at++
		}
	}
	for ; at < len(lines); at++ {
		out.WriteString(lines[at])
	}
	return out.String(), nil
}

func TestADiffAppliedToTheOldTextGivesTheNew(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a\n", "b\n", "\n", "c", "x\n"})
	rapid.Check(t, func(t *rapid.T) {
		filler := strings.Repeat("the same\n", rapid.SampledFrom([]int{0, 1, 5, 1000}).Draw(t, "filler"))
		draw := func(label string) string {
			return filler + strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, label), "") + filler
		}
		old, now := draw("old"), draw("new")
		d := text.Compare([]byte(old), []byte(now), text.DiffOptions{Context: rapid.IntRange(0, 3).Draw(t, "context")})
		got, err := patch(old, d.Text)
		if err != nil || got != now {
			t.Fatalf("the diff\n%s\ngives %q, want %q (%v)", d.Text, got, now, err)
		}
		if (d.Text == "") != (old == now) || d.Added-d.Removed != len(text.Lines(now))-len(text.Lines(old)) {
			t.Fatalf("%d added, %d removed:\n%s", d.Added, d.Removed, d.Text)
		}
	})
}

func TestADiffIsAsShortAsAsked(t *testing.T) {
	old, now := "1\n2\n3\n4\n5\n6\n7\n8", "1\n2\n3\nX\n5\n6\n7\n8\n"
	want := "@@ -3,3 +3,3 @@\n 3\n-4\n+X\n 5\n@@ -7,2 +7,2 @@\n 7\n-8\n\\ No newline at end of file\n+8\n"
	if got := text.Compare([]byte(old), []byte(now), text.DiffOptions{Context: 1}); got.Text != want || got.Cut {
		t.Error(cmp.Diff(want, got.Text))
	}
	got := text.Compare([]byte(old), []byte(now), text.DiffOptions{Context: 1, Lines: 3})
	if want := "@@ -3,3 +3,3 @@\n 3\n-4\n"; got.Text != want || !got.Cut || got.Added != 2 || got.Removed != 2 {
		t.Errorf("cut it is %+v", got)
	}
	got = text.Compare(nil, []byte(strings.Repeat("長", 1000)), text.DiffOptions{Width: 5})
	if want := "@@ -0,0 +1 @@\n+長長長長長…\n\\ No newline at end of file\n"; got.Text != want || !got.Cut {
		t.Errorf("of a long line it is %+v", got)
	}
}

func TestTheNearestPlaceSaysWhatDiffers(t *testing.T) {
	const code = "package a\n\nfunc Sum(xs []int) int {\n\ttotal := 0\n\tfor _, x := range xs {\n\t\ttotal += x\n\t}\n\treturn total // “all”\n}\nconst s = \"a\\nb\"\n"
	for _, c := range []struct {
		name, s string
		line    int
		why     string
	}{
		{"indentation", "    total := 0\n    for _, x", 4, "the file indents with tabs"},
		{"ends of lines", "\ttotal := 0 \n\tfor", 4, "the white space at the ends of lines differs"},
		{"case", "func sum(xs", 3, "the case of letters differs"},
		{"quotes", `return total // "all"`, 8, "the file has '“' (U+201C) where it has '\"' (U+0022)"},
		{"invisible", "total :=\u200b 0", 4, "it has an invisible character"},
		{"broken lines", "func Sum(xs []int) int\n{", 3, "the lines are broken elsewhere, or blank lines differ"},
		{"two at once", "  TOTAL := 0", 4, "white space differs, the case of letters differs"},
		{"backslashes", `total := 0\n\tfor`, 4, `it has backslashes (as in \n or \") that the file does not have`},
		{"no backslashes", "const s = \"a\nb\"", 10, `the file has backslashes (as in \n or \") there`},
		{"numbers", "4\t\ttotal := 0\n5\t\tfor", 4, "it has line numbers in it; they are not in the file"},
		{"one line of three", "func Sum(xs []int) int {\n\tsum := 0\n\tfor _, x := range xs {\n", 3, "line 4 differs"},
		{"a similar line", "for _, y := range xs {", 5, ""},
	} {
		near, ok := text.Nearest([]byte(code), c.s)
		if !ok || near.Line != c.line || near.Why != c.why {
			t.Errorf("%s: %+v, %v; want line %d and %q", c.name, near, ok, c.line, c.why)
		}
		if at := strings.Index(code, near.Text); strings.Count(code[:max(0, at)], "\n")+1 != c.line {
			t.Errorf("%s: the lines %q are not at %d", c.name, near.Text, c.line)
		}
	}
	for _, s := range []string{"zzzzqqqq", " \n", "", "中"} {
		if near, ok := text.Nearest([]byte(code), s); ok {
			t.Errorf("%q is near %+v", s, near)
		}
	}
	if _, ok := text.Nearest(nil, "x"); ok {
		t.Error("something is near in an empty text")
	}
}

func TestTheNearestPlaceInAHugeLineIsShort(t *testing.T) {
	huge := strings.Repeat("var a=1;", 1<<20) + "let B = 2;"
	huge = huge[len(huge)-2<<20:]
	near, ok := text.Nearest([]byte(huge), "let b = 2;")
	if !ok || near.Line != 1 || near.Text != "let B = 2;" {
		t.Errorf("%d, %q, %v", near.Line, near.Text[:min(100, len(near.Text))], ok)
	}
}

func TestLookingForTheNearestPlaceTakesBoundedTime(t *testing.T) {
	big := []byte(strings.Repeat("the quick brown fox jumps over the lazy dog and more\n", 2<<20))
	began := time.Now()
	text.Nearest(big, strings.Repeat("nothing of the kind 12345\n", 5000))
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
