//go:build amd64 || arm64

package confine

import (
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A step is one system call, or a [bar], of a process between fork and exec. Such a
// process shares our memory and nothing else of Go: in it no other thread
// runs, and nothing of the runtime works. It can follow steps.
type step struct {
	label    string // what it is for, in words
	trap     uintptr
	arg      [6]uintptr
	register uint8 // bit i: arg[i] is the number of a register
	into     int8  // register that takes the result, -1: none
	optional bool  // go on when it fails
	bar      *bar  // set this instead of the system call; nil: there is one
}

// script is a list of steps and what they point at.
type script struct {
	steps []step
	keep  []any
}

// registers hold results of steps for later ones.
const registers = 4

// do adds a step.
func (s *script) do(label string, trap uintptr, args ...uintptr) *step {
	st := step{label: label, trap: trap, into: -1}
	copy(st.arg[:], args)
	s.steps = append(s.steps, st)
	return &s.steps[len(s.steps)-1]
}

// takes makes argument i the content of a register.
func (s *step) takes(i int, register uintptr) *step {
	s.register |= 1 << i
	s.arg[i] = register
	return s
}

func (s *step) gives(register int8) *step {
	s.into = register
	return s
}

func (s *step) orNot() *step {
	s.optional = true
	return s
}

// text is the address of a string for the kernel. The heap does not move.
func (s *script) text(v string) uintptr {
	p, err := syscall.BytePtrFromString(v)
	if err != nil {
		p, _ = syscall.BytePtrFromString("") // callers refuse NUL before
	}
	s.keep = append(s.keep, p)
	return uintptr(unsafe.Pointer(p))
}

// at is the address of what p points at.
func at[T any](s *script, p *T) uintptr {
	s.keep = append(s.keep, p)
	return uintptr(unsafe.Pointer(p))
}

// texts is the address of a list of strings that ends with nil.
func (s *script) texts(list []string) (uintptr, error) {
	p, err := syscall.SlicePtrFromStrings(list)
	if err != nil {
		return 0, err
	}
	s.keep = append(s.keep, p)
	return uintptr(unsafe.Pointer(&p[0])), nil
}

// Kinds of report, the first byte of one.
const (
	reportFailed  = 'f' // a step failed: errno, then the label
	reportStarted = 's' // the program runs: its number
	reportExited  = 'x' // the program has ended: its wait status
	reportDone    = 'd' // nothing is left; written by the holder: a Result
	orderEnd      = 'e' // to the holder: end everything
)

// report is what the first process of a command tells about it.
type report struct {
	kind  uint32
	value uint32
}

const reportSize = int(unsafe.Sizeof(report{}))

// child is a process about to be made: it follows init as the first process
// of its own numbers, forks, and its child follows program, the last step of
// which executes the command.
//
// Sharing our memory saves copying it, which would cost more than all else. A
// child therefore has a stack of its own, and it and its scripts must be kept
// until it has ended.
type child struct {
	flags   uintptr // of clone
	init    *script
	program *script
	tell    uintptr // descriptor for reports; above those that either script uses
	stack   []byte
	actions [32]byte // the kernel's sigaction: default
	all     uint64   // a mask of all signals
	none    uint64
	saved   uint64
}

// stackSize is ample: what runs on it is checked by the linker to need less
// than 1 KiB.
const stackSize = 16 << 10

// spawn makes a process that calls the function at entry with c, on that stack.
//
//go:noescape
func spawn(flags, stack, entry uintptr, c *child) (pid, errno uintptr)

// vfork makes a process that shares memory and stack, and returns in it first.
// It returns in the caller when that process has executed a program, or ended.
func vfork(flags uintptr) (pid, errno uintptr)

// start makes the process. It returns in the caller only.
func (c *child) start() (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c.stack = make([]byte, stackSize)
	c.all = ^uint64(0)
	entry := live
	syscall.ForkLock.Lock()
	pid, errno := c.fork(**(**uintptr)(unsafe.Pointer(&entry)))
	syscall.ForkLock.Unlock()
	if errno != 0 {
		return 0, fmt.Errorf("make process: %w", syscall.Errno(errno))
	}
	return int(pid), nil
}

// fork blocks all signals around the fork: a handler of the Go runtime that
// runs in the child would never come back.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (c *child) fork(entry uintptr) (pid, errno uintptr) {
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&c.all)), uintptr(unsafe.Pointer(&c.saved)), 8, 0, 0)
	top := (uintptr(unsafe.Pointer(&c.stack[0])) + stackSize - 64) &^ 15
	pid, errno = spawn(c.flags|unix.CLONE_VM|uintptr(unix.SIGCHLD), top, entry, c)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&c.saved)), 0, 8, 0, 0)
	return pid, errno
}

// live is the life of the new process.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func live(c *child) {
	for sig := uintptr(1); sig <= 64; sig++ {
		syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&c.actions)), 0, 8, 0, 0)
	}
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&c.none)), 0, 8, 0, 0)
	c.follow(c.init)
	pid, errno := vfork(unix.CLONE_VM | unix.CLONE_VFORK | uintptr(unix.SIGCHLD))
	if errno == 0 && pid == 0 {
		c.follow(c.program)
		exit(127)
	}
	if errno != 0 {
		c.say(reportFailed, uint32(errno), "make process")
		exit(126)
	}
	syscall.RawSyscall6(unix.SYS_CLOSE_RANGE, 0, c.tell-1, 0, 0, 0, 0)
	syscall.RawSyscall6(unix.SYS_CLOSE_RANGE, c.tell+1, uintptr(^uint32(0)), 0, 0, 0, 0)
	c.say(reportStarted, uint32(pid), "")
	c.wait(pid)
}

// wait reaps until nothing is left, and tells how the program ended.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (c *child) wait(pid uintptr) {
	for {
		var status uint32
		got, _, errno := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&status)), unix.WALL, 0, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			exit(0) // nothing is left
		}
		if got == pid {
			c.say(reportExited, status, "")
		}
	}
}

// follow does the steps of a script. One that fails ends the process.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (c *child) follow(s *script) {
	var regs [registers]uintptr
	for i := range s.steps {
		st := &s.steps[i]
		var arg [6]uintptr
		for n := range arg {
			arg[n] = st.arg[n]
			if st.register&(1<<n) != 0 {
				arg[n] = regs[st.arg[n]%registers]
			}
		}
		var result uintptr
		var errno syscall.Errno
		if st.bar != nil {
			errno = st.bar.set()
		} else {
			result, _, errno = syscall.RawSyscall6(st.trap, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5])
		}
		if errno != 0 && !st.optional {
			c.say(reportFailed, uint32(errno), st.label)
			exit(126)
		}
		if st.into >= 0 {
			regs[st.into%registers] = result
		}
	}
}

// say writes a report and its text as one message.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (c *child) say(kind byte, value uint32, text string) {
	r := report{uint32(kind), value}
	parts := [2]syscall.Iovec{}
	parts[0].Base, parts[0].Len = (*byte)(unsafe.Pointer(&r)), uint64(reportSize)
	parts[1].Base, parts[1].Len = unsafe.StringData(text), uint64(len(text))
	syscall.RawSyscall6(unix.SYS_WRITEV, c.tell, uintptr(unsafe.Pointer(&parts)), 2, 0, 0, 0)
}

//go:nosplit
//go:norace
func exit(code uintptr) {
	for {
		syscall.RawSyscall6(unix.SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0)
	}
}
