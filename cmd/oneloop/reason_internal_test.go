package main

import (
	"strings"
	"testing"
	"unicode"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/policy"
)

func TestTheReasonsOfThePolicyAreSaidInChinese(t *testing.T) {
	zh := tui.Messages("zh")
	han := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	}
	for _, command := range []string{
		"ls", "make", "touch x", "echo a > b", "cat ../x", "cat .env", "cat $X", "ls *", "ls &", "curl example.org", "X=1 ls", "for f in a; do ls; done",
	} {
		d := policy.ExplainCommand(policy.GateOptions{Dir: t.TempDir(), Home: "/home/ada"}, command)
		if got := zh.Reason(d.Reason, d.Why); !han(got) || d.Why == nil {
			t.Errorf("%s: the reason is %q", command, got)
		}
	}
	d := policy.ExplainCommand(policy.GateOptions{Dir: t.TempDir()}, "make")
	for n, want := range map[int]string{1: "不在只读命令表里：make", 2: "2 个"} {
		said := answer{nobody: n, refused: oneloop.Denied{Reason: d.Reason, Why: d.Why}}
		p := &program{words: zh}
		if got := p.explain(said.denied()); !strings.Contains(got, want) || strings.Contains(got, "denied") {
			t.Errorf("%d denied: %s", n, got)
		}
		if got := said.denied().Error(); !strings.Contains(got, "denied because nobody could be asked") {
			t.Errorf("for programs it is %q", got)
		}
	}
}
