//go:build amd64 || arm64

package confine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Wrapper runs commands by bubblewrap, for systems that let that program make
// namespaces and not ours. Each command has namespaces of its own. Inside, this
// program is executed again as the first process; it looks whether bubblewrap
// has done what it was told, adds Landlock and the limits, and starts the
// command.
type Wrapper struct {
	Program string // path of bwrap
	Policy  Policy // Tmp is a folder
	Empty   string // a file with nothing in it, which is shown for hidden ones

	mu      sync.Mutex
	running map[*wrapped]struct{}
	closed  bool
}

// ProxyPort is where the listener is that each command by bubblewrap has on
// its own loopback.
const ProxyPort = 30128

// Descriptors of bwrap and of the first process of the command. bwrap closes
// those it reads.
const (
	wrapControl = 3 + iota // for a word to go ahead, and one hello
	wrapTell               // for reports
	wrapOrder              // a file with a wrapping
	wrapFilter             // a file with the filter of system calls
	wrapArgs               // a file with the words for bwrap
	wrapSelf               // this program
	wrapFiles              // the first of the command's
)

// wrapping is what the first process is told.
type wrapping struct {
	Policy  Policy
	Order   Order    // Guard holds those that bwrap was told to mount
	Covered []string // of Policy.Hide, which are without links
}

// Run starts a command. files are as for [Holder.Run].
func (w *Wrapper) Run(o Order, files []*os.File) (*Command, error) {
	// A mount follows links, and what they lead to is not what was meant.
	o.Guard = slices.DeleteFunc(slices.Clone(o.Guard), func(g Guard) bool { return leadsAway(g.Root, g.Path) })
	tell, theirTell, err := packets(unix.SOCK_NONBLOCK)
	if err != nil {
		return nil, err
	}
	defer theirTell.Close()
	c := &Command{tell: tell, buf: make([]byte, 64<<10)}
	control, theirControl, err := packets(0)
	if err != nil {
		tell.Close()
		return nil, err
	}
	defer control.Close()
	b := &wrapped{ended: make(chan struct{})}
	err = w.launch(b, o, append([]*os.File{theirControl, theirTell}, files...))
	theirControl.Close()
	if err != nil {
		tell.Close()
		return nil, err
	}
	c.leave = func() { b.leave(grace + 2*stuck); w.forget(b); b.words.Close() }
	theirTell.Close()          // so that its end is seen
	control.Write([]byte{'g'}) // where it is gone, greet says so
	if err = b.greet(control, c); err == nil {
		err = c.begin()
	}
	if err != nil {
		if c.Listener != nil {
			c.Listener.Close()
		}
		c.Close()
		return nil, err
	}
	return c, nil
}

// packets gives the two ends of a socket.
func packets(flags int) (ours, theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(pair[0]), "command"), os.NewFile(uintptr(pair[1]), "command"), nil
}

// leadsAway reports whether a name has a symbolic link in it, or is missing.
func leadsAway(root, name string) bool {
	path := root
	for part := range strings.SplitSeq(filepath.Clean(name), "/") {
		path = filepath.Join(path, part)
		if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// wrapped is a bwrap that runs.
type wrapped struct {
	process *os.Process
	words   *os.File // what it said on standard error
	ended   chan struct{}
}

// Close ends all commands, and waits until they have ended. None starts any
// more.
func (w *Wrapper) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for b := range w.running {
		b.kill()
	}
}

func (w *Wrapper) forget(b *wrapped) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, b)
}

// launch executes bwrap. first are the two sockets and the command's files.
func (w *Wrapper) launch(b *wrapped, o Order, first []*os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	if b.words, err = inMemory("words", nil); err != nil {
		return err
	}
	defer func() {
		if b.process == nil {
			b.words.Close()
		}
	}()
	what := wrapping{Policy: w.Policy, Order: o}
	what.Policy.Hide = Hidden(w.Policy.Hide, w.Policy.Write)
	what.Covered = Covered(what.Policy.Hide, nil)
	var code bytes.Buffer
	binary.Write(&code, binary.NativeEndian, filter(inNamespaces)) // into memory, of plain numbers
	list := []*os.File{null, null, b.words, first[0], first[1]}
	for _, text := range [][]byte{pack(what), code.Bytes(), []byte(strings.Join(w.words(o, what.Covered), "\x00") + "\x00")} {
		file, err := inMemory("order", text)
		if err != nil {
			return err
		}
		defer file.Close()
		list = append(list, file)
	}
	self, err := unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	program := os.NewFile(uintptr(self), "program")
	defer program.Close()
	list = append(append(list, program), first[2:]...)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrEnded
	}
	if err := b.start(w.Program, list); err != nil {
		return err
	}
	if w.running == nil {
		w.running = map[*wrapped]struct{}{}
	}
	w.running[b] = struct{}{}
	return nil
}

