package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"oneloop"
)

// Plain is a [Front] for terminals that can do nothing but print, and for
// files and pipes: no key is looked at before its line is complete, and no
// escape sequence is written.
//
// One goroutine reads lines. It and the methods take turns by mu.
type Plain struct {
	desk
	paper paper
}

// NewPlain returns a Plain.
func NewPlain(o Options) (*Plain, error) {
	p := &Plain{}
	if err := p.set(o); err != nil {
		return nil, err
	}
	p.paper = paper{out: p.o.Out}
	p.render = renderer{on: &p.paper, words: p.words}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt)
	p.start(p.read)
	p.start(func() { p.heed(signals, p.interrupt) })
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
			p.line(rest[:i])
			rest = rest[i+1:]
		}
		if err != nil {
			p.last(rest)
			return
		}
		if n == 0 {
			p.put()
		}
	}
}

// line is a line that came: an answer while a question is shown, else a
// prompt.
func (p *Plain) line(line []byte) {
	text := strings.ToValidUTF8(strings.TrimSuffix(string(line), "\r"), "\uFFFD")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acted = time.Now()
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
	if !a.Allow && p.ask.Kind != "choice" {
		p.render.note(normal, p.words.said(p.ask.Question, a))
	}
	p.answer(a, nil)
}

// last is the end of input, behind a line that may lack its end.
func (p *Plain) last(rest []byte) {
	if len(bytes.TrimSpace(rest)) > 0 {
		p.line(rest)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.eof, p.silent = true, true
	p.answer(oneloop.Answer{}, io.EOF)
	p.notify()
}

// interrupt stops the turn, or ends the conversation where none runs.
func (p *Plain) interrupt(os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop == nil {
		p.leave()
		return
	}
	p.halt(keyInterrupt)
}

func (p *Plain) Prompt(ctx context.Context) (string, error) {
	for {
		p.prompt()
		line, err := p.wait(ctx)
		switch {
		case err != nil:
			return "", err
		case strings.TrimSpace(line) != "":
			return line, nil
		case p.o.LeaveOnBlank:
			return "", io.EOF
		}
	}
}

func (p *Plain) prompt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sign(promptMark)
}

// sign writes m where the next line is typed.
func (p *Plain) sign(m mark) {
	p.paper.fresh()
	p.paper.raw(m.text)
}

func (p *Plain) Show(e oneloop.Event) {
	defer p.caught()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.render.kids.hear(e)
	p.render.event(e)
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
	forget(p.o.In) // fails where input is no terminal, and nothing was begun
	p.open()
	p.sign(answerMark)
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
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.leave()
	p.paper.fresh()
	err := p.paper.err
	p.mu.Unlock()
	return errors.Join(err, p.finish())
}
