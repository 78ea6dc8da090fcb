package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneloop"
	"oneloop/policy"
)

// person answers questions from a list and keeps what was asked.
type person struct {
	answers []oneloop.Answer
	asked   []oneloop.Question
	err     error
}

func (p *person) ask(_ context.Context, q oneloop.Question) (oneloop.Answer, error) {
	p.asked = append(p.asked, q)
	if p.err != nil || len(p.answers) == 0 {
		return oneloop.Answer{}, errors.Join(errors.New("gone"), p.err)
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	return a, nil
}

// editor is a tool that writes the file it is given.
func editor(ran *[]string) oneloop.Tool {
	return oneloop.Tool{
		ToolDef: oneloop.ToolDef{Name: "Write"},
		Touches: func(call *oneloop.ToolUse) ([]oneloop.Touch, error) {
			var in struct{ Path string }
			if err := json.Unmarshal(call.Input, &in); err != nil {
				return nil, err
			}
			if in.Path == "" {
				return nil, errors.New("outside the workspace")
			}
			return []oneloop.Touch{{Kind: oneloop.TouchWrite, Name: in.Path}}, nil
		},
		Run: func(_ context.Context, call *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
			*ran = append(*ran, string(call.Input))
			return oneloop.TextResult("done"), nil
		},
	}
}

func path(p string) string { return fmt.Sprintf(`{"path":%q}`, p) }

func TestAQuestionShowsAllTheAnswerDependsOn(t *testing.T) {
	dir := folder(t)
	p := &person{answers: []oneloop.Answer{{Allow: true}}}
	var ran []string
	cmd := "touch a\u202eb \x1b[2J\n" + strings.Repeat("x", 5000) + "\u200b end"
	o := policy.GateOptions{Dir: dir, Ask: p.ask, Isolation: func() policy.Isolation { return policy.Isolation{Text: "ll, network on"} }}
	_, d := ask(t, bash(&ran, oneloop.Once), o, "Bash", command(cmd))
	if d != nil || len(ran) != 1 || ran[0] != cmd || len(p.asked) != 1 {
		t.Fatalf("ran %q, %+v, asked %d", ran, d, len(p.asked))
	}
	q := p.asked[0]
	if q.Kind != "tool" || q.Call == nil || q.Rule != "" || strings.ContainsAny(q.Detail, "\u202e\u200b\x1b") {
		t.Errorf("the question is %+v", q)
	}
	for _, want := range []string{`touch a\u202eb \x1b[2J` + "\n", `\u200b end`, strings.Repeat("x", 5000)} {
		if !strings.Contains(q.Detail, want) {
			t.Errorf("the question does not show %.40q: %.100q", want, q.Detail)
		}
	}
	if q.In != "ll, network on" || !strings.Contains(q.Reason, "invisible character") {
		t.Errorf("it runs in %q, the reason is %q", q.In, q.Reason)
	}
}

func TestANoIsToldWithItsReason(t *testing.T) {
	dir := folder(t)
	for _, c := range []struct {
		answer oneloop.Answer
		says   string
	}{{oneloop.Answer{Reason: "use make"}, "use make"}, {oneloop.Answer{}, "said no"}} {
		p := &person{answers: []oneloop.Answer{c.answer}}
		var ran []string
		r, d := ask(t, bash(&ran, oneloop.Once), policy.GateOptions{Dir: dir, Ask: p.ask}, "Bash", command("touch x"))
		if len(ran) > 0 || d == nil || d.Nobody || !r.IsError || !strings.Contains(r.Text(), c.says) || !strings.Contains(d.Reason, "touch x") {
			t.Errorf("%+v: ran %q, %+v, %s", c.answer, ran, d, r.Text())
		}
	}
	var ran []string
	r, d := ask(t, bash(&ran, oneloop.Once), policy.GateOptions{Dir: dir, Ask: (&person{}).ask}, "Bash", command("touch x"))
	if len(ran) > 0 || d == nil || !d.Nobody || !strings.Contains(r.Text(), "gone") {
		t.Errorf("without an answer: ran %q, %+v, %s", ran, d, r.Text())
	}
}

func TestAlwaysIsOfferedOnlyWhereItIsPlainWhatItAllows(t *testing.T) {
	dir := folder(t)
	for command, want := range map[string]string{
		"touch x": "Bash(touch x)", "go test -run X ./...": "Bash(go test:*)", "cargo build": "Bash(cargo build:*)", "ls && touch x | head": "Bash(touch x)", "sort f": "Bash(sort f)",
		"python3 x.py": "", "python3.12 -c x": "", "bash x.sh": "", "git commit -m x": "", "find . -delete": "", "make x": "", "npm test": "", "docker ps": "", "ssh h": "", "curl x": "", "env touch x": "", "xargs touch": "", "/usr/bin/python3 x": "",
		"touch x; touch y": "", "touch $x": "", "touch *": "", "touch x &": "", "sudo touch x": "", "touch x > y": "", "touch 'a b'": "", "cat .env": "", "x=1 touch x": "",
	} {
		p := &person{answers: []oneloop.Answer{{}}}
		var ran []string
		ask(t, bash(&ran, oneloop.Once), policy.GateOptions{Dir: dir, Ask: p.ask}, "Bash", inputOf(command))
		if len(p.asked) != 1 {
			t.Fatalf("%q: asked %d times", command, len(p.asked))
		}
		if got := p.asked[0].Rule; got != want {
			t.Errorf("%q: offered %q, want %q", command, got, want)
		}
	}
}

func TestAlwaysIsNotOfferedWhenTheRuleWouldNotDo(t *testing.T) {
	dir := folder(t)
	for name, want := range map[string]string{"a": "Edit(./a)", "a ": "", "a)b": "Edit(./a)b)"} {
		p := &person{answers: []oneloop.Answer{{}}}
		var ran []string
		ask(t, editor(&ran), policy.GateOptions{Dir: dir, Ask: p.ask}, "Write", path(filepath.Join(dir, name)))
		if got := p.asked[0].Rule; got != want {
			t.Errorf("%q: offered %q, want %q", name, got, want)
		}
	}
}

func inputOf(cmd string) string { return command(cmd) }

func TestAlwaysKeepsARuleAndAsksNoMore(t *testing.T) {
	dir := folder(t)
	var kept []string
	p := &person{answers: []oneloop.Answer{{Allow: true, Always: true}}}
	o := with(t, dir)
	o.Ask, o.Keep = p.ask, &policy.Keep{File: "/ada/settings.local.json", Base: dir, Add: func(r string) error { kept = append(kept, r); return nil }}
	var ran []string
	for range 2 {
		ask(t, bash(&ran, oneloop.Once), o, "Bash", command("go test ./..."))
	}
	if len(ran) != 2 || len(p.asked) != 1 || len(kept) != 1 || kept[0] != "Bash(go test:*)" {
		t.Fatalf("ran %q, asked %d, kept %q", ran, len(p.asked), kept)
	}
	if p.asked[0].Rule != "Bash(go test:*)" || p.asked[0].File != "/ada/settings.local.json" {
		t.Errorf("what is kept where is shown as %q in %q", p.asked[0].Rule, p.asked[0].File)
	}
	if d := policy.ExplainCommand(o, "go test x"); d.Decision != "allow" || d.File != "/ada/settings.local.json" {
		t.Errorf("%+v", d)
	}
}

func TestARuleThatCannotBeKeptHoldsForTheSession(t *testing.T) {
	dir := folder(t)
	p := &person{answers: []oneloop.Answer{{Allow: true, Always: true}}}
	o := with(t, dir)
	o.Ask, o.Keep = p.ask, &policy.Keep{File: "f", Base: dir, Add: func(string) error { return errors.New("disk full") }}
	var ran []string
	var notices []string
	tool := policy.Gate(o)(editor(&ran))
	for range 2 {
		_, err := tool.Run(t.Context(), &oneloop.ToolUse{Name: "Write", Input: []byte(path(filepath.Join(dir, "a*b")))}, func(e oneloop.Event) {
			if n, is := e.(oneloop.Notice); is {
				notices = append(notices, n.Text)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(ran) != 2 || len(p.asked) != 1 || len(notices) != 1 || !strings.Contains(notices[0], "disk full") {
		t.Errorf("ran %q, asked %d, said %q", ran, len(p.asked), notices)
	}
	if d := policy.Explain(o, &oneloop.ToolUse{Name: "Write"}, oneloop.Touch{Kind: oneloop.TouchWrite, Name: filepath.Join(dir, "axb")}); d.Decision != "ask" {
		t.Errorf("the rule of one file is for another too: %+v", d)
	}
}

func TestOneAnswerIsNotTakenForAnotherQuestion(t *testing.T) {
	dir := folder(t)
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		open, most := 0, 0
		o := policy.GateOptions{Dir: dir, Ask: func(_ context.Context, q oneloop.Question) (oneloop.Answer, error) {
			mu.Lock()
			open++
			most = max(most, open)
			mu.Unlock()
			time.Sleep(time.Second) // until nobody else can go on
			mu.Lock()
			open--
			mu.Unlock()
			return oneloop.Answer{Allow: q.Detail != "touch b", Reason: "not b"}, nil
		}}
		var runMu sync.Mutex
		ran := map[string]bool{}
		tool := bash(new([]string), oneloop.Once)
		tool.Parallel = true
		tool.Run = func(_ context.Context, call *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
			runMu.Lock()
			defer runMu.Unlock()
			ran[call.ID] = true
			return oneloop.TextResult("done"), nil
		}
		box := &oneloop.Toolbox{Tools: []oneloop.Tool{policy.Gate(o)(tool)}}
		var calls []*oneloop.ToolUse
		for _, id := range []string{"a", "b", "c"} {
			calls = append(calls, &oneloop.ToolUse{ID: id, Name: "Bash", Input: []byte(command("touch " + id))})
		}
		msg := box.Run(t.Context(), calls, func(oneloop.Event) {})
		if !ran["a"] || ran["b"] || !ran["c"] || most != 1 {
			t.Errorf("ran %v, %d questions at once", ran, most)
		}
		for i, b := range msg.Blocks {
			r := b.(*oneloop.ToolResult)
			if r.ID != calls[i].ID || r.IsError != (r.ID == "b") || r.IsError && !strings.Contains(r.Text(), "not b") {
				t.Errorf("%s: %s", r.ID, r.Text())
			}
		}
	})
}

func TestAnAlwaysAnswersWhatWaitsBehindIt(t *testing.T) {
	dir := folder(t)
	asked := 0
	o := policy.GateOptions{Dir: dir, Ask: func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		asked++ // one at a time
		return oneloop.Answer{Allow: true, Always: true}, nil
	}}
	t1 := bash(new([]string), oneloop.Once)
	t1.Parallel = true
	t1.Run = func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return oneloop.TextResult("done"), nil
	}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{policy.Gate(o)(t1)}}
	var calls []*oneloop.ToolUse
	for i := range 4 {
		calls = append(calls, &oneloop.ToolUse{ID: fmt.Sprint(i), Name: "Bash", Input: []byte(command(fmt.Sprintf("go test ./p%d", i)))})
	}
	for _, b := range box.Run(t.Context(), calls, func(oneloop.Event) {}).Blocks {
		if b.(*oneloop.ToolResult).IsError {
			t.Error(b.(*oneloop.ToolResult).Text())
		}
	}
	if asked != 1 {
		t.Errorf("asked %d times", asked)
	}
}

func TestAnInterruptEndsTheWaitForAnAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := policy.GateOptions{Dir: folder(t), Ask: func(ctx context.Context, _ oneloop.Question) (oneloop.Answer, error) {
		cancel()
		<-ctx.Done()
		return oneloop.Answer{}, context.Cause(ctx)
	}}
	var ran []string
	var denied *oneloop.Denied
	r, err := policy.Gate(o)(bash(&ran, oneloop.Once)).Run(ctx, &oneloop.ToolUse{Name: "Bash", Input: []byte(command("touch x"))}, func(e oneloop.Event) {
		if d, is := e.(oneloop.Denied); is {
			denied = &d
		}
	})
	if err != nil || !r.IsError || len(ran) > 0 || denied == nil || denied.Nobody {
		t.Errorf("ran %q, %v, %+v", ran, err, denied)
	}
}

func TestModesDecideWhatNoRuleDoes(t *testing.T) {
	dir := folder(t)
	edit, protected, outside := path(filepath.Join(dir, "x")), path(filepath.Join(dir, ".git/hooks/x")), path("/etc/x")
	none := func() policy.Isolation { return policy.Isolation{} }
	frozen := func() policy.Isolation { return policy.Isolation{Sandboxed: true, ReadOnly: true} }
	for _, c := range []struct {
		mode        policy.Mode
		in          func() policy.Isolation
		tool, input string
		runs        bool
	}{
		{policy.Default, none, "Write", edit, false}, {policy.Default, boxed, "Write", edit, true}, {policy.Default, boxed, "Write", protected, false}, {policy.Default, boxed, "Write", outside, false},
		{policy.AcceptEdits, none, "Write", edit, true}, {policy.AcceptEdits, none, "Write", protected, false}, {policy.AcceptEdits, none, "Write", outside, false}, {policy.AcceptEdits, none, "Bash", command("touch x"), false},
		{policy.AcceptEdits, none, "Bash", command("ls > x"), true}, {policy.AcceptEdits, none, "Bash", command("ls > .git/config"), false},
		{policy.DontAsk, none, "Write", edit, false}, {policy.DontAsk, boxed, "Write", edit, true}, {policy.DontAsk, none, "Bash", command("ls"), true},
		{policy.Bypass, none, "Write", edit, true}, {policy.Bypass, none, "Write", protected, true}, {policy.Bypass, none, "Bash", command("touch x"), true}, {policy.Bypass, none, "Bash", command("git push x"), true}, {policy.Bypass, none, "Bash", command("curl x"), false}, {policy.Bypass, none, "Bash", command("a=curl; $a x"), false}, {policy.Bypass, none, "Bash", command("sudo $a"), false},
		{policy.Bypass, none, "Bash", command("x 'a"), false}, {policy.Bypass, none, "Bash", command("g=push; git $g x"), true}, {policy.Bypass, none, "Bash", command("sudo x"), true}, {policy.Bypass, none, "Bash", command("ls $x"), true},
		{policy.Plan, none, "Write", edit, false}, {policy.Plan, boxed, "Write", edit, false}, {policy.Plan, boxed, "Bash", command("touch x"), false}, {policy.Plan, frozen, "Bash", command("touch x"), true}, {policy.Plan, frozen, "Write", edit, false},
		{policy.Plan, frozen, "Bash", command("curl x"), false}, {policy.Plan, frozen, "Bash", command("git push x"), false}, {policy.Default, boxed, "Bash", command("make x"), true}, {policy.Default, boxed, "Bash", command("git push x"), false},
		{policy.Default, boxed, "Bash", command("sudo x"), false}, {policy.Default, boxed, "Bash", command("curl x"), false}, {policy.Default, boxed, "Bash", command("a=curl; $a x"), false}, {policy.Default, boxed, "Bash", command("$TOOL x"), false},
		{policy.Default, boxed, "Bash", command("cat .env"), false}, {policy.Default, boxed, "Bash", command("cat /etc/hosts /dev/zero"), true}, {policy.Default, boxed, "Bash", command("x 'a"), false},
	} {
		o := with(t, dir, "deny Bash(curl:*)", "ask Bash(git push:*)")
		o.Mode, o.Isolation = c.mode, c.in
		var ran []string
		tool := bash(&ran, oneloop.Once)
		if c.tool == "Write" {
			tool = editor(&ran)
		}
		if _, d := ask(t, tool, o, c.tool, c.input); (len(ran) == 1) != c.runs || (d == nil) != c.runs {
			t.Errorf("%v, %v, %s: ran %q, %+v", c.mode, c.in(), c.input, ran, d)
		}
	}
}

