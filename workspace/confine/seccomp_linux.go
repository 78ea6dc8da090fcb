//go:build amd64 || arm64

package confine

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"
)

// Return values of a filter.
const (
	verdictAllow = unix.SECCOMP_RET_ALLOW
	verdictKill  = unix.SECCOMP_RET_KILL_PROCESS
	verdictErrno = unix.SECCOMP_RET_ERRNO
)

// Offsets in what the kernel hands to a filter: number, architecture,
// instruction pointer, six arguments of 64 bits. Both architectures are
// little-endian, so the low half of an argument comes first.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// program assembles a filter.
type program struct{ code []unix.SockFilter }

func (p *program) emit(code uint16, k uint32, jt, jf uint8) {
	p.code = append(p.code, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (p *program) load(offset uint32) { p.emit(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (p *program) and(mask uint32)    { p.emit(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, mask, 0, 0) }
func (p *program) give(v uint32)      { p.emit(unix.BPF_RET|unix.BPF_K, v, 0, 0) }
func (p *program) deny(errno unix.Errno) {
	p.give(verdictErrno | uint32(errno))
}

// equal goes on with the next instruction when the loaded word is k, and
// skips so many otherwise.
func (p *program) equal(k uint32, skip uint8) {
	p.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, skip)
}

// argument loads the low half of an argument.
func (p *program) argument(n uint32) { p.load(offArgs + 8*n) }

// rule is what happens to a system call: code that ends in a verdict.
type rule struct {
	number uint32
	code   []unix.SockFilter
}

func on(number uint32, body func(*program)) *rule {
	var b program
	body(&b)
	return &rule{number, b.code}
}

// search finds the rule of the loaded number by halves: the kernel runs the
// program for nearly every call a command makes. rules are in order.
func (p *program) search(rules []*rule) {
	if len(rules) <= 2 {
		for _, r := range rules {
			p.equal(r.number, uint8(len(r.code)))
			p.code = append(p.code, r.code...)
		}
		p.give(verdictAllow)
		return
	}
	half := len(rules) / 2
	var low program
	low.search(rules[:half])
	p.emit(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, rules[half].number, 0, 1)
	p.emit(unix.BPF_JMP|unix.BPF_JA, uint32(len(low.code)), 0, 0)
	p.code = append(p.code, low.code...)
	p.search(rules[half:])
}

// refused are the system calls that fail with EPERM: those that change the
// machine, reach into other processes, make a view of files or rights of its
// own, or are known above all for the holes they had.
var refused = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	unix.SYS_CHROOT, unix.SYS_SETNS,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_LOOKUP_DCOOKIE,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL,
	unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
}

// missing are the system calls that are as if the kernel did not have them.
// Programs then use older ones, whose arguments a filter can look at.
var missing = []uint32{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_CLONE3, unix.SYS_OPENAT2,
}

// fencedMissing are missing besides where commands have no ipc namespace: what
// they make is everybody's, and what the user's other programs made is theirs.
// The last one reaches into other processes.
var fencedMissing = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMDT,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
	unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
	unix.SYS_PROCESS_MADVISE,
}

// ownOnly are the calls that change how a process is scheduled or what it may
// use, and the argument that says which. Where commands see the processes of
// the machine, only 0 is let through, which is the caller.
var ownOnly = []struct{ number, which uint32 }{
	{unix.SYS_PRLIMIT64, 0},
	{unix.SYS_SCHED_SETAFFINITY, 0}, {unix.SYS_SCHED_SETSCHEDULER, 0}, {unix.SYS_SCHED_SETPARAM, 0}, {unix.SYS_SCHED_SETATTR, 0},
}

// ownOfKind are the same calls with a kind before it: of groups and users 0 is
// more than the caller.
var ownOfKind = []struct{ number, process uint32 }{
	{unix.SYS_SETPRIORITY, unix.PRIO_PROCESS}, {unix.SYS_IOPRIO_SET, ioprioProcess},
}

const ioprioProcess = 1

// surroundings are what else keeps commands in.
type surroundings int

const (
	inNamespaces surroundings = iota
	inFence                   // nothing does but Landlock: no network, and the processes of the machine
)

const (
	newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWTIME
	// On clone the low byte is a signal, and the bit of a new time namespace
	// belongs to it.
	cloneNamespaces = newNamespaces &^ 0xff
	setID           = unix.S_ISUID | unix.S_ISGID
	tmpfile         = unix.O_TMPFILE &^ unix.O_DIRECTORY
	socketKind      = 0xf // of a socket, without flags
)

// families are the kinds of sockets a program may make.
func (in surroundings) families() []uint32 {
	if in == inNamespaces {
		return []uint32{unix.AF_INET, unix.AF_INET6}
	}
	return nil
}

// filter is the program every system call of a command passes. In a fence
// sockets to anywhere are refused, and not only those to other families than
// the internet's, and so is what reaches other processes.
func filter(in surroundings) []unix.SockFilter {
	p := &program{}
	p.load(offArch)
	p.equal(nativeArch, 1)
	p.emit(unix.BPF_JMP|unix.BPF_JA, 1, 0, 0)
	p.give(verdictKill)
	p.load(offNumber)
	if foreignBit != 0 {
		p.emit(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, foreignBit, 0, 1)
		p.deny(unix.ENOSYS)
	}
	list := in.rules()
	slices.SortFunc(list, func(a, b *rule) int { return cmp.Compare(a.number, b.number) })
	p.search(list)
	return p.code
}

// rules are those for all calls that are not simply allowed.
func (in surroundings) rules() []*rule {
	var list []*rule
	add := func(number uint32, body func(*program)) { list = append(list, on(number, body)) }
	for _, n := range slices.Concat(refused, legacyRefused) {
		add(n, func(b *program) { b.deny(unix.EPERM) })
	}
	for _, n := range missing {
		add(n, func(b *program) { b.deny(unix.ENOSYS) })
	}
	add(unix.SYS_CLONE, func(b *program) { b.refuseBits(0, cloneNamespaces) })
	add(unix.SYS_UNSHARE, func(b *program) { b.refuseBits(0, newNamespaces) })
	add(unix.SYS_IOCTL, func(b *program) {
		b.argument(1)
		for _, request := range []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD, unix.TIOCCONS} {
			b.equal(request, 1)
			b.deny(unix.EPERM)
		}
		b.give(verdictAllow)
	})
	add(unix.SYS_SOCKET, func(b *program) {
		b.argument(0)
		for _, f := range in.families() {
			b.equal(f, 1)
			b.give(verdictAllow)
		}
		b.equal(unix.AF_UNIX, 1)
		b.deny(unix.EPERM)
		if in == inNamespaces {
			// Programs ask the kernel for the addresses of the machine, which is
			// the loopback here. Nothing can be changed without rights.
			b.equal(unix.AF_NETLINK, 4)
			b.argument(2)
			b.equal(unix.NETLINK_ROUTE, 1)
			b.give(verdictAllow)
			b.deny(unix.EAFNOSUPPORT)
		}
		b.deny(unix.EAFNOSUPPORT)
	})
	// A pair that sends packets can be told at each which socket outside it is
	// for. These are for each other only, for good.
	add(unix.SYS_SOCKETPAIR, func(b *program) {
		b.argument(0)
		b.equal(unix.AF_UNIX, 6)
		b.argument(1)
		b.and(socketKind)
		for _, kind := range []uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
			b.equal(kind, 1)
			b.give(verdictAllow)
		}
		b.deny(unix.EPERM)
	})
	for _, call := range slices.Concat(modes, legacyModes) {
		add(call.number, func(b *program) { b.refuseBits(call.mode, setID) })
	}
	for _, call := range slices.Concat(opens, legacyOpens) {
		add(call.number, func(b *program) {
			b.argument(call.flags)
			b.and(unix.O_CREAT | tmpfile)
			b.equal(0, 1)
			b.give(verdictAllow)
			b.refuseBits(call.mode, setID)
		})
	}
	if in == inFence {
		list = append(list, fencedRules()...)
	}
	return list
}

