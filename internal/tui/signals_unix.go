//go:build unix

package tui

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func deadly() []os.Signal {
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
}

// dropPipe makes a write to a pipe that nobody reads an error instead of the
// program's death, so that what it started is ended first. Commands still
// begin with the signal's default meaning: it is caught, not ignored.
func dropPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// Die ends the process by s, so that whoever waits for it sees the signal and
// not just a number. No core is written, because it would hold keys. Where
// the signal cannot be had that way, the exit code is 128 and its number.
func Die(s os.Signal) {
	n, ok := s.(syscall.Signal)
	if !ok {
		os.Exit(1)
	}
	// The error leaves the limit as it was, which is all that can be done.
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	signal.Reset(n)
	if n != syscall.SIGQUIT || defaultAction(n) {
		if raise(n) == nil {
			runtime.Gosched()
			time.Sleep(time.Second) // the signal comes within microseconds
		}
	}
	os.Exit(128 + int(n))
}
