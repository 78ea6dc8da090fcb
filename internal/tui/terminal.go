package tui

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"oneloop"
)

const (
	modesOn  = "\x1b[?2004h" // pastes come between marks
	modesOff = "\x1b[?2004l\x1b[?25h"

	// moreInput is how long is looked behind Enter for text that was pasted
	// into a terminal without paste marks.
	moreInput = 8 * time.Millisecond
	// quiet is how long no key must come before a question is shown, so that
	// a key pressed twice at one question is no answer to the next.
	quiet = 150 * time.Millisecond
	// settled is how long a terminal must have kept its width before it is
	// taken over: whoever pulls at a window changes it many times a second, and
	// what is written for one width arrives in another. tmux lets up to 250 ms
	// pass between what it does and what it tells of it.
	settled     = 50 * time.Millisecond
	settledTmux = 300 * time.Millisecond
	// stray is how long after an answer a second one may be the same key
	// pressed too often: it is not sent as a prompt before Enter comes again.
	stray = time.Second
)

// Terminal is a [Front] at a terminal: output scrolls, and below it stands
// the line that is typed, also while a turn runs.
//
// One goroutine reads keys. It and the methods take turns by mu; every change
// ends in refresh.
type Terminal struct {
	desk
	mode   *term.State // what Close restores
	screen screen
	input  editor
	recall *recall
	typed  time.Time // when the last key came
	said   time.Time // when the last answer was given
	reply  string    // and what it was
	pulse  pulse
	status string // as it was drawn
	away   bool   // stopped: the terminal belongs to somebody else

	undo func() error // what prepareOutput changed
}

// terminalSignal is what a signal is to a Terminal. The zero value is the
// interrupt.
type terminalSignal int

const (
	signalInterrupt terminalSignal = iota
	signalResize
	signalStop
	signalContinue
)

// NewTerminal takes the terminal over until Close.
func NewTerminal(o Options) (*Terminal, error) {
	t := &Terminal{}
	err := t.set(o)
	if err != nil {
		return nil, err
	}
	if t.undo, err = prepareOutput(t.o.Out); err != nil {
		return nil, fmt.Errorf("open the terminal: %w", errors.Join(err, t.src.close()))
	}
	// From here on a stop must give the terminal back first.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, append(slices.Collect(maps.Keys(screenSignals)), os.Interrupt)...)
	if t.mode, err = term.MakeRaw(int(t.o.In.Fd())); err != nil {
		signal.Stop(signals)
		return nil, fmt.Errorf("open the terminal: %w", errors.Join(err, t.undo(), t.src.close()))
	}
	t.screen = screen{out: t.o.Out, color: Color(t.o.Out, t.o.Env), reflow: reflowOf(t.o.Env), settle: settled}
	if t.o.Env("TMUX") != "" {
		t.screen.settle = settledTmux
	}
	t.screen.cells = func() int {
		w, _ := t.size()
		return w
	}
	t.resize()
	t.desk.refresh = t.refresh
	t.render = renderer{on: &t.screen, words: t.words}
	t.screen.buf.WriteString(modesOn)
	var failed error
	if t.recall, failed = loadRecall(t.o.History); failed != nil {
		t.render.note(yellow, fmt.Sprintf(t.words.HistoryFailed, t.o.History, failed))
	}
	if t.screen.flush() != nil { // the line is drawn below the first words
		t.leave()
	}

	t.start(t.read)
	t.start(func() { t.heed(signals, t.signal) })
	return t, nil
}

// size is the terminal's now.
func (t *Terminal) size() (width, height int) {
	w, h, err := term.GetSize(int(t.o.Out.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// resize takes over the terminal's size.
func (t *Terminal) resize() { t.screen.rest(t.size()) }

// settle takes it over once nobody pulls at the terminal any more.
func (t *Terminal) settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.screen.since.IsZero() && time.Since(t.screen.since) >= t.screen.settle {
		t.resize()
		t.refresh()
	}
}

// refresh draws the line that is typed and writes everything out.
func (t *Terminal) refresh() {
	if t.closed || t.away {
		return
	}
	if t.screen.moving() {
		t.rouse() // to wait for the end of it
		return
	}
	e, m := &t.input, promptMark
	if t.ask != nil {
		e, m = &t.ask.input, answerMark
	}
	height := max(1, t.screen.height-1)
	var rows []string
	if t.status = t.standing(); t.status != "" {
		rows = strings.Split(t.status, "\n")
		rows = rows[:min(len(rows), height/2)]
	}
	v := e.layout(m, t.screen.width, height-len(rows))
	for _, row := range slices.Backward(rows) {
		v = v.under(head(row, t.screen.width))
	}
	t.screen.draw(v)
	if t.screen.flush() != nil {
		t.leave() // nobody sees it any more
	}
}

// standing is what stands above the line that is typed; empty: nothing does.
func (t *Terminal) standing() string {
	var parts []string
	if t.ask != nil {
		return ""
	}
	between := " · "
	if t.stop != nil {
		if lines := t.render.kids.lines(t.words, time.Now()); len(lines) > 0 {
			parts, between = lines, "\n"
		} else {
			parts = append(parts, t.pulse.text(t.words))
		}
	}
	if t.o.Standing != nil {
		parts = append(parts, t.o.Standing())
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), between)
}

// beat shows how long a turn waits already, where that has changed.
func (t *Terminal) beat() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.standing() != t.status {
		t.refresh()
	}
}

