package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"oneloop"
	"oneloop/internal/config"
	"oneloop/internal/tui"
	"oneloop/looptest/script"
	"oneloop/policy"
)

// demo shows the program at work without a key: the real loop, HTTP and bash
// in a temporary folder, against a scripted model on the loopback interface.
func (p *program) demo(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "oneloop-demo-")
	if err != nil {
		return &codeError{exitConfig, fmt.Errorf(p.words.DemoFailed, err)}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server := script.New()
	show := p.show()
	for _, s := range show.scenes {
		for _, r := range s.routes {
			server.Route(r.begins, r.replies)
		}
	}
	if err := server.Start(); err != nil {
		return &codeError{exitConfig, fmt.Errorf(p.words.DemoFailed, err)}
	}
	defer server.Close()
	p.settings = &config.Settings{
		Model: config.Model{Provider: "anthropic", Name: "claude-sonnet-4-6"}, BaseURL: server.URL(), Key: config.NewSecret("demo-key"),
		Mode: policy.Bypass, Sandbox: "none", MaxRetries: 1, RetryDelay: 100 * time.Millisecond,
		ConfigDir:   filepath.Join(dir, "user"), // what the user has themselves is not shown
		IdleTimeout: time.Minute, ProgressTimeout: time.Minute, BackgroundWait: time.Minute, From: map[string]string{},
	}
	p.env = append([]string{"HOME=" + dir}, p.env...)
	p.modes.begin(p.settings.Mode)
	if p.opts.tools = "bash"; show.chapter != "" {
		p.opts.inChapter(show.chapter)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return &codeError{exitConfig, fmt.Errorf(p.words.DemoFailed, err)}
	}
	if err := p.play(ctx, work, show); err != nil {
		return err
	}
	if err := server.Check(); err != nil {
		return fmt.Errorf(p.words.DemoFailed, err)
	}
	calls := 0
	for _, r := range server.Requests() {
		calls += len(r.Results())
	}
	_, err = fmt.Fprintf(p.stdout, "\n"+p.words.DemoRequests+"\n\n"+p.words.DemoLoop+"\n\n%s", len(server.Requests()), calls, show.next)
	return err
}

// show is what a demo shows.
type show struct {
	chapter       string // of the series; empty: none of them
	scenes        []scene
	titles, notes []string // of the scenes
	next          string   // what to try then
}

func (p *program) show() show {
	if len(p.opts.words) == 0 {
		return show{"", scenes(), p.words.DemoTitles[:], p.words.DemoNotes[:], p.words.DemoNext}
	}
	name := p.opts.words[0]
	i := slices.Index(tui.Chapters[:], name)
	return show{name, []scene{chapterScene(name)}, p.words.ChapterTitles[i : i+1], p.words.ChapterNotes[i : i+1], fmt.Sprintf(p.words.ChapterNext, name)}
}

// play goes through the scenes.
func (p *program) play(ctx context.Context, dir string, show show) error {
	out := &failing{w: p.stdout}
	fmt.Fprintf(out, "%s\n", p.words.DemoIntro)
	all := show.scenes
	keys := bufio.NewReader(p.stdin)
	for i, s := range all {
		if i > 0 && !p.opts.yes && tui.IsTerminal(p.stdin) && tui.IsTerminal(p.stdout) {
			fmt.Fprint(out, "\n"+p.words.DemoEnter)
			switch err := enter(ctx, keys); {
			case errors.Is(err, io.EOF): // Ctrl-D leaves, as everywhere
				fmt.Fprintln(out)
				return out.err
			case err != nil:
				return err
			}
		}
		fmt.Fprintf(out, "\n"+p.words.DemoStep+"\n%s\n", i+1, len(all), show.titles[i], show.notes[i])
		fmt.Fprintf(out, p.words.DemoPrompt+"\n", s.prompt)
		if out.err != nil {
			return out.err
		}
		if err := p.scene(ctx, dir, s); err != nil {
			return fmt.Errorf(p.words.DemoFailed, err)
		}
	}
	return nil
}

// scene plays one scene and shows it as a conversation would.
func (p *program) scene(ctx context.Context, dir string, s scene) (err error) {
	if err := errors.Join(lay(dir, s.files), lay(p.settings.ConfigDir, s.own)); err != nil {
		return err
	}
	p.settings.ContextWindow = int64(s.window)
	a, err := p.newAgent(spec{dir: dir, system: s.system, tools: s.tools})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	traced, err := p.tracer(a, p.stderr)
	if err != nil {
		return err
	}
	progress := tui.NewProgress(p.stdout, tui.ProgressOptions{
		Words: p.words, Color: tui.Color(p.stdout, p.variable), Talk: true,
	})
	err = p.work(ctx, a, []oneloop.Block{&oneloop.Text{Text: s.prompt}}, progress.Show, traced.show)
	return errors.Join(err, progress.Err(), traced.done())
}

// lay writes files, by their paths below dir.
func lay(dir string, files map[string]string) error {
	for name, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// enter waits for a line.
func enter(ctx context.Context, keys *bufio.Reader) error {
	typed := make(chan error, 1)
	// The read ends with the program when ctx ends first.
	go func() {
		_, err := keys.ReadString('\n')
		typed <- err
	}()
	select {
	case err := <-typed:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failing keeps the first error of a writer.
type failing struct {
	w   io.Writer
	err error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
	return len(b), nil
}
