package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/session"
	"oneloop/tool"
	"oneloop/trace"
	"oneloop/workspace"
)

// task works on one task: the final answer on stdout and nothing else,
// progress on stderr.
func (p *program) task(ctx context.Context) (err error) {
	began := false
	defer func() {
		if err != nil && !began {
			err = errors.Join(err, p.failed(err))
		}
	}()
	dir, err := p.folder()
	if err != nil {
		return err
	}
	defer func() { p.leaveTree(ctx) }()
	if dir, err = p.enter(ctx, dir, nil); err != nil {
		return err
	}
	resume, dir, err := p.resumed(ctx, dir)
	if err != nil {
		return err
	}
	if err := p.checkTools(); err != nil {
		return err
	}
	blocks, notice, err := p.said()
	if err != nil {
		return err
	}
	if err := p.inForm(); err != nil {
		return err
	}
	if err := p.load(ctx, dir, nil); err != nil {
		return err
	}
	if err := p.stay(ctx, dir); err != nil {
		return err
	}
	a, err := p.newAgent(spec{dir: dir, resume: resume})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.leave(a, nil), a.Close()) }()
	progress := tui.NewProgress(p.stderr, tui.ProgressOptions{
		Words: p.words, Color: tui.Color(p.stderr, p.variable), Quiet: !tui.IsTerminal(p.stderr),
	})
	for _, n := range append(p.notices(), notice, p.undelivered(a)) {
		if n != "" {
			progress.Say(n)
		}
	}
	a.says = mentionsSaid{progress.Say, progress.Say}
	still := func() {}
	if p.opts.output == "text" || !tui.IsTerminal(p.stdout) { // what is written there meanwhile would be behind it
		still = progress.Live(p.stderr, p.variable)
	}
	defer still()
	began = true
	p.tree.begin()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := p.output(a, stop)
	traced, err := p.tracer(a, progress)
	if err != nil {
		return err
	}
	var said answer
	waits := time.Now()
	err = p.work(ctx, a, blocks, said.hear, progress.Show, out.event, traced.show, p.remind(a, traced.show))
	p.leaveJobs(a)
	still()
	if ctx.Err() == nil && tui.Rings(p.stderr, p.settings.Bell, waits) {
		io.WriteString(p.stderr, "\a") // where it fails nobody is there
	}
	text, err := p.formed(said.text(), err)
	if err == nil {
		err = said.denied()
	}
	return errors.Join(err, out.end(text, err), traced.done())
}

// listen runs a turn and hands every event to all who listen, one at a time.
// It takes Turn and not the iterator of Send: passing each event to another
// goroutine takes about a tenth of the time of a short turn.
func (p *program) listen(ctx context.Context, a *agent, blocks []oneloop.Block, to ...func(oneloop.Event)) error {
	defer a.rest()
	return a.Turn(ctx, p.hearing(a, to...), blocks...)
}

// hearing hands every event to all of these, one at a time, from now on.
func (p *program) hearing(a *agent, to ...func(oneloop.Event)) func(oneloop.Event) {
	all := func(e oneloop.Event) {
		a.one.Lock()
		defer a.one.Unlock()
		for _, hear := range to {
			hear(e)
		}
		p.heap.hear(e)
	}
	a.hear.Store(&all)
	return all
}

// said is what the user says: the task and the images.
func (p *program) said() ([]oneloop.Block, string, error) {
	text, notice, err := p.prompt()
	if err != nil {
		return nil, "", err
	}
	var blocks []oneloop.Block
	for _, name := range p.opts.images {
		image, err := p.image(name)
		if err != nil {
			return nil, "", err
		}
		blocks = append(blocks, image)
	}
	return append(blocks, &oneloop.Text{Text: text}), notice, nil
}

// imageLimit is the largest image the API takes, in bytes before base64.
const imageLimit = 5 << 20 * 3 / 4

func (p *program) image(name string) (oneloop.Block, error) {
	// Looked at before it is opened: opening a pipe waits for its writer.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, usagef(p.words.BadFile, name, "it is no ordinary file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef(p.words.BadFile, name, plain(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, imageLimit+1))
	if err != nil {
		return nil, usagef(p.words.BadFile, name, plain(err))
	}
	kind := http.DetectContentType(data)
	switch {
	case len(data) > imageLimit:
		return nil, usagef(p.words.BadFile, name, "it is larger than "+megabytes(imageLimit)+", the most the API takes")
	case kind != "image/png" && kind != "image/jpeg" && kind != "image/gif" && kind != "image/webp":
		return nil, usagef(p.words.BadFile, name, "it is no PNG, JPEG, GIF or WebP image")
	}
	return &oneloop.Media{Type: "image", MIME: kind, Data: data}, nil
}

