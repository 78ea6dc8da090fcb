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
	"unicode/utf8"

	"oneloop"
)

// Plain is a [Front] for terminals that can do nothing but print, and for
// files and pipes: no key is looked at before its line is complete, and no
// escape sequence is written.
type Plain struct {
	o     Options
	words *Text
	src   *source
	lines chan string
	gone  chan struct{} // closed when input has ended
	asks  chan struct{}

	mu     sync.Mutex
	paper  paper
	render renderer
	stop   func(error)
	closed bool

	quit    chan struct{}
	running sync.WaitGroup
}

// NewPlain returns a Plain.
func NewPlain(o Options) (*Plain, error) {
	o.defaults()
	p := &Plain{o: o, words: o.Words, lines: make(chan string), gone: make(chan struct{}), asks: make(chan struct{}, 1), quit: make(chan struct{})}
	var err error
	if p.src, err = openSource(o.In); err != nil {
		return nil, fmt.Errorf("open the input: %w", err)
	}
	p.paper = paper{out: o.Out, width: Columns(o.Out)}
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

// read hands out lines until input ends or Close.
func (p *Plain) read() {
	defer close(p.gone)
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
			if !p.hand(rest[:i]) {
				return
			}
			rest = rest[i+1:]
		}
		if err != nil {
			if len(bytes.TrimSpace(rest)) > 0 {
				p.hand(rest)
			}
			return
		}
	}
}

func (p *Plain) hand(line []byte) bool {
	text := strings.TrimSuffix(string(line), "\r")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	select {
	case p.lines <- text:
		return true
	case <-p.quit:
		return false
	}
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
		close(p.quit)
		p.src.wake()
	}
}

func (p *Plain) Prompt(ctx context.Context) (string, error) {
	for {
		p.sign(promptMark)
		line, err := p.line(ctx)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(line) != "" {
			return line, nil
		}
		if p.o.LeaveOnBlank {
			return "", io.EOF
		}
	}
}

func (p *Plain) sign(m mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paper.fresh()
	p.paper.raw(m.text)
}

func (p *Plain) line(ctx context.Context) (string, error) {
	select {
	case line := <-p.lines:
		return line, nil
	case <-p.gone:
		return "", io.EOF
	case <-p.quit:
		return "", io.EOF
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
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
	case <-p.gone:
		return oneloop.Answer{}, io.EOF
	case <-ctx.Done():
		return oneloop.Answer{}, context.Cause(ctx)
	}
	defer func() { <-p.asks }()
	p.early()
	p.mu.Lock()
	for _, l := range p.words.question(q) {
		p.paper.fresh()
		p.paper.put(normal, exactSight, l.text)
	}
	p.mu.Unlock()
	for {
		p.sign(answerMark)
		line, err := p.line(ctx)
		if err != nil {
			return oneloop.Answer{}, err
		}
		if a, ok := p.words.parse(q, line); ok {
			return a, nil
		}
		p.Say(p.words.again(q))
	}
}

// early throws away what was typed at a terminal before a question is shown:
// it was no answer to it.
func (p *Plain) early() {
	if !IsTerminal(p.o.In) {
		return
	}
	for {
		select {
		case <-p.lines:
			continue
		default:
		}
		break
	}
	forget(p.o.In) // where this fails, lines are complete and were taken above
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
	if p.src == nil {
		return err
	}
	src := p.src
	p.src = nil
	return errors.Join(err, src.close())
}
