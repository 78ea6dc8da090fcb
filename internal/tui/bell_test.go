//go:build unix

package tui

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"

	"oneloop"
)

// rung is how often the bell rang.
func (p *person) rung() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(p.all.String(), bell)
}

// waited has the person do nothing for an hour.
func (p *person) waited() {
	p.front.mu.Lock()
	defer p.front.mu.Unlock()
	p.front.acted = time.Now().Add(-time.Hour)
}

func TestTheBellRingsForThoseWhoHaveWaited(t *testing.T) {
	p := sitAt(t, 80, Options{Bell: time.Minute})
	_, end := p.front.Turn(t.Context())
	end() // at once
	_, end = p.front.Turn(t.Context())
	p.waited()
	p.types("x") // they are there
	p.sees("> x")
	end()
	p.front.Say("until here")
	p.sees("until here")
	if n := p.rung(); n != 0 {
		t.Errorf("it rang %d times for nobody", n)
	}
	_, end = p.front.Turn(t.Context())
	p.waited()
	end()
	p.sees(bell)
	p.waited()
	answered := make(chan oneloop.Answer, 1)
	go func() {
		a, err := p.front.Ask(t.Context(), oneloop.Question{Kind: "tool", Title: "well?"})
		if err != nil {
			t.Error(err)
		}
		answered <- a
	}()
	p.sees("well?")
	p.waits("the bell", func(all string, _ *vt.Emulator) bool { return strings.Count(all, bell) == 2 })
	p.types("y\r")
	if a := <-answered; !a.Allow {
		t.Error("the answer was no")
	}
}

func TestTheBellIsSilentUnlessItIsWanted(t *testing.T) {
	p := sitAt(t, 80, Options{})
	_, end := p.front.Turn(t.Context())
	p.waited()
	end()
	p.front.Say("until here")
	p.sees("until here")
	if n := p.rung(); n != 0 {
		t.Errorf("it rang %d times", n)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if Rings(w, 1, time.Time{}) {
		t.Error("it rings in a pipe")
	}
}
