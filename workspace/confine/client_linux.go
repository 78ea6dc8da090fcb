//go:build amd64 || arm64

package confine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Holder is the agent's side of a holder. It is safe for concurrent use.
type Holder struct {
	Facts    Facts
	Listener *os.File // on the loopback of commands, when the policy has one; the caller's to close

	control int
	sending sync.RWMutex // held for writing to close control
	closed  bool
	process *os.Process
	words   *os.File // what it said on standard error
	ended   chan struct{}
	fence   bool // it ends its commands, and the kernel does not
}

// start is how long a holder may take to be ready, and a command to start.
const startTime = 30 * time.Second

// Start starts a holder and waits until it is ready.
func Start(p Policy) (*Holder, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "sandbox")
	h := &Holder{control: pair[0], ended: make(chan struct{}), fence: p.Fence}
	err = h.launch(theirs)
	theirs.Close()
	if err != nil {
		unix.Close(h.control)
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	if err := h.greet(p); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// launch executes this program as a holder. The thread that does it lives as
// long as the holder: where there are namespaces, the kernel ends the holder
// with it.
func (h *Holder) launch(theirs *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	words, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	h.words = os.NewFile(uintptr(words), "sandbox")
	attr := &os.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=1"}, Files: []*os.File{null, null, h.words, theirs}, Sys: namespaces(),
	}
	if h.fence {
		attr.Sys = &syscall.SysProcAttr{Setpgid: true} // it ends when our end of the socket closes
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := withDumpable(func() (err error) {
			h.process, err = os.StartProcess("/proc/self/exe", []string{holderName}, attr)
			return err
		})
		started <- err
		if err != nil {
			return
		}
		h.process.Wait()
		close(h.ended)
	}()
	if err := <-started; err != nil {
		h.words.Close()
		return err
	}
	return nil
}

// namespaces are what a holder gets of its own. Every user keeps the number;
// root, who may, maps all.
func namespaces() *syscall.SysProcAttr {
	uid, gid := os.Geteuid(), os.Getegid()
	attr := &syscall.SysProcAttr{
		// Not a session of its own: that would make it one of our commands
		// that lost its parent. A group of its own keeps Ctrl-C away.
		Setpgid:     true,
		Pdeathsig:   syscall.SIGKILL,
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
	}
	if uid == 0 {
		attr.UidMappings = allOf("/proc/self/uid_map")
		attr.GidMappings = allOf("/proc/self/gid_map")
		return attr
	}
	// An ordinary user loses its rights in the namespaces at exec otherwise. The
	// last is for the working folder of a layer, which nobody else may read.
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE, unix.CAP_DAC_OVERRIDE}
	return attr
}

