//go:build amd64 || arm64

package confine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// holderName is the first word of a holder's command line, which is all that
// tells it from the program proper.
const holderName = "oneloop: sandbox"

// control is the descriptor of a holder's socket to the agent.
const control = 3

// hello is the holder's first message.
type hello struct {
	Facts Facts
	Fault fault
}

// Helper lives the life of a holder and does not return, when this process
// was started as one. Otherwise it returns at once.
func Helper() {
	switch os.Args[0] {
	case holderName:
		syscall.Exit(hold()) // nothing of what [os.Exit] does before is needed
	case canaryName:
		syscall.Exit(sing())
	}
	if isWrapped() {
		syscall.Exit(becomeWrapped())
	}
}

type holder struct {
	policy  Policy
	facts   Facts
	null    int
	filter  []unix.SockFilter
	wrapped bool // bwrap has made the view, for one command
	firsts  firsts

	listener []int // for the agent, when there is one

	viewing sync.Mutex          // held while what commands see is looked at
	covers  map[string]identity // by the path that each hides
	ruleset int                 // of Landlock, for what is seen; -1: there are none
	uses    int                 // of the rules
	ruled   string              // what they were made from, in one text
	sight   seen                // what they are for
}

func hold() int {
	debug.SetGCPercent(400)
	endSooner("/proc/self") // before our memory is closed, and this file with it
	var p Policy
	if _, err := receive(control, &p); err != nil {
		return 1 // the agent is gone
	}
	h := &holder{policy: p, ruleset: -1}
	err := h.open()
	if send(control, hello{h.facts, faultOf(err)}, h.listener...) != nil || err != nil {
		return 1
	}
	closeAll(h.listener)
	for {
		var o Order
		fds, err := receive(control, &o)
		if err != nil {
			if h.policy.Fence {
				h.endAll()
			}
			return 0
		}
		go h.serve(o, fds)
	}
}

func (h *holder) open() error {
	unix.CloseOnExec(control)
	if h.policy.Fence {
		return h.openFence()
	}
	if os.Getpid() != 1 {
		return fmt.Errorf("start sandbox: it has no process numbers of its own")
	}
	// Our memory is also that of the first processes of commands.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close memory: %w", err)
	}
	if err := raiseLoopback(); err != nil {
		return err
	}
	if h.policy.Proxy {
		if err := h.listen(0); err != nil {
			return fmt.Errorf("make the listener of the proxy: %w", err)
		}
	}
	var err error
	if h.covers, err = prepare(h.policy, &h.facts); err != nil {
		return err
	}
	h.policy.Write = append(h.policy.Write, h.facts.Layers...)
	if h.null, err = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open /dev/null: %w", err)
	}
	h.filter = filter(inNamespaces)
	h.findLandlock()
	h.facts.PidMax = ownPidMax()
	if !h.facts.PidMax {
		h.facts.Weaker = append(h.facts.Weaker, Counted)
	}
	return nil
}

func (h *holder) findLandlock() {
	if h.facts.Landlock = landlockVersion(); h.facts.Landlock == 0 {
		h.facts.Weaker = append(h.facts.Weaker, WithoutLandlock)
	}
}

// WithoutLandlock is what is weaker where the kernel has none.
const WithoutLandlock = "no Landlock in this kernel: one line of defence less around the read-only files, and a file with credentials that appears while a command runs can be read by that command"

// listen makes the listener that the agent serves: what is connected to
// inside is accepted outside. Port 0 is any that is free.
func (h *holder) listen(port int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	h.listener = []int{fd}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(fd, 128); err != nil {
		return err
	}
	at, err := unix.Getsockname(fd)
	if v4, ok := at.(*unix.SockaddrInet4); ok {
		h.facts.Port = v4.Port
	}
	return err
}

// serve runs one command to its end.
func (h *holder) serve(o Order, fds []int) {
	if len(fds) != len(o.Fds)+1 {
		closeAll(fds)
		return
	}
	tell := fds[0]
	r := &running{order: o, tell: os.NewFile(uintptr(tell), "command"), gone: make(chan struct{}), places: h.counted(), count: !h.facts.PidMax, below: descendants}
	switch r.kill = func() { unix.Kill(r.pid, unix.SIGKILL) }; {
	case h.wrapped:
		r.kill = r.endAll
	case h.policy.Fence:
		r.kill, r.below, r.left = r.endAll, family, h.left
	}
	defer r.tell.Close()
	err := h.start(r, fds)
	closeAll(fds[1:])
	if err != nil {
		r.refuse(err)
		return
	}
	go r.reap()
	orders := make(chan byte)
	go r.listen(orders)
	result := r.watch(orders)
	text, _ := json.Marshal(result)
	r.tell.Write(append([]byte{reportDone, 0, 0, 0, 0, 0, 0, 0}, text...))
}

