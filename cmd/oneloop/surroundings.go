package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"oneloop"
	"oneloop/internal/config"
	"oneloop/team"
	"oneloop/tool"
	"oneloop/workspace"
)

// open opens the folder that is worked in. Its commands are confined unless
// the user has said otherwise.
func (p *program) open(a *agent, dir string) (workspace.Workspace, error) {
	if p.settings.Sandbox == "none" {
		return workspace.Local(dir, workspace.LocalOptions{Secrets: p.settings.Secrets(), Dirs: p.besides(dir)})
	}
	opts := workspace.SandboxOptions{
		Secrets: p.settings.Secrets(), Dirs: p.besides(dir), State: p.settings.StateDir, Cache: p.cache(dir), Dial: a.net.dial,
		Memory: p.memory(), Limits: p.limits(),
		Show: append([]string{a.scratch}, p.ownSkills()...), // long outputs, and the link to this program
	}
	if p.offline {
		opts.Dial = nil
	}
	if self, err := os.Executable(); err == nil {
		opts.Show = append(opts.Show, self)
	}
	if p.settings.Sandbox != "auto" {
		opts.Backend = p.settings.Sandbox
	}
	box, err := workspace.Sandboxed(dir, opts)
	if errors.Is(err, workspace.ErrNoSandbox) {
		return nil, fmt.Errorf("%w. %s", err, p.words.SandboxMissing)
	}
	if err != nil {
		return nil, err
	}
	a.box, a.unbox = box, p.last.add(box.Abandon)
	if opts.Cache != "" {
		a.caches = func() { keepCaches(opts.Memory, dir, time.Now()) }
	}
	return box, nil
}

// prepared starts the sandbox beside the first request, before anything of it
// is needed. What goes wrong then is told by the first command.
func (a *agent) prepared(m oneloop.Model) oneloop.Model {
	if a.box == nil {
		return m
	}
	return oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		return m.Generate(ctx, req, func(e oneloop.Event) {
			if _, sent := e.(oneloop.RequestSent); sent {
				a.ready.Do(func() { a.waiting.Go(a.prepare) })
			}
			emit(e)
		})
	})
}

// prepare makes what commands see of this program, and then the sandbox, which
// shows it to them. The first command tells what went wrong, and Close what
// broke.
func (a *agent) prepare() {
	defer func() {
		if v := recover(); v != nil {
			a.broken = fmt.Errorf("prepare the sandbox: internal error: %v. Please report it, with what you did before", v)
		}
	}()
	if a.private != nil {
		a.private()
	}
	a.box.Prepare()
	if a.caches != nil {
		a.caches()
	}
}

// cache is where commands keep downloads and intermediate results: a folder of
// their own for each workspace, for what one of them put there may run in the
// next. Empty: nothing outlasts the run.
func (p *program) cache(dir string) string {
	home := p.memory()
	if home == "" || p.offline {
		return ""
	}
	return filepath.Join(home, cacheName(dir))
}

// first gives what all agents of a run share: a private folder for long
// outputs and for the link to this program, and the broker of subtasks. Both
// are made with the first command, so that the first request does not wait
// for the disk.
func (p *program) first(a *agent) (tool.AttachFunc, error) {
	dir, err := filepath.Abs(os.TempDir()) // commands start elsewhere
	if err != nil {
		return nil, fmt.Errorf("find a place for temporary files: %w", err)
	}
	if err := config.Writable(dir); err != nil {
		return nil, fmt.Errorf("find a place for temporary files: %w; set TMPDIR to one that can be written", err)
	}
	a.scratch, a.own = filepath.Join(dir, fmt.Sprintf("oneloop-%016x", rand.Uint64())), true
	a.unscratch = p.last.add(func() { os.RemoveAll(a.scratch) })
	a.private = sync.OnceValues(func() (string, error) { return private(a.scratch) })
	broker := sync.OnceValues(func() (*team.Broker, error) {
		link, err := a.private()
		return team.NewBroker(team.Options{Root: a.dir, Dirs: p.settings.Dirs, Link: link, Run: p.child(a), Exit: exitCode}), err
	})
	a.broker = func() (*team.Broker, error) {
		b, _ := broker() // what went wrong is for commands, which say it; agents need no link
		return b, nil
	}
	var said, refused, shown sync.Once
	return func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event), cmd *workspace.Cmd, clock *tool.Clock) (func(), error) {
		b, err := broker()
		var none error
		if a.box != nil {
			if none = a.box.Prepare(); none != nil {
				refused.Do(func() { emit(oneloop.Notice{Text: none.Error() + ". " + p.words.SandboxMissing}) })
			}
		}
		if err != nil {
			said.Do(func() {
				emit(oneloop.Notice{Text: fmt.Sprintf("%v. Commands run all the same: what is too long to show is lost, and a subtask needs oneloop on the PATH.", err)})
			})
		}
		if none == nil {
			shown.Do(func() { p.inForce(a, emit) })
		}
		return b.Attach(ctx, call, emit, cmd, clock)
	}, nil
}

// private makes a run's folder, with the link to this program in it.
func private(dir string) (link string, err error) {
	// The output of a command in the background may have made it already: its
	// name is one that nobody can guess.
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("make a folder for this run: %w", err)
	}
	link, _, err = team.Link(dir)
	return link, err
}
