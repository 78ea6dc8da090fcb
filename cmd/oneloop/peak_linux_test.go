package main

import (
	"os"
	"syscall"
)

// peak is the most memory a program that ended has taken, in bytes.
func peak(s *os.ProcessState) int64 { return s.SysUsage().(*syscall.Rusage).Maxrss << 10 }
