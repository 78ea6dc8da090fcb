//go:build unix

package board_test

import (
	"os"
	"syscall"
)

// stop and goOn are what a computer that is suspended, or one with too much to
// do, does to a process.
func stop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
func goOn(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