// fencedRules are those that only a fence needs.
func fencedRules() (list []*rule) {
	for _, n := range fencedMissing {
		list = append(list, on(n, func(b *program) { b.deny(unix.ENOSYS) }))
	}
	for _, call := range ownOnly {
		list = append(list, on(call.number, func(b *program) { b.onlyCaller(call.which) }))
	}
	for _, call := range ownOfKind {
		list = append(list, on(call.number, func(b *program) {
			b.argument(0)
			b.equal(call.process, 4)
			b.onlyCaller(1)
			b.deny(unix.EPERM)
		}))
	}
	return list
}

// onlyCaller refuses a call on any other process than the caller, also on the
// caller by its number, which a filter does not know. Four instructions.
func (p *program) onlyCaller(argument uint32) {
	p.argument(argument)
	p.equal(0, 1)
	p.give(verdictAllow)
	p.deny(unix.EPERM)
}

// refuseBits refuses a call with any of these bits in an argument.
func (p *program) refuseBits(argument, bits uint32) {
	p.argument(argument)
	p.and(bits)
	p.equal(0, 1)
	p.give(verdictAllow)
	p.deny(unix.EPERM)
}

// call says which arguments of a system call are flags and mode of a file.
type call struct{ number, flags, mode uint32 }

// modes set the mode of a file, and opens do where they make one. A program
// that keeps the rights of another must not be left in the workspace.
var modes = []call{
	{unix.SYS_FCHMOD, 0, 1}, {unix.SYS_FCHMODAT, 0, 2}, {unix.SYS_FCHMODAT2, 0, 2},
	{unix.SYS_MKDIRAT, 0, 2}, {unix.SYS_MKNODAT, 0, 2},
}

var opens = []call{{unix.SYS_OPENAT, 2, 3}}
