package workspace

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// settle is how long what a command left may take to finish by itself,
	// e.g. to pass on the last lines of a pipe it stands at the end of.
	settle = 200 * time.Millisecond
	// grace is how long a process may take to end after it was asked to.
	grace = time.Second
	// stuck is how long we wait for what a signal cannot end, and for output
	// that somebody outside the tree holds open.
	stuck = time.Second
	// sweep is how often orphans that have exited are reaped while the
	// command that made them runs. Until then they look alive to it.
	sweep = 200 * time.Millisecond
	// chunk is how much output is read at once, in bytes: a pipe's content.
	chunk = 64 << 10
	// flood is how many bytes make a command one that prints a lot. Its pipe
	// is then widened, so that it goes on while we put away what it printed.
	flood = 1 << 20
)

// hurried is set when there is no time left.
var hurried atomic.Bool

// Hurry takes from commands that are being ended, now or later, the time they
// are otherwise given to do so themselves. It is for a program that was told
// to end for the second time, and cannot be taken back.
func Hurry() { hurried.Store(true) }

// EndAll kills at once what commands on this machine have started, for a
// program that ends without waiting for them. Commands in a sandbox end with
// the program anyway. On systems other than Linux and Windows it
// does nothing.
func EndAll() { endAll() }

// lockTime is how long something is waited for where there is no time.
const lockTime = 100 * time.Millisecond

// localProcess is a command on this machine.
type localProcess struct {
	outlet
	ctx   context.Context
	first *os.Process
	tree  *tree
	limit time.Duration
	notes []string
}

// outlet is where the output of a command goes.
type outlet struct {
	output io.Writer
	pipe   *os.File // read end of its output; nil when nobody wants it
}

// spawn starts the program at path. Nothing is left behind when it fails.
func (w *LocalWorkspace) spawn(ctx context.Context, path, dir string, env []string, cmd Cmd) (*localProcess, error) {
	p := &localProcess{outlet: outlet{output: cmd.Output}, ctx: ctx, limit: cmd.Limits.Time}
	sink, err := p.openOutput()
	if err != nil {
		return nil, err
	}
	defer sink.Close()
	files := []*os.File{w.null, sink, sink}
	for n, f := range cmd.Fds {
		if n < 0 {
			return nil, fmt.Errorf("there is no descriptor %d", n)
		}
		for len(files) <= n {
			files = append(files, nil)
		}
		files[n] = f
	}
	p.tree = newTree()
	p.first, err = startProcess(path, cmd.Argv, &os.ProcAttr{Dir: dir, Env: env, Files: files, Sys: ownSession()})
	if err == nil {
		err = p.tree.adopt(p.first)
	}
	if err != nil {
		p.tree.forget()
		if p.pipe != nil {
			p.pipe.Close()
		}
		return nil, err
	}
	return p, nil
}

// openOutput makes what the command writes to and, unless that is thrown
// away, what we read from.
func (p *outlet) openOutput() (*os.File, error) {
	if p.output == nil {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	r, w, err := os.Pipe()
	p.pipe = r
	return w, err
}

func (p *localProcess) Pid() int { return p.first.Pid }

func (p *localProcess) Wait() (Exit, error) {
	defer p.tree.forget()
	var failed error // of Output
	read := make(chan struct{})
	go func() { failed = p.copyOutput(); close(read) }()

	guard := p.guard()
	state, err := p.first.Wait()
	ended := guard.lift()
	patience := settle
	if ended != nil || p.ctx.Err() != nil {
		patience = 0
	}
	left := p.tree.finish(patience)
	p.stopReading(read)

	exit := Exit{Notes: p.notes}
	if err != nil {
		return exit, err
	}
	exit.Code, exit.Signal = state.ExitCode(), signalName(state)
	if ended != nil {
		return exit, ended
	}
	exit.Left = left
	return exit, failed
}

// guard acts while Wait waits for the first process, which is what the one
// thread it costs is blocked on: the everyday command needs nothing else.
type guard struct {
	mu       sync.Mutex // held while the tree is being ended
	tree     *tree
	over     bool  // the first process has exited
	cause    error // why the tree was ended, nil if it was not
	unwatch  func() bool
	limit    *time.Timer
	sweeping *time.Timer
}

func (p *localProcess) guard() *guard {
	g := &guard{tree: p.tree}
	g.mu.Lock() // until all fields are set
	defer g.mu.Unlock()
	g.unwatch = context.AfterFunc(p.ctx, func() { g.end(context.Cause(p.ctx)) })
	if p.limit > 0 {
		g.limit = time.AfterFunc(p.limit, func() { g.end(ErrTime) })
	}
	g.sweeping = time.AfterFunc(sweep, g.sweep)
	return g
}

func (g *guard) end(cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || g.cause != nil {
		return
	}
	g.cause = cause
	g.tree.end()
}

func (g *guard) sweep() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		g.tree.reap()
		g.sweeping.Reset(sweep)
	}
}

// lift is called when the first process has exited. It says why that was
// ended; nil means that it exited by itself.
func (g *guard) lift() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	g.unwatch()
	if g.limit != nil {
		g.limit.Stop()
	}
	g.sweeping.Stop()
	return g.cause
}

// copyOutput reads until nobody holds the write end, or until stopReading.
// Output that fails is not written to again, and the command not disturbed.
func (p *outlet) copyOutput() error {
	if p.pipe == nil {
		return nil
	}
	buf := buffers.Get().(*[chunk]byte)
	defer buffers.Put(buf)
	var failed error
	for total := 0; ; {
		n, err := p.pipe.Read(buf[:])
		if n > 0 && failed == nil {
			failed = p.put(buf[:n])
		}
		if err != nil {
			return failed // the end, or as good as
		}
		if total < flood {
			if total += n; total >= flood {
				widen(p.pipe)
			}
		}
	}
}

// put writes to Output. One that panics counts as one that fails: it would
// take the program down in a goroutine that is nobody's to guard.
func (p *outlet) put(b []byte) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("internal error: write output: %v", v)
		}
	}()
	_, err = p.output.Write(b)
	return err
}

var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// stopReading waits for the end of the output. The tree has ended, so that
// it is there already, unless a process outside holds the other end.
func (p *outlet) stopReading(read <-chan struct{}) {
	if p.pipe == nil {
		<-read
		return
	}
	defer p.pipe.Close()
	select {
	case <-read:
		return
	default:
	}
	timer := time.NewTimer(stuck)
	defer timer.Stop()
	select {
	case <-read:
	case <-timer.C:
		if p.pipe.SetReadDeadline(time.Now()) != nil {
			p.pipe.Close()
		}
		<-read
	}
}
