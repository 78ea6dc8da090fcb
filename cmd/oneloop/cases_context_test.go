//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"oneloop/looptest/script"
)

// reading plays a model that reads some files in each of n rounds and is done,
// and that sums up what it is asked to. usage is what each reply says it used;
// nil: counted.
func reading(n, files int, usage func(round int) *script.Usage) script.Reply {
	var round atomic.Int64
	return script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		reply := say("SUM")
		if !summing(r) {
			k := int(round.Add(1))
			if reply = say("all done"); k <= n {
				reply = script.Say()
				for i := (k-1)*files + 1; i <= k*files; i++ {
					reply.Blocks = append(reply.Blocks, script.Tool(fmt.Sprintf("r%d", i), "Read", fmt.Sprintf(`{"file_path":"f%d"}`, i)))
				}
			}
			if usage != nil {
				reply.Usage = usage(k)
			}
		} else if usage != nil {
			reply.Usage = &script.Usage{}
		}
		return reply
	}}
}

// summed are the numbers of the requests for a summary.
func (p *product) summed() (numbers []int) {
	for _, r := range p.server.Requests() {
		if summing(r) {
			numbers = append(numbers, r.N)
		}
	}
	return numbers
}

// files are what there is to read: n of them, each with content.
func (p *product) files(n int, content string) {
	p.t.Helper()
	for i := range n {
		if err := os.WriteFile(filepath.Join(p.dir, fmt.Sprintf("f%d", i+1)), []byte(content), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

const longTask = "Read  it all, 请一字不差"

func TestCaseCtx08And01ALongTurnIsMadeShorterBetweenItsRounds(t *testing.T) {
	p := newProduct(t, reading(6, 1, func(round int) *script.Usage {
		if round == 3 {
			return &script.Usage{CacheRead: 16_500, Input: 50, Output: 9}
		}
		return &script.Usage{}
	}))
	p.files(6, strings.Repeat("four thousand bytes of it ", 154))
	p.env = append(p.env, "ONELOOP_CONTEXT_WINDOW=20000")
	o := p.done(longTask)
	if o.stdout != "all done\n" {
		t.Errorf("stdout is %q", o.stdout)
	}
	contains(t, o.stderr, "made shorter")
	sums := p.summed()
	if len(sums) == 0 || sums[0] != 4 {
		t.Fatalf("summaries were asked for in %v", sums)
	}
	tools := p.request(1).Fields["tools"]
	for _, r := range p.server.Requests()[4:] {
		body := string(r.Body)
		if summing(r) {
			continue
		}
		if strings.Count(body, "SUM") != 1 || strings.Count(body, longTask) != 1 || string(r.Fields["tools"]) != string(tools) {
			t.Errorf("request %d is %.3000s", r.N, body)
		}
	}
}

// narrow refuses what is longer than so many bytes, once on is set.
func narrow(most int, on *atomic.Bool, next script.Reply) script.Reply {
	return script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		if on.Load() && len(r.Body) > most {
			return script.Fail(400, "invalid_request_error", fmt.Sprintf("prompt is too long: %d tokens > %d maximum", len(r.Body)/4, most/4))
		}
		return next
	}}
}

func TestCaseCtx04AKeptConversationThatIsTooLongGoesOn(t *testing.T) {
	refusing := new(atomic.Bool)
	p := newProduct(t, narrow(40_000, refusing, reading(2, 5, nil)))
	p.files(10, strings.Repeat("ten thousand bytes\n", 526))
	p.done("grow")
	grown := len(p.server.Requests())
	refusing.Store(true)
	if o := p.done("-c", longTask); o.stdout != "all done\n" {
		t.Errorf("stdout is %q", o.stdout)
	}
	var long []string
	all := p.server.Requests()[grown:]
	for _, r := range all {
		if len(r.Body) > 40_000 {
			long = append(long, string(r.Body))
		}
	}
	if slices.Sort(long); len(slices.Compact(long)) != len(long) || len(all) > 6 || len(long) == 0 {
		t.Errorf("%d requests, of those too long %d", len(all), len(long))
	}
	contains(t, string(all[len(all)-1].Body), longTask, "SUM")
}

func TestCaseCtx06ChineseIsCountedWhereTheAPIDoesNot(t *testing.T) {
	p := newProduct(t, reading(10, 1, func(int) *script.Usage { return &script.Usage{} }))
	p.files(10, strings.Repeat("汉", 3000))
	p.env = append(p.env, "ONELOOP_CONTEXT_WINDOW=20000")
	o := p.done("--output-format", "stream-json", longTask)
	if len(p.summed()) == 0 {
		t.Error("nothing was made shorter")
	}
	contains(t, o.stdout, `"subtype":"compact_boundary","compact_metadata":{"post_tokens":`, `"trigger":"auto"`)
	lacks(t, o.stdout, "SUM") // is for the model
	for _, r := range p.server.Requests() {
		if n := strings.Count(string(r.Body), "汉"); n >= 20_000 {
			t.Errorf("request %d has %d Chinese characters", r.N, n)
		}
	}
}

func TestAHookOfTheUsersKeepsAConversationAsItIs(t *testing.T) {
	p := newProduct(t, reading(3, 1, func(int) *script.Usage { return &script.Usage{CacheRead: 16_500, Input: 50} }))
	p.files(3, strings.Repeat("x", 9000))
	p.env = append(p.env, "ONELOOP_CONTEXT_WINDOW=20000", "XDG_CONFIG_HOME="+p.dir+"/../conf")
	conf := filepath.Join(p.dir, "..", "conf", "oneloop")
	if err := os.MkdirAll(conf, 0o700); err != nil {
		t.Fatal(err)
	}
	hook := `{"hooks":{"PreCompact":[{"matcher":"auto","hooks":[{"type":"command","command":"echo not now >&2; exit 2"}]}]}}`
	if err := os.WriteFile(filepath.Join(conf, "settings.json"), []byte(hook), 0o600); err != nil {
		t.Fatal(err)
	}
	o := p.done(longTask)
	contains(t, o.stderr, "not now")
	if sums := p.summed(); len(sums) > 0 {
		t.Errorf("summaries were asked for in %v", sums)
	}
}

func TestByHandAConversationIsMadeShorterAndItsWindowShown(t *testing.T) {
	p := newProduct(t,
		script.Say(script.Text("I look."), shell("t1", "seq 3000")), script.Say(script.Text("Done.\n\n  ")), // the white space of C-HIST-05
		say("SUM"), script.Say(script.Text("Done again.\n\n  ")))
	c := p.converse()
	c.types("/compact\r")
	c.sees("nothing to make shorter")
	c.types("look at it\r")
	c.sees("2 requests")
	c.types("/context\r")
	c.sees("results of calls")
	c.types("/compact the numbers\r")
	c.sees("made shorter")
	c.types("next\r")
	c.sees("Done again.")
	c.types("/context\r")
	c.sees("summary")
	c.types("/cost\r")
	c.sees("turn 2")
	c.types("\x04")
	c.ends()
	contains(t, p.request(3).Last().Text(), "the numbers")
	last := p.request(4)
	contains(t, string(last.Body), "SUM", "look at it", "next")
	lacks(t, string(last.Body), "2999")
}

// marks are those of the cache, which move.
var marks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`,"cache_control":\{[^}]*\}`) })