func TestTheModeIsThatOfTheMoment(t *testing.T) {
	mode := policy.Plan
	var ran []string
	tool := policy.Gate(policy.GateOptions{Dir: folder(t), ModeNow: func() policy.Mode { return mode }, Isolation: boxed})(bash(&ran, oneloop.Once))
	for range 2 {
		if _, err := tool.Run(t.Context(), &oneloop.ToolUse{Name: "Bash", Input: []byte(command("touch x"))}, func(oneloop.Event) {}); err != nil {
			t.Fatal(err)
		}
		mode = policy.Default
	}
	if len(ran) != 1 {
		t.Errorf("ran %q", ran)
	}
}

func TestADenialSaysWhatWouldAllowIt(t *testing.T) {
	dir := folder(t)
	o := with(t, dir, "deny Bash(curl:*)")
	for _, c := range []struct {
		tool, input, rule string
		nobody            bool
		says              string
	}{
		{"Bash", command("ls; touch z"), "Bash(touch z)", true, "`touch z`"}, {"Bash", command("touch a; go test x"), "Bash(touch a), Bash(go test:*)", true, "these rules"},
		{"Bash", command("touch $x"), "--permission-mode bypassPermissions", true, "variable"}, {"Bash", command("curl x"), "", false, "Bash(curl:*) in settings.json"},
		{"Write", path(filepath.Join(dir, "d/x")), "Edit(./d/x)", true, "acceptEdits"}, {"Write", path("/etc/x"), "Edit(//etc/x)", true, "outside"}, {"Write", path(filepath.Join(dir, ".git/x")), "--permission-mode bypassPermissions", true, "later"},
		{"Write", `{}`, "", false, "outside the workspace"},
	} {
		var ran []string
		tool := bash(&ran, oneloop.Once)
		if c.tool == "Write" {
			tool = editor(&ran)
		}
		r, d := ask(t, tool, o, c.tool, c.input)
		if d == nil || d.Rule != c.rule || d.Nobody != c.nobody || !strings.Contains(r.Text(), c.says) || !strings.Contains(r.Text(), "Not run") {
			t.Errorf("%s: %+v, %s", c.input, d, r.Text())
		}
	}
}

func TestAQuestionShowsInputInReadableLetters(t *testing.T) {
	dir := folder(t)
	p := &person{answers: []oneloop.Answer{{}}}
	var ran []string
	file := filepath.Join(dir, "a\nb")
	input := `{"path":` + strconv.Quote(file) + `,"content":"\u4e2d\u200b <&> 1e400"}`
	if _, d := ask(t, editor(&ran), policy.GateOptions{Dir: dir, Ask: p.ask}, "Write", input); d == nil || len(p.asked) != 1 {
		t.Fatalf("%+v, asked %d", d, len(p.asked))
	}
	if q := p.asked[0].Detail; !strings.HasPrefix(q, strings.ReplaceAll(file, "\n", `\n`)+"\nWrite {") || !strings.Contains(q, `"中\u200b <&> 1e400"`) {
		t.Errorf("the question is %q", q)
	}
}