// start makes the first process of a command. The first of fds is for its
// reports.
func (h *holder) start(r *running, fds []int) error {
	o := r.order
	// Sources lie above all numbers they are to get, so that none is lost.
	above := 64
	for _, n := range o.Fds {
		above = max(above, n+1)
	}
	sources := append([]int{h.null}, fds...)
	high := make([]int, 0, len(sources))
	defer func() { closeAll(high) }()
	for _, fd := range sources {
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, above)
		if err != nil {
			return fmt.Errorf("pass descriptors: %w", err)
		}
		high = append(high, dup)
	}
	if h.policy.Fence {
		return h.startFenced(r, high)
	}
	program, err := programScript(o, high[0], high[2:], r.bar)
	if err != nil {
		return err
	}
	r.first = child{program: program, tell: uintptr(high[1])}
	if h.wrapped {
		r.first.init = h.innerScript(o)
	} else {
		rules, err := h.renew()
		if err != nil {
			return err
		}
		if rules >= 0 {
			defer unix.Close(rules)
		}
		r.first.flags, r.first.init = unix.CLONE_NEWPID|unix.CLONE_NEWNS, h.initScript(o, rules)
	}
	r.pid, err = r.first.start()
	return err
}

// running is a command of the holder's.
type running struct {
	order  Order
	first  child
	pid    int     // of its first process, in the holder's count
	places []place // that it may write
	count  bool    // processes are counted, not limited by the kernel
	tell   *os.File
	gone   chan struct{} // closed when nothing is left

	kill  func()                        // ends all that it started
	below func(pid int) []process       // gives what a process started
	left  func(r *running, killed bool) // see [holder.left]; nil: the kernel sees to it
}

// bar adds one where processes are counted.
func (r *running) bar(s *script) {
	if n := r.order.Limits.Processes; r.count && n > 0 {
		s.bar(n)
	}
}

func (r *running) refuse(err error) {
	f := faultOf(err)
	head := make([]byte, reportSize)
	binary.NativeEndian.PutUint32(head, reportFailed)
	binary.NativeEndian.PutUint32(head[4:], uint32(f.Errno))
	r.tell.Write(append(head, strings.TrimSuffix(f.Text, ": "+syscall.Errno(f.Errno).Error())...)) // as [StepError] has it
}

// reap waits for the first process. When it is gone the kernel has ended
// everything with its process numbers.
func (r *running) reap() {
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(r.pid, &status, unix.WALL, nil)
		if err != unix.EINTR {
			break
		}
	}
	if r.left != nil {
		r.left(r, status.Signaled())
	}
	close(r.gone)
}

// listen passes on what the agent orders, until the command is done. An agent
// that closed its end wants no more of it.
func (r *running) listen(orders chan<- byte) {
	buf := make([]byte, 16)
	for {
		n, err := r.tell.Read(buf)
		what := byte(orderEnd)
		if n > 0 {
			what = buf[0]
		}
		select {
		case orders <- what:
		case <-r.gone:
			return
		}
		if err != nil || n == 0 {
			return
		}
	}
}

// watch waits for the end of the command, and brings it about.
func (r *running) watch(orders <-chan byte) Result {
	guard := newWatchdog(r.order.Limits, r.pid, r.places, r.count)
	guard.below = r.below
	var tick <-chan time.Time
	if pause := guard.pause(); pause > 0 {
		tick = time.After(pause)
	}
	for {
		select {
		case <-r.gone:
			return Result{}
		case <-orders:
			return Result{Left: r.end()}
		case <-tick:
			if over := guard.look(); over != "" {
				r.kill()
				r.wait(stuck)
				return Result{Over: over}
			}
			tick = time.After(guard.pause())
		}
	}
}

// end asks all processes to end, then ends them, and names them.
func (r *running) end() []string {
	left := r.below(r.pid)
	if r.wait(0) {
		return nil
	}
	names := name(left)
	for _, p := range left {
		p.signal(unix.SIGTERM, unix.SIGCONT)
	}
	if r.wait(grace) {
		return names
	}
	r.kill()
	if r.wait(stuck) {
		return names
	}
	survived := map[int]bool{}
	for _, p := range r.below(r.pid) {
		survived[p.pid] = true
	}
	for i, p := range left {
		if i < most && survived[p.pid] {
			names[i] += ", which could not be ended"
		}
	}
	return names
}

// most is how many processes are named.
const most = 20

func name(list []process) []string {
	var names []string
	for i, p := range list {
		if i == most {
			return append(names, fmt.Sprintf("%d more", len(list)-most))
		}
		names = append(names, p.String())
	}
	return names
}

// wait reports whether nothing is left after at most d.
func (r *running) wait(d time.Duration) bool {
	if d == 0 {
		select {
		case <-r.gone:
			return true
		default:
			return false
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-r.gone:
		return true
	case <-timer.C:
		return false
	}
}
