//go:build linux

package main

import (
	"os/exec"
	"strings"
	"sync"
	"testing"

	"oneloop/looptest/script"
)

// Two programs write the same note at once: one is kept, and the other is told
// what it says and keeps both.
func TestOfTwoProgramsThatKeepANoteAtOnceNeitherLosesAnything(t *testing.T) {
	p := newProduct(t)
	var both sync.WaitGroup
	both.Add(2)
	var mu sync.Mutex
	told := 0
	write := func(id, text string) script.Block {
		return script.Tool(id, "Memory", `{"action":"write","name":"shared","type":"project","description":"d","text":"`+text+`"}`)
	}
	for _, who := range []string{"plum", "pear"} {
		p.server.Route("writer "+who, script.Reply{React: func(script.Request) script.Reply {
			both.Done()
			both.Wait()
			return script.Say(write("w1", who))
		}}, script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
			if got, again := r.Result("w2"); again {
				contains(t, got.FullText(), "Kept.")
				return say("done")
			}
			got, _ := r.Result("w1")
			if got.FullText() == "Kept." {
				return say("done")
			}
			contains(t, got.FullText(), "nothing was changed", "not read", "what is to remain of both")
			mu.Lock()
			defer mu.Unlock()
			told++
			return script.Say(write("w2", "plum and pear"))
		}})
	}
	var runs sync.WaitGroup
	for _, who := range []string{"plum", "pear"} {
		runs.Go(func() {
			cmd := exec.Command(p.bin, "writer "+who)
			cmd.Dir, cmd.Env = p.dir, p.env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	runs.Wait()
	if told != 1 {
		t.Errorf("%d of them were told", told)
	}
	p.server.Add(script.Say(script.Tool("r", "Memory", `{"action":"read","name":"shared"}`)), say("read"))
	p.done("read it")
	if got := p.result(len(p.server.Requests()), "r"); !strings.Contains(got, "plum and pear") {
		t.Errorf("the note says %q", got)
	}
}
