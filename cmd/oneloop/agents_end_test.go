//go:build linux

package main

import (
	"os/exec"
	"regexp"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"oneloop/looptest/script"
)

// Whatever ends the program while an agent is at work: nothing is left running,
// the call has an answer that is true, and the agent can be gone on with.
func TestWhateverEndsTheProgramAnAgentAtWorkCanBeGoneOnWith(t *testing.T) {
	for name, c := range map[string]struct {
		moment string
		signal syscall.Signal
		twice  bool
	}{
		"Ctrl-C before its first reply": {moment: "waits", signal: syscall.SIGINT},
		"hangup while it streams":       {moment: "streams", signal: syscall.SIGHUP},
		"SIGTERM while it streams":      {moment: "streams", signal: syscall.SIGTERM},
		"SIGTERM at its command":        {moment: "works", signal: syscall.SIGTERM},
		"Ctrl-C twice at its command":   {moment: "works", signal: syscall.SIGINT, twice: true},
		"SIGKILL before its reply":      {moment: "waits", signal: syscall.SIGKILL},
		"SIGKILL at its command":        {moment: "works", signal: syscall.SIGKILL},
	} {
		t.Run(name, func(t *testing.T) {
			at := make(chan struct{})
			there := sync.OnceFunc(func() { close(at) })
			p := newProduct(t, script.Say(asks("t1", "look around")))
			moments := map[string]script.Reply{
				"waits": {React: func(script.Request) script.Reply {
					there()
					return script.Reply{Blocks: []script.Block{script.Text("late")}, Wait: script.Forever}
				}},
				"streams": {Blocks: []script.Block{script.Text("half of it, and more")}, Pauses: []script.Pause{{After: 3, For: script.Forever}}, Sent: func(n int) {
					if n == 3 {
						there()
					}
				}},
				"works": script.Say(shell("c1", "touch mark; sleep 300")),
			}
			p.server.Route("look around", moments[c.moment], say("I went on"))
			cmd := exec.Command(p.bin, "--permission-mode", "bypassPermissions", "go")
			cmd.Dir, cmd.Env = p.dir, p.env
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(30 * time.Second)
			for c.moment == "works" && !p.exists("mark") && time.Now().Before(deadline) {
				runtime.Gosched()
			}
			if c.moment != "works" {
				select {
				case <-at:
				case <-time.After(30 * time.Second):
					t.Error("the agent did not come so far")
				}
			}
			cmd.Process.Signal(c.signal)
			if c.twice {
				cmd.Process.Signal(c.signal)
			}
			cmd.Wait()
			p.census()
			p.server.Add(script.Reply{React: func(r script.Request) script.Reply {
				told, _ := r.Result("t1")
				want := "interrupted"
				if c.signal == syscall.SIGKILL {
					want = "outcome unknown"
				}
				contains(t, told.FullText(), want)
				id := regexp.MustCompile(`agent session ([0-9TZa-f-]+)`).FindStringSubmatch(told.FullText())
				if id == nil {
					t.Errorf("no session is named in %q", told.FullText())
					return say("well")
				}
				return script.Say(asks("t2", "go on", `,"resume":"`+id[1]+`"`))
			}}, say("well"))
			p.done("-c", "what became of it?")
			contains(t, p.result(len(p.server.Requests()), "t2"), "I went on")
		})
	}
}
