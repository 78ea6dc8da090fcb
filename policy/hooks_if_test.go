//go:build unix

package policy_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"oneloop"
	"oneloop/policy"
)

func TestAHookCanBeForSomeCallsOnly(t *testing.T) {
	for _, c := range []struct {
		rule, command string
		runs          bool // the hook, which says no
	}{
		{"Bash(git push *)", "git push origin main", true},
		{"Bash(git push *)", "git status", false},
		{"Bash(git push *)", "ls && git push origin main", true},
		{"Bash(git push *)", "x=push; git $x origin", true}, // it may turn out to be
		{"Bash(git push *)", "eval \"$(cat x)\"", true},
		{"Bash(git push *)", "ls (", true}, // nobody knows what it is
		{"Bash", "ls", true},
		{"Read", "ls", false},
	} {
		h := newHooked(t, one("PreToolUse", "", "echo no >&2; exit 2", `,"if":"`+c.rule+`"`))
		if ran, r, _ := h.call(c.command); (len(ran) == 0) != c.runs {
			t.Errorf("%s, %s: ran %q: %s", c.rule, c.command, ran, r.Text())
		}
	}
}

func TestAHookCanBeForSomeFilesOnly(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "Edit|Write", "echo no >&2; exit 2", `,"if":"Edit(*.go)"`))
	for name, runs := range map[string]bool{"main.go": true, "sub/x.go": true, "README.md": false} {
		ran := false
		tool := oneloop.Tool{ToolDef: oneloop.ToolDef{Name: "Write"},
			Touches: func(*oneloop.ToolUse) ([]oneloop.Touch, error) {
				return []oneloop.Touch{{Kind: oneloop.TouchWrite, Name: filepath.Join(h.dir, name)}}, nil
			},
			Run: func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
				ran = true
				return oneloop.TextResult("done"), nil
			}}
		r, err := h.Gate(policy.GateOptions{Mode: policy.Bypass, Dir: h.dir})(tool).Run(t.Context(),
			&oneloop.ToolUse{ID: "t1", Name: "Write", Input: json.RawMessage(`{}`)}, func(oneloop.Event) {})
		if err != nil || ran == runs {
			t.Errorf("%s: ran %v, %v, %v", name, ran, r, err)
		}
	}
}

// A PermissionRequest hook knows the call as the gate does.
func TestTheGateAsksHooksInTheUsersPlace(t *testing.T) {
	for _, c := range []struct {
		rule        string
		asked, runs bool
	}{{"Bash(touch *)", false, false}, {"Bash(git *)", true, true}, {"", false, false}} {
		more := ""
		if c.rule != "" {
			more = `,"if":"` + c.rule + `"`
		}
		h := newHooked(t, one("PermissionRequest", "Bash", "echo no >&2; exit 2", more))
		var ran []string
		asked := false
		ask := func(context.Context, oneloop.Question) (oneloop.Answer, error) {
			asked = true
			return oneloop.Answer{Allow: true}, nil
		}
		tool := h.Gate(policy.GateOptions{Dir: h.dir, Ask: h.Ask(ask)})(bash(&ran, oneloop.Once))
		_, err := tool.Run(t.Context(), &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(command("touch x"))}, func(oneloop.Event) {})
		if err != nil || asked != c.asked || (len(ran) == 1) != c.runs {
			t.Errorf("%+v: asked %v, ran %q, %v", c, asked, ran, err)
		}
	}
}

func TestAHookHasTheUserAskedOrSparesIt(t *testing.T) {
	for answer, want := range map[string]bool{"ask": true, "allow": false} {
		for _, cmd := range []string{"ls", "touch x"} {
			h := newHooked(t, one("PreToolUse", "Bash", `echo '{"hookSpecificOutput":{"permissionDecision":"`+answer+`","permissionDecisionReason":"because"}}'`))
			var ran []string
			var asked []oneloop.Question
			ask := func(_ context.Context, q oneloop.Question) (oneloop.Answer, error) {
				asked = append(asked, q)
				return oneloop.Answer{Allow: true}, nil
			}
			tool := h.Gate(policy.GateOptions{Dir: h.dir, Ask: h.Ask(ask)})(bash(&ran, oneloop.Once))
			_, err := tool.Run(t.Context(), &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(command(cmd))}, func(oneloop.Event) {})
			if err != nil || len(ran) != 1 || (len(asked) == 1) != want || want && !strings.Contains(asked[0].Reason, "because") {
				t.Errorf("%s for %s: ran %q, asked %+v, %v", answer, cmd, ran, asked, err)
			}
		}
	}
}
