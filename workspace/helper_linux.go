package workspace

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// maskInherited is set when this program was started with signals blocked.
var maskInherited bool

func prepare() {
	// A kernel older than 3.4 refuses; what left its session is then not found.
	if unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil {
		reaper = true
	}
	catchIgnored()
	var mask unix.Sigset_t
	if unix.PthreadSigmask(unix.SIG_BLOCK, nil, &mask) == nil {
		maskInherited = mask != unix.Sigset_t{}
	}
}

// startProcess is [os.StartProcess] with an empty signal mask in the child,
// which inherits that of the thread.
func startProcess(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	if !maskInherited {
		return os.StartProcess(path, argv, attr)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var none, old unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, &old); err != nil {
		return nil, os.NewSyscallError("pthread_sigmask", err)
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	return os.StartProcess(path, argv, attr)
}

// widen gives a pipe room for 1 MiB, the most the kernel allows everybody.
// Where it refuses, the pipe does as it is.
func widen(pipe *os.File) {
	if c, err := pipe.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}
