//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

func TestCtrlCStopsTheTurnAndNotWhatRunsInTheBackground(t *testing.T) {
	p := newProduct(t,
		script.Say(behind("t1", "mkfifo pipe; touch mark; cat pipe; exit 3")),
		script.Say(shell("t2", "while ! [ -e mark ]; do sleep 0.02; done; touch busy; sleep 300")),
		script.Say(shell("t3", "echo word > pipe")),
		say("sent"),
		say("heard"),
		script.Say(behind("t4", "while ! [ -e now ]; do sleep 0.02; done; exit 4"), behind("t5", "sleep 300")),
		say("begun"),
		say("anew"))
	c := p.converse()
	c.types("go on\r")
	c.sees("exit 3 &")
	c.appears("busy")
	c.types("\x03")
	c.sees("stopped", "1 command runs in the background")
	c.types("and\r")
	c.sees("sent", "The background command bash_1 (", "has ended: exit code 3")
	c.types("well\r")
	c.sees("heard")
	var told bool
	for _, r := range []int{4, 5} { // it may have been in time for the request before
		told = told || strings.Contains(string(p.request(r).Body), "has ended: exit code 3")
	}
	if !told {
		t.Errorf("the model is not told: %s", p.request(5).Body)
	}
	c.types("more\r")
	c.sees("begun", "2 commands run in the background")
	if err := os.WriteFile(filepath.Join(p.dir, "now"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.sees("The background command bash_2 (", "exit code 4") // nothing is asked meanwhile
	c.types("/clear\r")
	c.sees("ended what still ran in the background: bash_3 (sleep 300)", "new conversation")
	c.types("again\r")
	c.sees("anew")
	lacks(t, string(p.request(8).Body), "bash_")
	c.types("\x04")
	c.ends()
	c.census()
}

// TestTheEndOfACommandBeginsATurn is for agents that work in the background:
// nobody types anything, and what is half typed stays.
func TestTheEndOfACommandBeginsATurn(t *testing.T) {
	p := newProduct(t,
		script.Say(behind("t1", "while ! [ -e now ]; do sleep 0.02; done; exit 3")),
		say("begun"),
		script.Say(script.Tool("t2", "TaskOutput", `{"task_id":"bash_1"}`)),
		say("I saw it"),
		say("typed"))
	c := p.converse("--series", "s08")
	c.types("go on\r")
	c.sees("begun", "1 command runs in the background")
	c.types("/jobs\r")
	c.sees("bash_1  runs for", "its output is in")
	c.types("half ")
	if err := os.WriteFile(filepath.Join(p.dir, "now"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.sees("The background command bash_1 (", "exit code 3", "I saw it")
	c.types("a line\r")
	c.sees("typed")
	r := p.request(3)
	contains(t, r.Last().Text(), "The background command bash_1 (")
	contains(t, p.request(5).Last().Text(), "half a line")
	c.types("q\r")
	c.ends()
	c.census()
}
