//go:build unix

package tui

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"oneloop"
)

// window is a terminal that wraps, with a Terminal in it, whose size somebody
// changes.
type window struct {
	t     *testing.T
	front *Terminal
	pty   *os.File
	mu    sync.Mutex
	flow  flow
}

func openWindow(t *testing.T, columns int) *window {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	w := &window{t: t, pty: ptmx, flow: flow{width: columns}}
	w.tell(columns)
	if w.front, err = NewTerminal(Options{In: tty, Out: tty, Err: tty, Env: func(string) string { return "" }}); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := ptmx.Read(buf)
			if err != nil {
				return
			}
			w.mu.Lock()
			w.flow.write(string(buf[:n])) // all that is written here is ASCII
			w.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		if err := w.front.Close(); err != nil {
			t.Error(err)
		}
		tty.Close()
		ptmx.Close()
		reading.Wait()
	})
	return w
}

func (w *window) pull(columns int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flow.resize(columns)
}

func (w *window) tell(columns int) {
	w.t.Helper()
	if err := pty.Setsize(w.pty, &pty.Winsize{Rows: 24, Cols: uint16(columns)}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *window) types(s string) {
	w.t.Helper()
	if _, err := w.pty.WriteString(s); err != nil {
		w.t.Fatal(err)
	}
}

// until waits for something about the front.
func (w *window) until(what string, ok func(t *Terminal) bool) {
	w.t.Helper()
	for late := time.Now().Add(time.Minute); ; runtime.Gosched() {
		w.front.mu.Lock()
		done := ok(w.front)
		w.front.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(late) {
			w.t.Fatalf("%s: it never came", what)
		}
	}
}

// shows waits until the screen is output and the text below it, as it is laid
// out in so many columns.
func (w *window) shows(output, text string, columns int) {
	w.t.Helper()
	e := editor{text: text, at: len(text)}
	v := e.layout(promptMark, columns, 23)
	want := trimmed(output + "\n" + strings.Join(v.rows, "\n"))
	for late := time.Now().Add(time.Minute); ; runtime.Gosched() {
		w.mu.Lock()
		got, x, y, rows := w.flow.String(), w.flow.x, w.flow.y, len(w.flow.rows)
		w.mu.Unlock()
		if got == want && x == v.c && y == rows-len(v.rows)+v.r {
			return
		}
		if time.Now().After(late) {
			w.t.Fatalf("the cursor is at %d,%d of\n%s\nwant\n%s", y, x, got, want)
		}
	}
}

// Both is what tmux does, and what every terminal does to a key that is pressed
// meanwhile.
func TestWhatIsTypedWhileTheTerminalIsPulledNarrowerLeavesNoPieceBehind(t *testing.T) {
	for name, told := range map[string]bool{"the size is told with a signal": true, "a key comes before the signal": false} {
		t.Run(name, func(t *testing.T) {
			w := openWindow(t, 60)
			w.front.Say("said before")
			text := strings.Repeat("word ", 30)
			w.types(text)
			w.shows("said before", text, 60)
			w.until("a long rest", func(t *Terminal) bool { t.screen.settle = time.Hour; return true })
			w.pull(45)
			w.tell(45)
			if told {
				w.front.signal(syscall.SIGWINCH)
			} else {
				w.types("a ")
				text += "a "
			}
			w.until("the pull", func(t *Terminal) bool { return t.screen.moving() })
			w.pull(30) // which is not told yet
			w.types("b ")
			w.front.Show(oneloop.TextDelta{Text: "said meanwhile"})
			text += "b "
			w.until("the key", func(t *Terminal) bool { return t.input.text == text })
			w.pull(22)
			w.tell(22)
			w.front.signal(syscall.SIGWINCH)
			w.until("the rest", func(t *Terminal) bool {
				t.screen.settle = 0
				t.rouse()
				return true
			})
			w.shows("said before\nsaid meanwhile", text, 22)
			w.types("c")
			w.shows("said before\nsaid meanwhile", text+"c", 22)
		})
	}
}
