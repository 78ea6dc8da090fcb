//go:build amd64 || arm64

package confine

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// seccompData is what a filter looks at.
type seccompData struct {
	number, arch uint32
	args         [6]uint64
}

func (d seccompData) bytes() []byte {
	b := make([]byte, 64)
	binary.LittleEndian.PutUint32(b[0:], d.number)
	binary.LittleEndian.PutUint32(b[4:], d.arch)
	for i, a := range d.args {
		binary.LittleEndian.PutUint64(b[16+8*i:], a)
	}
	return b
}

// verdict runs a filter as the kernel would. Everything a filter of ours does
// not use is an error.
func verdict(code []unix.SockFilter, d seccompData) (uint32, error) {
	data := d.bytes()
	var a uint32
	for pc, left := 0, 4096; left > 0; left-- {
		if pc >= len(code) {
			return 0, fmt.Errorf("it ran over the end at %d", pc)
		}
		in := code[pc]
		pc++
		jump := func(yes bool) {
			if yes {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		}
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			if in.K%4 != 0 || in.K > 60 {
				return 0, fmt.Errorf("it loads from %d", in.K)
			}
			a = binary.LittleEndian.Uint32(data[in.K:])
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= in.K
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(in.K)
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			jump(a == in.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			jump(a >= in.K)
		case unix.BPF_RET | unix.BPF_K:
			return in.K, nil
		default:
			return 0, fmt.Errorf("instruction %#x", in.Code)
		}
	}
	return 0, fmt.Errorf("it does not end")
}

func TestTheFilterDecidesByNumberAndArguments(t *testing.T) {
	code := filter(inNamespaces)
	const (
		allow  = uint32(unix.SECCOMP_RET_ALLOW)
		kill   = uint32(unix.SECCOMP_RET_KILL_PROCESS)
		perm   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		nosys  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
		family = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	)
	rows := []struct {
		name   string
		number uint32
		args   [6]uint64
		want   uint32
	}{
		{"read", unix.SYS_READ, [6]uint64{}, allow},
		{"execve", unix.SYS_EXECVE, [6]uint64{}, allow},
		{"the highest number", 0x3fffffff, [6]uint64{}, allow},
		{"a process", unix.SYS_CLONE, [6]uint64{uint64(unix.SIGCHLD)}, allow},
		{"a thread", unix.SYS_CLONE, [6]uint64{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, allow},
		{"a user namespace", unix.SYS_CLONE, [6]uint64{unix.CLONE_NEWUSER}, perm},
		{"a namespace with more flags", unix.SYS_CLONE, [6]uint64{unix.CLONE_VM | unix.CLONE_NEWNET}, perm},
		{"a namespace and high bits", unix.SYS_CLONE, [6]uint64{1<<40 | unix.CLONE_NEWNS}, perm},
		{"clone3", unix.SYS_CLONE3, [6]uint64{}, nosys},
		{"unshare files", unix.SYS_UNSHARE, [6]uint64{unix.CLONE_FILES}, allow},
		{"unshare time", unix.SYS_UNSHARE, [6]uint64{unix.CLONE_NEWTIME}, perm},
		{"unshare mounts", unix.SYS_UNSHARE, [6]uint64{unix.CLONE_NEWNS}, perm},
		{"a socket of the internet", unix.SYS_SOCKET, [6]uint64{unix.AF_INET}, allow},
		{"a socket of the new internet", unix.SYS_SOCKET, [6]uint64{unix.AF_INET6}, allow},
		{"a socket of the machine", unix.SYS_SOCKET, [6]uint64{unix.AF_UNIX}, perm},
		{"a socket of the machine, high bits", unix.SYS_SOCKET, [6]uint64{1<<32 | unix.AF_UNIX}, perm},
		{"a socket about addresses", unix.SYS_SOCKET, [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, allow},
		{"a socket of the kernel", unix.SYS_SOCKET, [6]uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, family},
		{"a socket of the hypervisor", unix.SYS_SOCKET, [6]uint64{unix.AF_VSOCK}, family},
		{"a pair of sockets", unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK}, allow},
		{"a pair for packets in order", unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, allow},
		{"a pair for packets to anybody", unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, perm},
		{"the same with flags", unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK}, perm},
		{"the same with high bits", unix.SYS_SOCKETPAIR, [6]uint64{1<<32 | unix.AF_UNIX, 1<<32 | unix.SOCK_DGRAM}, perm},
		{"the same by another name", unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_UNIX, unix.SOCK_RAW}, perm},
		{"a pair of another family", unix.SYS_SOCKETPAIR, [6]uint64{unix.AF_TIPC, unix.SOCK_STREAM}, perm},
		{"typing", unix.SYS_IOCTL, [6]uint64{0, unix.TIOCSTI}, perm},
		{"typing, high bits", unix.SYS_IOCTL, [6]uint64{0, 1<<32 | unix.TIOCSTI}, perm},
		{"the size of a window", unix.SYS_IOCTL, [6]uint64{0, unix.TIOCGWINSZ}, allow},
		{"a mode", unix.SYS_FCHMODAT, [6]uint64{0, 0, 0o777}, allow},
		{"a mode with setuid", unix.SYS_FCHMODAT, [6]uint64{0, 0, 0o4755}, perm},
		{"a mode with setgid", unix.SYS_FCHMOD, [6]uint64{0, 0o2755}, perm},
		{"a folder with setgid", unix.SYS_MKDIRAT, [6]uint64{0, 0, 0o2755}, perm},
		{"a file", unix.SYS_OPENAT, [6]uint64{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o644}, allow},
		{"a file with setuid", unix.SYS_OPENAT, [6]uint64{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o4755}, perm},
		{"a file without a name with setuid", unix.SYS_OPENAT, [6]uint64{0, 0, unix.O_TMPFILE | unix.O_WRONLY, 0o4755}, perm},
		{"opening with a mode that says nothing", unix.SYS_OPENAT, [6]uint64{0, 0, unix.O_RDONLY | unix.O_DIRECTORY, 0o4755}, allow},
		{"mount", unix.SYS_MOUNT, [6]uint64{}, perm},
		{"ptrace", unix.SYS_PTRACE, [6]uint64{}, perm},
		{"io_uring", unix.SYS_IO_URING_SETUP, [6]uint64{}, nosys},
		{"Landlock", unix.SYS_LANDLOCK_CREATE_RULESET, [6]uint64{}, allow},
		{"a filter of its own", unix.SYS_SECCOMP, [6]uint64{}, allow},
	}
	if foreignBit != 0 {
		rows = append(rows, struct {
			name   string
			number uint32
			args   [6]uint64
			want   uint32
		}{"a number of x32", foreignBit | unix.SYS_READ, [6]uint64{}, nosys})
	}
	for _, r := range rows {
		if got, err := verdict(code, seccompData{r.number, nativeArch, r.args}); got != r.want || err != nil {
			t.Errorf("%s: %#x, %v, want %#x", r.name, got, err, r.want)
		}
	}
	for _, arch := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, 0} {
		if got, err := verdict(code, seccompData{unix.SYS_READ, arch, [6]uint64{}}); got != kill || err != nil {
			t.Errorf("architecture %#x: %#x, %v, want it killed", arch, got, err)
		}
	}
}

