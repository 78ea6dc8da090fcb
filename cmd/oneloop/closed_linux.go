package main

import "golang.org/x/sys/unix"

// closeMemory keeps other processes of the same user, a command of the model
// among them, from reading our memory and environment, where the keys are.
// Root may still. The kernel does not refuse this request.
func closeMemory() { unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
