//go:build unix

package tui

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"oneloop"
)

// person is somebody at a pseudo-terminal with a Terminal in front.
type person struct {
	t     *testing.T
	front *Terminal
	pty   *os.File
	mu    sync.Mutex
	all   bytes.Buffer
	emu   *vt.Emulator // what the terminal shows
	more  chan struct{}
}

func sit(t *testing.T) *person {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ptmx, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	front, err := NewTerminal(Options{In: tty, Out: tty, Err: tty, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, front: front, pty: ptmx, emu: vt.NewEmulator(80, 24), more: make(chan struct{}, 1)}
	var reading sync.WaitGroup
	reading.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := ptmx.Read(buf)
			if err != nil {
				return
			}
			p.mu.Lock()
			p.all.Write(buf[:n])
			p.emu.Write(buf[:n])
			p.mu.Unlock()
			select {
			case p.more <- struct{}{}:
			default:
			}
		}
	})
	t.Cleanup(func() {
		if err := front.Close(); err != nil {
			t.Error(err)
		}
		tty.Close()
		ptmx.Close()
		reading.Wait()
	})
	return p
}

func (p *person) types(s string) {
	p.t.Helper()
	if _, err := p.pty.WriteString(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) sees(text string) {
	p.t.Helper()
	late := time.After(20 * time.Second)
	for {
		p.mu.Lock()
		all := p.all.String()
		p.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-p.more:
		case <-late:
			p.t.Fatalf("%q never came, but %q", text, all)
		}
	}
}

// asks puts a question and gives its answer on the channel.
func (p *person) asks(ctx context.Context, title string) <-chan oneloop.Answer {
	got := make(chan oneloop.Answer, 1)
	go func() { // ends with the question, which the test answers or Close voids
		a, err := p.front.Ask(ctx, oneloop.Question{Title: title})
		if err != nil {
			a.Reason = "error: " + err.Error()
		}
		got <- a
	}()
	return got
}

func TestAKeyPressedTwiceAtOneQuestionDoesNotAnswerTheNext(t *testing.T) {
	for name, twice := range map[string][]string{"in one piece": {"y\ry\r"}, "in two": {"y\r", "y\r"}} {
		t.Run(name, func(t *testing.T) {
			p := sit(t)
			a := p.asks(t.Context(), "touch a?")
			p.sees("touch a?")
			b := p.asks(t.Context(), "touch b?")
			for _, s := range twice {
				p.types(s)
			}
			if got := <-a; !got.Allow {
				t.Fatalf("the first answer is %+v", got)
			}
			p.sees("touch b?")
			select {
			case got := <-b:
				t.Fatalf("the second question was answered unseen: %+v", got)
			default:
			}
			p.types("n too dangerous\r")
			if got := <-b; got.Allow || got.Reason != "too dangerous" {
				t.Errorf("the second answer is %+v", got)
			}
			p.types("next prompt")
			p.sees("next prompt")
			p.types("\r")
			if got, err := p.front.Prompt(t.Context()); err != nil || got != "next prompt" {
				t.Errorf("the next prompt is %q, %v", got, err)
			}
		})
	}
}

func TestWhatWasTypedBeforeAQuestionIsNoAnswerAndIsKept(t *testing.T) {
	p := sit(t)
	p.types("y")
	p.sees("> y")
	a := p.asks(t.Context(), "sudo rm?")
	p.sees("sudo rm?")
	p.types("n\r")
	if got := <-a; got.Allow {
		t.Errorf("the answer is %+v", got)
	}
	p.types("es indeed")
	p.sees("es indeed")
	p.types("\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "yes indeed" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}

func TestCtrlCAtAQuestionStopsTheTurnAndIsNoAnswer(t *testing.T) {
	p := sit(t)
	turn, end := p.front.Turn(t.Context())
	defer end()
	a := p.asks(turn, "go?")
	p.sees("go?")
	p.types("\x03")
	if got := <-a; got.Allow || !strings.Contains(got.Reason, "interrupted") {
		t.Errorf("the answer is %+v", got)
	}
	if got := context.Cause(turn); got != oneloop.ErrInterrupted {
		t.Errorf("the turn ended with %v", got)
	}
}

func TestAPasteThatRunsWhenAQuestionComesIsKept(t *testing.T) {
	p := sit(t)
	p.types("\x1b[200~first half, ")
	a := p.asks(t.Context(), "go?")
	p.types("y\rsecond half\x1b[201~")
	p.sees("go?")
	p.types("n\r")
	if got := <-a; got.Allow {
		t.Errorf("the answer is %+v", got)
	}
	p.types("\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "first half, y\nsecond half" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}

func TestAPasteWhoseEndIsLostEndsByItself(t *testing.T) {
	p := sit(t)
	p.types("\x1b[200~lost end")
	p.sees("lost end")
	p.types("\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "lost end" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}