// notices are what the user should know before the first request. It is called
// once, before any command runs.
func (p *program) notices() []string {
	list := append(p.settings.Notices, p.definitions.notes...)
	if p.settings.Sandbox == "none" {
		list = append(list, p.words.SandboxNone)
		if err := workspace.Sweep(p.settings.StateDir); err != nil {
			list = append(list, err.Error()+".")
		}
	}
	return list
}

func (p *program) variable(name string) string {
	for _, kv := range p.env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// output is where the answer goes, in the form that was asked for.
type output struct {
	event func(oneloop.Event)
	end   func(answer string, err error) error
}

// output ends the turn by stop once nobody reads what it writes.
func (p *program) output(a *agent, stop func(error)) output {
	if p.opts.output == "text" {
		return output{func(oneloop.Event) {}, func(answer string, _ error) error {
			if answer == "" {
				return nil
			}
			if tui.IsTerminal(p.stdout) {
				answer = tui.Visible(answer)
			}
			_, err := fmt.Fprintln(p.stdout, answer)
			return err
		}}
	}
	only := trace.Whole
	switch {
	case p.opts.output == "json":
		only = trace.ResultOnly
	case p.opts.partial:
		only = trace.Partial
	}
	s := trace.NewStreamJSON(p.stdout, p.offers(a, trace.StreamOptions{
		Session: a.id, Dir: a.dir, Model: a.model.ID, Mode: p.settings.Mode.String(), Tools: a.offered, Version: version(),
		Source: p.keyFrom(), Secrets: p.settings.Secrets(), Window: a.model.Context, MaxOutput: a.model.MaxOutput, Only: only,
	}))
	return output{func(e oneloop.Event) {
		s.Event(e)
		if err := s.Err(); err != nil {
			stop(err)
		}
	}, func(answer string, err error) error {
		if unfit, ok := errors.AsType[*tool.AnswerError](err); ok {
			s.Unfit(unfit)
		} else if p.form != nil && err == nil {
			s.Structured(json.RawMessage(answer))
		}
		s.Result(answer, err)
		return s.Err()
	}}
}

// offers adds what the model and the user may call. The last line alone does not
// tell of it.
func (p *program) offers(a *agent, o trace.StreamOptions) trace.StreamOptions {
	if o.Only == trace.ResultOnly {
		return o
	}
	for _, k := range p.known() {
		if k.ByModel {
			o.Skills = append(o.Skills, k.Name)
		}
	}
	if a.files != nil {
		list, _ := p.callable()
		for _, k := range list {
			if k.ByUser {
				o.Slash = append(o.Slash, k.Name)
			}
		}
	}
	if a.agents != nil {
		for _, k := range p.kinds() {
			o.Agents = append(o.Agents, k.Name)
		}
	}
	return o
}

// failed tells those who read JSON of a task that never began.
func (p *program) failed(err error) error {
	if p.opts.output == "text" {
		return nil
	}
	s := trace.NewStreamJSON(p.stdout, trace.StreamOptions{Session: session.NewID(), Version: version(), Only: trace.ResultOnly})
	s.Result("", err)
	return s.Err()
}

// tracer is what --trace asks for.
type tracer struct {
	show  func(oneloop.Event)
	clear func()       // a new conversation begins
	done  func() error // says what could not be written
}

// tracer shows the loop on w, or keeps the events in a file.
func (p *program) tracer(a *agent, w io.Writer) (tracer, error) {
	return p.tracing(a.id, w, p.settings.Secrets()...)
}

func (p *program) tracing(session string, w io.Writer, secrets ...string) (tracer, error) {
	switch p.opts.trace {
	case "":
		return tracer{func(oneloop.Event) {}, func() {}, func() error { return nil }}, nil
	case "-":
		t := trace.NewPretty(w, secrets...)
		return tracer{t.Event, t.Forget, t.Err}, nil
	}
	// Without waiting: a named pipe that nobody reads is an error.
	f, err := os.OpenFile(p.opts.trace, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return tracer{}, &codeError{exitConfig, fmt.Errorf(p.words.TraceFile, p.opts.trace, plain(err))}
	}
	t := trace.NewLines(f, session, secrets...)
	return tracer{t.Event, func() {}, func() error {
		if err := errors.Join(t.Err(), f.Close()); err != nil {
			return fmt.Errorf(p.words.TraceFile, p.opts.trace, err)
		}
		return nil
	}}, nil
}
