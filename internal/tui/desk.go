package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"oneloop"
)

// desk is what every front has between the person and the program: what was
// sent and nobody has taken, the question that is open, the turn that can be
// stopped. A front embeds it and brings the goroutine that reads, which calls
// open when a question may be shown.
type desk struct {
	o     Options
	words *Text
	src   *source
	gone  chan struct{} // closed when the person has left
	asks  chan struct{} // holds one token while a question is open
	news  chan struct{} // something for wait to look at

	mu      sync.Mutex
	refresh func() // shows what was written; called with mu held
	render  renderer
	sent    []string // what was sent and not yet taken
	stop    func(error)
	next    *question // to be shown as soon as nothing typed is left unread
	ask     *question
	warned  bool  // Ctrl-C was pressed once
	eof     bool  // the person leaves once what they sent is done
	silent  bool  // nothing more can come, so that a question has no answer
	left    bool  // they have left
	broken  error // a fault of the program, which ended the conversation
	closed  bool

	acted time.Time // when the person did something last, or a turn began

	quit    chan struct{}
	running sync.WaitGroup
}

// set makes d ready for start.
func (d *desk) set(o Options) (err error) {
	o.defaults()
	if d.src, err = openSource(o.In); err != nil {
		return fmt.Errorf("open the input: %w", err)
	}
	d.o, d.words, d.refresh, d.acted = o, o.Words, func() {}, time.Now()
	d.gone, d.quit = make(chan struct{}), make(chan struct{})
	d.asks, d.news = make(chan struct{}, 1), make(chan struct{}, 1)
	return nil
}

// start runs f until quit is closed and src woken. A panic in it ends the
// conversation as an error of Prompt: nobody else could give the terminal
// back.
func (d *desk) start(f func()) {
	d.running.Go(func() {
		defer d.caught()
		f()
	})
}

// caught is deferred, before mu is locked, where a panic must become the
// conversation's end: in goroutines of ours, and in what those of others call.
func (d *desk) caught() {
	if v := recover(); v != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.broken == nil {
			d.broken = fmt.Errorf("internal error at the terminal: %v. Please report it, with what you did before", v)
		}
		d.leave()
	}
}

// heed calls do for every signal of signals.
func (d *desk) heed(signals chan os.Signal, do func(os.Signal)) {
	defer signal.Stop(signals)
	for {
		select {
		case s := <-signals:
			do(s)
		case <-d.quit:
			return
		}
	}
}

// finish ends what start started. It is called once.
func (d *desk) finish() error {
	close(d.quit)
	d.src.wake()
	d.running.Wait()
	return d.src.close()
}

func (d *desk) notify() {
	select {
	case d.news <- struct{}{}:
	default:
	}
}

// wait returns what was sent next, or the error Prompt has.
func (d *desk) wait(ctx context.Context) (string, error) {
	for {
		if text, ok, err := d.take(); ok || err != nil {
			return text, err
		}
		select {
		case <-d.news:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// Typed returns what was sent next, while a turn runs.
func (d *desk) Typed(ctx context.Context) (string, error) {
	for {
		if text, ok := d.typed(); ok {
			return text, nil
		}
		select {
		case <-d.news:
		case <-ctx.Done():
			d.notify() // whoever waits next looks too
			return "", context.Cause(ctx)
		}
	}
}

// typed is what was sent next, but not what came from a file or a pipe, and
// not the blank line that leaves.
func (d *desk) typed() (text string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left || d.broken != nil || !IsTerminal(d.o.In) {
		return "", false
	}
	for i, text := range d.sent {
		if strings.TrimSpace(text) != "" {
			d.sent = slices.Delete(d.sent, i, i+1)
			return text, true
		}
	}
	return "", false
}

func (d *desk) take() (text string, ok bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.broken != nil:
		return "", false, d.broken
	case len(d.sent) > 0 && !d.left:
		text, d.sent = d.sent[0], d.sent[1:]
		return text, true, nil
	case d.left || d.eof:
		d.leave()
		return "", false, io.EOF
	}
	return "", false, nil
}

func (d *desk) Turn(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stop, d.warned, d.acted = cancel, false, time.Now()
	if d.left {
		cancel(oneloop.ErrInterrupted)
	}
	return ctx, func() {
		d.mu.Lock()
		d.stop, d.warned = nil, false
		d.ring()
		d.mu.Unlock()
		cancel(nil)
	}
}

// ring rings the bell for somebody who has waited long enough to look away. It
// is called with mu held.
func (d *desk) ring() {
	if !d.left && Rings(d.o.Out, d.o.Bell, d.acted) {
		io.WriteString(d.o.Out, bell) // where it fails nobody is there
	}
}

const bell = "\a"

// Rings reports whether the bell is to ring at f for somebody who wants it after
// so long, and waits since then. It rings at a terminal only.
func Rings(f *os.File, after time.Duration, since time.Time) bool {
	return after > 0 && time.Since(since) >= after && IsTerminal(f)
}

// halt stops the turn; again, because of Ctrl-C, the person leaves.
func (d *desk) halt(k code) {
	if k == keyInterrupt && d.warned {
		d.leave()
		return
	}
	d.acted = time.Now()
	d.render.note(yellow, d.words.Interrupting)
	d.stop(oneloop.ErrInterrupted)
	d.warned = k == keyInterrupt
	d.answer(oneloop.Answer{}, oneloop.ErrInterrupted)
}

// leave is the end of the conversation, as the person wants it.
func (d *desk) leave() {
	if d.left {
		return
	}
	d.left = true
	close(d.gone)
	if d.stop != nil {
		d.stop(oneloop.ErrInterrupted)
	}
	d.answer(oneloop.Answer{}, io.EOF)
	d.notify()
}

func (d *desk) Ask(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
	select {
	case d.asks <- struct{}{}:
	case <-d.gone:
		return oneloop.Answer{}, io.EOF
	case <-ctx.Done():
		return oneloop.Answer{}, context.Cause(ctx)
	}
	defer func() { <-d.asks }()
	asked := &question{Question: q, done: make(chan reply, 1)}
	d.mu.Lock()
	d.next = asked
	if d.left || d.silent {
		d.answer(oneloop.Answer{}, io.EOF)
	}
	d.mu.Unlock()
	d.src.wake() // the reader shows it, when everything typed before is read
	select {
	case r := <-asked.done:
		return r.answer, r.err
	case <-ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.ask == asked {
			d.render.note(dim, d.words.AskGone)
		}
		d.next, d.ask = nil, nil
		d.refresh()
		d.rouse()
		return oneloop.Answer{}, context.Cause(ctx)
	}
}

// rouse has the reader look at what it has to do. It is called with mu held.
func (d *desk) rouse() {
	if !d.closed { // then src is gone
		d.src.wake()
	}
}

// open shows the question that waits.
func (d *desk) open() {
	d.ask, d.next = d.next, nil
	for _, l := range d.words.question(d.ask.Question) {
		d.render.on.fresh()
		d.render.on.put(l.style, exactSight, l.text)
	}
	d.render.on.fresh()
	d.render.section = sectionNote
	d.ring()
}

// answer ends the question that is open or waits, if there is one.
func (d *desk) answer(a oneloop.Answer, err error) {
	for _, q := range []*question{d.ask, d.next} {
		if q != nil {
			q.done <- reply{a, err}
		}
	}
	d.ask, d.next = nil, nil
}

func (d *desk) Say(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.render.note(normal, text)
	d.refresh()
}
