package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/session"
	"oneloop/trace"
	"oneloop/workspace"
)

// liveTools are those that are run again. Others ask somebody, reach other
// hosts, or have their own effect on the program.
var liveTools = []string{"Bash", "bash", "Read", "Write", "Edit", "Glob", "Grep", "read_file", "write_file", "edit_file"}

// live replays with real tools beside the log: in the sandbox, without a
// network, on a copy of the folder.
func (p *program) live(ctx context.Context, path string) (err error) {
	dir, err := p.folder()
	if err != nil {
		return err
	}
	dir = realPath(dir)
	l, prompts, _, err := session.Look(path)
	if err != nil {
		return &codeError{exitConfig, err}
	}
	if err := p.mayRun(ctx, l, dir); err != nil {
		return err
	}
	if err := p.loadSettings(ctx, dir, nil); err != nil {
		return err
	}
	p.sayNotices()
	if p.settings.Sandbox == "none" {
		return &codeError{exitConfig, errors.New(p.words.ReplayBoxed)}
	}
	p.offline, p.settings.Hooks, p.settings.Dirs = true, nil, nil
	scratch, err := os.MkdirTemp("", "oneloop-replay-")
	if err != nil {
		return &codeError{exitConfig, err}
	}
	done := p.last.add(func() { os.RemoveAll(scratch) })
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)); done() }()
	work := filepath.Join(realPath(scratch), filepath.Base(dir))
	if err := copyFolder(ctx, dir, work); err != nil {
		return &codeError{exitConfig, err}
	}
	a, err := p.newAgent(spec{dir: work})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if l.Dir != dir {
		prompts = nil // what is known of another folder means nothing here
	}
	if err := p.baseline(ctx, a, path, filepath.Join(scratch, "files"), dir, prompts); err != nil {
		return &codeError{exitConfig, err}
	}
	moved := &moved{tools: a.Tools, from: l.Dir, to: work}
	r, err := trace.Replay(ctx, path, trace.ReplayOptions{Tools: moved, Same: func(c *oneloop.ToolUse, was, is *oneloop.ToolResult) bool {
		return !slices.Contains(liveTools, c.Name) || was != nil && is != nil && was.IsError == is.IsError && was.Text() == is.Text()
	}})
	if err != nil {
		return p.notReplayed(err)
	}
	return p.liveVerdict(idOf(path), r, moved.not)
}

// mayRun asks before calls of a session are run that this person did not have
// made, here.
func (p *program) mayRun(ctx context.Context, l session.Listed, dir string) error {
	store, err := p.kept()
	own := err == nil && filepath.Dir(filepath.Dir(realPath(l.Path))) == realPath(store.Dir)
	if own && l.User == p.person() && l.Dir == dir || p.opts.yes {
		return nil
	}
	q := oneloop.Question{Kind: "trust", Title: fmt.Sprintf(p.words.ReplayForeign, tui.Visible(l.ID)), Reason: p.words.ReplayWhy,
		Detail: fmt.Sprintf("%s\n%s\n%s", l.Path, l.User, l.Dir)}
	if !tui.IsTerminal(p.stdin) || !tui.IsTerminal(p.stderr) {
		return &codeError{exitDenied, fmt.Errorf(p.words.ReplayYes, tui.Visible(l.ID))}
	}
	a, err := p.askTrust()(ctx, q)
	if err != nil {
		return err
	}
	if !a.Allow {
		return &codeError{exitDenied, fmt.Errorf(p.words.ReplayYes, tui.Visible(l.ID))}
	}
	return nil
}

// baseline brings the copy back to what it was before the first prompt, as far
// as that is known, and says what it is now.
func (p *program) baseline(ctx context.Context, a *agent, path, keep, dir string, prompts []session.Prompt) error {
	say := func(format string, args ...any) error {
		_, err := fmt.Fprintf(p.stdout, format+"\n", args...)
		return err
	}
	if _, err := os.Stat(session.FilesDir(path)); err != nil || len(prompts) == 0 {
		return say(p.words.ReplayNow, tui.Visible(dir))
	}
	if err := copyFolder(ctx, session.FilesDir(path), keep); err != nil {
		return err
	}
	snaps, err := workspace.NewSnapshots(a.ws, workspace.SnapshotOptions{
		Dir: keep, From: dir, NoGit: !p.trusts(), At: func() int64 { return prompts[len(prompts)-1].N }, Since: prompts[len(prompts)-1].N,
	})
	if err != nil {
		return err
	}
	defer snaps.Close()
	plan, err := snaps.Plan(ctx, prompts[0].N)
	if err != nil {
		return err
	}
	back, err := snaps.Apply(ctx, plan, func(workspace.FileChange) bool { return true })
	if err != nil {
		return err
	}
	return say(p.words.ReplayThen, tui.Visible(dir), len(back.Done), len(plan.Lost)+len(back.Failed))
}

