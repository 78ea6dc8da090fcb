//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

// costly runs a command again and again; each reply is billed as so many
// tokens.
func costly(command string, tokens int64) script.Reply {
	return script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		reply := script.Say(script.Tool(fmt.Sprint("call_", r.N), "Bash", fmt.Sprintf(`{"command":%q}`, command)))
		reply.Usage = &script.Usage{Input: 10, Output: tokens}
		return reply
	}}
}

func TestALimitHoldsForAnAgentAndItsChildrenTogether(t *testing.T) {
	for _, c := range []struct {
		name     string
		args     []string
		requests int
		word     string
	}{
		// Ten dollars a million: 0.1 of the parent and 1 for each of a child's.
		{"cost", []string{"--max-cost", "2.5"}, 4, "the limit on cost is reached: $3.10 of $2.50"},
		{"turns", []string{"--max-turns", "3"}, 3, "the limit on turns is reached: 3 of 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProduct(t, costly("oneloop 'a child'", 10_000))
			p.server.Route("a child", costly("oneloop 'its child'", 100_000))
			p.server.Route("its child", costly("true", 100_000))
			o := p.run(append(c.args, "--model", "claude-sonnet-5", "--output-format", "json", "go")...)
			var result struct {
				Cost float64 `json:"total_cost_usd"`
			}
			if err := json.Unmarshal([]byte(o.stdout), &result); err != nil {
				t.Fatalf("%v in %s", err, o.stdout)
			}
			if n := len(p.server.Requests()); o.code != exitLimit || n != c.requests || !strings.Contains(o.stderr, "oneloop: "+c.word) {
				t.Errorf("exit code %d after %d requests, stderr %s", o.code, n, o.stderr)
			}
			if want := 0.1 + float64(c.requests-1); result.Cost < want-0.001 || result.Cost > want+0.001 {
				t.Errorf("the cost is told as %v, it is %v", result.Cost, want)
			}
		})
	}
}

func TestASubtaskTooDeepIsToldToTheModelThatWantedIt(t *testing.T) {
	level := func(i int) []script.Reply {
		return []script.Reply{
			script.Say(script.Tool("t1", "Bash", fmt.Sprintf(`{"command":"oneloop 'level %d'; echo exit $?"}`, i+1))),
			script.Say(script.Text(fmt.Sprint("done at ", i))),
		}
	}
	p := newProduct(t, level(0)...)
	for i := 1; i <= 3; i++ {
		p.server.Route(fmt.Sprint("level ", i), level(i)...)
	}
	if o := p.run("go"); o.code != 0 || o.stdout != "done at 0\n" {
		t.Fatalf("exit code %d, %q, %s", o.code, o.stdout, o.stderr)
	}
	told, ok := p.server.Requests()[4].Result("t1")
	want := "oneloop: the subtask was refused: the limit on depth is reached: 3 of 3; do this work yourself, without a subtask\nexit 5"
	if !ok || told.FullText() != want {
		t.Errorf("the model is told %q", told.FullText())
	}
}

// small makes p a program whose files cannot grow beyond so many KiB, as on a
// disk that is full.
func (p *product) small(kib int) *product {
	p.t.Helper()
	bin, err := exec.LookPath(p.bin)
	if err != nil {
		p.t.Fatal(err)
	}
	p.bin = filepath.Join(p.t.TempDir(), "small")
	text := fmt.Sprintf("#!/usr/bin/env bash\nulimit -Sf %d && exec %s \"$@\"\n", kib, bin)
	if err := os.WriteFile(p.bin, []byte(text), 0o700); err != nil {
		p.t.Fatal(err)
	}
	return p
}

func TestAFullDiskEndsNoTurnAndIsSaidOnce(t *testing.T) {
	replies := func() []script.Reply {
		return []script.Reply{
			script.Say(script.Tool("t1", "Bash", `{"command":"yes | head -c 300000"}`)),
			script.Say(script.Tool("t2", "Bash", `{"command":"echo fine"}`)),
			script.Say(script.Text("done")),
		}
	}
	t.Run("a long output", func(t *testing.T) {
		p := newProduct(t, replies()...).small(64)
		o := p.run("go")
		got := p.server.Requests()
		if o.code != 0 || o.stdout != "done\n" || len(got) != 3 {
			t.Fatalf("exit code %d, %q, %d requests, %s", o.code, o.stdout, len(got), o.stderr)
		}
		first, _ := got[1].Result("t1")
		second, _ := got[2].Result("t2")
		if text := first.FullText(); strings.Count(text, "what is not shown is lost, it could not be written to a file") != 1 || !strings.HasPrefix(text, "y\n") {
			t.Errorf("the model is told …%s", text[max(0, len(text)-300):])
		}
		if second.FullText() != "fine" {
			t.Errorf("the next command gave %q", second.FullText())
		}
	})
	for name, file := range map[string]string{"a trace on a full device": "/dev/full", "a trace that stops growing": "trace"} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(file); file == "/dev/full" && err != nil {
				t.Skip("not run: there is no /dev/full here")
			}
			p := newProduct(t, replies()...).small(2)
			o := p.run("--trace="+file, "go")
			if o.code != exitFailed || o.stdout != "done\n" || len(p.server.Requests()) != 3 {
				t.Errorf("exit code %d, %q, %d requests", o.code, o.stdout, len(p.server.Requests()))
			}
			if strings.Count(o.stderr, "cannot write the trace to "+file) != 1 || strings.Count(o.stderr, "and all after it are missing: ") != 1 {
				t.Errorf("said is %s", o.stderr)
			}
		})
	}
}

func TestCommandsRunWithoutAPlaceForTemporaryFiles(t *testing.T) {
	tmp := t.TempDir()
	command := func(id string) script.Reply {
		return script.Say(script.Tool(id, "Bash", `{"command":"echo fine"}`))
	}
	p := newProduct(t, script.Reply{React: func(script.Request) script.Reply {
		if err := os.Remove(tmp); err != nil { // after the start has looked at it
			t.Error(err)
		}
		return command("t1")
	}}, command("t2"), script.Say(script.Text("done")))
	p.env = append(p.env, "TMPDIR="+tmp)
	o := p.run("--sandbox", "none", "go") // a sandbox makes the place beside the first request
	got := p.server.Requests()
	if o.code != 0 || o.stdout != "done\n" || len(got) != 3 {
		t.Fatalf("exit code %d, %q, %d requests, %s", o.code, o.stdout, len(got), o.stderr)
	}
	for i, id := range []string{"t1", "t2"} {
		if told, _ := got[i+1].Result(id); told.FullText() != "fine" {
			t.Errorf("command %s gave %q", id, told.FullText())
		}
	}
	if strings.Count(o.stderr, "make a folder for this run") != 1 {
		t.Errorf("said is %s", o.stderr)
	}
}
