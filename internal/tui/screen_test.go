//go:build unix

package tui

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"oneloop"
)

// resize gives the terminal another size.
func (p *person) resize(width, height int) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.emu.Resize(width, height)
	if err := pty.Setsize(p.pty, &pty.Winsize{Rows: uint16(height), Cols: uint16(width)}); err != nil {
		p.t.Fatal(err)
	}
	p.front.signal(syscall.SIGWINCH) // the terminal is not the controlling one of the test
}

// shows waits for the screen to be as ok wants it.
func (p *person) shows(what string, ok func(screen string, x, y int) bool) {
	p.t.Helper()
	late := time.After(time.Minute)
	for {
		p.mu.Lock()
		var rows []string
		for r := range strings.SplitSeq(p.emu.String(), "\n") {
			rows = append(rows, strings.TrimRight(r, " "))
		}
		screen, at := strings.TrimRight(strings.Join(rows, "\n"), "\n"), p.emu.CursorPosition()
		p.mu.Unlock()
		if ok(screen, at.X, at.Y) {
			return
		}
		select {
		case <-p.more:
		case <-late:
			p.t.Fatalf("%s: the cursor is at row %d, column %d of\n%s", what, at.Y, at.X, screen)
		}
	}
}

func TestTheCursorIsWhereATerminalPutsWideCharacters(t *testing.T) {
	p := sit(t)
	p.resize(20, 10)
	p.shows("the prompt", func(s string, x, y int) bool { return s == ">" && x == 2 && y == 0 })
	at := 2
	for _, k := range []struct {
		keys  string
		cells int
	}{
		{"测试，abc", 9}, {"\x1b[D", -1}, {"\x1b[D", -1}, {"\x1b[D", -1}, {"\x1b[D", -2}, {"\x7f", -2}, {"\x1b[F", 5},
		{"👨‍👩‍👧‍👦", 2}, {"🇨🇳", 2}, {"e\u0301", 1}, {"123", 3}, {"满", 2}, {"x", 1}, {"y", 1},
	} {
		p.types(k.keys)
		at += k.cells
		p.shows(k.keys, func(_ string, x, y int) bool { return y*20+x == at })
	}
	const text = "测，abc👨‍👩‍👧‍👦🇨🇳e\u0301123满xy"
	for _, width := range []int{80, 10, 20} {
		p.resize(width, 10)
		p.shows("another size", func(s string, _, _ int) bool { return strings.HasSuffix(strings.ReplaceAll(s, "\n", ""), "> "+text) })
	}
	p.types("\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != text {
		t.Errorf("sent was %q, %v", got, err)
	}
}

func TestAWideCharacterIsNeverSplitAtTheEdge(t *testing.T) {
	p := sit(t)
	p.resize(10, 10)
	p.types("a一二三四")
	p.shows("the edge", func(s string, x, y int) bool { return s == "> a一二三\n四" && x == 2 && y == 1 })
}

func TestWhatIsTypedStaysBelowWhatIsShown(t *testing.T) {
	p := sit(t)
	_, end := p.front.Turn(t.Context())
	defer end()
	p.types("下一个 question")
	p.sees("question")
	for _, piece := range []string{"你好", "，", "world\nsecond", " line\x1b[2J"} {
		p.front.Show(oneloop.TextDelta{Text: piece})
	}
	p.shows("both", func(s string, x, y int) bool {
		return s == "你好，world\nsecond line␛[2J\n> 下一个 question" && x == 17 && y == 2
	})
}

func TestANarrowerTerminalThatCutsLosesNoOutput(t *testing.T) {
	p := sitAt(t, 80, Options{Env: func(k string) string { return map[string]string{"TERM": "linux"}[k] }})
	p.front.Say("one\ntwo\nthree")
	text := strings.Repeat("word,", 19)
	p.types(text + "end") // two rows
	p.sees("end")
	p.resize(20, 24)
	p.shows("both", func(s string, _, _ int) bool {
		return strings.HasPrefix(s, "one\ntwo\nthree\n> word") && strings.HasSuffix(strings.ReplaceAll(s, "\n", ""), "> "+text+"end")
	})
}
