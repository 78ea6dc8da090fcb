package main

import (
	"golang.org/x/sys/unix"
)

// setFileLimit takes the limit on the size of files from a process of ours.
func setFileLimit(pid int) error {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: now.Max, Max: now.Max}, nil)
}
