package tui

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// raise sends n to the thread that runs this. The kernel would give one for the
// process to its first thread, which may wait for a disk just then.
func raise(n syscall.Signal) error {
	runtime.LockOSThread()
	return unix.Tgkill(unix.Getpid(), unix.Gettid(), n)
}

// defaultAction makes the kernel's action for n the default one. The Go
// runtime would write a stack dump for SIGQUIT and exit with 2 instead.
func defaultAction(n syscall.Signal) bool {
	var act [32]byte // struct sigaction with SIG_DFL, no flags, empty mask, in 64 and 32 bits
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(&act)), 0, 8, 0, 0)
	return errno == 0
}
