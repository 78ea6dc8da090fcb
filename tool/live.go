package tool

import (
	"bytes"
	"fmt"
	"sync"
	"time"

	"oneloop"
)

const (
	livePause = 100 * time.Millisecond // between two pieces
	livePiece = 4 << 10                // bytes of output in one piece
	liveTotal = 1 << 20                // bytes of output in all pieces of a call
)

// live shows those who watch what a command prints: the latest bytes, every
// now and then. A command that is quickly done shows nothing but its result.
type live struct {
	id   string
	emit func(oneloop.Event)

	mu      sync.Mutex
	pending []byte // the latest output that was not shown yet
	shown   int
	timer   *time.Timer // set while pending waits for its turn
	done    bool
	open    bool // the last piece ended within a line
	filter  filter
	fault   error // of those who watch; no more is shown
}

func (l *live) write(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done || l.shown >= liveTotal {
		return
	}
	if len(p) > livePiece {
		l.pending, p = l.pending[:0], p[len(p)-livePiece:]
	}
	if over := len(l.pending) + len(p) - livePiece; over > 0 {
		l.pending = append(l.pending[:0], l.pending[over:]...)
	}
	l.pending = append(l.pending, p...)
	if l.timer == nil {
		l.timer = time.AfterFunc(livePause, l.show)
	}
}

func (l *live) show() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if l.done {
		return
	}
	defer func() {
		if v := recover(); v != nil { // a timer has nobody else to tell
			l.done, l.fault = true, fmt.Errorf("internal error: what it printed could not be shown while it ran: %v", v)
		}
	}()
	l.shown += len(l.pending)
	l.filter.write(l.pending)
	text := string(l.filter.text)
	if l.open && restarts(l.pending) {
		text = "\n" + text // what was shown cannot be taken back
	}
	l.pending = l.pending[:0]
	l.filter.text, l.filter.line, l.filter.chars = l.filter.text[:0], 0, 0
	if text != "" {
		l.open = text[len(text)-1] != '\n'
		l.emit(oneloop.ToolOutput{ID: l.id, Text: text})
	}
}

// restarts reports whether p starts the line it finds again.
func restarts(p []byte) bool {
	i := bytes.IndexAny(p, "\r\n")
	return i >= 0 && p[i] == '\r' && !(i+1 < len(p) && p[i+1] == '\n')
}

// end shows no more; what is not shown is in the result. Its error says why
// less was shown than could be.
func (l *live) end() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = true
	if l.timer != nil {
		l.timer.Stop()
	}
	return l.fault
}
