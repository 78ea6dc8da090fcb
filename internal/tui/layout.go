package tui

import (
	"strings"
	"unicode/utf8"
)

// view is what stands below the output: rows that fit, and the cursor.
type view struct {
	rows  []string
	r, c  int // the cursor, from the first row and column
	faint int // so many of the first rows stand back
}

// under is v below a row of its own that stands back.
func (v view) under(row string) view {
	return view{append([]string{row}, v.rows...), v.r + 1, v.c, v.faint + 1}
}

// mark is what stands in front of a text, e.g. a prompt sign.
type mark struct {
	text  string
	cells int
}

var (
	promptMark = mark{"> ", 2}
	answerMark = mark{"? ", 2}
	indent     = mark{"  ", 2}
)

// layout wraps the text around the cursor into rows of width cells, at most
// height of them. Wide characters are never split; a row that is full puts
// the cursor on the next one.
func (e *editor) layout(m mark, width, height int) view {
	width, height = max(width, 4), max(height, 1)
	from, to := e.near(height, width)
	w := wrapper{width: width, at: e.at}
	if from == 0 {
		w.begin(m)
	} else if from == e.lineStart(from) {
		w.begin(indent)
	}
	for i := from; i < to; {
		if e.text[i] == '\n' {
			w.cursor(i)
			w.newline()
			w.begin(indent)
			i++
			continue
		}
		g, _, cells := cluster(e.text[i:])
		w.cluster(i, g, cells)
		i += len(g)
	}
	w.cursor(to)
	w.newline()
	return w.window(height)
}

// near is the part of the text that can be on the screen with the cursor.
func (e *editor) near(height, width int) (from, to int) {
	limit := max(look, 8*height*width) // in bytes; a cell seldom takes more than 8
	from = e.lineStart(e.at)
	for n := 1; n < height && from > 0; n++ {
		from = e.lineStart(from - 1)
	}
	if e.at-from > limit {
		from = e.at - limit
		for !utf8.RuneStart(e.text[from]) {
			from++
		}
	}
	to = e.lineEnd(e.at)
	for n := 1; n < height && to < len(e.text); n++ {
		to = e.lineEnd(to + 1)
	}
	if to-e.at > limit {
		to = e.boundary(e.at + limit)
		for !utf8.RuneStart(e.text[to-1]) && to < len(e.text) && !utf8.RuneStart(e.text[to]) {
			to++
		}
	}
	return from, to
}

// wrapper fills rows.
type wrapper struct {
	width int
	at    int // the cursor's place in the text
	rows  []string
	row   strings.Builder
	col   int
	found bool
	r, c  int
}

func (w *wrapper) begin(m mark) {
	w.row.WriteString(m.text)
	w.col = m.cells
}

func (w *wrapper) newline() {
	w.rows = append(w.rows, w.row.String())
	w.row.Reset()
	w.col = 0
}

func (w *wrapper) cluster(i int, g string, cells int) {
	if g == "\t" {
		g, cells = "    ", 4
	} else {
		how := plainSight
		if cells == 0 {
			how = exactSight // what cannot be seen cannot be edited
		}
		g, cells = shape(g, cells, how)
	}
	if w.col+cells > w.width && w.col > 0 {
		w.newline()
	}
	w.cursor(i)
	for cells > w.width { // a name longer than a row
		w.row.WriteString(g[:w.width])
		w.newline()
		g, cells = g[w.width:], cells-w.width
	}
	w.row.WriteString(g)
	w.col += cells
}

// cursor notes where the cursor is when the text has come to it.
func (w *wrapper) cursor(i int) {
	if w.found || i < w.at {
		return
	}
	if w.col >= w.width {
		w.newline()
	}
	w.found, w.r, w.c = true, len(w.rows), w.col
}

// window is the last rows that fit and have the cursor among them.
func (w *wrapper) window(height int) view {
	top := min(max(0, len(w.rows)-height), w.r)
	end := min(len(w.rows), top+height)
	return view{rows: w.rows[top:end], r: w.r - top, c: w.c}
}
