package workspace

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reaper is set when orphans below this program become its children.
var reaper bool

// A tree is what a command started: its first process and what descends from
// it. While ancestors live, descent tells who belongs. When one dies, its
// children become ours, and the session, which is the command's own, tells.
// What left the session too belongs to the commands that ran when it started,
// and ends with the last of them.
//
// Children of this program in its own session were started by other code of
// it and are never touched.
type tree struct {
	pid   int    // of the first process, also its group and session; 0 before it started
	start uint64 // clock ticks since boot, as in /proc/PID/stat
}

// running are the trees of this program: whose an orphan is depends on all.
var running struct {
	sync.Mutex
	trees map[*tree]struct{}
}

// newTree is called before the first process starts, so that whatever it
// starts is not older.
func newTree() *tree {
	t := &tree{start: ticks()}
	running.Lock()
	defer running.Unlock()
	if running.trees == nil {
		running.trees = map[*tree]struct{}{}
	}
	running.trees[t] = struct{}{}
	return t
}

// ticks is the time since boot in the unit /proc uses, 1/100 s everywhere Go
// runs.
func ticks() uint64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return uint64(now.Nano() / 1e7)
}

func (t *tree) adopt(p *os.Process) error {
	running.Lock()
	defer running.Unlock()
	t.pid = p.Pid
	return nil
}

func (t *tree) forget() {
	running.Lock()
	defer running.Unlock()
	delete(running.trees, t)
}

// gone tells cheaply that nothing is left once the first process has been
// reaped: its group is empty, and this program has no child, so no orphan.
// False means that one has to look.
func (t *tree) gone() bool {
	if unix.Kill(-t.pid, 0) != unix.ESRCH {
		return false
	}
	if !reaper {
		return true
	}
	err := unix.EINTR
	for err == unix.EINTR {
		e := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		err, _ = e.(unix.Errno)
	}
	return err == unix.ECHILD
}

// finish deals with what is left after the first process was reaped: it may
// finish by itself for so long, then it is ended. The names of what had to be
// ended are returned.
func (t *tree) finish(patience time.Duration) []string {
	if t.gone() {
		return nil
	}
	if !procReadable() {
		t.endGroup()
		return nil
	}
	var left []proc
	if until(patience, func() bool { left = t.members(); return len(left) == 0 }) {
		return nil
	}
	survived := t.end()
	names := make([]string, len(left))
	for i, p := range left {
		names[i] = fmt.Sprintf("%s (pid %d)", p.name, p.pid)
		for _, s := range survived {
			if s.pid == p.pid {
				names[i] += ", which could not be ended"
			}
		}
	}
	return names
}

// end ends the tree and returns what could not be.
func (t *tree) end() []proc {
	if !procReadable() {
		t.endGroup()
		return nil
	}
	var left []proc
	empty := func() bool { left = t.members(); return len(left) == 0 }
	if empty() {
		return nil
	}
	signalAll(left, unix.SIGTERM)
	if gently(empty) {
		return nil
	}
	// Killing is repeated: what forks meanwhile has children to be found.
	until(stuck, func() bool {
		signalAll(left, unix.SIGKILL)
		return empty()
	})
	return left
}

// endAll kills the trees of all commands that run.
func endAll() {
	until(lockTime, func() bool {
		running.Lock()
		trees := slices.Collect(maps.Keys(running.trees))
		trees = slices.DeleteFunc(trees, func(t *tree) bool { return t.pid <= 0 })
		running.Unlock()
		empty := true
		for _, t := range trees {
			if !procReadable() {
				unix.Kill(-t.pid, unix.SIGKILL)
				continue
			}
			left := t.members()
			signalAll(left, unix.SIGKILL)
			empty = empty && len(left) == 0
		}
		return empty
	})
}

// endGroup is all that can be done without /proc.
func (t *tree) endGroup() {
	empty := func() bool { return unix.Kill(-t.pid, 0) == unix.ESRCH }
	unix.Kill(-t.pid, unix.SIGTERM)
	if !gently(empty) {
		unix.Kill(-t.pid, unix.SIGKILL)
		until(stuck, empty)
	}
}

// reap takes the exit status of orphans of any tree. They are zombies until
// somebody does, and a command that waits for one of them to vanish hangs.
func (t *tree) reap() {
	var info unix.Siginfo
	if !reaper || unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) != nil || info.Signo == 0 {
		return
	}
	running.Lock()
	defer running.Unlock()
	for other := range running.trees {
		if other.pid == 0 {
			return // any of them may be its first process: next time
		}
	}
	for _, c := range children(os.Getpid()) {
		for other := range running.trees {
			if c.dead() && c.pid != other.pid && other.mayOwn(c) {
				unix.Wait4(c.pid, nil, unix.WNOHANG, nil)
				break
			}
		}
	}
}

