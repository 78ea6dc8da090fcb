package tui

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// cells is the width of s as a terminal shows it, given by hand.
type piece struct {
	text  string
	cells int
}

var pieces = []piece{{"a", 1}, {"测", 2}, {"，", 2}, {"e\u0301", 1}, {"👨‍👩‍👧‍👦", 2}, {"🇨🇳", 2}, {"🌍", 2}, {"한", 2}, {"é", 1}, {"(", 1}}

func TestTheCursorStandsWhereTheTextEnds(t *testing.T) {
	for _, p := range pieces {
		var e editor
		e.key(key{code: keyText, text: p.text})
		if v := e.layout(promptMark, 20, 10); v.r != 0 || v.c != promptMark.cells+p.cells {
			t.Errorf("%q: cursor at %d,%d, want column %d", p.text, v.r, v.c, promptMark.cells+p.cells)
		}
	}
}

func TestEditingIsByWhatAPersonSeesAsOneCharacter(t *testing.T) {
	var e editor
	e.key(key{code: keyText, text: "测试，abc"})
	for range 4 {
		e.key(key{code: keyLeft})
	}
	if v := e.layout(promptMark, 20, 10); v.c != 2+4 { // before the comma
		t.Errorf("cursor at column %d", v.c)
	}
	e.key(key{code: keyBackspace})
	e.key(key{code: keyEnd})
	for _, p := range pieces {
		e.key(key{code: keyText, text: p.text})
	}
	for range pieces {
		e.key(key{code: keyBackspace})
	}
	if e.text != "测，abc" {
		t.Errorf("the text is %q", e.text)
	}
}

func TestLayoutNeverSplitsACharacterAndLosesNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(4, 40).Draw(t, "width")
		var e editor
		var typed strings.Builder
		for range rapid.IntRange(0, 60).Draw(t, "length") {
			p := rapid.SampledFrom(pieces).Draw(t, "piece")
			e.key(key{code: keyText, text: p.text})
			typed.WriteString(p.text)
		}
		for range rapid.IntRange(0, 70).Draw(t, "left") {
			e.key(key{code: keyLeft})
		}
		v := e.layout(promptMark, width, 1000)
		for _, r := range v.rows {
			if n := cellsOf(r); n > width {
				t.Fatalf("row %q has %d cells of %d", r, n, width)
			}
		}
		if v.r >= len(v.rows)+1 || v.c >= width {
			t.Fatalf("the cursor is at %d,%d in %d rows of %d", v.r, v.c, len(v.rows), width)
		}
		if got := strings.Join(v.rows, ""); got != promptMark.text+typed.String() {
			t.Fatalf("shown is %q, typed was %q", got, typed.String())
		}
	})
}

func TestKeysDoNotDependOnHowBytesAreCut(t *testing.T) {
	input := []byte("a测👨‍👩‍👧\x1b[A\x1b[1;5D\x1b[200~paste\r\nline \x1b[3 \x00\x1b[201~\x7f\r\x03\x1bOH\x1b[3~é\xff")
	whole := func(cuts ...int) []key {
		var d decoder
		var keys []key
		at := 0
		for _, c := range append(cuts, len(input)) {
			keys = append(keys, d.feed(input[at:c])...)
			at = c
		}
		return merge(append(keys, d.flush()...))
	}
	want := whole()
	for i := range input {
		if got := whole(i); !equal(got, want) {
			t.Errorf("cut at %d:\n%v\nwant\n%v", i, got, want)
		}
	}
	for _, k := range want {
		if k.code == keyPaste && (strings.ContainsAny(k.text, "\r\x00") || !strings.Contains(k.text, "paste\nline")) {
			t.Errorf("the paste is %q", k.text)
		}
	}
}

// merge joins text that came in pieces.
func merge(keys []key) []key {
	var out []key
	for _, k := range keys {
		if n := len(out); n > 0 && k.code == keyText && out[n-1].code == keyText {
			out[n-1].text += k.text
			continue
		}
		out = append(out, k)
	}
	return out
}

func equal(a, b []key) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestNothingControlsTheTerminal(t *testing.T) {
	for _, evil := range []string{"\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "a\rb", "\x08\x08", "\u202egnp.exe", "\u2066x", "\x7f", "\x00"} {
		if got := Visible(evil); strings.ContainsAny(got, "\x1b\x07\r\x08\x7f\x00\u009b\u202e\u2066") {
			t.Errorf("%q is shown as %q", evil, got)
		}
	}
	if got := Visible("行\n\ttab"); got != "行\n\ttab" {
		t.Errorf("lines and tabs become %q", got)
	}
}