func TestTheFilterHasAVerdictOnEveryCall(t *testing.T) {
	for _, in := range []surroundings{inNamespaces, inFence} {
		code := filter(in)
		if len(code) > unix.BPF_MAXINSNS {
			t.Fatalf("%d instructions are more than the kernel takes", len(code))
		}
		decided := map[uint32]bool{}
		for _, r := range in.rules() {
			if decided[r.number] {
				t.Errorf("there are two rules for call %d", r.number)
			}
			decided[r.number] = true
		}
		for n := range uint32(600) {
			d := seccompData{n, nativeArch, [6]uint64{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()}}
			got, err := verdict(code, d)
			if err != nil {
				t.Errorf("call %+v: %v", d, err)
			}
			if !decided[n] && got != unix.SECCOMP_RET_ALLOW {
				t.Errorf("call %d has no rule and gets %#x", n, got)
			}
		}
	}
}

func TestWithoutNetworkNoSocketIsMade(t *testing.T) {
	code := filter(inFence)
	for family := range uint64(50) {
		if got, err := verdict(code, seccompData{unix.SYS_SOCKET, nativeArch, [6]uint64{family}}); got == unix.SECCOMP_RET_ALLOW || err != nil {
			t.Errorf("family %d: %#x, %v", family, got, err)
		}
	}
}

