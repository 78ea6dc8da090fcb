//go:build unix

package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/vt"
	"golang.org/x/term"

	"oneloop"
)

func TestLongInputScrollsWithTheCursorInSight(t *testing.T) {
	p := sitAt(t, 20, Options{})
	var text strings.Builder
	for range 200 {
		text.WriteString("一二三\n")
	}
	p.types(pasteBegin + text.String() + "end" + pasteEnd)
	p.cursor(5, "  一二三", "  end")
	p.types(strings.Repeat("\x1b[A", 200))
	p.sees("> 一二三")
	p.cursor(6, append([]string{"> 一二三"}, strings.Split(strings.Repeat("  一二三,", 21)+"  一二三", ",")...)...)
	p.types("\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != text.String()+"end" {
		t.Errorf("sent were %d bytes, %v", len(got), err)
	}
}

func TestPastesOfAnyShapeAreText(t *testing.T) {
	for name, c := range map[string]struct{ typed, want string }{
		"an end mark inside":     {pasteBegin + "a" + pasteEnd + "b" + pasteEnd, "ab"},
		"a begin mark inside":    {pasteBegin + "a" + pasteBegin + "b" + pasteEnd, "a" + pasteBegin + "b"},
		"tabs and returns":       {pasteBegin + "a\tb\rc\r\nd" + pasteEnd, "a\tb\nc\nd"},
		"NUL and Ctrl-C":         {pasteBegin + "a\x00\x03b" + pasteEnd, "a\x03b"},
		"bytes that are no text": {pasteBegin + "a\xffb" + pasteEnd, "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			p := sit(t)
			for i := range len(c.typed) {
				p.types(c.typed[i : i+1])
			}
			p.types("z")
			p.sees("z")
			p.types("\r")
			if got, err := p.front.Prompt(t.Context()); err != nil || got != c.want+"z" {
				t.Errorf("the prompt is %q, %v, want %q", got, err, c.want+"z")
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if strings.ContainsAny(p.all.String(), "\x00\x03") {
				t.Errorf("control characters on the screen: %q", p.all.String())
			}
		})
	}
}

func TestAPasteWithoutItsEndMarkEnds(t *testing.T) {
	var d decoder
	if keys := d.feed([]byte(pasteBegin + "half\x03")); len(keys) > 0 || d.patience() != lostMark {
		t.Fatalf("keys %v, patience %v", keys, d.patience())
	}
	keys := append(d.flush(), d.feed([]byte("\x03"))...)
	if len(keys) != 2 || keys[0] != (key{keyPaste, "half\x03"}) || keys[1].code != keyInterrupt {
		t.Errorf("keys %v", keys)
	}
}

func TestTheTerminalIsGivenBackAtTheEndAndWhileStopped(t *testing.T) {
	p := sit(t)
	fd := int(p.front.o.In.Fd())
	raw, err := term.GetState(fd)
	if err != nil {
		t.Fatal(err)
	}
	p.types("kept")
	p.cursor(6, "> kept")
	p.front.mu.Lock()
	p.front.screen.erase()
	p.front.release() // as for a stop, which would stop the test
	p.front.away = true
	p.front.mu.Unlock()
	if now, err := term.GetState(fd); err != nil || *now != *p.front.mode {
		t.Errorf("the settings while stopped are %v, %v", now, err)
	}
	p.front.Show(oneloop.TextDelta{Text: "said meanwhile"})
	p.front.mu.Lock()
	if kept := p.front.screen.buf.String(); !strings.Contains(kept, "said meanwhile") {
		t.Errorf("it was written while stopped; kept is %q", kept)
	}
	p.front.mu.Unlock()
	p.front.signal(syscall.SIGCONT)
	p.cursor(6, "said meanwhile", "> kept")
	if now, err := term.GetState(fd); err != nil || *now != *raw {
		t.Errorf("the settings after going on are %v, %v", now, err)
	}
	if err := p.front.Close(); err != nil {
		t.Fatal(err)
	}
	if now, err := term.GetState(fd); err != nil || *now != *p.front.mode {
		t.Errorf("the settings at the end are %v, %v", now, err)
	}
	p.waits("the end", func(all string, _ *vt.Emulator) bool {
		return strings.LastIndex(all, "\x1b[?2004l") > strings.LastIndex(all, "\x1b[?2004h")
	})
}

func TestWhatIsTypedDuringATurnIsTakenThenOrIsTheNextPrompt(t *testing.T) {
	p := sit(t)
	_, end := p.front.Turn(t.Context())
	typed := make(chan string)
	go func() {
		text, err := p.front.Typed(t.Context())
		if err != nil {
			text = err.Error()
		}
		typed <- text
	}()
	p.types("first\r")
	if got := <-typed; got != "first" {
		t.Errorf("typed was %q", got)
	}
	p.front.Show(oneloop.TextDelta{Text: "answer"})
	p.types("second\r")
	over, stop := context.WithCancelCause(t.Context())
	stop(oneloop.ErrShutdown)
	if got, err := p.front.Typed(t.Context()); got != "second" || err != nil {
		t.Errorf("typed was %q, %v", got, err)
	}
	p.types("third")
	p.cursor(7, "> third")
	p.types("\r")
	p.cursor(2, ">")
	p.types("half")
	p.cursor(6, "> half")
	end()
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "third" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
	if got, err := p.front.Typed(over); err != oneloop.ErrShutdown {
		t.Errorf("typed was %q, %v", got, err)
	}
	p.cursor(6, "> half")
}

func TestRecallGoesBackAndComesBackToWhatWasTyped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "prompts")
	p := sitAt(t, 80, Options{History: file})
	for _, s := range []string{"old", "new"} {
		p.types(s + "\r")
		if got, err := p.front.Prompt(t.Context()); err != nil || got != s {
			t.Fatalf("%q, %v", got, err)
		}
	}
	p.types("draft")
	for _, c := range []struct{ key, row string }{
		{"\x1b[A", "> new"}, {"\x1b[A", "> old"}, {"\x1b[A", "> old"}, {"\x1b[B", "> new"}, {"\x1b[B", "> draft"}, {"\x1b[B", "> draft"},
	} {
		p.types(c.key)
		p.cursor(len(c.row), c.row)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestHowAPersonLeaves(t *testing.T) {
	for name, keys := range map[string][]string{"Ctrl-D": {"\x04"}, "Ctrl-C twice": {"\x03", "\x03"}, "Ctrl-C twice after a word": {"word", "\x03", "\x03", "\x03"}} {
		t.Run(name, func(t *testing.T) {
			p := sit(t)
			for _, k := range keys {
				p.types(k)
			}
			if got, err := p.front.Prompt(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("the prompt is %q, %v", got, err)
			}
			if _, err := p.front.Ask(t.Context(), oneloop.Question{Title: "still there?"}); !errors.Is(err, io.EOF) {
				t.Errorf("a question nobody is there for ends with %v", err)
			}
		})
	}
}

func TestOneCtrlCStopsATurnAndASecondLeaves(t *testing.T) {
	p := sit(t)
	turn, end := p.front.Turn(t.Context())
	p.types("\x03")
	<-turn.Done()
	if got := context.Cause(turn); got != oneloop.ErrInterrupted {
		t.Errorf("the turn ended with %v", got)
	}
	end()
	p.types("still here\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "still here" {
		t.Fatalf("the prompt is %q, %v", got, err)
	}
	_, end = p.front.Turn(t.Context())
	defer end()
	p.types("\x03")
	p.types("\x03")
	if got, err := p.front.Prompt(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}
