//go:build amd64 || arm64

package confine

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A bar is the number of processes and threads at which the kernel makes no
// more for a command. It stands a little above the limit that a watchdog keeps,
// for what is made between two looks.
//
// The kernel compares it with all that the user has, and not with those of the
// command, so that those that are there already have to be known. /proc shows
// not all of them (hidepid, containers, other user namespaces), and to read it
// takes milliseconds. The kernel is asked instead: with the limit at a number
// it is told to make a process that it cannot make for another reason. Which of
// the two it complains of says on which side of the number the count is.
//
// For the machine's root, and for who may exceed limits, there is no bar.
type bar struct {
	room     uint64 // above what there is
	grain    uint64 // by how much the count may be too high; not 0
	was, now unix.Rlimit
	unsure   bool // the kernel gave an answer that says nothing
}

const (
	// leastSlack is how far above a limit on processes a bar stands at least:
	// other programs that the user starts meanwhile count too.
	leastSlack = 256
	// leastGrain keeps the number of questions small for small limits.
	leastGrain = 64
	// mostProcesses is what no kernel has more of.
	mostProcesses = 1 << 22
)

// bar adds a step that bars more than this many processes and threads, and
// slack.
func (s *script) bar(processes int) {
	n := uint64(processes)
	s.do("limit processes", 0).bar = &bar{room: n + max(n/2, leastSlack), grain: max(n/16, leastGrain)}
}

// set puts it in force for the process that calls it, for good. A limit that
// is there already is not raised. It is a step: see there.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (b *bar) set() syscall.Errno {
	if _, _, errno := syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NPROC, 0, uintptr(unsafe.Pointer(&b.was)), 0, 0); errno != 0 {
		return errno
	}
	number := b.count()
	b.now = b.was
	if number > 0 {
		b.now.Cur, b.now.Max = min(b.was.Cur, number+b.room), min(b.was.Max, number+b.room)
	}
	return b.put()
}

// count is how many processes and threads the user has, or up to grain more. It
// is 0 where that cannot be found out, or the user is not limited.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (b *bar) count() uint64 {
	if !b.over(0) {
		return 0
	}
	most := min(b.was.Max, mostProcesses)
	low, high := uint64(0), min(b.grain, most)
	for b.over(high) {
		if high == most {
			return 0
		}
		low, high = high, min(2*high, most)
	}
	for high-low > b.grain {
		if middle := low + (high-low)/2; b.over(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	if b.unsure {
		return 0
	}
	return high
}

// over reports whether the user has as many processes and threads as n, so that
// with that limit there would be no other. None is made in any case: there is
// no place to put the descriptor that is asked for.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (b *bar) over(n uint64) bool {
	b.now.Cur, b.now.Max = n, b.was.Max
	if b.put() != 0 {
		b.unsure = true
		return false
	}
	pid, errno := vfork(unix.CLONE_VM | unix.CLONE_VFORK | unix.CLONE_PIDFD | uintptr(unix.SIGCHLD))
	if errno == 0 && pid == 0 {
		exit(0)
	}
	if errno != uintptr(unix.EAGAIN) && errno != uintptr(unix.EFAULT) {
		b.unsure = true
	}
	return errno == uintptr(unix.EAGAIN)
}

//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (b *bar) put() syscall.Errno {
	_, _, errno := syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NPROC, uintptr(unsafe.Pointer(&b.now)), 0, 0, 0)
	return errno
}
