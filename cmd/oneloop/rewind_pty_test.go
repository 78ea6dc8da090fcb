//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop/internal/tui"
	"oneloop/looptest/script"
	"oneloop/workspace"
)

// holds fails unless a file in the folder has this content; "-" is none.
func (p *product) holds(name, want string) {
	p.t.Helper()
	got, err := os.ReadFile(filepath.Join(p.dir, name))
	if os.IsNotExist(err) {
		got = []byte("-")
	} else if err != nil {
		p.t.Fatal(err)
	}
	if string(got) != want {
		p.t.Errorf("%s holds %q, want %q", name, got, want)
	}
}

// settled waits until what a turn left in files is known: what is changed
// before that counts as the turn's.
func (p *product) settled() {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // another process looks
		found, err := filepath.Glob(filepath.Join(p.home(), ".local/state/oneloop/sessions/*/*.files/list.jsonl"))
		if err != nil {
			p.t.Fatal(err)
		}
		for _, name := range found {
			if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), `"k":"shut"`) {
				return
			}
		}
		if time.Now().After(deadline) {
			p.t.Fatal("nobody looked at what the turn left")
		}
	}
}

func (p *product) writes(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func TestConversationAndFilesGoBackToAPrompt(t *testing.T) {
	p := newProduct(t,
		script.Say(shell("t1", "echo agent | tee a both theirs made >gone2; rm gone")), say("one done"),
		script.Say(write("t2", "written")), say("two done"),
		say("three done"))
	for _, name := range []string{"a", "both", "gone", "theirs"} {
		p.writes(name, "user\n")
	}
	p.writes(".gitignore", "big\n")
	p.writes("big", "ignored")
	c := p.sit(wide, "TERM=xterm")
	c.sees("Ctrl-D")
	c.types("/rewind\r")
	c.sees("nothing was said yet")
	c.turns("the first prompt", "one done")
	p.settled()
	c.turns("the second prompt", "two done")
	p.writes("both", "user again\n")
	c.types("/rewind\r")
	c.sees("Go back to before which prompt?", "the second prompt", "the first prompt", "a number")
	c.types("a third prompt\r")
	c.sees(`"a third prompt" is none of the choices`)
	c.types("/rewind\r")
	c.sees("Go back to before which prompt?", "the second prompt", "the first prompt", "a number")
	c.types("2\r")
	c.sees("Back to before: the first prompt", "brought back (2): a, theirs", "made again (1): gone", "removed (3): gone2, made, written",
		"also changed by you or somebody else, asked about next (1): both", "conversation and files", "only the files", "a number")
	p.holds("a", "agent\n")
	c.types("1\r")
	c.sees("leave them as they are", "a number")
	c.types("1\r")
	c.sees("6 files are as they were", "what was replaced or removed is in", "the conversation is back to before: the first prompt")
	for name, want := range map[string]string{"a": "user\n", "both": "user again\n", "gone": "user\n", "theirs": "user\n", "made": "-", "written": "-", "gone2": "-", "big": "ignored"} {
		p.holds(name, want)
	}
	c.turns("another prompt", "three done")
	body := string(p.request(5).Body)
	if strings.Contains(body, "the first prompt") || !strings.Contains(body, "These were changed in what was taken back and are not as they were:\\nboth") {
		t.Errorf("the model is told %s", body)
	}
	c.types("\x04")
	c.ends()
	p.census()
}

func TestFilesGoBackInALaterProcess(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "echo agent >a; echo agent >b; git -c user.name=a -c user.email=b commit -qam agent")), say("one done"))
	p.writes("a", "user\n")
	for _, args := range []string{"init -q", "add a", "-c user.name=a -c user.email=b commit -qm user"} {
		cmd := exec.Command("git", strings.Fields(args)...)
		cmd.Dir, cmd.Env = p.dir, p.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	p.done("the only prompt")
	p.holds("b", "agent\n")
	c := p.sit(wide, "TERM=xterm", "-c")
	c.sees("Ctrl-D")
	c.types("/rewind\r")
	c.sees("the only prompt", "a number")
	c.types("1\r")
	c.sees("brought back (1): a", "removed (1): b", "does NOT come back: commits, branches and the index", "a number")
	c.types("3\r")
	c.sees("2 files are as they were")
	p.holds("a", "user\n")
	p.holds("b", "-")
	c.types("\x04")
	c.ends()
}

func TestEveryLossHasWordsInBothLanguages(t *testing.T) {
	for _, why := range []string{
		workspace.LossIgnored, workspace.LossSpecial, workspace.LossLarge, workspace.LossFull, workspace.LossUnread, workspace.LossUnkept,
		workspace.LossAgain, workspace.LossGone, workspace.LossForm, workspace.LossGit, workspace.LossEarlier, workspace.LossCommands,
		workspace.LossMany, workspace.LossSlow, workspace.LossCommits, workspace.LossMoved, workspace.LossHolds, workspace.LossDamaged,
	} {
		for _, lang := range []string{"en", "zh"} {
			x := tui.Messages(lang)
			if got := x.Loss(why + "7"); (lang == "en") != (got == why+"7") {
				t.Errorf("in %s %q is %q", lang, why, got)
			}
		}
	}
}
