//go:build unix && !linux

package tui

import "syscall"

func raise(n syscall.Signal) error { return syscall.Kill(syscall.Getpid(), n) }

// defaultAction reports that the default action cannot be had here.
func defaultAction(syscall.Signal) bool { return false }
