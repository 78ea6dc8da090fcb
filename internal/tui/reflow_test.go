package tui

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// flow is a terminal that wraps what no longer fits when it is made narrower.
// It knows the sequences a screen writes. The top of the screen is far away.
type flow struct {
	width int
	keep  bool // the line with the cursor stays as it is, cut
	rows  []flowRow
	y, x  int // x is the width behind a row that is full
}

type flowRow struct {
	cells []string // a wide character is followed by an empty cell
	goes  bool     // on in the next row
}

var flowToken = regexp.MustCompile(`^\x1b\[\??(\d*)([A-Za-z])`)

func (f *flow) write(s string) {
	for s != "" {
		f.need(f.y)
		if m := flowToken.FindStringSubmatch(s); m != nil {
			n, _ := strconv.Atoi(m[1]) // none is 1
			f.sequence(m[2], max(n, 1))
			s = s[len(m[0]):]
			continue
		}
		switch s[0] {
		case '\r':
			f.x, s = 0, s[1:]
		case '\n':
			f.y, s = f.y+1, s[1:]
			f.need(f.y)
		default:
			var g string
			var cells int
			g, s, cells = cluster(s)
			f.print(g, cells)
		}
	}
}

func (f *flow) sequence(name string, n int) {
	switch name {
	case "A":
		f.y = max(0, f.y-n)
	case "C":
		f.x = min(f.width-1, f.x+n)
	case "J":
		f.rows = f.rows[:f.y+1]
		f.rows[f.y].cells = f.rows[f.y].cells[:min(f.x, len(f.rows[f.y].cells))]
		f.rows[f.y].goes = false
	}
}

func (f *flow) need(y int) {
	for len(f.rows) <= y {
		f.rows = append(f.rows, flowRow{})
	}
}

func (f *flow) print(g string, cells int) {
	if f.x+cells > f.width {
		f.rows[f.y].goes = true
		f.x = 0
		f.y++
		f.need(f.y)
	}
	r := &f.rows[f.y]
	for len(r.cells) < f.x+cells {
		r.cells = append(r.cells, " ")
	}
	r.cells[f.x] = g
	for i := 1; i < cells; i++ {
		r.cells[f.x+i] = ""
	}
	f.x += cells
}

// resize wraps every line anew and keeps the cursor where it is in its text;
// behind a full row it stays in it.
func (f *flow) resize(width int) {
	old := *f
	*f = flow{width: width, keep: old.keep}
	for y := 0; y < len(old.rows); {
		end, at := y, -1
		var cells []string
		for ; ; end++ {
			if end == old.y {
				at = len(cells) + old.x
			}
			cells = append(cells, old.rows[end].cells...)
			if !old.rows[end].goes || end == len(old.rows)-1 {
				break
			}
		}
		f.line(cells, at)
		y = end + 1
	}
}

func (f *flow) line(cells []string, at int) {
	if at >= 0 && f.keep {
		f.y, f.x = len(f.rows), min(at, f.width-1)
		f.rows = append(f.rows, flowRow{cells: cells[:min(len(cells), f.width)]})
		return
	}
	r := flowRow{}
	for i := 0; i < len(cells); {
		n := 1
		for i+n < len(cells) && cells[i+n] == "" {
			n++
		}
		if len(r.cells)+n > f.width {
			f.rows = append(f.rows, flowRow{r.cells, true})
			r = flowRow{}
		}
		if at >= i && at < i+n {
			f.y, f.x = len(f.rows), len(r.cells)
		}
		r.cells = append(r.cells, cells[i:i+n]...)
		i += n
	}
	if at >= len(cells) {
		f.y, f.x = len(f.rows), min(f.width, len(r.cells)+at-len(cells))
	}
	f.rows = append(f.rows, r)
}

func (f *flow) String() string {
	var b strings.Builder
	for _, r := range f.rows {
		b.WriteString(strings.Join(r.cells, ""))
		if !r.goes {
			b.WriteByte('\n')
		}
	}
	return trimmed(b.String())
}

