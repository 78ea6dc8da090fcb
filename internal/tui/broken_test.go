//go:build unix

package tui

import (
	"context"
	"io"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/term"

	"oneloop"
)

// faulty breaks down when it is written to.
type faulty struct{}

func (faulty) Write([]byte) (int, error) { panic("a fault of the screen") }

// breaks exchanges the screen for another one, and returns the one before.
func (p *person) breaks(out io.Writer) io.Writer {
	p.front.mu.Lock()
	defer p.front.mu.Unlock()
	before := p.front.screen.out
	p.front.screen.out = out
	return before
}

// isGivenBack looks at the settings of the terminal.
func (p *person) isGivenBack() {
	p.t.Helper()
	if now, err := term.GetState(int(p.front.o.In.Fd())); err != nil || *now != *p.front.mode {
		p.t.Errorf("the settings at the end are %v, %v", now, err)
	}
}

func TestAFaultInAnyGoroutineEndsTheConversationAsAnError(t *testing.T) {
	for name, fails := range map[string]func(p *person) error{
		"keys":    func(p *person) error { p.types("k"); return nil },
		"signals": func(*person) error { return syscall.Kill(syscall.Getpid(), syscall.SIGWINCH) },
		"events":  func(p *person) error { p.front.Show(oneloop.TextDelta{Text: "said"}); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := sit(t)
			turn, end := p.front.Turn(t.Context())
			defer end()
			out := p.breaks(faulty{})
			if err := fails(p); err != nil {
				t.Fatal(err)
			}
			<-turn.Done()
			p.breaks(out)
			if got := context.Cause(turn); got != oneloop.ErrInterrupted {
				t.Errorf("the turn ended with %v", got)
			}
			if _, err := p.front.Prompt(t.Context()); err == nil || !strings.Contains(err.Error(), "internal error") || !strings.Contains(err.Error(), "fault of the screen") {
				t.Errorf("the prompt ended with %v", err)
			}
			if _, err := p.front.Ask(t.Context(), oneloop.Question{Title: "go on?"}); err != io.EOF {
				t.Errorf("the question ended with %v", err)
			}
			if err := p.front.Close(); err != nil {
				t.Error(err)
			}
			p.isGivenBack()
		})
	}
}

func TestAFaultWhileTheTerminalIsGivenBackStillGivesItBack(t *testing.T) {
	p := sit(t)
	p.breaks(faulty{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("there was no fault")
			}
		}()
		p.front.Close()
	}()
	p.isGivenBack()
	if err := p.front.finish(); err != nil {
		t.Error(err)
	}
}
