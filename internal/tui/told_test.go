//go:build unix

package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"

	"oneloop"
)

func TestWhatThePersonSaidIsNotToldToThemAgain(t *testing.T) {
	bash := &oneloop.ToolUse{ID: "1", Name: "Bash", Input: json.RawMessage(`{"command":"touch x"}`)}
	plan := &oneloop.ToolUse{ID: "2", Name: "ExitPlanMode", Input: json.RawMessage(`{"plan":"p"}`)}
	failed := func(c *oneloop.ToolUse, text string) oneloop.ToolEnd {
		return oneloop.ToolEnd{Call: c, Result: oneloop.ErrorResult(text)}
	}
	for name, c := range map[string]struct {
		events      []oneloop.Event
		shown, none string
	}{
		"a no": {[]oneloop.Event{
			oneloop.Answered{Question: oneloop.Question{Kind: "tool", Call: bash}},
			oneloop.Denied{Call: bash, Why: saidNo("touch x")},
			failed(bash, "Not run: the user was asked and said no."),
		}, "", "no"},
		"a rule": {[]oneloop.Event{
			oneloop.Denied{Call: bash, Reason: "touch x: a rule names it", Why: of("touch x", named)},
			failed(bash, "Not run, none of the command: the part"),
		}, "denied: touch x: a rule names it", "Not run"},
		"a host, of a command that ran": {[]oneloop.Event{
			oneloop.Answered{Question: oneloop.Question{Kind: "host", Call: bash}},
			oneloop.Denied{Call: bash, Why: saidNo("example.org:443")},
			failed(bash, "could not connect"),
		}, "could not connect", "denied"},
		"a plan": {[]oneloop.Event{
			oneloop.Answered{Question: oneloop.Question{Kind: "plan", Call: plan}, Answer: oneloop.Answer{Allow: true}},
			oneloop.ToolEnd{Call: plan, Result: oneloop.TextResult("The user has approved the plan.")},
		}, "", "approved"},
		"a plan nobody was asked about": {[]oneloop.Event{failed(plan, "Nobody is there to approve it.")}, "Nobody is there", "approved"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			r := renderer{on: &paper{out: &out}, words: &english}
			for _, e := range c.events {
				r.event(e)
			}
			if got := out.String(); !strings.Contains(got, c.shown) || strings.Contains(got, c.none) {
				t.Errorf("shown is %q", got)
			}
		})
	}
}

func TestCtrlDInATurnSaysWhatItDoesAndTypingOnStays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prompts")
	p := sitAt(t, 80, Options{History: file})
	_, end := p.front.Turn(t.Context())
	p.types("\x04")
	p.sees(english.LeaveLater)
	p.types("a draft")
	p.cursor(9, "> a draft")
	end()
	p.types(", sent\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "a draft, sent" {
		t.Fatalf("the prompt is %q, %v", got, err)
	}
	_, end = p.front.Turn(t.Context())
	p.types("\x04")
	p.waits("the second", func(all string, _ *vt.Emulator) bool { return strings.Count(all, english.LeaveLater) == 2 })
	end()
	if got, err := p.front.Prompt(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}

func TestADraftIsInTheHistoryOfTheNextTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prompts")
	p := sitAt(t, 80, Options{History: file})
	p.types("half a thought")
	p.cursor(16, "> half a thought")
	if err := p.front.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := loadRecall(file)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := r.older(""); !ok || got != "half a thought" {
		t.Errorf("the last of the history is %q", got)
	}
}

func TestNoLineIsDrawnAboveTheFirstWords(t *testing.T) {
	p := sit(t)
	p.front.Say("welcome")
	p.cursor(2, "welcome", ">")
	p.mu.Lock()
	defer p.mu.Unlock()
	if all := p.all.String(); strings.Index(all, "> ") < strings.Index(all, "welcome") {
		t.Errorf("it was written: %q", all)
	}
}
