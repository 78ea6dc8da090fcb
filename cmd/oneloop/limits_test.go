//go:build linux

package main

import (
	"testing"

	"oneloop/looptest/script"
)

func TestCommandsHaveTheLimitsOfTheSettings(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "head -c 3000000 /dev/zero > big; stat -c %s big; ulimit -f"),
		shell("t2", "for i in 1 2 3 4 5 6 7 8 9; do head -c 900000 /dev/zero > small$i; sleep 0.2; done; echo went through")), say("seen"))
	p.settles(`{"sandbox":{"limits":{"file":"1MiB","disk":"4MiB"}}}`)
	p.run("go on")
	contains(t, p.result(2, "t1"), "1048576", "1024")
	contains(t, p.result(2, "t2"), "ended with all it had started: the files it changed take", "the limit is 4 MiB")
	lacks(t, p.result(2, "t2"), "went through")
}
