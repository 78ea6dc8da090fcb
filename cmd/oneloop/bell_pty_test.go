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
	t.Parallel()
	wait := script.Say(shell("t1", "sleep 1.1"))
	p := newProduct(t, say("at once"), wait, say("after a while"), wait, say("task done"))
	p.settles(`{"bell": 1}`)
	c := p.converse()
	c.turns("one", "at once")
	if n := c.rung(); n != 0 {
		t.Errorf("it rang %d times for a quick answer", n)
	}
	c.turns("two", "after a while")
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
	for _, bad := range []string{"--bell=0", "--bell=often", "--bell="} {
		if o := p.run(bad, "go on"); o.code != exitUsage {
			t.Errorf("%s: exit code %d", bad, o.code)
		}
	}
}
