//go:build amd64 || arm64

package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"oneloop/workspace/confine"
)

func playPart() { confine.Helper() }

// SandboxWorkspace is a [Workspace] on this machine whose commands are
// confined by the kernel: they change the workspace, a temporary folder of
// their own and nothing else, reach only hosts that Dial connects to, see no other process, and read
// no credentials. Everything a command started is gone when it ends, and all
// of it when this program ends, however it does.
//
// It is closed after use.
type SandboxWorkspace struct {
	*LocalWorkspace
	opts     SandboxOptions
	policy   confine.Policy
	guards   *guards
	audience audience

	mu        sync.Mutex // held while a holder starts
	holder    *confine.Holder
	ident     fs.FileInfo // of the root, when the holder started
	around    []held      // hidden folders in which something is shown, at that time
	proxy     *proxy
	wrap      *confine.Wrapper
	outer     []string    // the environment without what commands are told
	layerLock *os.File    // nil: there are no layers
	fenced    []string    // what commands in a fence may change; nil where there is none
	tmp       *sessionTmp // nil: it is in memory, or not ours
	placed    []string    // variables that are known once the sandbox has started
	status    SandboxStatus
	fault     error // why none works; it is not tried again
	closed    bool
}

// Sandboxed returns the workspace in the folder root, whose commands are
// confined. Nothing is started yet: see [SandboxWorkspace.Prepare].
func Sandboxed(root string, opts SandboxOptions) (*SandboxWorkspace, error) {
	env := opts.Env
	if env == nil {
		env = Scrub(os.Environ(), opts.Secrets)
	}
	w := &SandboxWorkspace{opts: opts, outer: env}
	local, err := Local(root, LocalOptions{Env: confinedEnv(env, opts.Keep, w.cache()), Dirs: opts.Dirs})
	if err != nil {
		return nil, err
	}
	w.LocalWorkspace = local
	if err := w.plan(env); err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	roots := []string{local.root}
	for _, f := range local.files.folders[1:] {
		roots = append(roots, f.real)
	}
	git := sharedGit(local.root)
	if git != "" && !slices.ContainsFunc(w.policy.Write, func(dir string) bool { _, in := below(dir, git); return in }) {
		w.policy.Write = append(w.policy.Write, git)
	} else {
		git = ""
	}
	lists := []string{filepath.Join(w.scratch(), fmt.Sprintf("oneloop-guards-%d", os.Geteuid()))}
	if opts.State != "" {
		lists = append([]string{opts.State}, lists...)
	}
	if w.guards, err = newGuards(roots, git, local.files.home, lists, opts.Protect); err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	w.guards.keep(confine.Hidden(w.policy.Hide, w.policy.Write))
	network := "off"
	if opts.Dial != nil {
		network = "proxy"
	}
	w.status = SandboxStatus{Network: network, Write: w.policy.Write, Hidden: len(confine.Covered(w.policy.Hide, w.policy.Write)), Limits: opts.Limits.effective()}
	return w, nil
}

// cache is the folder of the cache as commands know it.
func (w *SandboxWorkspace) cache() string {
	if w.opts.Cache == "" {
		return "/tmp/.cache"
	}
	return w.opts.Cache
}

// tooWide are folders that a sandbox cannot give away: it needs to put its
// own in their place.
var tooWide = []string{"/", "/dev", "/proc", "/sys", "/run", "/tmp", "/var", "/var/tmp"}

// plan works out what commands see.
func (w *SandboxWorkspace) plan(env []string) error {
	p := &w.policy
	write := append([]string{w.root}, w.opts.Dirs...)
	for _, dir := range write {
		actual, err := realPath(dir)
		if err != nil {
			return err
		}
		if slices.Contains(tooWide, actual) {
			return fmt.Errorf("%s is too wide for a sandbox: choose a folder below it, or run without a sandbox", actual)
		}
		if !slices.Contains(p.Write, actual) {
			p.Write = append(p.Write, actual)
		}
	}
	for _, path := range slices.Concat(HiddenPaths(env), w.opts.Hide) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		p.Hide = append(p.Hide, abs)
	}
	for _, path := range namedPaths(env, w.opts.Keep) {
		// What is in the workspace is there to be worked with.
		if actual, err := realPath(path); err != nil || !slices.ContainsFunc(p.Write, func(dir string) bool { _, in := below(dir, actual); return in }) {
			p.Hide = append(p.Hide, path)
		}
	}
	if w.opts.Tmp != "" {
		actual, err := realPath(w.opts.Tmp)
		if err != nil {
			return err
		}
		p.Tmp = actual
	}
	return nil
}

func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// Describe says what this workspace is. Info.Sandbox is "sandbox" until a
// backend has been chosen.
func (w *SandboxWorkspace) Describe() Info {
	info := w.LocalWorkspace.Describe()
	status := w.Status()
	info.Network = status.Network
	if info.Sandbox = status.Backend; info.Sandbox == "" {
		info.Sandbox = "sandbox"
	}
	return info
}

// Status says what is in force. It starts nothing.
func (w *SandboxWorkspace) Status() SandboxStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status
}

