package tui

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"oneloop/internal/unseen"
)

// cluster splits the first grapheme cluster off s, which is not empty, and
// gives the cells it takes: what a person sees as one character is edited,
// measured and wrapped as one.
func cluster(s string) (g, rest string, cells int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) && s[0] != '\r' {
		if s[0] < 0x20 || s[0] == 0x7f {
			return s[:1], s[1:], 0
		}
		return s[:1], s[1:], 1
	}
	g, rest, cells, _ = uniseg.FirstGraphemeClusterInString(s, -1)
	return g, rest, cells
}

// sight says how much of what has no shape of its own is made visible.
type sight int

const (
	// plainSight shows what could control a terminal or change the order of
	// the characters around it.
	plainSight sight = iota
	// exactSight shows everything that cannot be seen. It is for text
	// somebody decides by: questions and commands.
	exactSight
)

// shape returns what is written to the terminal for the cluster g, and its
// cells. Nothing it returns can move the cursor, change a mode, or hide.
func shape(g string, cells int, how sight) (string, int) {
	if len(g) == 1 && g[0] >= 0x20 && g[0] < 0x7f {
		return g, 1
	}
	if !utf8.ValidString(g) {
		g, cells = strings.ToValidUTF8(g, "\uFFFD"), 1
	}
	clean := cells > 0
	first, _ := utf8.DecodeRuneInString(g)
	for _, r := range g {
		clean = clean && !hidden(r, first, how)
	}
	if clean || cells == 0 && how == plainSight && !strings.ContainsFunc(g, func(r rune) bool { return hidden(r, first, how) }) {
		return g, cells
	}
	var b strings.Builder
	n := 0
	for _, r := range g {
		s, w := name(r, first, how, cells == 0)
		b.WriteString(s)
		n += w
	}
	return b.String(), n
}

// hidden reports whether r must be shown by its name. first is the first rune
// of the cluster around it.
func hidden(r, first rune, how sight) bool {
	switch {
	case unicode.IsControl(r), r == '\u2028', r == '\u2029':
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069: // embeddings, overrides, isolates
		return true
	case how == plainSight: // but for what has no use in any language's writing
		return r == 0x200b || r >= 0x2060 && r <= 0x2064 || r == 0xfeff || r == 0x3164 || r == 0xffa0 ||
			r >= 0xe0020 && r <= 0xe007f && first != 0x1f3f4
	case r == 0x200d: // joins emoji
		return first < 0x203c
	case r >= 0xe0020 && r <= 0xe007f: // tags: flags of regions
		return first != 0x1f3f4
	case r == 0xfe0f || r == 0xfe0e:
		return first < 0xa9 && !strings.ContainsRune("#*0123456789", first)
	case r == ' ', r == '\u3000':
		return false
	}
	return unseen.Is(r)
}

// name is r as it is shown inside a cluster that has something to hide.
func name(r, first rune, how sight, lone bool) (string, int) {
	switch {
	case r < 0x20:
		return string(0x2400 + r), 1
	case r == 0x7f:
		return "\u2421", 1
	case hidden(r, first, how), lone:
		s := fmt.Sprintf("<U+%04X>", r)
		return s, len(s)
	}
	return string(r), uniseg.StringWidth(string(r))
}

// visible is s on one line with everything made visible that shape does.
func visible(s string, how sight) string {
	var b strings.Builder
	for s != "" {
		var g string
		var w int
		g, s, w = cluster(s)
		if g == "\t" {
			b.WriteString("    ")
			continue
		}
		g, _ = shape(g, w, how)
		b.WriteString(g)
	}
	return b.String()
}

// cellsOf is the number of cells of s, which is visible.
func cellsOf(s string) int {
	n := 0
	for s != "" {
		var w int
		_, s, w = cluster(s)
		n += w
	}
	return n
}

// Table is rows of cells in columns. What follows the last cell of a row is not
// filled up.
func Table(rows [][]string) string {
	var wide []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], cellsOf(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += cell
			if i < len(row)-1 {
				line += strings.Repeat(" ", wide[i]-cellsOf(cell)+2)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Head is how a text begins, where it is only named.
func Head(text string) string { return head(text, headCells) }

// head is the first line of s that says anything, cut to so many cells.
func head(s string, cells int) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	line = visible(strings.TrimRight(line, "\r"), exactSight)
	var b strings.Builder
	n := 0
	for line != "" {
		var g string
		var w int
		g, line, w = cluster(line)
		if n+w > cells-1 && (line != "" || more || n+w > cells) {
			return b.String() + "…"
		}
		b.WriteString(g)
		n += w
	}
	if more {
		b.WriteString(" …")
	}
	return b.String()
}
