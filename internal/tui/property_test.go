//go:build unix

package tui

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/vt"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"oneloop"
)

// TestTheScreenShowsWhatTheLayoutSays types into a line below growing output
// and compares with a terminal emulator after each step. The emulator measures
// clusters as a whole, as most terminals do by now. Terminals that give every
// emoji of a family its own cells disagree; as each row is written from its
// beginning, their cursor is wrong in such a row only.
//
// The output holds no wide characters here: the emulator cuts one that comes
// to the last cell, where terminals put it on the next row.
func TestTheScreenShowsWhatTheLayoutSays(t *testing.T) {
	moves := []code{keyLeft, keyRight, keyHome, keyEnd, keyWordLeft, keyWordRight, keyBackspace, keyDelete, keyNewline, keyKillEnd, keyKillWord, keyYank}
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.SampledFrom([]int{10, 20, 80}).Draw(t, "width"), rapid.IntRange(3, 12).Draw(t, "height")
		var out bytes.Buffer
		emu := vt.NewEmulator(width, height)
		s := screen{out: &out, width: width, height: height}
		var e editor
		said := ""
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				text := rapid.StringMatching(`[a-z ]{0,25}\n?`).Draw(t, "output")
				said += text
				s.put(normal, plainSight, text)
			case 1:
				e.key(key{code: rapid.SampledFrom(moves).Draw(t, "move")})
			default:
				e.key(key{keyText, rapid.SampledFrom(pieces).Draw(t, "piece").text})
			}
			v := e.layout(promptMark, width, height-1)
			s.draw(v)
			if err := s.flush(); err != nil {
				t.Fatal(err)
			}
			emu.Write(out.Bytes())
			out.Reset()

			rows := strings.Split(emu.String(), "\n")
			at := emu.CursorPosition()
			if at.X != v.c || at.Y < v.r {
				t.Fatalf("the cursor is at %v, want column %d in row %d of %q\n%s", at, v.c, v.r, v.rows, emu)
			}
			for i, want := range v.rows {
				if got := strings.TrimRight(rows[at.Y-v.r+i], " "); got != strings.TrimRight(want, " ") {
					t.Fatalf("row %d is %q, want %q\n%s", i, got, want, emu)
				}
			}
			above := strings.Join(rows[:at.Y-v.r], "\n")
			if squeeze(above) != "" && !strings.HasSuffix(squeeze(said), squeeze(above)) {
				t.Fatalf("above the line stands\n%s\nbut said was %q", above, said)
			}
		}
	})
}

// squeeze is s without the space that depends on where rows end.
func squeeze(s string) string {
	return strings.NewReplacer(" ", "", "\n", "").Replace(s)
}

// ours are the sequences the program writes on purpose.
var ours = regexp.MustCompile(`\x1b\[(\d*[ACm]|J)`)

func TestNoEventCanControlTheTerminal(t *testing.T) {
	evil := rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom([]string{"\x1b[2J", "\x1b]0;t\x07", "\x1bc", "\x9b1m", "\u009b1m", "\r", "\x08", "\x00", "\u202e", "\u2069", "\x7f", "\u2028", "\n", "\t", "测", "\xff"}),
			rapid.String(),
		), 0, 6).Draw(t, "parts")
		return strings.Join(parts, "")
	})
	rapid.Check(t, func(t *rapid.T) {
		text := evil.Draw(t, "text")
		input, err := json.Marshal(map[string]string{"command": text})
		if err != nil {
			t.Fatal(err)
		}
		call := &oneloop.ToolUse{ID: "t1", Name: text, Input: input}
		if rapid.Bool().Draw(t, "odd input") {
			call.Input = json.RawMessage(text)
		}
		result := &oneloop.ToolResult{Content: []oneloop.Block{&oneloop.Text{Text: text}}}
		message := &oneloop.Message{Role: oneloop.Assistant, Blocks: []oneloop.Block{&oneloop.Text{Text: text}}}
		events := []oneloop.Event{
			oneloop.TextDelta{Text: text}, oneloop.ThinkingDelta{Text: text}, oneloop.Discard{Reason: text}, oneloop.MessageAdded{Message: message},
			oneloop.ToolStart{Call: call}, oneloop.ToolEnd{Call: call, Result: result}, oneloop.Retry{Error: text}, oneloop.Notice{Text: text},
			oneloop.Denied{Call: call, Reason: text, Rule: text}, oneloop.Limited{What: text, Used: text, Limit: text},
			oneloop.ChildStart{Agent: text, Prompt: text}, oneloop.ChildEnd{Agent: text, Error: text},
		}
		var out bytes.Buffer
		s := screen{out: &out, width: 20, height: 10, color: true}
		p := paper{out: &out, color: true}
		for _, r := range []renderer{{on: &s, words: &english}, {on: &p, words: &chinese}} {
			for _, e := range events {
				r.event(e)
				r.event(oneloop.Child{Agent: text, Event: e})
			}
		}
		for _, l := range english.question(oneloop.Question{Title: text, Detail: text, Reason: text, Rule: text}) {
			s.put(l.style, exactSight, l.text)
		}
		var e editor
		e.insert(text)
		s.draw(e.layout(promptMark, 20, 10))
		if err := s.flush(); err != nil {
			t.Fatal(err)
		}
		all := strings.ReplaceAll(ours.ReplaceAllString(out.String(), ""), "\r\n", "\n")
		all = strings.ReplaceAll(all, "\n\r", "\n") // the cursor of the line that is typed
		if !utf8.ValidString(all) {
			t.Errorf("no UTF-8: %q", all)
		}
		for _, r := range all {
			if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Errorf("%U is written in %q", r, all)
			}
		}
		if strings.Count(all, "\r") > 1 { // draw's own
			t.Errorf("a return is written in %q", all)
		}
	})
}