// allOf maps each number that exists here onto itself.
func allOf(path string) []syscall.SysProcIDMap {
	data, err := os.ReadFile(path)
	if err != nil {
		return []syscall.SysProcIDMap{{Size: 1}}
	}
	var maps []syscall.SysProcIDMap
	for line := range strings.Lines(string(data)) {
		var inside, outside, size int
		if n, _ := fmt.Sscan(line, &inside, &outside, &size); n == 3 {
			maps = append(maps, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
		}
	}
	return maps
}

// withDumpable does what the kernel allows to a program only whose memory is
// not closed: to write the numbers of users of a child.
func withDumpable(do func() error) error {
	was, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil || was == 1 {
		return do()
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return err
	}
	// 0 is the only other value a program can set.
	defer unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	return do()
}

// greet hands over the policy and waits for the holder's answer.
func (h *Holder) greet(p Policy) error {
	// Without time it would stand still with the holder.
	limit := unix.NsecToTimeval(startTime.Nanoseconds())
	if err := unix.SetsockoptTimeval(h.control, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return fmt.Errorf("start sandbox: %w", err)
	}
	if err := send(h.control, p); err != nil {
		return fmt.Errorf("start sandbox: %w", h.death(err))
	}
	var answer hello
	fds, err := receive(h.control, &answer)
	if err != nil {
		return fmt.Errorf("start sandbox: %w", h.death(err))
	}
	if len(fds) == 1 {
		h.Listener = os.NewFile(uintptr(fds[0]), "listener")
	}
	h.Facts = answer.Facts
	if err := answer.Fault.err(); err != nil {
		return fmt.Errorf("start sandbox: %w", err)
	}
	return nil
}

// death says why a holder does not answer, in its last words if it had any.
func (h *Holder) death(err error) error {
	h.process.Kill()
	<-h.ended
	return lastWords(h.words, err)
}

func lastWords(words *os.File, err error) error {
	text := make([]byte, 2000)
	n, _ := words.ReadAt(text, 0)
	if n == 0 {
		return fmt.Errorf("it ended at once: %w", err)
	}
	return fmt.Errorf("it ended: %s", strings.TrimSpace(string(text[:n])))
}

// Ended is closed when the holder has ended, and with it all commands.
func (h *Holder) Ended() <-chan struct{} { return h.ended }

// Kill ends the holder and everything in it, and does not wait for it.
func (h *Holder) Kill() {
	h.sending.RLock()
	defer h.sending.RUnlock()
	if !h.closed {
		h.kill()
	}
}

func (h *Holder) kill() {
	if h.fence {
		unix.Shutdown(h.control, unix.SHUT_RDWR)
		return
	}
	h.process.Kill()
}

// Close ends the holder and everything in it, and waits until it has ended.
func (h *Holder) Close() error {
	h.sending.Lock()
	defer h.sending.Unlock()
	if h.closed {
		return nil
	}
	h.closed = true
	h.kill()
	unix.Close(h.control)
	if h.fence {
		select {
		case <-h.ended:
		case <-time.After(startTime): // it waits for what cannot be ended
		}
	}
	h.process.Kill()
	<-h.ended
	return h.words.Close()
}

// Command is a command in a holder.
type Command struct {
	Pid      int      // of the program, in its own count
	Listener *os.File // on its loopback, when it is not one for all commands; the caller's to close
	tell     *os.File
	buf      []byte
	leave    func() // waits until its sandbox has ended; nil: that stays
}

// StepError says that a command was not started, and what could not be done.
type StepError struct {
	What string
	Err  error // nil: What says it all
}

func (e *StepError) Error() string {
	if e.Err == nil {
		return e.What
	}
	return e.What + ": " + e.Err.Error()
}

func (e *StepError) Unwrap() error { return e.Err }

// Program reports whether it was the program itself that could not be
// executed, and not something around it.
func (e *StepError) Program() bool { return e.What == execLabel }

// ErrEnded says that the holder ended, and with it the command.
var ErrEnded = errors.New("the sandbox has ended")

// Run starts a command. files are its descriptors, for the numbers in o.Fds;
// they stay the caller's.
func (h *Holder) Run(o Order, files []*os.File) (*Command, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	c := &Command{tell: os.NewFile(uintptr(pair[0]), "command"), buf: make([]byte, 64<<10)}
	err = h.hand(o, pair[1], files)
	unix.Close(pair[1])
	if err == nil {
		err = c.begin()
	}
	if err != nil {
		c.tell.Close()
		return nil, err
	}
	return c, nil
}

func (h *Holder) hand(o Order, tell int, files []*os.File) error {
	h.sending.RLock()
	defer h.sending.RUnlock()
	if h.closed {
		return ErrEnded
	}
	fds := []int{tell}
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	err := send(h.control, o, fds...)
	if err == unix.EPIPE || err == unix.ECONNRESET {
		return ErrEnded
	}
	return err
}

func (c *Command) begin() error {
	c.tell.SetReadDeadline(time.Now().Add(startTime))
	defer c.tell.SetReadDeadline(time.Time{})
	ev, err := c.Next()
	if err != nil {
		return err
	}
	if !ev.Started {
		return &StepError{What: "unexpected answer of the sandbox"}
	}
	return nil
}

// Event is what is told of a command.
type Event struct {
	Started bool
	Exited  bool               // the program has ended, with Status
	Status  syscall.WaitStatus // of the program
	Done    bool               // nothing is left; Result says the rest
	Result  Result
}

// Next waits for what is told next. After Done it is not called again.
func (c *Command) Next() (Event, error) {
	n, err := c.tell.Read(c.buf)
	if err == io.EOF || err == nil && n < reportSize {
		return Event{}, ErrEnded
	}
	if err != nil {
		return Event{}, err
	}
	value, text := binary.NativeEndian.Uint32(c.buf[4:]), c.buf[reportSize:n]
	switch c.buf[0] {
	case reportStarted:
		c.Pid = int(value)
		return Event{Started: true}, nil
	case reportExited:
		return Event{Exited: true, Status: syscall.WaitStatus(value)}, nil
	case reportDone:
		ev := Event{Done: true}
		return ev, json.Unmarshal(text, &ev.Result)
	case reportFailed:
		failed := &StepError{What: string(text)}
		if value != 0 {
			failed.Err = syscall.Errno(value)
		}
		return Event{}, failed
	}
	return Event{}, &StepError{What: "unexpected answer of the sandbox"}
}

// Until sets the time at which a Next that waits returns
// [os.ErrDeadlineExceeded].
func (c *Command) Until(t time.Time) { c.tell.SetReadDeadline(t) }

// End asks everything in the command to end, and ends it a second later.
func (c *Command) End() { c.tell.Write([]byte{orderEnd}) }

// Close forgets the command. One that still runs is ended.
func (c *Command) Close() error {
	err := c.tell.Close()
	if c.leave != nil {
		c.leave()
	}
	return err
}
