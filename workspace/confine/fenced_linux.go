//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// fencedName is the first word of the command line of this program when it
// gives up its rights and becomes a command.
const fencedName = "oneloop: fence"

// Fence is what confines a command where there can be no namespaces: Landlock
// and a filter of system calls. It keeps no place in the folders that can be
// written from being written, and leaves modes and times of files outside to
// be changed.
type Fence struct {
	Path   string // of the program
	Argv   []string
	Keep   []int    // descriptors from 3 that the command gets
	Write  []string // files and folders that it may change
	Hide   []string // files and folders that it may not read
	Limits Limits
}

// LeastLandlock is the version of Landlock from which on it keeps files from
// being emptied.
const LeastLandlock = 3

// Landlock is the version of Landlock this kernel has, 0 for none.
func Landlock() int { return landlockVersion() }

// Command gives what to execute for a command in a fence: this program with
// args, and a file that it must find at descriptor number at.
func (f Fence) Command(at int) (path string, args []string, file *os.File, err error) {
	fd, err := unix.MemfdCreate("fence", unix.MFD_CLOEXEC)
	if err != nil {
		return "", nil, nil, err
	}
	file = os.NewFile(uintptr(fd), "fence")
	if _, err := file.WriteAt(pack(f), 0); err != nil {
		file.Close()
		return "", nil, nil, err
	}
	return "/proc/self/exe", []string{fencedName, strconv.Itoa(at)}, file, nil
}

// becomeFenced puts up the fence and becomes the command. It returns the exit
// code when it could not.
func becomeFenced() int {
	err := fenceAndExec()
	fmt.Fprintf(os.Stderr, "oneloop: the command was not run: %v\n", err)
	if errors.Is(err, errExecute) {
		return 127
	}
	return 126
}

var errExecute = errors.New("execute")

func fenceAndExec() error {
	if len(os.Args) != 2 {
		return errors.New("the fence was called wrongly")
	}
	at, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return errors.New("the fence was called wrongly")
	}
	var f Fence
	file := os.NewFile(uintptr(at), "fence")
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<30))
	if err == nil {
		err = unpack(text, &f)
	}
	if err != nil {
		return fmt.Errorf("read the fence: %w", err)
	}
	file.Close()
	// Everything below holds for this thread, which becomes the command.
	runtime.LockOSThread()
	if err := unix.CloseRange(3, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close descriptors: %w", err)
	}
	for _, fd := range f.Keep {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return fmt.Errorf("pass descriptors: %w", err)
		}
	}
	if err := f.putUp(); err != nil {
		return err
	}
	if err := syscall.Exec(f.Path, f.Argv, os.Environ()); err != nil {
		return fmt.Errorf("%w %s: %w", errExecute, f.Path, err)
	}
	return nil
}

// putUp gives up all rights but those to what may be changed.
func (f Fence) putUp() error {
	version := landlockVersion()
	if version < LeastLandlock {
		return fmt.Errorf("the kernel's Landlock has version %d, which is too little", version)
	}
	ruleset, err := fence(version, visible(Hidden(f.Hide, f.Write)), f.Write)
	if err != nil {
		return err
	}
	s := &script{}
	s.limits(f.Limits)
	s.dropRights()
	s.do("landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0)
	code := filter(false)
	s.do("filter system calls", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, at(s, &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}))
	for _, st := range s.steps {
		_, _, errno := syscall.RawSyscall6(st.trap, st.arg[0], st.arg[1], st.arg[2], st.arg[3], st.arg[4], st.arg[5])
		if errno != 0 && !st.optional {
			return fmt.Errorf("%s: %w", st.label, errno)
		}
	}
	runtime.KeepAlive(s)
	return nil
}
