//go:build linux

package main

import (
	"bytes"
	"testing"

	"oneloop/looptest/script"
)

// rung is how often the bell rang.
func (c *terminal) rung() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Count(c.all, []byte("\a"))
}

func TestTheBellRingsInAConversationAndAtTheEndOfATask(t *testing.T) {
	wait := script.Say(shell("t1", "sleep 0.15"))
	p := newProduct(t, wait, say("after a while"), wait, say("task done"))
	p.settles(`{"bell": 0.1}`)
	c := p.converse()
	c.turns("go on", "after a while")
	c.types("/help\r") // the turn has ended when it is done
	c.sees("Ctrl-Y")
	if n := c.rung(); n != 1 {
		t.Errorf("it rang %d times for a slow one", n)
	}
	c.types("\x04")
	c.ends()
	c = p.sit(usual, "TERM=xterm", "go on")
	c.ends()
	c.sees("tokens: ", "\a")
	for _, bad := range []string{"--bell=0", "--bell=NaN", "--bell=often", "--bell="} {
		if o := p.run(bad, "go on"); o.code != exitUsage {
			t.Errorf("%s: exit code %d", bad, o.code)
		}
	}
}
