//go:build unix && !linux

package tui

import "syscall"

// defaultAction reports that the default action cannot be had here.
func defaultAction(syscall.Signal) bool { return false }
