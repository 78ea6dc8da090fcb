package tui

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"oneloop"
)

// working are the events of two agents at work.
func working() []oneloop.Event {
	call := &oneloop.ToolUse{ID: "c1", Name: "Bash", Input: []byte(`{"command":"ls"}`)}
	return []oneloop.Event{
		oneloop.ChildStart{Agent: "/1", Prompt: "look\naround", Title: "Look", Type: "general-purpose", Session: "S1", Call: "t1"},
		oneloop.ChildStart{Agent: "/2", Prompt: "count\nthem"},
		oneloop.Child{Agent: "1", Event: oneloop.ToolStart{Call: call}},
		oneloop.Child{Agent: "1", Event: oneloop.Spend{Cost: 0.02, Known: true}},
		oneloop.Child{Agent: "1", Event: oneloop.ChildStart{Agent: "/1/1", Prompt: "deeper"}},
	}
}

func TestEachAgentAtWorkHasALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k kids
		for _, e := range working() {
			k.hear(e)
		}
		time.Sleep(65 * time.Second)
		want := []string{"/1 Look · 1 call · 1m5s · $0.020", "/2 count · 0 calls · 1m5s", "/1/1 deeper · 0 calls · 1m5s"}
		if got := k.lines(&english, time.Now()); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q", got)
		}
		k.hear(oneloop.ChildEnd{Agent: "/1"})
		if got := k.lines(&english, time.Now()); len(got) != 2 || !strings.HasPrefix(got[0], "/2 ") {
			t.Errorf("after its end: %q", got)
		}
		k.hear(oneloop.TurnEnd{})
		if got := k.lines(&english, time.Now()); got != nil {
			t.Errorf("after the turn: %q", got)
		}
		for range mostKids + 3 {
			k.hear(oneloop.ChildStart{Agent: "/x", Prompt: "x"})
		}
		if got := k.lines(&english, time.Now()); len(got) != mostKids || !strings.HasSuffix(got[mostKids-1], " · +3") {
			t.Errorf("%q", got)
		}
	})
}

func TestProgressSaysWhoDoesWhatAndWhatCameOfIt(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, ProgressOptions{})
	for _, e := range append(working(), oneloop.Child{Agent: "1", Event: oneloop.ChildEnd{Agent: "/1/1"}}, oneloop.ChildEnd{Agent: "/1"}, oneloop.ChildEnd{Agent: "/2", Error: "it broke"}) {
		p.Show(e)
	}
	want := `subtask /1: general-purpose: Look [S1]
subtask /2: count …
[1] $ ls
subtask /1/1: deeper
subtask /1/1 is done
subtask /1 (1 call · 0s · $0.020) is done
subtask /2 failed: it broke
`
	if b.String() != want {
		t.Errorf("got\n%s", &b)
	}
}

func TestLinesOfAgentsAreTakenBackBeforeAnythingIsWritten(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, ProgressOptions{})
	stop := p.live(reflowAll, func() int { return 40 })
	defer stop()
	for _, e := range working() {
		p.Show(e)
	}
	b.Reset()
	p.Say("news")
	if !strings.HasPrefix(b.String(), "\x1b[2A\r\x1b[Jnews\n") {
		t.Errorf("written is %q", &b)
	}
	b.Reset()
	p.Show(oneloop.ChildEnd{Agent: "/2"})
	if !strings.HasSuffix(b.String(), "\n/1 Look · 1 call · 0s · $0.020\n/1/1 deeper · 0 calls · 0s") {
		t.Errorf("written is %q", &b)
	}
}

func TestTheAnswerOfAnAgentIsShownOnce(t *testing.T) {
	call := &oneloop.ToolUse{ID: "t1", Name: "Agent", Input: []byte(`{"description":"Count","prompt":"count"}`)}
	events := []oneloop.Event{
		oneloop.Child{Agent: "1", Event: oneloop.TextDelta{Text: "three lines"}},
		oneloop.Child{Agent: "1", Event: oneloop.MessageAdded{Message: oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: "three lines"})}},
		oneloop.ToolEnd{Call: call, Result: oneloop.TextResult("three lines\n[agent session S1; resume goes on with it]")},
	}
	for _, talk := range []bool{true, false} {
		var b bytes.Buffer
		p := NewProgress(&b, ProgressOptions{Talk: talk})
		for _, e := range events {
			p.Show(e)
		}
		if got := b.String(); strings.Count(got, "three lines") != 1 || strings.Count(got, "[agent session S1;") != 1 {
			t.Errorf("talk %t shows\n%s", talk, got)
		}
	}
}
