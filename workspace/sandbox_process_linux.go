//go:build amd64 || arm64

package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"oneloop/workspace/confine"
)

// Start starts a command in the sandbox, which is started with the first one.
// A Dir that is gone is replaced by the root, and Exit.Notes says so. When no
// sandbox works nothing is run, and the error is a [*SandboxError].
func (w *SandboxWorkspace) Start(ctx context.Context, cmd Cmd) (Process, error) {
	return w.start(ctx, cmd, confine.Order{})
}

// start starts a command by an order that is complete but for what cmd says.
func (w *SandboxWorkspace) start(ctx context.Context, cmd Cmd, order confine.Order) (Process, error) {
	path, dir, env, err := w.place(ctx, cmd)
	if err != nil {
		return nil, err
	}
	box, err := w.open()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
	}
	var notes []string
	if box.note != "" {
		notes = []string{box.note}
	}
	if len(box.env) > 0 {
		env = mergeEnv(mergeEnv(env, box.env...), cmd.Env...)
	}
	order.Path, order.Argv, order.Env, order.Dir = path, cmd.Argv, env, dir
	p, err := w.confined(ctx, box, order, cmd)
	if err == nil {
		p.notes = notes
		return p, nil
	}
	if !isDir(w.root) {
		return nil, fmt.Errorf("start %s: %w: %s", cmd.Argv[0], ErrNoRoot, w.root)
	}
	if dir != w.root && !isDir(dir) {
		order.Env, order.Dir = mergeEnv(env, "PWD="+w.root), w.root
		if p, err = w.confined(ctx, box, order, cmd); err == nil {
			p.notes = append(notes, goneNote(dir, w.root))
			return p, nil
		}
	}
	var failed *confine.StepError
	if errors.As(err, &failed) && failed.Program() {
		err = &os.PathError{Op: "execute", Path: path, Err: failed.Err}
	}
	return nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
}

// confined hands a command to the holder.
func (w *SandboxWorkspace) confined(ctx context.Context, box opened, order confine.Order, cmd Cmd) (*sandboxProcess, error) {
	p := &sandboxProcess{stops: w.stops(order, box.fenced), ctx: ctx, limit: cmd.Limits.Time, audience: &w.audience}
	p.output = p.stops.watch(cmd.Output)
	sink, err := p.openOutput()
	if err != nil {
		return nil, err
	}
	defer sink.Close()
	order.Fds = []int{1, 2}
	files := []*os.File{sink, sink}
	for n, f := range cmd.Fds {
		if f != nil && n >= 0 {
			order.Fds, files = append(order.Fds, n), append(files, f)
		}
	}
	if slices.ContainsFunc(slices.Concat(order.Argv, order.Env), func(s string) bool { return strings.ContainsRune(s, 0) }) {
		err = syscall.EINVAL // as os.StartProcess has it
	}
	order.Limits = w.opts.Limits.confine()
	p.release = func() []string { return nil }
	switch {
	case err != nil:
	case box.fenced != nil:
		w.guards.wire.set(nil, nil)
		p.release, p.orphans, p.lost = w.guards.wire.check, &tree{start: ticks()}, box.lost
	case len(order.Frozen) == 0:
		order.Guard, order.Closed, p.release, err = w.guards.take()
	}
	if err == nil {
		p.stops.guards = order.Guard
		w.audience.add(p)
		if p.command, err = box.run(order, files); err == nil && p.command.Listener != nil {
			if p.proxy, err = serveProxy(p.command.Listener, w.opts.Dial, w.audience.tell); err != nil {
				p.command.Close()
			}
		}
		if err != nil {
			w.audience.drop(p)
			p.release()
		}
	}
	if err != nil {
		if p.pipe != nil {
			p.pipe.Close()
		}
		return nil, err
	}
	return p, nil
}

// effective gives the limits with defaults in place, and 0 for none.
func (l SandboxLimits) effective() SandboxLimits {
	if l.Processes == 0 {
		l.Processes = DefaultProcesses
	}
	return SandboxLimits{
		Processes: max(l.Processes, 0), Memory: max(l.Memory, 0), Process: max(l.Process, 0), File: max(l.File, 0), Disk: max(l.Disk, 0),
	}
}

func (l SandboxLimits) confine() confine.Limits {
	l = l.effective()
	return confine.Limits{Processes: l.Processes, Memory: l.Memory, Data: l.Process, File: l.File, Disk: l.Disk}
}

// sandboxProcess is a command in a sandbox.
type sandboxProcess struct {
	outlet
	ctx      context.Context
	command  *confine.Command
	proxy    *proxy // of this command alone; nil: there is none
	limit    time.Duration
	notes    []string
	audience *audience
	stops    *stops
	release  func() []string // of what it might not change; says what it tried
	orphans  *tree           // what is ours to end when its holder is lost; nil: the kernel does
	lost     <-chan struct{} // closed when the holder has ended

	mu      sync.Mutex
	over    bool  // the first process has exited
	ordered bool  // the holder was told to end it
	cause   error // why it was ended, nil if it was not
}

