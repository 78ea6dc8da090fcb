//go:build !unix

package tui

import (
	"os"
	"syscall"
)

func deadly() []os.Signal { return []os.Signal{syscall.SIGTERM} }

// dropPipe has nothing to do: there is no such signal.
func dropPipe() {}

// Die ends the process with the exit code that stands for s: 130 for an
// interrupt, 143 for the rest.
func Die(s os.Signal) {
	if s == os.Interrupt {
		os.Exit(130)
	}
	os.Exit(143)
}
