package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"oneloop/workspace"
)

func TestMain(m *testing.M) {
	workspace.Helper()
	os.Exit(m.Run())
}

func TestTheBillKnowsTheCache(t *testing.T) {
	long := strings.Repeat("x", 4*leastCached)
	block := func(text, mark string) string { return `{"type":"text","text":"` + text + `"` + mark + `}` }
	const mark, hour = `,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	request := func(system string, messages ...string) string {
		var list []string
		for _, m := range messages {
			list = append(list, `{"role":"user","content":[`+m+`]}`)
		}
		return `{"tools":[],"system":[` + system + `],"messages":[` + strings.Join(list, ",") + `]}`
	}
	// The text with all that stands around it, in tokens.
	head := (len("system:"+`{"text":"","type":"text"}`) + len(long)) / tokenBytes
	small := len("user:"+`{"text":"abc","type":"text"}`) / tokenBytes
	var between []string
	for range 20 {
		between = append(between, block("abc", ""))
	}
	for _, c := range []struct {
		name     string
		requests []string
		want     float64
	}{
		{"nothing is marked", []string{request(block(long, "")), request(block(long, ""))}, float64(2 * head)},
		{"too short", []string{request(block("abc", mark)), request(block("abc", mark))}, float64(2 * small)},
		{"written, then read", []string{request(block(long, mark)), request(block(long, mark))}, 1.35 * float64(head)},
		{"for an hour", []string{request(block(long, hour)), request(block(long, hour))}, 2.1 * float64(head)},
		{"another beginning", []string{request(block(long, mark)), request(block("y"+long[1:], mark))}, 2.5 * float64(head)},
		{"more behind it", []string{request(block(long, mark)), request(block(long, mark), block("abc", mark))}, 1.35*float64(head) + 1.25*float64(small)},
		{"too far behind it", []string{request(block(long, mark)), request(block(long, ""), strings.Join(between, ",")+","+block("abc", mark))}, 2.5*float64(head) + 21*1.25*float64(small)},
	} {
		var b bill
		for _, r := range c.requests {
			if err := b.add([]byte(r)); err != nil {
				t.Fatal(err)
			}
		}
		if d := b.total - c.want; d < -12 || d > 12 { // parts of a token are dropped of the whole
			t.Errorf("%s: %v tokens, want %v", c.name, b.total, c.want)
		}
	}
	if err := new(bill).add([]byte(`{"system":7}`)); err == nil {
		t.Error("a system prompt that is a number has a price")
	}
}

func TestToolsAreHeldAgainstWhatDoesOnlyThat(t *testing.T) {
	b := &bench{size: size{Files: 400, Searches: 1, Edits: 1, Commands: 1}}
	var got []figure
	for _, part := range []string{"search", "edit", "sandbox"} {
		for _, p := range parts {
			if p.name == part {
				f, err := p.run(b, t.Context())
				if err != nil {
					t.Error(err)
				}
				got = append(got, f...)
			}
		}
	}
	for _, f := range got {
		if f.Value <= 0 || f.Limit <= 0 || f.Ours == "" || f.Against == "" {
			t.Errorf("%+v", f)
		}
	}
	// Each thing is measured, or it is said why not.
	if len(got) < 1 || len(got) < 7 && len(b.missing) == 0 {
		t.Errorf("%d figures, and missing: %q", len(got), b.missing)
	}
	for _, m := range b.missing {
		t.Log(m)
	}
	if _, err := exec.LookPath("rg"); err != nil && !strings.Contains(fmt.Sprint(b.missing), "ripgrep") {
		t.Error("nobody says that rg is missing")
	}
}

func TestTheFirstOfARaceIsNotCounted(t *testing.T) {
	var order string
	one := func(name string) func() error { return func() error { order += name; return nil } }
	if _, _, err := race(2, one("o"), one("a")); err != nil || order != "aoaoao" {
		t.Errorf("%s, %v", order, err)
	}
	broken := errors.New("broken")
	if _, _, err := race(2, one("o"), func() error { return broken }); err != broken {
		t.Errorf("%v", err)
	}
}
