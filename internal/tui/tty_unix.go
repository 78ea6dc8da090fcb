//go:build unix

package tui

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// termOptional: a terminal says by TERM what it can do.
const termOptional = false

// source reads a terminal or pipe without being stuck in it: a read ends when
// bytes come, when the time is over, or when it is woken.
type source struct {
	in   *os.File
	wait [2]int // pipe that wakes: read end, write end
}

func openSource(in *os.File) (*source, error) {
	s := &source{in: in}
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return nil, err
	}
	for _, fd := range p {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, errors.Join(err, unix.Close(p[0]), unix.Close(p[1]))
		}
	}
	s.wait = p
	return s, nil
}

// read returns 0 and no error when it was woken or the time was over. A
// negative time means no end.
func (s *source) read(b []byte, limit time.Duration) (int, error) {
	in := int(s.in.Fd())
	for {
		var set unix.FdSet
		set.Zero()
		set.Set(in)
		set.Set(s.wait[0])
		var tv *unix.Timeval
		if limit >= 0 {
			t := unix.NsecToTimeval(limit.Nanoseconds())
			tv = &t
		}
		n, err := unix.Select(max(in, s.wait[0])+1, &set, nil, nil, tv)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, nil
		case set.IsSet(in):
			n, err := unix.Read(in, b)
			if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
				return 0, nil
			}
			if n <= 0 && err == nil || errors.Is(err, unix.EIO) {
				return 0, io.EOF // a terminal that was hung up answers EIO
			}
			return max(n, 0), err
		}
		var sink [64]byte
		unix.Read(s.wait[0], sink[:]) // how many wakes there were does not matter
		return 0, nil
	}
}

// wake ends a read that runs, or the next one.
func (s *source) wake() {
	unix.Write(s.wait[1], []byte{0}) // a full pipe wakes as well
}

func (s *source) close() error {
	return errors.Join(unix.Close(s.wait[0]), unix.Close(s.wait[1]))
}

// screenSignals are about the terminal and its size.
var screenSignals = map[os.Signal]terminalSignal{
	syscall.SIGWINCH: signalResize, syscall.SIGTSTP: signalStop, syscall.SIGCONT: signalContinue,
}

// stopSelf stops the process until it is told to continue.
func stopSelf() error { return syscall.Kill(syscall.Getpid(), syscall.SIGSTOP) }

// suspendGroup does what Ctrl-Z does: everything that runs in the foreground
// with us stops. It does nothing where no shell could continue us.
func suspendGroup() error {
	ours, err := unix.Getsid(0)
	if err != nil {
		return err
	}
	theirs, err := unix.Getsid(syscall.Getppid())
	if err != nil || ours != theirs {
		return nil
	}
	return syscall.Kill(0, syscall.SIGTSTP)
}

// quitSelf does what Ctrl-\ does.
func quitSelf() error { return syscall.Kill(syscall.Getpid(), syscall.SIGQUIT) }

// foreground is false where f is our terminal and another program has it.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// prepareOutput is needed on other systems only.
func prepareOutput(*os.File) (func() error, error) { return func() error { return nil }, nil }

// forget throws away what was typed and not yet read.
func forget(f *os.File) error { return flushInput(int(f.Fd())) }
