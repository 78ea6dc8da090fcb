//go:build unix

package tui

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// person is somebody at a pseudo-terminal with a Terminal in front.
type person struct {
	t     *testing.T
	front *Terminal
	pty   *os.File

	mu   sync.Mutex
	all  bytes.Buffer
	emu  *vt.Emulator // what is on the screen
	more chan struct{}
}

func sit(t *testing.T) *person {
	t.Helper()
	return sitAt(t, 80, Options{})
}

// sitAt sits down at a screen of so many columns and 24 rows.
func sitAt(t *testing.T, columns int, o Options) *person {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(ptmx, &pty.Winsize{Rows: 24, Cols: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	o.In, o.Out, o.Err = tty, tty, tty
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	front, err := NewTerminal(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, front: front, pty: ptmx, emu: vt.NewEmulator(columns, 24), more: make(chan struct{}, 1)}
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
			p.emu.Write(buf[:n]) // never fails before Close
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

// waits until what holds of all that was written and of the screen. The
// caller must not touch either.
func (p *person) waits(name string, what func(all string, emu *vt.Emulator) bool) {
	p.t.Helper()
	late := time.After(time.Minute)
	for {
		p.mu.Lock()
		ok := what(p.all.String(), p.emu)
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-p.more:
		case <-late:
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Fatalf("%s: it never came, but\n%s\ncursor at %v\n%q", name, p.emu, p.emu.CursorPosition(), p.all.String())
		}
	}
}

// sees waits until text was written.
func (p *person) sees(text string) {
	p.t.Helper()
	p.waits(fmt.Sprintf("%q", text), func(all string, _ *vt.Emulator) bool { return strings.Contains(all, text) })
}

// cursor waits until the cursor is in this column and the rows on the screen,
// without spaces at their ends, end with these.
func (p *person) cursor(column int, rows ...string) {
	p.t.Helper()
	p.waits(fmt.Sprintf("column %d below %q", column, rows), func(_ string, emu *vt.Emulator) bool {
		return emu.CursorPosition().X == column && (len(rows) == 0 || strings.HasSuffix("\n"+shown(emu), "\n"+strings.Join(rows, "\n")))
	})
}

// shown is what is on the screen, without spaces at the ends of rows and
// without the empty rows at the end.
func shown(emu *vt.Emulator) string {
	var rows []string
	for r := range strings.SplitSeq(emu.String(), "\n") {
		rows = append(rows, strings.TrimRight(r, " "))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// woken waits until the reader has noticed that there is a question.
func (p *person) woken() {
	p.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		p.front.mu.Lock()
		put := p.front.next != nil || p.front.ask != nil
		p.front.mu.Unlock()
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.front.src.wait[0]), Events: unix.POLLIN}}, 0); put && n == 0 && err == nil {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatal("the reader never woke")
		}
		runtime.Gosched()
	}
}