// start executes bwrap from a thread that lives as long: the kernel ends it
// with that.
func (b *wrapped) start(path string, files []*os.File) error {
	argv := []string{path, "--args", strconv.Itoa(wrapArgs), "--", wrappedPath(), wrappedName}
	attr := &os.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"}, Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}, // see namespaces
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var err error
		b.process, err = os.StartProcess(path, argv, attr)
		if err == nil {
			endAllSooner(b.process.Pid) // /proc is read-only inside
		}
		started <- err
		if err != nil {
			return
		}
		b.process.Wait()
		close(b.ended)
	}()
	return <-started
}

// greet waits until the first process has looked around.
func (b *wrapped) greet(control *os.File, c *Command) error {
	limit := unix.NsecToTimeval(startTime.Nanoseconds())
	socket := int(control.Fd())
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return err
	}
	var answer hello
	fds, err := receive(socket, &answer)
	if err != nil {
		b.leave(stuck)
		return fmt.Errorf("start bwrap: %w", byWords(lastWords(b.words, err)))
	}
	endAllSooner(b.process.Pid) // of which one may have been made meanwhile; root alone can still reach it
	if len(fds) == 1 {
		c.Listener = os.NewFile(uintptr(fds[0]), "listener")
	}
	return answer.Fault.err()
}

// leave waits for the end of bwrap, which follows that of the command, and
// brings it about when it does not come.
func (b *wrapped) leave(patience time.Duration) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-b.ended:
	case <-timer.C:
		b.kill()
	}
}

// kill ends everything at once, by the first process inside: bwrap waits for
// that. Were bwrap the first to end, nobody would.
func (b *wrapped) kill() {
	outer := b.process.Pid
	for _, p := range descendants(outer) {
		if p.parent != outer {
			continue
		}
		if fd, err := unix.PidfdOpen(p.pid, 0); err == nil {
			if again, ok := readProcess(p.pid); ok && again.parent == outer {
				unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			}
			unix.Close(fd)
		}
	}
	timer := time.AfterFunc(stuck, func() { b.process.Kill() })
	<-b.ended
	timer.Stop()
}

// inMemory is a file with a text, to be read from its beginning.
func inMemory(name string, text []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	if _, err := file.WriteAt(text, 0); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// words are what bwrap is told on how a command sees the machine. It does one
// after the other.
func (w *Wrapper) words(o Order, covered []string) []string {
	list := []string{
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL", "--seccomp", strconv.Itoa(wrapFilter),
		"--ro-bind", "/", "/", "--proc", "/proc",
	}
	for _, name := range maskedProc {
		if _, err := os.Lstat(name); err == nil {
			list = append(list, "--ro-bind", "/dev/null", name)
		}
	}
	list = append(list, "--remount-ro", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm", "--remount-ro", "/dev")
	places, last := w.places(slices.Concat(o.Frozen, o.Closed), covered)
	for _, p := range places {
		list = append(list, p.words...)
	}
	for _, g := range o.Guard {
		how, path := "--bind", filepath.Join(g.Root, g.Path)
		if g.Kind == ReadOnly {
			how = "--ro-bind"
		}
		list = append(list, how, path, path)
	}
	for _, p := range last {
		list = append(list, p.words...)
	}
	for _, p := range append(places, last...) {
		if p.shut {
			list = append(list, "--remount-ro", p.path)
		}
	}
	return list
}

// spread is what is mounted at a path.
type spread struct {
	path  string
	words []string
	shut  bool // made read-only in the end
}

// places gives what is mounted, from the root down. last comes after
// everything else: hidden files and folders with nothing in them that is seen,
// so that no other mount can uncover them.
func (w *Wrapper) places(frozen, covered []string) (list, last []spread) {
	add := func(how, from, to string) { list = append(list, spread{path: to, words: []string{how, from, to}}) }
	list = append(list, spread{path: "/run", words: []string{"--perms", "0755", "--tmpfs", "/run"}, shut: true})
	add("--bind", w.Policy.Tmp, "/tmp")
	add("--bind", w.Policy.Tmp, "/var/tmp")
	for _, dir := range w.Policy.Write {
		if slices.Contains(frozen, dir) {
			add("--ro-bind", dir, dir)
			continue
		}
		add("--bind", dir, dir)
	}
	for _, path := range slices.Concat(w.Policy.Show, runtimeDirs) {
		add("--ro-bind-try", path, path)
	}
	given := slices.Clone(list)
	for _, path := range covered {
		info, err := os.Lstat(path)
		if err != nil {
			continue // not there, or not to be reached either
		}
		p := spread{path: path, words: []string{"--ro-bind", w.Empty, path}}
		if info.IsDir() {
			p.words, p.shut = []string{"--perms", "0755", "--tmpfs", path}, true
		}
		if slices.ContainsFunc(given, func(g spread) bool { return strings.HasPrefix(g.path, path+"/") }) {
			list = append(list, p)
			continue
		}
		last = append(last, p)
	}
	slices.SortStableFunc(list, func(a, b spread) int { return strings.Count(a.path, "/") - strings.Count(b.path, "/") })
	return list, last
}
