//go:build !linux

package main

// closeMemory has no work here: macOS lets only root and debuggers with an
// entitlement read a process; Windows has no such switch.
func closeMemory() {}
