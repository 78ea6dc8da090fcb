package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/model/anthropic"
	"oneloop/trace"
)

// replay takes a session again from its log, and says where it comes out
// otherwise.
func (p *program) replay(ctx context.Context) error {
	if len(p.opts.words) != 1 {
		return usagef("%s", p.words.ReplayUsage)
	}
	path, err := p.sessionFile(p.opts.words[0])
	if err != nil {
		return err
	}
	if p.opts.test != "" {
		return p.writeTest(path, p.opts.test)
	}
	if p.opts.model != "" || p.opts.promptFile != "" {
		return p.askAgain(ctx, path)
	}
	if p.opts.live {
		return p.live(ctx, path)
	}
	return p.again(ctx, path)
}

// sessionFile is the log that is meant: a file, or what names a session.
func (p *program) sessionFile(ref string) (string, error) {
	if info, err := os.Stat(ref); err == nil && info.Mode().IsRegular() && (filepath.Ext(ref) == ".jsonl" || filepath.Base(ref) != ref) {
		return ref, nil
	}
	store, err := p.kept()
	if err != nil {
		return "", err
	}
	dir, err := p.folder()
	if err != nil {
		return "", err
	}
	l, err := store.Find(realPath(dir), ref)
	if err != nil {
		return "", p.noLog(ref, err)
	}
	return l.Path, nil
}

// noLog is err, which [session.Store.Find] had for ref, unless a file is meant
// that is no log.
func (p *program) noLog(ref string, err error) error {
	info, bad := os.Stat(ref)
	switch {
	case bad == nil && info.IsDir():
		return usagef(p.words.ReplayFolder, ref)
	case bad == nil:
		return usagef(p.words.ReplayNoLog, ref)
	case filepath.Ext(ref) != ".jsonl" && filepath.Base(ref) == ref:
	case errors.Is(bad, fs.ErrNotExist):
		return usagef(p.words.ReplayNoFile, ref)
	default:
		return usagef(p.words.NoSession, bad)
	}
	return p.noSession(ref, err)
}

// again replays without a network and without side effects.
func (p *program) again(ctx context.Context, path string) error {
	progress := tui.NewProgress(p.stderr, tui.ProgressOptions{Words: p.words, Color: tui.Color(p.stderr, p.variable)})
	traced, err := p.tracing(idOf(path), progress)
	if err != nil {
		return err
	}
	r, err := trace.Replay(ctx, path, trace.ReplayOptions{Emit: func(e oneloop.Event) {
		if tui.IsTerminal(p.stderr) { // else a retry of then would look like one of now
			progress.Show(e)
		}
		traced.show(e)
	}, Adapter: recordedModel})
	if err = errors.Join(err, traced.done()); err != nil {
		return p.notReplayed(err)
	}
	return p.verdict(idOf(path), r)
}

// recordedModel reads what was recorded. The key is none: nothing is sent.
func recordedModel(name string, by http.RoundTripper) (oneloop.Model, error) {
	return anthropic.New(anthropic.Config{Model: name, Key: "none", Client: &http.Client{Transport: by}})
}

func (p *program) notReplayed(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, oneloop.ErrInterrupted) {
		return err
	}
	return &codeError{exitConfig, err}
}

// verdict prints what came of a replay, and is an error unless it came out the
// same.
func (p *program) verdict(id string, r *trace.Replayed) error {
	id = tui.Visible(id)
	var b strings.Builder
	for _, why := range r.LeftOut {
		fmt.Fprintf(&b, p.words.ReplayLeftOut+"\n", tui.Visible(why))
	}
	if r.Differs == nil && r.Turns > 0 {
		fmt.Fprintf(&b, p.words.ReplaySame+"\n", id, p.words.Turns(r.Turns), r.Replies, r.Calls)
		if r.Recorded > 0 {
			fmt.Fprintf(&b, p.words.ReplayStreams+"\n", r.Recorded)
		}
	}
	if _, err := fmt.Fprint(p.stdout, b.String()); err != nil {
		return err
	}
	switch {
	case r.Differs != nil:
		d := r.Differs
		return &codeError{exitFailed, fmt.Errorf(p.words.ReplayDiffers, id, p.words.Difference(d.Turn, d.Entry, d.Want, d.Got))}
	case r.Turns == 0:
		return &codeError{exitFailed, fmt.Errorf(p.words.ReplayNothing, id)}
	}
	return nil
}
