//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// ignorePipes makes a write to a pipe that nobody reads an error instead of
// the program's death, so that what it started is ended first. Commands still
// begin with the signal's default meaning: it is caught, not ignored.
func ignorePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