// Turn has the reader look at the time as long as the turn runs.
func (t *Terminal) Turn(ctx context.Context) (context.Context, func()) {
	turn, end := t.desk.Turn(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rouse()
	return turn, end
}

// read turns what comes from the terminal into keys until Close.
func (t *Terminal) read() {
	var d decoder
	var due time.Time // for what the decoder keeps back
	buf := make([]byte, 64<<10)
	more := func(limit time.Duration) (keys []key, n int, err error) {
		if n, err = t.src.read(buf, limit); n > 0 {
			keys = d.feed(buf[:n])
			due = time.Now().Add(d.patience())
		}
		return keys, n, err
	}
	for {
		limit := t.patience()
		if d.waiting() {
			limit = max(0, time.Until(due))
		}
		keys, n, err := more(limit)
		select {
		case <-t.quit:
			return
		default:
		}
		if n == 0 && d.waiting() && !time.Now().Before(due) {
			keys = d.flush() // a wake is no reason: the rest is on its way
		}
		for err == nil && len(keys) > 0 && keys[len(keys)-1].code == keyEnter {
			var behind []key
			if behind, n, err = more(moreInput); n == 0 {
				break
			}
			keys = append(keys, behind...)
		}
		t.take(keys)
		if err != nil {
			t.mu.Lock()
			t.leave()
			t.mu.Unlock()
			return
		}
		if n == 0 && !d.waiting() {
			t.put()
			t.beat()
			t.settle()
		}
	}
}

// patience is how long the next read may take; negative: for ever.
func (t *Terminal) patience() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.screen.since.IsZero():
		return max(0, t.screen.settle-time.Since(t.screen.since))
	case t.next != nil:
		return max(0, quiet-time.Since(t.typed))
	case t.stop == nil || t.ask != nil:
		return -1
	}
	return t.pulse.next()
}

// take does what keys say. Enter with more text behind it in one piece is a
// line of a paste, and so is every other of that piece.
func (t *Terminal) take(keys []key) {
	if len(keys) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.typed = time.Now()
	t.acted = t.typed
	burst := false
	for i, k := range keys {
		if t.ask != nil { // an answer is no paste
			t.key(k)
			continue
		}
		if k.code == keyEnter && i+1 < len(keys) && slices.Contains([]code{keyText, keyTab, keyEnter}, keys[i+1].code) {
			burst = true
		}
		if burst && k.code == keyEnter {
			k.code = keyNewline
		}
		if k.code == keyTab && (burst || i+1 < len(keys)) {
			k.code = keyText
		}
		t.key(k)
	}
	t.refresh()
}

func (t *Terminal) key(k key) {
	if k.code != keyInterrupt {
		t.warned = false
	}
	switch k.code {
	case keyInterrupt, keyEscape:
		t.interrupt(k.code)
	case keySuspend:
		suspendGroup() // where it fails there is nothing to suspend into
	case keyQuit:
		if quitSelf() != nil {
			t.leave()
		}
	case keyClear:
		t.resize()
		t.screen.buf.WriteString("\x1b[H\x1b[2J")
		t.screen.line, t.screen.col, t.screen.drawn = t.screen.line[:0], 0, false
	default:
		if t.ask != nil {
			t.ask.key(t, k)
			return
		}
		t.edit(k)
	}
}

// edit is a key for the line that is typed.
func (t *Terminal) edit(k key) {
	if k.code != keyEOF {
		t.eof = false // who goes on typing stays
	}
	switch k.code {
	case keyEnter:
		t.send()
	case keyEOF:
		if t.input.text == "" {
			if t.eof = true; t.stop != nil {
				t.render.note(dim, t.words.LeaveLater)
			}
			t.notify()
			return
		}
		t.input.key(k)
	case keyBackTab:
		if t.o.BackTab != nil {
			t.o.BackTab()
		}
	case keyTab:
		if !t.complete() {
			t.input.key(k)
		}
	case keyUp:
		if !t.input.vertical(-1) {
			if s, ok := t.recall.older(t.input.text); ok {
				t.input.set(s)
			}
		}
	case keyDown:
		if !t.input.vertical(1) {
			if s, ok := t.recall.newer(); ok {
				t.input.set(s)
			}
		}
	default:
		t.input.key(k)
	}
}

