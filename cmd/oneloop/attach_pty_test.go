//go:build linux

package main

import (
	"testing"

	"oneloop/looptest/script"
)

func TestAQueuedLineGetsItsFileWhenItIsDelivered(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", until)), say("all done"))
	p.puts("notes.txt", "as it was\n")
	c := p.converse()
	c.types("go on\r")
	c.requested(1)
	c.types("mind @notes.txt\r")
	c.sees("waits as 1: mind @notes.txt")
	c.types("/queue\r")
	c.sees("  1  mind @notes.txt")
	p.puts("notes.txt", "as it is\n")
	p.lets()
	c.sees("attached: notes.txt", "all done")
	m := p.request(2).Last()
	contains(t, m.Text(), "mind @notes.txt", "1\tas it is")
	c.types("\x04")
	c.ends()
}

func TestAPromptThatFailedIsSaidOnceMoreWithItsFileOnce(t *testing.T) {
	p := newProduct(t, script.Fail(400, "invalid_request_error", "no"), say("heard it"))
	p.puts("notes.txt", "the notes\n")
	c := p.converse()
	c.types("read @notes.txt\r")
	c.sees("invalid_request_error")
	c.types("\x1b[A\r")
	c.sees("heard it")
	if m := p.request(2).Messages; len(m) != 1 || len(m[0].Content) != 2 {
		t.Errorf("sent are %+v", m)
	}
	c.types("\x04")
	c.ends()
}

func TestAFileThatIsAskedForIsAskedForWhenItIsNamed(t *testing.T) {
	p := newProduct(t, say("one done"), say("two done"))
	p.puts("notes.txt", "the notes\n")
	p.settles(`{"permissions": {"ask": ["Read(notes.txt)"]}}`)
	c := p.converse("--permission-mode", "default")
	c.types("read @notes.txt\r")
	c.sees("yes, once")
	c.types("n\r")
	c.sees("not attached: notes.txt", "one done")
	c.types("read @notes.txt again\r")
	c.sees("yes, once")
	c.types("y\r")
	c.sees("attached: notes.txt", "two done")
	lacks(t, string(p.request(1).Body), "the notes")
	contains(t, string(p.request(2).Body), "the notes")
	c.types("\x04")
	c.ends()
}
