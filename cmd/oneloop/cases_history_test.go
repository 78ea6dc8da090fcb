package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

// again is what a conversation is gone on with, each time by another process:
// as the newest one, and by the beginning of its id.
var again = [][]string{{"-c"}, {"-r", "20"}}

// spoke fails when the n-th request does not have these prompts, each once and
// in this order.
func (p *product) spoke(n int, prompts ...string) {
	p.t.Helper()
	var said []string
	for _, m := range p.request(n).Messages {
		for _, c := range m.Content {
			if m.Role == "user" && c.Type == "text" {
				said = append(said, c.Text)
			}
		}
	}
	if got, want := strings.Join(said, ", "), strings.Join(prompts, ", "); got != want {
		p.t.Errorf("request %d has the prompts %q, not %q", n, got, want)
	}
}

// summing reports whether r asks for a summary.
func summing(r script.Request) bool {
	return strings.Contains(r.Last().Text(), "Write that summary now")
}

func TestCaseHist04EmptyAndBlankRepliesHarmNoTurnAfterThem(t *testing.T) {
	p := newProduct(t, script.Say(), script.Say(script.Text("")), script.Say(script.Text("\n \n")), script.Say(script.Thinking("hm", "sig")),
		script.Say(script.Text("\n"), shell("t1", "true"), shell("t2", "false")), say("ok"))
	said := []string{"one", "two", "three", "four", "five"}
	for i, text := range said {
		var args []string
		if i > 0 {
			args = again[i%2]
		}
		if o := p.done(append(args, text)...); i < 4 && o.stdout != "" {
			t.Errorf("after %q stdout is %q", text, o.stdout)
		}
		p.spoke(i+1, said[:i+1]...)
	}
	contains(t, p.result(6, "t2"), "exit code 1")
	if p.result(6, "t1") == "" {
		t.Error("the result of a silent command is empty")
	}
}

func TestCaseHist05RepliesThatEndInWhiteSpaceHarmNoRequest(t *testing.T) {
	done := script.Say(script.Text("Done.\n\n  "))
	cut := script.Say(script.Text(strings.Repeat("a long report ", 1000) + "\n\n  "))
	cut.Stop = "max_tokens"
	full := done
	full.Usage = &script.Usage{CacheRead: 16_500, Input: 50, Output: 9}
	p := newProduct(t,
		done,
		cut, done, // gone on with in the same turn
		script.Say(script.Text("A subtask.\n "), shell("t1", "oneloop 'a child'")), full,
		script.Say(script.Text("SUM\n\n  ")), done, // made shorter first
		done)
	p.server.Route("a child", script.Say(script.Text("The child is done.\n\n  ")))
	p.env = append(p.env, "ONELOOP_CONTEXT_WINDOW=20000")
	for i, text := range []string{"one", "two", "three", "four", "five"} {
		var args []string
		if i > 0 {
			args = again[i%2]
		}
		if o := p.done(append(args, text)...); strings.TrimSpace(o.stdout) != "Done." && i != 1 {
			t.Errorf("after %q stdout is %q", text, o.stdout)
		}
	}
	contains(t, p.result(6, "t1"), "The child is done.")
	if !summing(p.request(7)) {
		t.Error("nothing was made shorter")
	}
	contains(t, string(p.request(9).Body), "SUM", "Done.", `"four"`, `"five"`)
}

func TestCaseHist06TakenAndEmptyIdsAreMadeUnique(t *testing.T) {
	p := newProduct(t,
		script.Say(shell("call_0", "echo a >> f"), shell("call_0", "echo b >> f")),
		script.Say(shell("call_0", "echo c >> f")),
		script.Say(shell("", "echo d >> f")),
		say("ok"),
		script.Say(shell("call_0", "echo e >> f"), shell("", "echo g >> f"), shell("call_0", "echo h >> f")), say("ok"),
		script.Say(shell("call_0", "echo i >> f")), say("ok"))
	p.done("go on")
	for _, how := range again {
		p.done(append(how, "and on")...)
	}
	got, err := os.ReadFile(filepath.Join(p.dir, "f"))
	if err != nil || string(got) != "a\nb\nc\nd\ne\ng\nh\ni\n" {
		t.Errorf("f is %q, %v", got, err)
	}
}

func TestCaseHist07UnknownToolsAreAnsweredAndSiblingsRun(t *testing.T) {
	calls := func(n string) script.Reply {
		return script.Say(script.Tool("t1"+n, "no_such_tool", "{}"), shell("t2"+n, "echo yes"), script.Tool("t3"+n, "Bash<|x|>json", `{"command":"echo no > p"}`))
	}
	p := newProduct(t, calls("a"), say("ok"), calls("b"), say("ok"), calls("c"), say("ok"))
	for i, how := range append([][]string{nil}, again...) {
		p.done(append(how, "go on")...)
		n := []string{"a", "b", "c"}[i]
		contains(t, p.result(2*i+2, "t1"+n), "Bash")
		contains(t, p.result(2*i+2, "t2"+n), "yes")
		contains(t, p.result(2*i+2, "t3"+n), "Bash")
	}
	if p.exists("p") {
		t.Error("a mangled name was taken for a real one")
	}
}

func TestCaseHist12BrokenInputIsNeverRun(t *testing.T) {
	p := newProduct(t,
		script.Say(
			script.ToolPieces("t1", "Bash", `{"command":"echo x > q","timeo`),
			script.ToolPieces("t2", "Bash", `[1]`), script.ToolPieces("t3", "Bash", `null`),
			script.ToolPieces("t4", "Bash", ""), script.ToolPieces("t5", "Bash"),
			script.ToolPieces("t6", "Bash", `{"command":"echo x > q","command":"true"}`),
			script.ToolPieces("t7", "Bash", `{"Command":"echo x > q"}`)),
		say("ok"), say("went on"), say("and on"))
	p.done("go on")
	for _, how := range again {
		p.done(append(how, "and on")...)
	}
	if p.exists("q") {
		t.Error("a broken call was run")
	}
	for _, id := range []string{"t1", "t2", "t3", "t4", "t5", "t6", "t7"} {
		for n := 2; n <= 4; n++ {
			r := p.request(n)
			if c, ok := r.Result(id); !ok || !c.IsError {
				t.Errorf("in request %d %s is answered %v %v", n, id, ok, c.FullText())
			}
		}
	}
}
