package tui

import (
	"strings"
	"testing"
)

func TestReasonsAreSaidInChinese(t *testing.T) {
	for in, want := range map[string]string{
		"no rule allows the host example.org":                              "没有规则允许主机 example.org",
		"it writes a: b.go: no rule allows to change it":                   "它写入 a: b.go：没有规则允许修改它",
		"echo 'x: y': a rule names it (Bash(echo:*) in /h/.claude/s.json)": "echo 'x: y'：有规则提到它（Bash(echo:*) in /h/.claude/s.json）",
		"make: it is not on the read-only table: make":                     "make：不在只读命令表里：make",
		"a rule for Bash (by the rule Bash)":                               "有规则针对 Bash (by the rule Bash)",
		"a rule names it (by the rule Read(./x) in f)":                     "有规则提到它（规则 Read(./x) in f）",
		"something that has no words: here":                                "something that has no words: here",
		"touch x: it reads y: it is outside the workspace":                 "touch x：它读取 y：在工作目录之外",
	} {
		if got := chinese.Reason(in); got != want {
			t.Errorf("%q is said as %q, want %q", in, got, want)
		}
		if got := english.Reason(in); got != in {
			t.Errorf("%q became %q", in, got)
		}
	}
	if got := chinese.Item("runs at PreToolUse Bash: ./check.sh"); got != "运行于 PreToolUse Bash: ./check.sh" {
		t.Error(got)
	}
	chinese.Reason(strings.Repeat("it reads a: ", 20000)) // in bounded time
}
