//go:build unix

package tui

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"

	"oneloop"
)

func call(id string) *oneloop.ToolUse {
	return &oneloop.ToolUse{ID: id, Name: "Bash", Input: []byte(`{"command":"make"}`)}
}

func TestAWaitIsNamedAndTimedOnceNothingWasShownForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pulse
		says := func(want string) {
			t.Helper()
			if got := p.text(&english); got != want {
				t.Errorf("it says %q, want %q", got, want)
			}
		}
		says("")
		p.hear(oneloop.TurnStart{})
		p.hear(oneloop.RequestSent{})
		time.Sleep(silence - time.Nanosecond)
		says("")
		time.Sleep(p.next())
		says("waiting for the model · 2s")
		time.Sleep(75500 * time.Millisecond)
		says("waiting for the model · 1m17s")
		if got := p.next(); got != time.Second/2 {
			t.Errorf("the next second is in %v", got)
		}
		p.hear(oneloop.ResponseStarted{})
		says("the model is at work · 1m17s")
		p.shown = time.Now()
		says("")
		p.hear(oneloop.MessageAdded{Message: oneloop.NewMessage(oneloop.Assistant, call("1"))})
		p.hear(oneloop.ToolStart{Call: call("1")})
		time.Sleep(5 * time.Second)
		p.hear(oneloop.ToolStart{Call: call("2")})
		says("2 calls running · 5s")
		p.hear(oneloop.ToolEnd{Call: call("1")})
		time.Sleep(9 * time.Second)
		says("running · 9s")
		p.hear(oneloop.Answered{Question: oneloop.Question{Call: call("2")}})
		says("")
		time.Sleep(3 * time.Second)
		says("running · 3s")
		p.hear(oneloop.TurnEnd{})
		time.Sleep(time.Minute)
		says("")
	})
}

func TestProgressShowsTheTimeWhereItIsTakenBackAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		width := 80
		p := NewProgress(&out, ProgressOptions{})
		wrote := func(what, want string) {
			t.Helper()
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			if got := out.String(); got != want {
				t.Errorf("%s: written was %q, want %q", what, got, want)
			}
			out.Reset()
		}
		sleep := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		resize := func(w int) {
			p.mu.Lock()
			defer p.mu.Unlock()
			width = w
		}
		stop := p.live(reflowAll, func() int { return width })
		p.Show(oneloop.ToolStart{Call: call("1")})
		wrote("the command", "$ make\n")
		sleep(2 * time.Second)
		wrote("2 s", "running · 2s")
		sleep(time.Second)
		wrote("3 s", "\r\x1b[Jrunning · 3s")
		p.Show(oneloop.ToolEnd{Call: call("1"), Result: &oneloop.ToolResult{Content: []oneloop.Block{&oneloop.Text{Text: "made"}}}})
		wrote("its output", "\r\x1b[Jmade\n")
		p.Show(oneloop.RequestSent{})
		sleep(2 * time.Second)
		wrote("the request", "waiting for the model · 2s")
		resize(10) // it has become three rows
		sleep(time.Second)
		wrote("a narrow terminal", "\x1b[2A\r\x1b[Jwaiting …")
		resize(0)
		sleep(time.Second)
		wrote("another program's terminal", "")
		resize(80)
		sleep(time.Second)
		wrote("ours again", "waiting for the model · 5s")
		if _, err := p.Write([]byte("a trace\n")); err != nil {
			t.Error(err)
		}
		wrote("a line of another part", "\r\x1b[Ja trace\n")
		sleep(2 * time.Second)
		wrote("and on", "waiting for the model · 7s")
		stop()
		wrote("the end", "\r\x1b[J")
		sleep(time.Minute)
		wrote("behind the end", "")
	})
}

func TestNoTimeIsShownWhereNobodyLooks(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/err")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ptmx.Close()
	defer tty.Close()
	for kind, f := range map[string]*os.File{"xterm": f, "dumb": tty} {
		p := NewProgress(f, ProgressOptions{})
		stop := p.Live(f, func(string) string { return kind })
		if p.paper.width != nil {
			t.Errorf("%s %s has a clock", kind, f.Name())
		}
		stop()
	}
}

func TestATerminalShowsTheTimeAboveWhatIsTyped(t *testing.T) {
	p := sit(t)
	ago := func(d time.Duration) {
		p.front.mu.Lock()
		defer p.front.mu.Unlock()
		p.front.pulse.asked = time.Now().Add(-d)
		p.front.pulse.shown = p.front.pulse.asked
		p.front.src.wake()
	}
	front := func() time.Duration { return p.front.patience() }
	if d := front(); d >= 0 {
		t.Errorf("without a turn the reader looks again in %v", d)
	}
	_, end := p.front.Turn(t.Context())
	p.front.Show(oneloop.TextDelta{Text: "said before"})
	p.front.Show(oneloop.RequestSent{})
	ago(75*time.Second + time.Second/2)
	p.cursor(2, "said before", "waiting for the model · 1m15s", ">")
	p.types("wider 字")
	p.cursor(10, "said before", "waiting for the model · 1m15s", "> wider 字")
	p.cursor(10, "said before", "waiting for the model · 1m16s", "> wider 字") // by itself
	if d := front(); d <= 0 || d > time.Second {
		t.Errorf("the reader looks again in %v", d)
	}
	p.front.Show(oneloop.TextDelta{Text: " and behind"})
	p.cursor(10, "said before and behind", "> wider 字")
	ago(time.Minute + time.Second/2)
	p.cursor(10, "said before and behind", "waiting for the model · 1m0s", "> wider 字")
	ctx, void := context.WithCancel(t.Context())
	asked := make(chan struct{})
	go func() { // ends with void
		defer close(asked)
		p.front.Ask(ctx, oneloop.Question{Title: "go?"})
	}()
	p.cursor(2, "?")
	p.waits("the question", func(_ string, _ *vt.Emulator) bool { return !strings.Contains(shown(p.emu), "waiting") })
	void()
	<-asked
	ago(2*time.Minute + time.Second/2)
	p.cursor(10, "waiting for the model · 2m0s", "> wider 字")
	end()
	p.cursor(10, english.AskGone, "> wider 字")
	if d := front(); d >= 0 {
		t.Errorf("after the turn the reader looks again in %v", d)
	}
}

func TestWhatStandsAboveIsCutToItsRowAndChangesWithShiftTab(t *testing.T) {
	mode := "mode bypassPermissions"
	p := sitAt(t, 20, Options{Standing: func() string { return mode }, BackTab: func() { mode = "" }})
	p.types("text")
	p.cursor(6, "mode bypassPermissi…", "> text")
	p.resize(20, 2) // the last row is left free
	p.shows("a screen without room", func(s string, x, _ int) bool {
		return x == 6 && strings.HasSuffix(s, "> text") && !strings.Contains(s, "mode")
	})
	p.resize(20, 24)
	p.cursor(6, "mode bypassPermissi…", "> text")
	p.types("\x1b[Z")
	p.shows("another mode", func(s string, x, _ int) bool { return s == "> text" && x == 6 })
}
