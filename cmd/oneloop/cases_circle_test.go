package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"oneloop/looptest/script"
	"oneloop/session"
)

// circling is a model that makes the same call for ever.
func circling(command string) script.Reply {
	return script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		return script.Say(shell(fmt.Sprint("t", r.N), command))
	}}
}

func TestCaseSub07TheSameCallAgainAndAgainIsEnded(t *testing.T) {
	var over atomic.Bool
	p := newProduct(t, script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		if over.Load() {
			return say("done then")
		}
		return circling("echo same").React(r)
	}})
	o := p.run("go on")
	if o.code != exitLimit {
		t.Errorf("exit code %d\n%s", o.code, o.stderr)
	}
	contains(t, o.stderr, "repetition")
	if n := len(p.server.Requests()); n != session.RepeatsEnded || n > 20 {
		t.Errorf("it took %d requests", n)
	}
	contains(t, p.result(session.RepeatsTold+1, fmt.Sprint("t", session.RepeatsTold)), "Nothing new", "4th")
	over.Store(true)
	if o := p.done("-c", "do something else"); !strings.Contains(o.stdout, "done then") {
		t.Errorf("it went on with %q", o.stdout)
	}
	contains(t, p.result(session.RepeatsEnded+1, fmt.Sprint("t", session.RepeatsEnded)), "ended here")
}

func TestCaseSub07ACallWhoseResultChangesIsNotEnded(t *testing.T) {
	p := newProduct(t, script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		if r.N > 20 {
			return say("it changed")
		}
		return circling("date +%N").React(r)
	}})
	contains(t, p.done("wait for it").stdout, "it changed")
}
