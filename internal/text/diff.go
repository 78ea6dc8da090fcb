package text

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Hunk says that some lines of an old text stand no longer and some of a new
// one instead. Lines are numbered from 0; the offsets are those of the first.
type Hunk struct {
	Old, OldLines int
	New, NewLines int
	OldAt, NewAt  int
}

// Lines cuts s after every \n.
func Lines(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	return lines[:len(lines)-btoi(lines[len(lines)-1] == "")]
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Hunks returns what differs, in order and apart from each other by at least
// one line. Lines that stand only once in both texts are anchors: that reads
// better than the smallest difference, and takes no more than n log n.
func Hunks(old, new []string) []Hunk {
	var hunks []Hunk
	d := differ{old, new, func(x, x2, y, y2 int) {
		if n := len(hunks); n > 0 && hunks[n-1].Old+hunks[n-1].OldLines == x && hunks[n-1].New+hunks[n-1].NewLines == y {
			hunks[n-1].OldLines += x2 - x
			hunks[n-1].NewLines += y2 - y
			return
		}
		hunks = append(hunks, Hunk{Old: x, OldLines: x2 - x, New: y, NewLines: y2 - y})
	}}
	d.compare(0, len(old), 0, len(new), 0)
	x, y, oldAt, newAt := 0, 0, 0, 0
	for i := range hunks {
		for ; x < hunks[i].Old; x++ {
			oldAt += len(old[x])
		}
		for ; y < hunks[i].New; y++ {
			newAt += len(new[y])
		}
		hunks[i].OldAt, hunks[i].NewAt = oldAt, newAt
	}
	return hunks
}

type differ struct {
	old, new []string
	differs  func(x, x2, y, y2 int)
}

// deep is how often the pieces between anchors are looked at for anchors of
// their own.
const deep = 8

func (d *differ) compare(x, x2, y, y2, depth int) {
	for x < x2 && y < y2 && d.old[x] == d.new[y] {
		x, y = x+1, y+1
	}
	for x < x2 && y < y2 && d.old[x2-1] == d.new[y2-1] {
		x2, y2 = x2-1, y2-1
	}
	if x == x2 && y == y2 {
		return
	}
	var anchors [][2]int
	if x < x2 && y < y2 && depth < deep {
		anchors = d.anchors(x, x2, y, y2)
	}
	if len(anchors) == 0 && depth <= deep {
		anchors, depth = d.common(x, x2, y, y2), deep
	}
	if len(anchors) == 0 {
		d.differs(x, x2, y, y2)
		return
	}
	for _, a := range anchors {
		d.compare(x, a[0], y, a[1], depth+1)
		x, y = a[0]+1, a[1]+1
	}
	d.compare(x, x2, y, y2, depth+1)
}

// anchors are the lines that stand once in both, as many as keep their order.
func (d *differ) anchors(x, x2, y, y2 int) [][2]int {
	type seen struct{ olds, news, at int }
	lines := make(map[string]*seen, x2-x)
	for _, l := range d.old[x:x2] {
		if s := lines[l]; s != nil {
			s.olds++
		} else {
			lines[l] = &seen{olds: 1}
		}
	}
	for j := y; j < y2; j++ {
		if s := lines[d.new[j]]; s != nil {
			s.news++
			s.at = j
		}
	}
	var pairs [][2]int
	for i := x; i < x2; i++ {
		if s := lines[d.old[i]]; s.olds == 1 && s.news == 1 {
			pairs = append(pairs, [2]int{i, s.at})
		}
	}
	return rising(pairs)
}

// mostPairs is how many pairs of lines are compared to find the most that are
// common.
const mostPairs = 1 << 18

// common are the lines of both that are equal where none is an anchor: the
// most there are in a small piece, those in the same place in a large one.
func (d *differ) common(x, x2, y, y2 int) [][2]int {
	n, m := x2-x, y2-y
	var pairs [][2]int
	if n*m > mostPairs {
		for i := 0; n == m && i < n; i++ {
			if d.old[x+i] == d.new[y+i] {
				pairs = append(pairs, [2]int{x + i, y + i})
			}
		}
		return pairs
	}
	most := make([]int32, (n+1)*(m+1)) // in common from i and j on
	at := func(i, j int) *int32 { return &most[i*(m+1)+j] }
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if d.old[x+i] == d.new[y+j] {
				*at(i, j) = *at(i+1, j+1) + 1
			} else {
				*at(i, j) = max(*at(i+1, j), *at(i, j+1))
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		switch {
		case d.old[x+i] == d.new[y+j]:
			pairs = append(pairs, [2]int{x + i, y + j})
			i, j = i+1, j+1
		case *at(i+1, j) >= *at(i, j+1):
			i++
		default:
			j++
		}
	}
	return pairs
}

// rising is a longest run of pairs, which are in order of their first number,
// whose second numbers rise.
func rising(pairs [][2]int) [][2]int {
	var ends []int // the pair with the least second number that ends a run of each length
	before := make([]int, len(pairs))
	for i, p := range pairs {
		n, _ := slices.BinarySearchFunc(ends, p[1], func(e, v int) int { return pairs[e][1] - v })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	run := make([][2]int, len(ends))
	if len(ends) > 0 {
		for i, n := ends[len(ends)-1], len(ends)-1; i >= 0; i, n = before[i], n-1 {
			run[n] = pairs[i]
		}
	}
	return run
}

// DiffOptions are the options of a diff. Zero means no limit, but for Context.
type DiffOptions struct {
	Context int // lines shown around a change
	Lines   int // lines of the diff
	Width   int // characters of a line

	first int // lines before the texts
}

// Diff is a unified diff without the names of files, and what it counts.
type Diff struct {
	Text           string
	Added, Removed int  // lines
	Cut            bool // Text does not show all of it
}

// Compare returns the differences of two texts.
func Compare(old, new []byte, o DiffOptions) Diff {
	// Most of a large file is the same at both ends.
	from := lineBefore(old, commonPrefix(old, new), o.Context)
	a, b := old[from:], new[from:]
	rest := len(a) - lineAfter(a, len(a)-commonSuffix(a, b), o.Context)
	x, y := Lines(string(a[:len(a)-rest])), Lines(string(b[:len(b)-rest]))
	w := writer{o: o, old: x, new: y, first: o.first + bytes.Count(old[:from], []byte{'\n'})}
	w.write(Hunks(x, y))
	return w.Diff
}

// lineBefore is where the line begins that is n lines before that of at.
func lineBefore(s []byte, at, n int) int {
	at = bytes.LastIndexByte(s[:at], '\n') + 1
	for range n {
		at = bytes.LastIndexByte(s[:max(0, at-1)], '\n') + 1
	}
	return at
}

// lineAfter is where the line ends that is n lines after that of at.
func lineAfter(s []byte, at, n int) int {
	for range n + 1 {
		i := bytes.IndexByte(s[at:], '\n')
		if i < 0 {
			return len(s)
		}
		at += i + 1
	}
	return at
}

// block is how many bytes are compared at once.
const block = 4 << 10

func commonPrefix(a, b []byte) int {
	n, end := 0, min(len(a), len(b))
	for n+block <= end && bytes.Equal(a[n:n+block], b[n:n+block]) {
		n += block
	}
	for n < end && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []byte) int {
	n, end := 0, min(len(a), len(b))
	for n+block <= end && bytes.Equal(a[len(a)-n-block:len(a)-n], b[len(b)-n-block:len(b)-n]) {
		n += block
	}
	for n < end && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

type writer struct {
	Diff
	o        DiffOptions
	old, new []string
	first    int // number of the first line
	b        strings.Builder
	lines    int
}

func (w *writer) write(hunks []Hunk) {
	for len(hunks) > 0 {
		n := 1 // those that are shown as one
		for n < len(hunks) && hunks[n].Old-hunks[n-1].Old-hunks[n-1].OldLines <= 2*w.o.Context {
			n++
		}
		w.group(hunks[:n])
		hunks = hunks[n:]
	}
	w.Text = w.b.String()
}

func (w *writer) group(hunks []Hunk) {
	h, last := hunks[0], hunks[len(hunks)-1]
	from := max(0, h.Old-w.o.Context)
	to := min(len(w.old), last.Old+last.OldLines+w.o.Context)
	newFrom := h.New - (h.Old - from)
	newTo := last.New + last.NewLines + to - last.Old - last.OldLines
	w.line(fmt.Sprintf("@@ -%s +%s @@\n", w.count(from, to), w.count(newFrom, newTo)))
	for _, h := range hunks {
		w.some(" ", w.old[from:h.Old])
		w.some("-", w.old[h.Old:h.Old+h.OldLines])
		w.some("+", w.new[h.New:h.New+h.NewLines])
		w.Removed += h.OldLines
		w.Added += h.NewLines
		from = h.Old + h.OldLines
	}
	w.some(" ", w.old[from:to])
}

func (w *writer) count(from, to int) string {
	first := w.first + from + 1
	if from == to {
		first-- // as diff does where there is no line
	}
	if to-from == 1 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d,%d", first, to-from)
}

func (w *writer) some(sign string, lines []string) {
	for _, l := range lines {
		text, ended := strings.CutSuffix(sign+l, "\n")
		if cut, whole := Cut(text, w.o.Width+1); w.o.Width > 0 && !whole {
			text, w.Cut = cut+"…", true
		}
		if text += "\n"; !ended {
			text += "\\ No newline at end of file\n"
		}
		w.line(text)
	}
}

func (w *writer) line(s string) {
	if w.lines++; w.o.Lines > 0 && w.lines > w.o.Lines {
		w.Cut = true
		return
	}
	w.b.WriteString(s)
}

// Cut returns the first n characters of s, and whether that is all.
func Cut(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, true
	}
	i := 0
	for ; n > 0 && i < len(s); n-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	return s[:i], i == len(s)
}
