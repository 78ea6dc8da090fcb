package tui

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"
)

// style is how a piece of output looks where colours are allowed.
type style int

const (
	normal style = iota
	dim
	bold
	red
	yellow
	cyan
	green
)

var sgr = [...]string{normal: "", dim: "\x1b[2m", bold: "\x1b[1m", red: "\x1b[31m", yellow: "\x1b[33m", cyan: "\x1b[36m", green: "\x1b[32m"}

const sgrOff = "\x1b[0m"

// sheet is something events can be written on.
type sheet interface {
	// put writes text, which may have several lines. Nothing in it can
	// control the terminal.
	put(st style, how sight, text string)
	// fresh goes to the beginning of a line unless it is there.
	fresh()
}

// reflow is what a terminal does with rows that no longer fit when it becomes
// narrower. Nothing tells but its name, and a wrong guess leaves a piece of
// the old input on the screen or takes a row of output away.
type reflow int

const (
	reflowAll   reflow = iota // wraps them, as most do
	reflowAbove               // wraps all but the line with the cursor: xterm.js
	reflowNone                // cuts them
)

// reflowOf knows the terminals that do not wrap everything.
func reflowOf(env func(string) string) reflow {
	kind, _, _ := strings.Cut(env("TERM"), "-")
	switch {
	case env("TMUX") != "": // whatever it runs in
		return reflowAll
	case env("XTERM_VERSION") != "", env("STY") != "", kind == "screen", kind == "linux", kind == "st":
		return reflowNone
	case env("TERM_PROGRAM") == "vscode":
		return reflowAbove
	}
	return reflowAll
}

// screen is a terminal that scrolls: output, and below it the live rows that
// are taken away before more output comes and drawn again after it. Updates
// are collected and written at once by flush.
type screen struct {
	out           io.Writer
	width, height int
	color         bool
	reflow        reflow

	// cells tells the terminal's width now; nil: it is width. Where it is not,
	// the terminal has moved what was drawn, and goes on doing so while somebody
	// pulls at it: nothing is written before it has kept a width for settle.
	cells  func() int
	settle time.Duration
	since  time.Time // when the width changed last; zero: it is settled
	later  []func()  // what is written then

	buf   bytes.Buffer
	line  []byte // what stands in the current row of the output
	col   int    // its cells; equal to width when the next one wraps
	drawn bool
	live  view
}

// moving reports whether nothing may be written now.
func (s *screen) moving() bool {
	if s.since.IsZero() && s.drawn && s.cells != nil && s.cells() != s.width {
		s.since = time.Now()
	}
	return !s.since.IsZero()
}

// rest writes, in the size the terminal has now, what had to wait.
func (s *screen) rest(width, height int) {
	later := s.later
	s.since, s.later = time.Time{}, nil
	s.resize(width, height)
	for _, do := range later {
		do()
	}
}

// flush writes what was collected.
func (s *screen) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	_, err := s.out.Write(s.buf.Bytes())
	s.buf.Reset()
	return err
}

// erase takes the live rows away and puts the cursor where the output ended.
// The last row of the output is written again: where the terminal's idea of
// widths differs from ours, the cursor is right all the same.
func (s *screen) erase() {
	if !s.drawn {
		return
	}
	s.drawn = false
	s.up(s.live.r)
	s.buf.WriteString("\r\x1b[J")
	if s.col > 0 {
		s.up(1)
		s.buf.WriteByte('\r')
		s.buf.Write(s.line)
	}
}

func (s *screen) up(n int) {
	if n > 0 {
		fmt.Fprintf(&s.buf, "\x1b[%dA", n)
	}
}

// draw puts v below the output.
func (s *screen) draw(v view) {
	s.erase()
	if s.col > 0 {
		s.buf.WriteString("\r\n")
	}
	for i, r := range v.rows {
		if i > 0 {
			s.buf.WriteString("\r\n")
		}
		if s.color && i < v.faint {
			r = sgr[dim] + r + sgrOff
		}
		s.buf.WriteString(r)
	}
	s.up(len(v.rows) - 1 - v.r)
	s.buf.WriteByte('\r')
	if v.c > 0 {
		fmt.Fprintf(&s.buf, "\x1b[%dC", v.c)
	}
	s.drawn, s.live = true, v
}

func (s *screen) fresh() {
	if s.moving() {
		s.later = append(s.later, s.fresh)
		return
	}
	if s.col > 0 {
		s.erase()
		s.newline()
	}
}

func (s *screen) newline() {
	s.buf.WriteString("\r\n")
	s.line, s.col = s.line[:0], 0
}

func (s *screen) put(st style, how sight, text string) {
	if s.moving() {
		s.later = append(s.later, func() { s.put(st, how, text) })
		return
	}
	s.erase()
	on, off := "", ""
	if s.color && st != normal {
		on, off = sgr[st], sgrOff
	}
	s.write(on)
	for text != "" {
		var g string
		var cells int
		g, text, cells = cluster(text)
		switch g {
		case "\n", "\r\n":
			s.write(off)
			s.newline()
			s.write(on)
			continue
		case "\t":
			cells = min(8-s.col%8, max(1, s.width-s.col))
			g = strings.Repeat(" ", cells)
		default:
			g, cells = shape(g, cells, how)
		}
		s.cell(g, cells, on)
	}
	s.write(off)
}

// cell writes one cluster. The terminal wraps by itself, so that a line
// copied from it has no line ends of ours; here that is only followed.
func (s *screen) cell(g string, cells int, on string) {
	if s.col+cells > s.width {
		s.line, s.col = append(s.line[:0], on...), 0
		for cells > s.width { // a name longer than a row
			cells -= s.width
		}
	}
	s.col += cells
	s.write(g)
}

func (s *screen) write(g string) {
	s.buf.WriteString(g)
	s.line = append(s.line, g...)
}

// resize makes ready for drawing in another size: the live rows are taken
// away from where the terminal has moved them.
func (s *screen) resize(width, height int) {
	above := s.live.r
	if s.drawn && width < s.width {
		above = s.live.above(width, s.reflow)
	}
	same := width == s.width
	s.width, s.height = width, height
	if same {
		return
	}
	if s.drawn {
		s.drawn = false
		s.up(above)
		s.buf.WriteString("\r\x1b[J")
	} else if s.col > 0 {
		s.buf.WriteString("\r\n")
	}
	s.line, s.col = s.line[:0], 0
}

// above is the number of rows above the cursor in a terminal that has become
// width cells wide.
func (v view) above(width int, how reflow) int {
	if how == reflowNone {
		return v.r
	}
	n := 0
	for _, row := range v.rows[:v.r] {
		n += 1 + wraps(row, width, len(row))
	}
	if how == reflowAll {
		n += wraps(v.rows[v.r], width, v.c)
	}
	return n
}

// wraps is how often row, or what of it begins in its first cells, goes on in
// another row of width cells. A cursor behind a row that has become full stays
// in it.
func wraps(row string, width, cells int) int {
	n, col, at := 0, 0, 0
	for row != "" && at <= cells {
		var w int
		_, row, w = cluster(row)
		if col+w > width {
			n, col = n+1, 0
		}
		col += w
		at += w
	}
	return n
}