// trimmed is s without spaces at the ends of its lines, and empty ones at its
// own.
func trimmed(s string) string {
	var lines []string
	for l := range strings.SplitSeq(s, "\n") {
		lines = append(lines, strings.TrimRight(l, " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func TestANarrowerTerminalThatWrapsKeepsNoPieceOfTheOldInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(10, 60).Draw(t, "width")
		f := &flow{width: width, keep: rapid.Bool().Draw(t, "the cursor's line is cut")}
		var out bytes.Buffer
		s := screen{out: &out}
		if f.keep {
			s.reflow = reflowAbove
		}
		s.resize(width, 100)
		var said strings.Builder
		var e editor
		for i := range rapid.IntRange(1, 4).Draw(t, "lines of output") {
			line := fmt.Sprint("output ", i, strings.Repeat(" 字", rapid.IntRange(0, 30).Draw(t, "length")))
			s.put(normal, plainSight, line)
			s.fresh()
			said.WriteString(line + "\n")
		}
		for range rapid.IntRange(0, 80).Draw(t, "typed") {
			e.key(key{keyText, rapid.SampledFrom(pieces).Draw(t, "piece").text})
		}
		for range rapid.IntRange(0, 80).Draw(t, "left") {
			e.key(key{code: keyLeft})
		}
		for _, width := range append([]int{width}, rapid.SliceOfN(rapid.IntRange(10, 60), 1, 4).Draw(t, "widths")...) {
			f.resize(width)
			s.resize(width, 100)
			v := e.layout(promptMark, width, 99)
			s.draw(v)
			if err := s.flush(); err != nil {
				t.Fatal(err)
			}
			f.write(out.String())
			out.Reset()
			want := said.String() + strings.Join(v.rows, "\n")
			if got := f.String(); got != trimmed(want) {
				t.Fatalf("at %d columns the screen is\n%s\n\nwant\n%s", width, got, trimmed(want))
			}
			if f.x != v.c || f.y != len(f.rows)-len(v.rows)+v.r {
				t.Fatalf("the cursor is at %d,%d, want column %d in row %d of the last %d", f.y, f.x, v.c, v.r, len(v.rows))
			}
		}
	})
}

func TestTerminalsThatDoNotWrapEverythingAreKnown(t *testing.T) {
	for _, c := range []struct {
		want reflow
		env  map[string]string
	}{
		{reflowAll, map[string]string{"TERM": "xterm-256color"}},
		{reflowAll, map[string]string{"TERM": "screen-256color", "TMUX": "x", "XTERM_VERSION": "XTerm(390)"}},
		{reflowAll, map[string]string{}},
		{reflowAbove, map[string]string{"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}},
		{reflowNone, map[string]string{"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"}},
		{reflowNone, map[string]string{"TERM": "screen.xterm-256color", "STY": "1.pts"}},
		{reflowNone, map[string]string{"TERM": "screen-256color"}},
		{reflowNone, map[string]string{"TERM": "linux"}},
		{reflowNone, map[string]string{"TERM": "st-256color"}},
	} {
		if got := reflowOf(func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%v: %v, want %v", c.env, got, c.want)
		}
	}
}

func TestACursorWrapsWithItsCharacterAndStaysBehindTheLast(t *testing.T) {
	for _, c := range []struct {
		row   string
		cells int
		want  int
	}{
		{"", 0, 0}, {"abcde", 4, 0}, {"abcde", 5, 0}, {"abcdefghij", 4, 0}, {"abcdefghij", 5, 1}, {"abcdefghij", 10, 1},
		{"一二三", 4, 1}, {"一二", 4, 0}, {"一二三四五", 10, 2},
	} {
		if got := wraps(c.row, 5, c.cells); got != c.want {
			t.Errorf("%q, cell %d: %d, want %d", c.row, c.cells, got, c.want)
		}
	}
}
