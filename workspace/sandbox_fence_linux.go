//go:build amd64 || arm64

package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"oneloop/workspace/confine"
)

// fenceDevices are those that everybody writes to.
var fenceDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}

// tryFence lets the canary sing where there are no namespaces.
func (w *SandboxWorkspace) tryFence() error {
	if v := confine.Landlock(); v < confine.LeastLandlock {
		return fmt.Errorf("the kernel's Landlock has version %d, and it takes %d", v, confine.LeastLandlock)
	}
	if err := w.keeps(); err != nil {
		return err
	}
	tmp := w.policy.Tmp
	if tmp == "" {
		own, err := newTmp(w.scratch())
		if err != nil {
			return err
		}
		w.tmp, tmp = own, own.path
	}
	write, err := w.writable()
	if err != nil {
		return err
	}
	w.fenced = slices.Concat(write, []string{tmp}, fenceDevices)
	w.placed = []string{"TMPDIR=" + tmp}
	if w.opts.Cache == "" {
		w.placed = cacheEnv(w.placed, tmp)
	}
	err = w.bait(func(secret, port string, out *os.File) (func() error, error) {
		path, argv := confine.CanaryFence(secret, w.outside(), port, w.inside())
		f := confine.Fence{Path: path, Argv: argv, Write: w.fenced, Hide: append([]string{secret}, w.policy.Hide...)}
		p, err := w.enclose(context.Background(), Cmd{Fds: map[int]*os.File{1: out, 2: out}}, f, w.root, w.env)
		if err != nil {
			return nil, err
		}
		return func() error {
			exit, err := p.Wait()
			if err == nil && exit.Code != 0 {
				err = errors.New("the program that tries it failed")
			}
			return err
		}, nil
	})
	if err != nil {
		return err
	}
	w.guards.wire.kept = nil // nothing keeps commands from making them
	w.status.Weaker = weakerLL
	w.status.Network = "none"
	return nil
}

// keeps reports what Landlock cannot keep from commands: what lies in a folder
// that they may change.
func (w *SandboxWorkspace) keeps() error {
	for _, root := range w.policy.Write {
		secrets := confine.Covered(w.policy.Hide, w.policy.Write)
		if home, err := realPath(w.files.home); err == nil {
			secrets = append([]string{home}, secrets...)
		}
		for _, path := range secrets {
			if _, in := below(root, path); in {
				return fmt.Errorf("it cannot keep commands from %s, which lies in the folder %s that they may change: choose a folder below it, or one elsewhere", path, root)
			}
		}
	}
	return nil
}

// fence starts a command that Landlock and a filter confine. It is in the
// tree of this program like one without a sandbox.
func (w *SandboxWorkspace) fence(ctx context.Context, cmd Cmd, order confine.Order) (Process, error) {
	w.guards.wire.set(nil, nil)
	f := confine.Fence{Path: order.Path, Argv: cmd.Argv, Hide: w.policy.Hide, Limits: w.opts.Limits.confine()}
	if w.opts.Limits.Process == 0 {
		f.Limits.Data = f.Limits.Memory // there is no watchdog to see it together
	}
	for _, path := range w.fenced {
		if !slices.Contains(order.Frozen, path) {
			f.Write = append(f.Write, path)
		}
	}
	stops := w.stops(order)
	stops.fence = true
	cmd.Output = stops.watch(cmd.Output)
	p, err := w.enclose(ctx, cmd, f, order.Dir, order.Env)
	if err != nil && order.Dir != w.root && isDir(w.root) && !isDir(order.Dir) {
		if p, err = w.enclose(ctx, cmd, f, w.root, mergeEnv(order.Env, "PWD="+w.root)); err == nil {
			p.notes = append(p.notes, goneNote(order.Dir, w.root))
		}
	}
	if err != nil {
		w.guards.wire.check() // nothing ran
		if !isDir(w.root) {
			err = fmt.Errorf("%w: %s", ErrNoRoot, w.root)
		}
		return nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
	}
	return fencedProcess{p, stops, w.guards.wire.check}, nil
}

func (w *SandboxWorkspace) enclose(ctx context.Context, cmd Cmd, f confine.Fence, dir string, env []string) (*localProcess, error) {
	at := 3
	fds := map[int]*os.File{}
	for n, file := range cmd.Fds {
		at = max(at, n+1)
		fds[n] = file
		if n >= 3 {
			f.Keep = append(f.Keep, n)
		}
	}
	self, argv, text, err := f.Command(at)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	fds[at] = text
	cmd.Argv, cmd.Fds = argv, fds
	return w.spawn(ctx, self, dir, env, cmd)
}

// fencedProcess tells afterwards what was put back.
type fencedProcess struct {
	*localProcess
	stops *stops
	check func() []string
}

func (p fencedProcess) Wait() (Exit, error) {
	exit, err := p.localProcess.Wait()
	if err == nil {
		exit.Notes = append(exit.Notes, p.stops.explain(exit)...)
	}
	exit.Notes = tidy(append(exit.Notes, p.check()...))
	return exit, err
}
