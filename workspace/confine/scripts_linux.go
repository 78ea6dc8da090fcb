//go:build amd64 || arm64

package confine

import (
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// initScript is what the first process of a command does before the command
// starts: complete the view, then give up every right.
func (h *holder) initScript(o Order, rules int) *script {
	s := &script{steps: make([]step, 0, 160)}
	s.mountProc(h.facts.PidMax, o.Limits.Processes)
	s.makeReadOnly(o.Closed, 0) // first, so that what is copied from them is so too
	s.guard(o.Guard)
	s.makeReadOnly(o.Frozen, unix.AT_RECURSIVE)
	s.do("enter "+o.Dir, unix.SYS_CHDIR, s.text(o.Dir))
	s.limits(o.Limits)
	s.dropRights()
	if rules >= 0 {
		s.seeProc(rules)
		s.do("landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0)
	}
	prog := &unix.SockFprog{Len: uint16(len(h.filter)), Filter: &h.filter[0]}
	s.do("filter system calls", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, at(s, prog))
	return s
}

func (s *script) makeReadOnly(dirs []string, flags uintptr) {
	attr := at(s, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	for _, dir := range dirs {
		s.do("make "+dir+" read-only", unix.SYS_MOUNT_SETATTR, cwd, s.text(dir), flags, attr, sizeofMountAttr)
	}
}

const (
	atFdcwd = unix.AT_FDCWD
	nothing = 0
)

// cwd is AT_FDCWD as the kernel takes it.
var cwd = func() uintptr { fd := atFdcwd; return uintptr(fd) }()

// mountProc mounts /proc for the command's own process numbers. Nothing in it
// can be written, also not by root, who owns the kernel's settings there.
func (s *script) mountProc(pidMax bool, processes int) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	proc := s.text("/proc")
	s.do("mount /proc", unix.SYS_MOUNT, s.text("proc"), proc, s.text("proc"), flags, nothing)
	if pidMax && processes > 0 {
		// The smallest number the kernel takes is 301.
		text := []byte(strconv.Itoa(max(processes, 301)))
		s.keep = append(s.keep, text)
		s.do("open the limit on processes", unix.SYS_OPENAT, cwd, s.text("/proc/sys/kernel/pid_max"), unix.O_WRONLY|unix.O_CLOEXEC, 0).gives(0)
		s.do("limit processes", unix.SYS_WRITE, 0, at(s, &text[0]), uintptr(len(text))).takes(0, 0)
		s.do("limit processes", unix.SYS_CLOSE, 0).takes(0, 0)
	}
	s.do("make /proc read-only", unix.SYS_MOUNT, nothing, proc, nothing, unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, nothing)
	null := s.text("/dev/null")
	for _, name := range maskedProc {
		s.do("hide "+name, unix.SYS_MOUNT, null, s.text(name), nothing, unix.MS_BIND, nothing).orNot()
	}
}

// seeProc adds a rule for the command's own /proc, which nobody else has. A
// rule names a descriptor by its number: that of the agent's socket is free in
// the process of a command.
func (s *script) seeProc(rules int) {
	rule := at(s, &unix.LandlockPathBeneathAttr{Allowed_access: landlockRead, Parent_fd: control})
	s.do("see /proc", unix.SYS_OPENAT, cwd, s.text("/proc"), unix.O_PATH|unix.O_CLOEXEC, 0).gives(0)
	s.do("see /proc", unix.SYS_DUP3, 0, control, unix.O_CLOEXEC).takes(0, 0)
	s.do("see /proc", unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, rule, 0)
}

// maskedProc are files of /proc that tell of the whole machine.
var maskedProc = []string{"/proc/keys", "/proc/key-users", "/proc/kcore", "/proc/kmsg", "/proc/sched_debug", "/proc/timer_list"}

// guard mounts paths onto themselves: what is a mount can
// be neither renamed nor removed. No link is followed on the way, so that
// nothing outside is meant by a name that was changed meanwhile.
func (s *script) guard(list []Guard) {
	if len(list) == 0 {
		return
	}
	how := at(s, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_BENEATH})
	// Not noexec: git would pass over a hook of the user's that it cannot run.
	readOnly := at(s, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
	empty := s.text("")
	var root string
	for _, g := range list {
		if g.Root != root {
			root = g.Root
			s.do("enter "+root, unix.SYS_CHDIR, s.text(root))
		}
		label, name := "protect "+g.Path, s.text(g.Path)
		const copied = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE
		deep := strings.ContainsRune(g.Path, '/')
		if deep {
			s.do(label, unix.SYS_OPENAT2, cwd, name, how, unix.SizeofOpenHow).gives(0)
			s.do(label, unix.SYS_OPEN_TREE, 0, empty, copied|unix.AT_EMPTY_PATH).takes(0, 0).gives(1)
		} else {
			s.do(label, unix.SYS_OPEN_TREE, cwd, name, copied|unix.AT_SYMLINK_NOFOLLOW).gives(1)
		}
		if g.Kind == ReadOnly {
			s.do(label, unix.SYS_MOUNT_SETATTR, 0, empty, unix.AT_RECURSIVE|unix.AT_EMPTY_PATH, readOnly, sizeofMountAttr).takes(0, 1)
		}
		if deep {
			s.do(label, unix.SYS_MOVE_MOUNT, 0, empty, 0, empty, unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH).takes(0, 1).takes(2, 0)
			s.do(label, unix.SYS_CLOSE, 0).takes(0, 0)
		} else {
			s.do(label, unix.SYS_MOVE_MOUNT, 0, empty, cwd, name, unix.MOVE_MOUNT_F_EMPTY_PATH).takes(0, 1)
		}
		s.do(label, unix.SYS_CLOSE, 0).takes(0, 1)
	}
}

// limits sets what the kernel limits by process. A limit that is there
// already is not raised.
func (s *script) limits(l Limits) {
	set := func(label string, resource int, value uint64) {
		var now unix.Rlimit
		if unix.Getrlimit(resource, &now) == nil {
			value = min(value, now.Max)
		}
		s.do(label, unix.SYS_PRLIMIT64, 0, uintptr(resource), at(s, &unix.Rlimit{Cur: value, Max: value}), 0)
	}
	set("limit core files", unix.RLIMIT_CORE, 0)
	if l.File > 0 {
		set("limit files", unix.RLIMIT_FSIZE, uint64(l.File))
	}
	if l.Data > 0 {
		set("limit memory", unix.RLIMIT_DATA, uint64(l.Data))
	}
}

// dropRights gives up all capabilities, and that any can be gained.
func (s *script) dropRights() {
	for c := uintptr(0); c <= lastCap; c++ {
		// Refused for one that is unknown, and to who has no rights to drop.
		s.do("drop rights", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c).orNot()
	}
	s.do("drop rights", unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	const noRoot = 1<<0 | 1<<1 // root is nobody special at exec, for good
	s.do("drop rights", unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, noRoot).orNot()
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	s.do("drop rights", unix.SYS_CAPSET, at(s, header), at(s, &[2]unix.CapUserData{}))
	s.do("gain no rights", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// lastCap is above every capability there is.
const lastCap = 63

// programScript is what the process does that becomes the command. confine
// adds what confines it alone.
func programScript(o Order, null int, fds []int, confine func(*script)) (*script, error) {
	s := &script{}
	argv, err := s.texts(o.Argv)
	if err != nil {
		return nil, err
	}
	env, err := s.texts(o.Env)
	if err != nil {
		return nil, err
	}
	s.do("begin a session", unix.SYS_SETSID)
	s.do("close descriptors", unix.SYS_CLOSE_RANGE, 3, uintptr(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC)
	s.do("pass descriptors", unix.SYS_DUP3, uintptr(null), 0, 0)
	for i, fd := range fds {
		s.do("pass descriptors", unix.SYS_DUP3, uintptr(fd), uintptr(o.Fds[i]), 0)
	}
	confine(s)
	name := o.Path
	if !strings.HasPrefix(name, "/") {
		name = path.Join(o.Dir, name)
	}
	s.do(execLabel, unix.SYS_EXECVE, s.text(name), argv, env)
	return s, nil
}

// execLabel names the step that becomes the program: its error is the
// program's.
const execLabel = "execute"