// Prepare starts the sandbox and tries whether it holds, which the first
// command would do otherwise. When none works its error is a [*SandboxError],
// as that of all commands is then.
func (w *SandboxWorkspace) Prepare() error {
	_, err := w.open()
	return err
}

// ReadOnly is the same workspace, whose commands change nothing in it: they
// write temporary files only. It shares the sandbox, so that servers started
// by w are reached.
func (w *SandboxWorkspace) ReadOnly() Workspace { return frozen{w} }

// frozen is a sandbox whose folders are read-only for commands.
type frozen struct{ *SandboxWorkspace }

func (f frozen) Start(ctx context.Context, cmd Cmd) (Process, error) {
	return f.start(ctx, cmd, confine.Order{Frozen: f.policy.Write})
}

// Close ends the sandbox and everything that runs in it.
func (w *SandboxWorkspace) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	err := errors.Join(w.end(), w.guards.close())
	if w.tmp != nil {
		err = errors.Join(err, w.tmp.remove())
		w.tmp = nil
	}
	return err
}

// end ends what open started.
func (w *SandboxWorkspace) end() error {
	var err error
	if w.holder != nil {
		err = w.holder.Close()
		w.holder = nil
	}
	if w.wrap != nil {
		w.wrap.Close()
		w.wrap = nil
	}
	if w.proxy != nil {
		w.proxy.close()
		w.proxy = nil
	}
	return errors.Join(err, w.unlock())
}

// unlock gives the layers away.
func (w *SandboxWorkspace) unlock() error {
	if w.layerLock == nil {
		return nil
	}
	err := w.layerLock.Close()
	w.layerLock = nil
	return err
}

var errClosed = errors.New("the workspace is closed")

// opened is a sandbox that was started.
type opened struct {
	run    runFunc
	env    []string        // variables that are known now
	fenced []string        // what commands in a fence may change; nil where there is none
	lost   <-chan struct{} // closed when its holder has ended
	note   string          // it is another than before
}

// runFunc starts a command in a sandbox.
type runFunc func(confine.Order, []*os.File) (*confine.Command, error)

// open starts the sandbox unless it is there.
func (w *SandboxWorkspace) open() (opened, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var note string
	switch {
	case w.closed:
		return opened{}, errClosed
	case w.fault != nil:
		return opened{}, w.fault
	case w.status.Backend == BackendBwrap:
		return opened{run: w.wrap.Run, env: w.placed}, nil
	case w.holder != nil:
		if note = w.spent(); note == "" {
			return opened{run: w.holder.Run, env: w.placed, fenced: w.fenced, lost: w.holder.Ended()}, nil
		}
		w.end()
	}
	if !isDir(w.root) {
		return opened{}, fmt.Errorf("%w: %s", ErrNoRoot, w.root)
	}
	w.makeCache()
	err := w.pick()
	box := opened{env: w.placed, fenced: w.fenced, note: note}
	switch {
	case w.holder != nil:
		box.run, box.lost = w.holder.Run, w.holder.Ended()
	case w.wrap != nil:
		box.run = w.wrap.Run
	}
	if err == nil {
		if err := w.guards.sweep(); err != nil {
			w.status.Notes = append(w.status.Notes, fmt.Sprintf("files that an earlier run put in the place of protected ones may still be there: %v", err))
		}
	}
	return box, err
}

// spent says why a holder is of no use any more, in words for the model.
func (w *SandboxWorkspace) spent() string {
	select {
	case <-w.holder.Ended():
		return "the sandbox was started again: what earlier commands left running and their temporary files are gone"
	default:
	}
	if now, err := os.Stat(w.root); err == nil && !os.SameFile(now, w.ident) {
		return "the workspace folder is another one than before, so the sandbox was started again: what earlier commands left running is gone"
	}
	if gone := replaced(w.around); len(gone) > 0 {
		return gone[0] + " is another folder than before, so the sandbox was started again: what earlier commands left running is gone"
	}
	return ""
}

// makeCache makes the folder for what commands keep. Where that cannot be,
// nothing is kept.
func (w *SandboxWorkspace) makeCache() {
	if w.opts.Cache == "" {
		return
	}
	err := os.MkdirAll(w.opts.Cache, 0o700)
	if err == nil && unix.Access(w.opts.Cache, unix.W_OK|unix.X_OK) != nil {
		err = &fs.PathError{Op: "write in", Path: w.opts.Cache, Err: fs.ErrPermission}
	}
	if err != nil {
		w.opts.Cache = ""
		w.status.Notes = append(w.status.Notes, fmt.Sprintf("downloads and intermediate results of commands are not kept for the next run: %v", err))
	}
}

// writable are the folders that commands may change, with the one for what they
// keep.
func (w *SandboxWorkspace) writable() ([]string, error) {
	if w.opts.Cache == "" {
		return w.policy.Write, nil
	}
	actual, err := realPath(w.opts.Cache)
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(w.policy.Write), actual), nil
}