func TestAFenceLetsACommandReachOnlyItselfAmongProcesses(t *testing.T) {
	const (
		perm  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		nosys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	other, high := uint64(4711), uint64(1<<32)
	rows := []struct {
		name   string
		number uint32
		args   [6]uint64
		want   uint32 // in a fence; in namespaces it is allowed
	}{
		{"its limits", unix.SYS_PRLIMIT64, [6]uint64{0, unix.RLIMIT_NOFILE}, verdictAllow},
		{"its limits, high bits", unix.SYS_PRLIMIT64, [6]uint64{high, unix.RLIMIT_NOFILE}, verdictAllow}, // the kernel does not see them
		{"another's limits", unix.SYS_PRLIMIT64, [6]uint64{other, unix.RLIMIT_CPU}, perm},
		{"another's limits, high bits", unix.SYS_PRLIMIT64, [6]uint64{high | other, unix.RLIMIT_CPU}, perm},
		{"its processors", unix.SYS_SCHED_SETAFFINITY, [6]uint64{}, verdictAllow},
		{"another's processors", unix.SYS_SCHED_SETAFFINITY, [6]uint64{other}, perm},
		{"its scheduling", unix.SYS_SCHED_SETSCHEDULER, [6]uint64{}, verdictAllow},
		{"another's scheduling", unix.SYS_SCHED_SETSCHEDULER, [6]uint64{other}, perm},
		{"another's scheduling, old", unix.SYS_SCHED_SETPARAM, [6]uint64{other}, perm},
		{"another's scheduling, new", unix.SYS_SCHED_SETATTR, [6]uint64{other}, perm},
		{"its priority", unix.SYS_SETPRIORITY, [6]uint64{unix.PRIO_PROCESS, 0, 5}, verdictAllow},
		{"another's priority", unix.SYS_SETPRIORITY, [6]uint64{unix.PRIO_PROCESS, other, 5}, perm},
		{"its group's priority", unix.SYS_SETPRIORITY, [6]uint64{unix.PRIO_PGRP, 0, 5}, perm},
		{"its user's priority", unix.SYS_SETPRIORITY, [6]uint64{unix.PRIO_USER, 0, 5}, perm},
		{"its priority at the disk", unix.SYS_IOPRIO_SET, [6]uint64{1, 0}, verdictAllow},
		{"another's priority at the disk", unix.SYS_IOPRIO_SET, [6]uint64{1, other}, perm},
		{"its user's priority at the disk", unix.SYS_IOPRIO_SET, [6]uint64{3, 0}, perm},
		{"advice on another's memory", unix.SYS_PROCESS_MADVISE, [6]uint64{3}, nosys},
		{"memory of everybody", unix.SYS_SHMGET, [6]uint64{1}, nosys},
		{"the same by its number", unix.SYS_SHMAT, [6]uint64{1}, nosys},
		{"removing the same", unix.SYS_SHMCTL, [6]uint64{1}, nosys},
		{"a semaphore of everybody", unix.SYS_SEMGET, [6]uint64{1}, nosys},
		{"using the same", unix.SYS_SEMTIMEDOP, [6]uint64{1}, nosys},
		{"a queue of everybody", unix.SYS_MSGGET, [6]uint64{1}, nosys},
		{"reading the same", unix.SYS_MSGRCV, [6]uint64{1}, nosys},
		{"a queue with a name", unix.SYS_MQ_OPEN, [6]uint64{}, nosys},
		{"removing the same", unix.SYS_MQ_UNLINK, [6]uint64{}, nosys},
	}
	for _, r := range rows {
		d := seccompData{r.number, nativeArch, r.args}
		if got, err := verdict(filter(inFence), d); got != r.want || err != nil {
			t.Errorf("%s: %#x, %v, want %#x", r.name, got, err, r.want)
		}
		if got, err := verdict(filter(inNamespaces), d); got != verdictAllow || err != nil {
			t.Errorf("%s in namespaces: %#x, %v", r.name, got, err)
		}
	}
}