// storyline is a task with everything that can happen in it.
func storyline() []oneloop.Event {
	call := &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(`{"command":"ls -l 目录\nwc -l *"}`)}
	long := strings.Repeat("一二三四 ", 60)
	ended := func(text string, failed bool) oneloop.ToolEnd {
		return oneloop.ToolEnd{Call: call, Result: &oneloop.ToolResult{Content: []oneloop.Block{&oneloop.Text{Text: text}}, IsError: failed}}
	}
	return []oneloop.Event{
		oneloop.TextDelta{Text: "I will look."},
		oneloop.ToolStart{Call: call}, ended("total 0\n", false),
		oneloop.ToolStart{Call: call}, ended(long, false),
		oneloop.Retry{Attempt: 1, Of: 9, Wait: 1500 * time.Millisecond, Error: "overloaded"},
		oneloop.ToolStart{Call: call}, ended("exit code 1", true),
		oneloop.Denied{Call: call, Reason: "it deletes the home folder", Rule: "Bash(ls:*)", Nobody: true},
		oneloop.ChildStart{Agent: "1", Prompt: "sub task"},
		oneloop.Child{Agent: "1", Event: oneloop.ToolStart{Call: call}}, oneloop.Child{Agent: "1", Event: ended("a\nb", false)},
		oneloop.ChildEnd{Agent: "1"},
		oneloop.Spend{Usage: oneloop.Usage{Input: 1000, Output: 30}, Cost: 0.01, Known: true},
		oneloop.Child{Agent: "1", Event: oneloop.Spend{Usage: oneloop.Usage{Input: 200, Output: 4}, Cost: 0.0023, Known: true}},
		oneloop.TurnEnd{},
	}
}

func TestProgressTellsHowATaskGoes(t *testing.T) {
	const wrong = "overloaded; trying again in 1.5s (try 2 of 9)\n"
	const denied = `denied: ls -l 目录 …: it deletes the home folder
  nobody could be asked; to allow it: Bash(ls:*)
`
	command := "$ ls -l 目录\n  wc -l *\n"
	everything := command + "total 0\n" +
		command + strings.Repeat("一二三四 ", 40) + "\n… 100 more characters\n" +
		wrong + command + "exit code 1\n" + denied + `subtask 1: sub task
[1] $ ls -l 目录
[1]   wc -l *
[1] a
[1] b
subtask 1 is done
tokens: 1,200 in, 34 out · 2 requests · $0.012
`
	show := func(o ProgressOptions) string {
		var out bytes.Buffer
		p := NewProgress(&out, o)
		for _, e := range storyline() {
			p.Show(e)
		}
		if err := p.Err(); err != nil {
			t.Error(err)
		}
		return out.String()
	}
	if diff := cmp.Diff(everything, show(ProgressOptions{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wrong+denied, show(ProgressOptions{Quiet: true})); diff != "" {
		t.Error(diff)
	}
	coloured := show(ProgressOptions{Color: true})
	if diff := cmp.Diff(everything, regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(coloured, "")); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"\x1b[1m$ ls", "\x1b[31mexit code 1\x1b[0m\n", "\x1b[33m" + strings.TrimSpace(wrong)} {
		if !strings.Contains(coloured, want) {
			t.Errorf("%q is not in %q", want, coloured)
		}
	}
	if spoken := show(ProgressOptions{Talk: true}); spoken != "I will look.\n"+everything {
		t.Error(cmp.Diff("I will look.\n"+everything, spoken))
	}
}

func TestACommandThatIsDeniedIsNamedOnce(t *testing.T) {
	call := &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(`{"command":"sudo ls\n"}`)}
	byRule := func(r *oneloop.Reason) *oneloop.Reason {
		return &oneloop.Reason{Code: "by-rule", Text: "%s (by the rule %s)", Args: []*oneloop.Reason{r, {Text: "Bash"}}}
	}
	for want, why := range map[string]*oneloop.Reason{
		"denied: sudo ls: a rule names it\n":                    of("sudo ls", named),
		"denied: sudo ls: a rule names it (by the rule Bash)\n": byRule(of("sudo ls", named)),
		"denied: sudo ls: sudo: a rule names it\n":              of("sudo", named),
		"denied: sudo ls: only words\n":                         nil,
	} {
		var out bytes.Buffer
		NewProgress(&out, ProgressOptions{}).Show(oneloop.Denied{Call: call, Reason: "only words", Why: why})
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	}
}
