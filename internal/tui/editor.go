package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// editor is a text and a place in it. It moves and deletes by what a person
// sees as one character.
type editor struct {
	text   string
	at     int    // byte offset of the cursor, on a boundary of clusters
	killed string // what the last kill removed
}

// look is how far back the boundaries of clusters are looked for, in bytes.
// It keeps a key press on a line of many megabytes cheap.
const look = 4 << 10

func (e *editor) set(text string) { e.text, e.at = text, len(text) }

func (e *editor) clear() { e.set("") }

func (e *editor) insert(s string) {
	e.text = e.text[:e.at] + s + e.text[e.at:]
	e.at += len(s)
	// A mark may have joined the character before it.
	if e.at < len(e.text) {
		e.at = e.boundary(e.at)
	}
}

// lineStart is where the line that holds at begins.
func (e *editor) lineStart(at int) int { return strings.LastIndexByte(e.text[:at], '\n') + 1 }

// lineEnd is where the line that holds at ends, before its line feed.
func (e *editor) lineEnd(at int) int {
	if i := strings.IndexByte(e.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(e.text)
}

// from is a place at or before at from which clusters can be counted.
func (e *editor) from(at int) int {
	start := e.lineStart(at)
	if at-start > look {
		start = at - look
		for start < at && !utf8.RuneStart(e.text[start]) {
			start++
		}
	}
	return start
}

// boundary is the first boundary of clusters at or after at.
func (e *editor) boundary(at int) int {
	i := e.from(at)
	for i < at {
		g, _, _ := cluster(e.text[i:])
		i += len(g)
	}
	return i
}

// before is the boundary before at; at when there is none.
func (e *editor) before(at int) int {
	if at == 0 {
		return 0
	}
	if e.text[at-1] == '\n' {
		return at - 1
	}
	i := e.from(at)
	for {
		g, _, _ := cluster(e.text[i:])
		if i+len(g) >= at {
			return i
		}
		i += len(g)
	}
}

// after is the boundary after at; at when there is none.
func (e *editor) after(at int) int {
	if at == len(e.text) {
		return at
	}
	g, _, _ := cluster(e.text[at:])
	return at + len(g)
}

// cut removes text[from:to], which the cursor is in or next to.
func (e *editor) cut(from, to int) {
	e.text = e.text[:from] + e.text[to:]
	e.at = from
}

func (e *editor) kill(from, to int) {
	if from < to {
		e.killed = e.text[from:to]
		e.cut(from, to)
	}
}

// key does what an editing key does and reports whether it was one.
func (e *editor) key(k key) bool {
	switch k.code {
	case keyText, keyPaste, keyTab:
		e.insert(k.text)
	case keyNewline:
		e.insert("\n")
	case keyBackspace:
		e.cut(e.before(e.at), e.at)
	case keyDelete, keyEOF:
		e.cut(e.at, e.after(e.at))
	case keyLeft:
		e.at = e.before(e.at)
	case keyRight:
		e.at = e.after(e.at)
	case keyHome:
		e.at = e.lineStart(e.at)
	case keyEnd:
		e.at = e.lineEnd(e.at)
	case keyWordLeft:
		e.at = e.wordLeft()
	case keyWordRight:
		e.at = e.wordRight()
	case keyKillEnd:
		end := e.lineEnd(e.at)
		if end == e.at && end < len(e.text) {
			end++ // at the end of a line: the line feed
		}
		e.kill(e.at, end)
	case keyKillStart:
		e.kill(e.lineStart(e.at), e.at)
	case keyKillWord:
		e.kill(e.wordLeft(), e.at)
	case keyYank:
		e.insert(e.killed)
	default:
		return false
	}
	return true
}

func (e *editor) wordLeft() int {
	i := e.at
	seen := false
	for i > 0 {
		j := e.before(i)
		w := wordy(e.text[j:i])
		if seen && !w {
			break
		}
		seen = seen || w
		i = j
	}
	return i
}

func (e *editor) wordRight() int {
	i := e.at
	seen := false
	for i < len(e.text) {
		j := e.after(i)
		w := wordy(e.text[i:j])
		if seen && !w {
			break
		}
		seen = seen || w
		i = j
	}
	return i
}

// wordy reports whether g belongs to a word.
func wordy(g string) bool {
	r, _ := utf8.DecodeRuneInString(g)
	return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_'
}

// vertical moves the cursor a line up or down, as far from the line's begin
// as it was; false when there is no such line.
func (e *editor) vertical(by int) bool {
	start := e.lineStart(e.at)
	column := cellsOf(e.text[start:e.at])
	var from int
	if by < 0 {
		if start == 0 {
			return false
		}
		from = e.lineStart(start - 1)
	} else {
		end := e.lineEnd(e.at)
		if end == len(e.text) {
			return false
		}
		from = end + 1
	}
	e.at = from
	for end := e.lineEnd(from); e.at < end && cellsOf(e.text[from:e.at]) < column; {
		e.at = e.after(e.at)
	}
	return true
}
