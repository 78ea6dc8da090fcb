//go:build unix

package tui

import (
	"context"
	"io"
	"os"
	"testing"

	"oneloop"
)

func TestALineTypedAtATerminalThatOnlyPrintsIsTakenDuringATurn(t *testing.T) {
	d := sitDumb(t, Options{LeaveOnBlank: true})
	_, end := d.front.Turn(t.Context())
	if _, err := d.pty.WriteString("\nmeanwhile\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := d.front.Typed(t.Context()); got != "meanwhile" || err != nil {
		t.Errorf("typed was %q, %v", got, err)
	}
	end()
	if got, err := d.front.Prompt(t.Context()); err != io.EOF { // the blank line leaves, after the turn
		t.Errorf("the prompt is %q, %v", got, err)
	}
}

func TestLinesFromAPipeHaveATurnOfTheirOwn(t *testing.T) {
	in, say, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	front, err := Open(Options{In: in, Out: out, Err: out})
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	if _, err := say.WriteString("one\ntwo\n"); err != nil {
		t.Fatal(err)
	}
	say.Close()
	if got, err := front.Prompt(t.Context()); got != "one" || err != nil {
		t.Errorf("the prompt is %q, %v", got, err)
	}
	_, end := front.Turn(t.Context())
	over, stop := context.WithCancelCause(t.Context())
	p := front.(*Plain)
	for { // until the second line is there
		p.mu.Lock()
		there := p.eof
		p.mu.Unlock()
		if there {
			break
		}
		<-p.news
	}
	stop(oneloop.ErrShutdown)
	if got, err := front.Typed(over); got != "" || err != oneloop.ErrShutdown {
		t.Errorf("typed was %q, %v", got, err)
	}
	end()
	if got, err := front.Prompt(t.Context()); got != "two" || err != nil {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}