// complete is the policy with what is known only when the sandbox starts.
func (w *SandboxWorkspace) complete() (policy confine.Policy, err error) {
	policy = w.policy
	policy.Proxy = w.opts.Dial != nil
	if policy.Write, err = w.writable(); err != nil {
		return policy, err
	}
	for _, path := range w.opts.Show {
		if actual, err := realPath(path); err == nil {
			policy.Show = append(policy.Show, actual)
		}
	}
	return policy, nil
}

// tryHolder starts a holder and lets the canary sing in it.
func (w *SandboxWorkspace) tryHolder() error {
	var err error
	if w.ident, err = os.Stat(w.root); err != nil {
		return err
	}
	policy, err := w.complete()
	if err != nil {
		return ours{err}
	}
	w.around = around(policy)
	list := stores(w.outer, w.policy.Write)
	policy.Layers, w.layerLock = w.layers(list)
	h, err := confine.Start(policy)
	if err != nil {
		return errors.Join(err, w.unlock())
	}
	if err := w.canary(h.Run, confine.CanaryOrder); err != nil {
		h.Close()
		return errors.Join(err, w.unlock())
	}
	w.holder = h
	w.placed = append(cacheEnv(nil, w.cache()), elsewhere(w.env, list, h.Facts.Layers, w.cache())...)
	w.status.Weaker = h.Facts.Weaker
	if h.Listener != nil {
		if w.proxy, err = serveProxy(h.Listener, w.opts.Dial, w.audience.tell); err != nil {
			return errors.Join(err, w.end())
		}
		w.placed = append(w.placed, proxyEnv(h.Facts.Port)...)
	}
	return nil
}

// canary runs a command that tries to do harm. Nothing of the user's is
// touched by it, whether it succeeds or not.
func (w *SandboxWorkspace) canary(run runFunc, what func(secret, dir, port, inside string) confine.Order) error {
	return w.bait(func(secret, port string, out *os.File) (func() error, error) {
		order := what(secret, w.outside(), port, w.inside())
		order.Fds = []int{1, 2}
		c, err := run(order, []*os.File{out, out})
		if err != nil {
			return nil, err
		}
		return func() error { defer c.Close(); return ended(c) }, nil
	})
}

// bait puts up what a canary must not reach, starts it, and listens: its every
// word is bad news.
func (w *SandboxWorkspace) bait(start func(secret, port string, out *os.File) (wait func() error, err error)) error {
	failed := func(err error) error { return fmt.Errorf("try the sandbox: %w", err) }
	secret, err := os.CreateTemp(w.private(), "oneloop-canary-")
	if err != nil {
		return ours{failed(err)}
	}
	defer os.Remove(secret.Name())
	defer secret.Close()
	port := "0"
	// In another sandbox we may have no network ourselves.
	if listener, err := net.Listen("tcp4", "127.0.0.1:0"); err == nil {
		defer listener.Close()
		_, port, _ = net.SplitHostPort(listener.Addr().String())
	}
	r, out, err := os.Pipe()
	if err != nil {
		return failed(err)
	}
	defer r.Close()
	wait, err := start(secret.Name(), port, out)
	out.Close()
	if err != nil {
		return failed(err)
	}
	r.SetReadDeadline(time.Now().Add(10 * time.Second))
	text, err := io.ReadAll(io.LimitReader(r, 4000))
	if err = errors.Join(err, wait()); len(text) > 0 {
		return ours{fmt.Errorf("it does not hold: %s", strings.Join(strings.Split(strings.TrimSpace(string(text)), "\n"), "; "))}
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// private is a folder in which this user can put what commands must not see:
// one of those they have of their own. The folder for temporary files need not
// be one of them.
func (w *SandboxWorkspace) private() string {
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} {
		actual, err := realPath(dir)
		in := func(given string) bool { _, in := below(given, actual); return in }
		if err == nil && isDir(actual) && unix.Access(actual, unix.W_OK|unix.X_OK) == nil && slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/dev"}, in) && !slices.ContainsFunc(w.policy.Write, in) {
			return actual
		}
	}
	return ""
}

// scratch is the folder for temporary files, or another one where commands
// could change what is in that.
func (w *SandboxWorkspace) scratch() string {
	if actual, err := realPath(os.TempDir()); err != nil || !within(w.policy.Write, actual) {
		return os.TempDir()
	}
	return cmp.Or(w.private(), os.TempDir())
}

// inside is the workspace when this user can write there, else "".
func (w *SandboxWorkspace) inside() string {
	if unix.Access(w.root, unix.W_OK|unix.X_OK) != nil {
		return ""
	}
	return w.root
}

// outside is a folder this user can write and commands must not: the home
// folder, or the one around the workspace.
func (w *SandboxWorkspace) outside() string {
	theirs := append([]string{"/tmp", "/var/tmp", "/dev", "/run"}, w.policy.Write...)
	for _, dir := range []string{envValue(w.env, "HOME"), filepath.Dir(w.root)} {
		actual, err := realPath(dir)
		if err == nil && !slices.ContainsFunc(theirs, func(given string) bool { _, in := below(given, actual); return in }) {
			return actual
		}
	}
	return "/"
}
