//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A fence is what confines commands where there can be no namespaces: Landlock
// and a filter of system calls. It keeps no place in the folders that can be
// written from being written, and leaves modes and times of files outside to
// be changed.
//
// Commands have the process numbers of the machine, so that the kernel ends
// nothing with their first process. What a command started is found by
// descent: the first process, which is outside of the fence and does nothing
// but wait, keeps its orphans, and the holder keeps those of a first process
// that was killed. A holder whose agent is gone ends everything below it before
// it ends itself. Before Linux 6.12 a fence does not keep signals in, and a
// command can end the holder.

// LeastLandlock is the version of Landlock from which on it keeps files from
// being emptied.
const LeastLandlock = 3

// signalsKept is the version of Landlock from which on it keeps signals in.
const signalsKept = 6

// Landlock is the version of Landlock this kernel has, 0 for none.
func Landlock() int { return landlockVersion() }

// firsts are the first processes of commands in a fence, by number.
type firsts struct {
	mu   sync.Mutex // held while one is made; for good once none shall be
	live map[int]*running
}

func (h *holder) openFence() (err error) {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("keep orphans: %w", err)
	}
	// Our memory is also that of the first processes of commands.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close memory: %w", err)
	}
	switch h.facts.Landlock = landlockVersion(); {
	case h.facts.Landlock < LeastLandlock:
		return fmt.Errorf("the kernel's Landlock has version %d, and it takes %d", h.facts.Landlock, LeastLandlock)
	case h.facts.Landlock < signalsKept:
		h.facts.Weaker = append(h.facts.Weaker, WithoutSignals)
	}
	if h.null, err = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return fmt.Errorf("open /dev/null: %w", err)
	}
	h.filter = filter(inFence)
	h.firsts.live = map[int]*running{}
	return nil
}

// startFenced is start. high are the descriptors for input, for reports and of
// the command.
func (h *holder) startFenced(r *running, high []int) error {
	o := r.order
	rules, err := h.fenceRules(o)
	if err != nil {
		return err
	}
	defer unix.Close(rules)
	r.first = child{init: &script{}, tell: uintptr(high[1])}
	r.first.init.do("begin a session", unix.SYS_SETSID)
	r.first.init.do("keep orphans", unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	r.first.program, err = programScript(o, high[0], high[2:], func(s *script) {
		s.do("enter "+o.Dir, unix.SYS_CHDIR, s.text(o.Dir))
		s.limits(o.Limits)
		s.dropRights()
		s.do("landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0)
		prog := &unix.SockFprog{Len: uint16(len(h.filter)), Filter: &h.filter[0]}
		s.do("filter system calls", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, at(s, prog))
		r.bar(s)
	})
	if err != nil {
		return err
	}
	h.firsts.mu.Lock()
	defer h.firsts.mu.Unlock()
	if r.pid, err = r.first.start(); err == nil {
		h.firsts.live[r.pid] = r
	}
	return err
}

// fenceRules gives the rules of Landlock for a command. They are the caller's.
func (h *holder) fenceRules(o Order) (int, error) {
	h.viewing.Lock()
	defer h.viewing.Unlock()
	write := slices.DeleteFunc(slices.Clone(h.policy.Write), func(path string) bool { return slices.Contains(o.Frozen, path) })
	return h.rules(Hidden(slices.Concat(o.Hide, h.policy.Hide), write), write)
}

// folders are the paths that lie on disks.
func folders(write []string) []string {
	return slices.DeleteFunc(slices.Clone(write), func(path string) bool { return strings.HasPrefix(path, "/dev/") })
}

// left is called when a first process has ended, and before that is told. What
// it had started ended before, unless it was killed.
func (h *holder) left(r *running, killed bool) {
	h.firsts.mu.Lock()
	if h.firsts.live[r.pid] == r {
		delete(h.firsts.live, r.pid)
	}
	h.firsts.mu.Unlock()
	if !killed {
		return
	}
	for end := time.Now().Add(grace + stuck); time.Now().Before(end); time.Sleep(time.Millisecond) {
		strays := h.strays()
		if len(strays) == 0 {
			return
		}
		kill(strays)
	}
}

// strays are the processes below the holder that belong to no command.
func (h *holder) strays() (list []process) {
	h.firsts.mu.Lock()
	defer h.firsts.mu.Unlock()
	for _, p := range children(os.Getpid()) {
		switch {
		case h.firsts.live[p.pid] != nil:
		case p.gone():
			unix.Wait4(p.pid, nil, unix.WNOHANG|unix.WALL, nil)
		default:
			list = append(append(list, p), family(p.pid)...)
		}
	}
	return list
}

// endAll ends everything below the holder, and what that makes meanwhile. It
// returns when nothing is left.
func (h *holder) endAll() {
	h.firsts.mu.Lock() // and nothing starts any more
	for pause := time.Millisecond; ; pause = min(2*pause, 10*time.Millisecond) {
		kill(family(os.Getpid()))
		time.Sleep(pause)
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG|unix.WALL, nil)
			if err == unix.ECHILD {
				return
			}
			if pid <= 0 && err != unix.EINTR {
				break
			}
		}
	}
}

// kill ends processes, children before their parents.
func kill(list []process) {
	for _, p := range slices.Backward(list) {
		p.signal(unix.SIGKILL)
	}
}

// WithoutSignals is what is weaker where Landlock keeps no signals in.
const WithoutSignals = "before Linux 6.12 commands can signal the user's other processes, and so outlive this program"
