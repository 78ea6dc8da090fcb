//go:build linux

package main

import (
	"testing"

	"github.com/creack/pty"

	"oneloop/looptest/script"
)

func TestSomebodyAtATerminalSeesThatASilentWaitGoesOn(t *testing.T) {
	size := pty.Winsize{Rows: 24, Cols: 80}
	talk := newProduct(t, script.Reply{Wait: script.Forever}).converse()
	talk.types("go on\r")
	task := newProduct(t, script.Say(shell("t1", "sleep 60"))).sit(size, "TERM=xterm-256color", "-p", "wait")
	dumb := newProduct(t, script.Reply{Wait: script.Forever}).sit(size, "TERM=dumb", "-p", "wait")
	dumb.requested(1)
	talk.sees("waiting for the model · 2s")
	task.sees("$ sleep 60", "running · 2s")
	talk.types("\x1b")
	talk.sees("stopped;")
	talk.types("\x04")
	all := []*terminal{talk, task, dumb}
	for _, c := range all[1:] {
		c.types("\x03")
	}
	for _, c := range all {
		c.ends()
	}
	dumb.mu.Lock()
	defer dumb.mu.Unlock()
	lacks(t, string(dumb.all), "waiting", "\x1b")
}