func TestCaseCtx07WhatIsCachedDoesNotMove(t *testing.T) {
	bare := func(raw []byte) string { return string(marks().ReplaceAll(raw, nil)) }
	var tools string
	for range 2 {
		p := newProduct(t, reading(8, 1, nil)) // in a folder of its own
		p.files(8, "something to read\n")
		p.done(longTask)
		var sent []string
		for _, r := range p.server.Requests() {
			if n := strings.Count(string(r.Body), `"cache_control":`); n > 4 || n == 0 {
				t.Errorf("request %d has %d marks", r.N, n)
			}
			if bare(r.Fields["system"]) != bare(p.request(1).Fields["system"]) || string(r.Fields["tools"]) != string(p.request(1).Fields["tools"]) {
				t.Errorf("request %d has another system prompt or other tools", r.N)
			}
			var now []string
			for _, m := range r.Messages {
				now = append(now, bare(m.Raw))
			}
			if len(now) <= len(sent) && r.N > 1 || !slices.Equal(now[:len(sent)], sent) {
				t.Errorf("request %d does not begin with the one before", r.N)
			}
			sent = now
		}
		if len(sent) != 17 {
			t.Errorf("the last request has %d messages", len(sent))
		}
		if now := string(p.request(1).Fields["tools"]); tools != "" && now != tools {
			t.Error("in another folder the tools are others")
		} else {
			tools = now
		}
	}
}
