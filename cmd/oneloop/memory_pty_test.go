//go:build linux

package main

import (
	"strings"
	"testing"

	"oneloop/looptest/script"
)

func TestNotesAreSeenAndDeletedInAConversation(t *testing.T) {
	p := newProduct(t,
		script.Say(script.Tool("t1", "Memory", `{"action":"write","name":"style","type":"feedback","description":"how answers look","text":"short ones"}`)), say("kept it"), say("clear done"))
	c := p.converse()
	c.types("/memory\r")
	c.sees("no notes")
	c.turns("remember it", "Memory write style", "kept it")
	c.types("/memory\r")
	c.sees("- style (feedback): how answers look", "in "+p.home()+"/.local/state/oneloop/memory/")
	c.types("/memory style\r")
	c.sees("description: how answers look", "short ones")
	c.types("/memory other\r")
	c.sees(`there is no note "other"`)
	c.types("/memory delete other\r")
	c.sees(`there is no note "other"`)
	c.types("/memory delete\r")
	c.sees("which note?")
	c.types("/clear\r")
	c.sees("a new conversation begins")
	c.turns("again", "clear done")
	if system := string(p.request(3).Fields["system"]); !strings.Contains(system, "- style (feedback)") {
		t.Errorf("the next conversation is not told: %s", system)
	}
	c.types("/memory delete style\r")
	c.sees("style is deleted")
	c.types("/memory\r")
	c.sees("no notes")
	c.types("\x04")
	c.ends()
}

func TestAWordHasTheInstructionsWritten(t *testing.T) {
	p := newProduct(t, script.Say(write("t1", "AGENTS.md")), say("wrote it"))
	c := p.converse()
	c.turns("/init", "wrote it")
	contains(t, p.request(1).Last().Text(), "Write AGENTS.md for this folder")
	if !p.exists("AGENTS.md") {
		t.Error("it is not there")
	}
	c.types("\x04")
	c.ends()
}