// liveVerdict prints the answers that are others now.
func (p *program) liveVerdict(id string, r *trace.Replayed, not []string) error {
	var b strings.Builder
	for _, a := range r.Answers {
		fmt.Fprintf(&b, "\n"+p.words.ReplayCall+"\n", a.Turn, a.Call.Name, tui.Head(string(a.Call.Input)))
		b.WriteString(differences(a.Was, a.Is))
	}
	if len(not) > 0 {
		fmt.Fprintf(&b, p.words.ReplayNotLive+"\n", tui.Visible(strings.Join(not, ", ")))
	}
	if _, err := fmt.Fprint(p.stdout, b.String()); err != nil {
		return err
	}
	if err := p.verdict(id, r); err != nil {
		return err
	}
	if n := len(r.Answers); n > 0 {
		return &codeError{exitFailed, fmt.Errorf(p.words.ReplayOthers, tui.Visible(id), n, r.Calls)}
	}
	return nil
}

// differences are the lines in which two answers differ, between those that
// both begin and end with.
func differences(was, is *oneloop.ToolResult) string {
	lines := func(r *oneloop.ToolResult) []string {
		if r == nil {
			return nil
		}
		return strings.Split(r.Text(), "\n")
	}
	x, y := lines(was), lines(is)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	const most = 20
	var b strings.Builder
	part := func(mark string, list []string) {
		for _, l := range list[:min(len(list), most)] {
			b.WriteString(mark + tui.Visible(l) + "\n")
		}
		if more := len(list) - most; more > 0 {
			fmt.Fprintf(&b, "%s… (+%d)\n", mark, more)
		}
	}
	part("- ", x)
	part("+ ", y)
	return b.String()
}

// moved are tools for calls that name another folder than the one they run in.
type moved struct {
	tools    oneloop.Tools
	from, to string
	not      []string // tools that are not run, or that there are none of
}

func (m *moved) Run(ctx context.Context, calls []*oneloop.ToolUse, emit func(oneloop.Event)) *oneloop.Message {
	var here []*oneloop.ToolUse
	for _, c := range calls {
		if !slices.Contains(liveTools, c.Name) {
			if !slices.Contains(m.not, c.Name) {
				m.not = append(m.not, c.Name)
			}
			continue
		}
		here = append(here, &oneloop.ToolUse{ID: c.ID, Name: c.Name, Broken: c.Broken, Input: json.RawMessage(rename(string(c.Input), quoted(m.from), quoted(m.to)))})
	}
	got := m.tools.Run(ctx, here, emit)
	out := *got
	out.Blocks = nil
	for _, b := range got.Blocks {
		if r, ok := b.(*oneloop.ToolResult); ok {
			back := *r
			back.Content = nil
			for _, c := range r.Content {
				if t, ok := c.(*oneloop.Text); ok {
					c = &oneloop.Text{Text: rename(t.Text, m.to, m.from)}
				}
				back.Content = append(back.Content, c)
			}
			b = &back
		}
		out.Blocks = append(out.Blocks, b)
	}
	return &out
}

// rename puts another path in the place of one, but not where that is only the
// beginning of a longer name.
func rename(text, from, to string) string {
	if len(from) < 2 {
		return text
	}
	named := regexp.MustCompile(`^\.?[\pL\pN_-]`)
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, from)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if named.MatchString(after) {
			b.WriteString(from)
		} else {
			b.WriteString(to)
		}
		text = after
	}
}

// quoted is a path as it stands in JSON.
func quoted(path string) string {
	text, err := json.Marshal(path)
	if err != nil {
		return path
	}
	return strings.Trim(string(text), `"`)
}
