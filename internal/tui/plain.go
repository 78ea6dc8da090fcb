package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"oneloop"
)

// Plain is a [Front] for terminals that can do nothing but print, and for
// files and pipes: no key is looked at before its line is complete, and no
// escape sequence is written.
//
// One goroutine reads lines. It and the methods take turns by mu.
type Plain struct {
	o     Options
	words *Text
	src   *source
	asks  chan struct{} // holds one token while a question is open
	news  chan struct{} // something for Prompt to look at

	mu     sync.Mutex
	paper  paper
	render renderer
	sent   []string // lines nobody has taken
	next   *question
	ask    *question
	stop   func(error)
	ended  bool // no more lines will come
	closed bool

	quit    chan struct{}
	running sync.WaitGroup
	shut    func() error
}

// NewPlain returns a Plain.
func NewPlain(o Options) (*Plain, error) {
	o.defaults()
	p := &Plain{o: o, words: o.Words, asks: make(chan struct{}, 1), news: make(chan struct{}, 1), quit: make(chan struct{})}
	var err error
	if p.src, err = openSource(o.In); err != nil {
		return nil, fmt.Errorf("open the input: %w", err)
	}
	p.shut = sync.OnceValue(p.src.close)
	p.paper = paper{out: o.Out}
	p.render = renderer{on: &p.paper, words: o.Words}
	signals := make(chan os.Signal, 8)
	unwatch := watch(signals, []os.Signal{os.Interrupt})
	p.running.Go(p.read)
	p.running.Go(func() {
		defer unwatch()
		for {
			select {
			case <-signals:
				p.interrupt()
			case <-p.quit:
				return
			}
		}
	})
	return p, nil
}

// read takes lines until input ends or Close.
func (p *Plain) read() {
	var rest []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := p.src.read(buf, -1)
		select {
		case <-p.quit:
			return
		default:
		}
		rest = append(rest, buf[:n]...)
		for {
			i := bytes.IndexByte(rest, '\n')
			if i < 0 {
				break
			}
			p.take(rest[:i])
			rest = rest[i+1:]
		}
		if err != nil {
			if len(bytes.TrimSpace(rest)) > 0 {
				p.take(rest)
			}
			p.mu.Lock()
			p.ended = true
			p.answer(oneloop.Answer{}, io.EOF)
			p.mu.Unlock()
			p.notify()
			return
		}
		if n == 0 {
			p.put()
		}
	}
}

// take is a line that came: an answer while a question is shown, else a
// prompt.
func (p *Plain) take(line []byte) {
	text := strings.ToValidUTF8(strings.TrimSuffix(string(line), "\r"), "\uFFFD")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ask == nil {
		p.sent = append(p.sent, text)
		p.notify()
		return
	}
	a, ok := p.words.parse(p.ask.Question, text)
	if !ok {
		p.render.note(normal, p.words.again(p.ask.Question))
		p.sign(answerMark)
		return
	}
	p.answer(a, nil)
}

func (p *Plain) notify() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// answer ends the question that is open or waits, if there is one.
func (p *Plain) answer(a oneloop.Answer, err error) {
	for _, q := range []*question{p.ask, p.next} {
		if q != nil {
			q.done <- reply{a, err}
		}
	}
	p.ask, p.next = nil, nil
}

// interrupt stops the turn, or ends the conversation where none runs.
func (p *Plain) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil {
		p.render.note(normal, p.words.Interrupting)
		p.stop(oneloop.ErrInterrupted)
		return
	}
	p.end()
}

// end makes Prompt and Ask return; the caller holds mu.
func (p *Plain) end() {
	if !p.closed {
		p.closed = true
		p.answer(oneloop.Answer{}, io.EOF)
		p.notify()
		close(p.quit)
		p.src.wake()
	}
}

func (p *Plain) Prompt(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sign(promptMark)
	for {
		switch {
		case p.closed:
			return "", io.EOF
		case len(p.sent) > 0:
			line := p.sent[0]
			p.sent = p.sent[1:]
			if strings.TrimSpace(line) != "" {
				return line, nil
			}
			if p.o.LeaveOnBlank {
				return "", io.EOF
			}
			p.sign(promptMark)
			continue
		case p.ended:
			return "", io.EOF
		}
		p.mu.Unlock()
		select {
		case <-p.news:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
	}
}

// sign writes m where the next line is typed.
func (p *Plain) sign(m mark) {
	p.paper.fresh()
	p.paper.raw(m.text)
}

func (p *Plain) Turn(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = cancel
	return ctx, func() {
		p.mu.Lock()
		p.stop = nil
		p.mu.Unlock()
		cancel(nil)
	}
}

func (p *Plain) Show(e oneloop.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.render.event(e)
}

func (p *Plain) Ask(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
	select {
	case p.asks <- struct{}{}:
	case <-p.quit:
		return oneloop.Answer{}, io.EOF
	case <-ctx.Done():
		return oneloop.Answer{}, context.Cause(ctx)
	}
	defer func() { <-p.asks }()
	open := &question{Question: q, done: make(chan reply, 1)}
	p.mu.Lock()
	p.next = open
	if p.ended || p.closed {
		p.answer(oneloop.Answer{}, io.EOF)
	}
	p.mu.Unlock()
	p.src.wake() // the reader shows it, when everything sent before is read
	select {
	case r := <-open.done:
		return r.answer, r.err
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		p.next, p.ask = nil, nil
		return oneloop.Answer{}, context.Cause(ctx)
	}
}

// put shows the question that waits. The reader calls it when nothing is left
// to read: complete lines of before are prompts and not its answer, and the
// beginning of a line, which no program sees, is thrown away.
func (p *Plain) put() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		return
	}
	p.ask, p.next = p.next, nil
	forget(p.o.In) // fails where input is no terminal, and nothing was begun
	for _, l := range p.words.question(p.ask.Question) {
		p.paper.fresh()
		p.paper.put(normal, exactSight, l.text)
	}
	p.sign(answerMark)
}

func (p *Plain) Say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.render.note(normal, text)
}

func (p *Plain) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paper.put(normal, plainSight, string(b))
	if p.paper.err != nil {
		return 0, p.paper.err
	}
	return len(b), nil
}

func (p *Plain) Close() error {
	p.mu.Lock()
	p.end()
	p.paper.fresh()
	err := p.paper.err
	p.mu.Unlock()
	p.running.Wait()
	return errors.Join(err, p.shut())
}