// members are the living processes of the tree. Dead orphans of it are
// reaped.
func (t *tree) members() []proc {
	running.Lock()
	defer running.Unlock()
	var found []proc
	for _, c := range children(os.Getpid()) {
		if !t.owns(c) {
			continue
		}
		found = descend(found, c)
		if c.dead() && c.pid != t.pid {
			unix.Wait4(c.pid, nil, unix.WNOHANG, nil)
		}
	}
	return found
}

// bury reaps all that is dead of the tree, its first process too, where that has
// become a child of this program. The dead below a parent that dies come here a
// moment after it, when the last look for the living may be over.
func (t *tree) bury() {
	until(stuck, func() bool {
		running.Lock()
		defer running.Unlock()
		left := false
		for _, c := range children(os.Getpid()) {
			if t.owns(c) {
				left = true
				unix.Wait4(c.pid, nil, unix.WNOHANG, nil)
			}
		}
		return !left
	})
}

func descend(found []proc, p proc) []proc {
	if !p.dead() {
		found = append(found, p)
	}
	for _, c := range children(p.pid) {
		found = descend(found, c)
	}
	return found
}

// owns reports whether a child of this program belongs to t, and to no tree
// that still runs beside it.
func (t *tree) owns(c proc) bool {
	if c.session == t.pid {
		return true
	}
	for other := range running.trees {
		if other != t && other.mayOwn(c) {
			return false
		}
	}
	return t.mayOwn(c)
}

func (t *tree) mayOwn(c proc) bool {
	if t.pid != 0 && c.session == t.pid {
		return true
	}
	for other := range running.trees {
		if other != t && other.pid != 0 && c.session == other.pid {
			return false
		}
	}
	return reaper && c.session != ownSessionID() && c.start >= t.start
}

var ownSessionID = sync.OnceValue(func() int {
	sid, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	return sid
})

// proc is a line of /proc/PID/stat, which is all that is read of a process.
type proc struct {
	pid, parent, session int
	threads              int
	state                byte
	start                uint64
	name                 string
}

// dead reports whether the process has ended. One whose first thread has
// ended while others run looks like a zombie, and lives.
func (p proc) dead() bool {
	return p.state == 'X' || p.state == 'Z' && p.threads <= 1
}

// procReadable reports whether /proc is there and counts processes as we do.
var procReadable = sync.OnceValue(func() bool {
	self, err := os.Readlink("/proc/self")
	return err == nil && self == strconv.Itoa(os.Getpid())
})

// childrenKnown reports whether this kernel lists children. Without that every
// process has to be looked at.
var childrenKnown = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/thread-self/children")
	return err == nil
})

// children lists the children of a process, those of all its threads.
func children(pid int) []proc {
	if !childrenKnown() {
		return searchChildren(pid)
	}
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return nil // it is gone
	}
	var list []proc
	for _, thread := range threads {
		data, err := os.ReadFile(tasks + "/" + thread.Name() + "/children")
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(data)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			if p, err := readProc(child); err == nil && p.parent == pid {
				list = append(list, p)
			}
		}
	}
	return list
}

func searchChildren(pid int) []proc {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []proc
	for _, entry := range all {
		n, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if p, err := readProc(n); err == nil && p.parent == pid {
			list = append(list, p)
		}
	}
	return list
}

// readProc reads what the kernel says of a process. The name stands in
// parentheses and may hold any character, also parentheses.
func readProc(pid int) (proc, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, err
	}
	open, shut := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || shut < open {
		return proc{}, fmt.Errorf("read process %d: unexpected form", pid)
	}
	fields := strings.Fields(string(data[shut+1:]))
	if len(fields) < 20 {
		return proc{}, fmt.Errorf("read process %d: unexpected form", pid)
	}
	p := proc{pid: pid, name: strings.ToValidUTF8(string(data[open+1:shut]), "?"), state: fields[0][0]}
	var errs [4]error
	p.parent, errs[0] = strconv.Atoi(fields[1])
	p.session, errs[1] = strconv.Atoi(fields[3])
	p.start, errs[2] = strconv.ParseUint(fields[19], 10, 64)
	p.threads, errs[3] = strconv.Atoi(fields[17])
	for _, err := range errs {
		if err != nil {
			return proc{}, fmt.Errorf("read process %d: %w", pid, err)
		}
	}
	return p, nil
}

// signalAll signals exactly the processes given: a handle is taken, and the
// start time compared, so that a number used again hits nobody.
func signalAll(list []proc, s syscall.Signal) {
	for _, p := range list {
		handle, err := os.FindProcess(p.pid)
		if err != nil {
			continue
		}
		if now, err := readProc(p.pid); err == nil && now.start == p.start {
			handle.Signal(s) // it may have ended, or be another user's: members tells
		}
		handle.Release()
	}
}
