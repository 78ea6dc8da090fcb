//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"oneloop/looptest/script"
)

func TestCallsOfAForeignSessionAreAskedAboutBeforeTheyRunAgain(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "echo seen")), say("done"))
	p.run("a task")
	logs, err := filepath.Glob(filepath.Join(p.home(), ".local/state/oneloop/sessions/*/*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign.jsonl")
	if err := os.WriteFile(foreign, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{"n\r": "its calls were not run", "y\r": "the replay came out the same"} {
		c := p.sit(usual, "TERM=xterm", "replay", foreign, "--live-tools")
		c.sees("Run the calls of session foreign again?")
		c.types(answer)
		c.sees(want)
		c.ends()
	}
}