func (p *sandboxProcess) Pid() int { return p.command.Pid }

// leave forgets the command once nothing of it is left.
func (p *sandboxProcess) leave() {
	p.command.Close()
	if p.proxy != nil {
		p.proxy.close()
	}
}

// Wait leaves the ending to the holder: it knows the processes, and the kernel
// ends them all with the first one.
func (p *sandboxProcess) Wait() (Exit, error) {
	defer p.leave()
	var failed error // of Output
	read := make(chan struct{})
	go func() { failed = p.copyOutput(); close(read) }()

	unwatch := context.AfterFunc(p.ctx, func() { p.end(context.Cause(p.ctx)) })
	if p.limit > 0 {
		defer time.AfterFunc(p.limit, func() { p.end(ErrTime) }).Stop()
	}
	keep := p.keep()
	exit, err := p.follow()
	keep()
	unwatch()
	p.stopReading(read)
	exit.Notes = append(p.notes, exit.Notes...)
	exit.Notes = append(exit.Notes, p.audience.drop(p)...)
	exit.Notes = append(exit.Notes, p.stops.explain(exit)...)
	exit.Notes = tidy(append(exit.Notes, p.release()...))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.cause != nil:
		exit.Left = nil
		return exit, p.cause
	case err != nil:
		return exit, err
	}
	return exit, failed
}

// keep ends what the command started when its holder ends before it does: in a
// fence the kernel does not. The returned function ends that.
func (p *sandboxProcess) keep() (stop func()) {
	if p.orphans == nil {
		return func() {}
	}
	p.orphans.pid = p.Pid()
	over, done := make(chan struct{}), make(chan struct{})
	go func() { // keep's caller waits for it
		defer close(done)
		select {
		case <-over:
		case <-p.lost:
			p.orphans.end()
			p.orphans.bury()
		}
	}()
	return func() { close(over); <-done }
}

// follow waits until nothing of the command is left.
func (p *sandboxProcess) follow() (Exit, error) {
	exit := Exit{Code: -1}
	exited := false
	for {
		ev, err := p.command.Next()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !p.late() {
				return exit, errors.New("the sandbox does not answer")
			}
		case err != nil:
			return exit, err
		case ev.Exited:
			exited = true
			exit.Code, exit.Signal = ev.Status.ExitStatus(), ""
			if ev.Status.Signaled() {
				exit.Code, exit.Signal = -1, unix.SignalName(ev.Status.Signal())
			}
			p.exited()
		case ev.Done:
			exit.Left = ev.Result.Left
			if ev.Result.Over != "" {
				exit.Notes = append(exit.Notes, "ended with all it had started: "+ev.Result.Over)
			}
			if !exited {
				exit.Signal = unix.SignalName(unix.SIGKILL)
			}
			return exit, nil
		}
	}
}

// end is called when there is a reason to end the command.
func (p *sandboxProcess) end(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.cause != nil {
		return
	}
	p.cause = cause
	p.order()
}

// exited is called when the first process has: what is left may finish.
func (p *sandboxProcess) exited() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	switch {
	case p.ordered:
	case p.ctx.Err() != nil:
		p.order()
	default:
		p.command.Until(time.Now().Add(settle))
	}
}

// late is called when what was waited for did not come. It reports false
// when there is nothing more to be done about it.
func (p *sandboxProcess) late() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ordered {
		return false
	}
	p.order()
	return true
}

// order tells the holder to end the command. On a machine that is busy with
// swapping that takes its time.
func (p *sandboxProcess) order() {
	p.ordered = true
	p.command.Until(time.Now().Add(grace + stuck + 10*time.Second))
	p.command.End()
}

// ended waits for a canary, which must end well.
func ended(c *confine.Command) error {
	c.Until(time.Now().Add(10 * time.Second))
	well := false
	for {
		ev, err := c.Next()
		if err != nil {
			return err
		}
		if ev.Exited {
			well = ev.Status == 0
		}
		if ev.Done && !well {
			return errors.New("the program that tries it failed")
		}
		if ev.Done {
			return nil
		}
	}
}

// audience are the commands that are under way, with what there is to tell the
// model of each. The zero value is ready.
type audience struct {
	mu   sync.Mutex
	told map[*sandboxProcess][]string
}

func (a *audience) add(p *sandboxProcess) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.told == nil {
		a.told = map[*sandboxProcess][]string{}
	}
	a.told[p] = nil
}

// notesMost is how many different notes of one kind a command gets.
const notesMost = 5

// tell notes something with every command, as it is not known which one of
// them did it.
func (a *audience) tell(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for p, notes := range a.told {
		if len(notes) < notesMost && !slices.Contains(notes, text) {
			a.told[p] = append(notes, text)
		}
	}
}

// drop gives the notes of a command that has ended.
func (a *audience) drop(p *sandboxProcess) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	notes := a.told[p]
	delete(a.told, p)
	return notes
}