// send is Enter.
func (t *Terminal) send() {
	if strings.HasSuffix(t.input.text, `\`) && t.input.at == len(t.input.text) {
		t.input.key(key{code: keyBackspace})
		t.input.insert("\n")
		return
	}
	text := t.input.text
	if strings.TrimSpace(text) == "" {
		t.eof = t.eof || t.o.LeaveOnBlank
		t.notify()
		return
	}
	if _, answer := t.words.parse(oneloop.Question{}, text); (answer || text == t.reply) && time.Since(t.said) < stray {
		t.said = time.Time{} // the next Enter is meant
		t.render.note(dim, t.words.AskOver)
		return
	}
	if err := t.recall.add(text); err != nil {
		t.render.note(yellow, fmt.Sprintf(t.words.HistoryFailed, t.o.History, err))
	}
	t.input.clear()
	t.sent = append(t.sent, text)
	t.notify()
}

// interrupt stops the turn, but for Esc at a choice, which leaves that open;
// without a turn, Ctrl-C empties the line and, pressed twice on an empty one,
// leaves.
func (t *Terminal) interrupt(k code) {
	switch {
	case k == keyEscape && t.ask != nil && t.ask.Kind == "choice":
		t.render.note(dim, t.words.ChoiceLeft)
		t.answer(oneloop.Answer{}, nil)
	case t.stop != nil:
		t.halt(k)
	case t.ask != nil:
		t.answer(oneloop.Answer{}, oneloop.ErrInterrupted)
	case k == keyEscape:
	case t.input.text != "":
		t.input.clear()
	case t.warned:
		t.leave()
	default:
		t.warned = true
		t.render.note(dim, t.words.LeaveAgain)
	}
}

// Prompt shows what it returns as a line of the conversation.
func (t *Terminal) Prompt(ctx context.Context) (string, error) {
	t.mu.Lock()
	if !t.screen.drawn {
		t.refresh()
	}
	t.mu.Unlock()
	text, err := t.wait(ctx)
	if err == nil {
		t.echo(text)
	}
	return text, err
}

func (t *Terminal) echo(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.screen.fresh()
	t.screen.put(cyan, plainSight, promptMark.text+strings.ReplaceAll(text, "\n", "\n"+indent.text))
	t.screen.fresh()
	t.refresh()
}

func (t *Terminal) Show(e oneloop.Event) {
	defer t.caught()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.render.kids.hear(e)
	t.render.event(e)
	t.pulse.hear(e)
	wrote := t.screen.buf.Len() > 0
	if wrote {
		t.pulse.shown = time.Now()
	}
	if wrote || !t.screen.drawn {
		t.refresh()
	}
}

func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.render.begin(sectionNote)
	t.screen.put(dim, plainSight, string(p))
	t.pulse.shown = time.Now()
	t.refresh()
	return len(p), nil
}

// Close gives the terminal back as it was. The rows that were typed in stay
// where they are.
func (t *Terminal) Close() error {
	gaveBack, err := t.giveBack()
	if !gaveBack {
		return nil
	}
	return errors.Join(err, t.finish(), t.undo())
}

// giveBack is false when it was done before.
func (t *Terminal) giveBack() (done bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false, nil
	}
	t.closed = true
	defer func() { err = errors.Join(err, t.release()) }() // whatever breaks down before
	t.leave()
	if strings.TrimSpace(t.input.text) != "" {
		err = t.recall.add(t.input.text) // what was begun is there again the next time
	}
	t.resize()
	t.screen.erase()
	t.screen.fresh()
	return true, err
}

// release gives the terminal back.
func (t *Terminal) release() (err error) {
	defer func() { err = errors.Join(err, term.Restore(int(t.o.In.Fd()), t.mode)) }()
	t.screen.buf.WriteString(modesOff)
	return t.screen.flush()
}

// signal does what a signal about the terminal asks for.
func (t *Terminal) signal(s os.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	switch screenSignals[s] {
	case signalInterrupt:
		t.interrupt(keyInterrupt)
	case signalResize:
		if w, _ := t.size(); !t.screen.drawn || w == t.screen.width && t.screen.since.IsZero() {
			t.resize()
		} else {
			t.screen.since = time.Now()
		}
	case signalStop:
		if t.away {
			return
		}
		t.resize()
		t.screen.erase()
		t.screen.fresh()
		t.release() // what cannot be given back now is given back by Close
		if t.away = stopSelf() == nil; t.away {
			return // we may run on for a moment; SIGCONT says when it is over
		}
		fallthrough
	case signalContinue:
		t.away = false
		if _, err := term.MakeRaw(int(t.o.In.Fd())); err != nil {
			t.leave()
			return
		}
		t.screen.buf.WriteString(modesOn)
		t.resize()
	}
	t.refresh()
}

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// Visible is text of a model or a command for a terminal: lines and tabs stay,
// everything that could control the terminal is shown by its name.
func Visible(text string) string {
	var b strings.Builder
	p := paper{out: &b}
	p.put(normal, plainSight, text)
	return b.String()
}
