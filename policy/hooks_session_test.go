//go:build unix

package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"oneloop"
	"oneloop/policy"
)

// told is what the hook that writes its input to the file "input" was told.
func (h *hooked) input() map[string]any {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, "input"))
	var in map[string]any
	if err == nil {
		err = json.Unmarshal(data, &in)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return in
}

func blocked(err error, says string) bool {
	var b *policy.BlockedError
	return errors.As(err, &b) && strings.Contains(err.Error(), says)
}

func TestAPromptIsSeenBeforeItIsKept(t *testing.T) {
	for cmd, want := range map[string]struct {
		no   string // why it is refused
		adds string
	}{
		"true":                                {"", ""},
		"echo the branch is topic":            {"", "the branch is topic"},
		"echo no secrets, please >&2; exit 2": {"no secrets, please", ""},
		`echo '{"decision":"block","reason":"not today"}'`:                                             {"not today", ""},
		`echo '{"continue":false,"stopReason":"enough"}'`:                                              {"enough", ""},
		`echo '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"x y"}}'`: {"", "x y"},
		"exit 1": {"exit code 1", ""},
	} {
		h := newHooked(t, one("UserPromptSubmit", "no tool", "cat > input; "+cmd))
		prompt := oneloop.UserText("hello")
		err := h.BeforePrompt(t.Context(), prompt)
		if want.no != "" {
			if !blocked(err, want.no) || len(prompt.Blocks) != 1 {
				t.Errorf("%s: %v, %q", cmd, err, prompt.Text())
			}
			continue
		}
		if err != nil || !strings.HasPrefix(prompt.Text(), "hello") || !strings.HasSuffix(prompt.Text(), want.adds) || (want.adds == "") != (len(prompt.Blocks) == 1) {
			t.Errorf("%s: %v, %q", cmd, err, prompt.Text())
		}
		if in := h.input(); in["prompt"] != "hello" || in["hook_event_name"] != "UserPromptSubmit" {
			t.Errorf("told %v", in)
		}
	}
}

func TestWhatSessionStartSaysGoesWithTheNextPrompt(t *testing.T) {
	h := newHooked(t, `{"SessionStart":[{"matcher":"startup","hooks":[{"type":"command","command":"cat > input; echo use tabs"}]},
		{"matcher":"resume","hooks":[{"type":"command","command":"echo welcome back"}]},{"hooks":[{"type":"command","command":"echo oops >&2; exit 2"}]}]}`)
	if err := h.AtStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if in := h.input(); in["source"] != "startup" {
		t.Errorf("told %v", in)
	}
	first, second := oneloop.UserText("a"), oneloop.UserText("b")
	if err := errors.Join(h.BeforePrompt(t.Context(), first), h.BeforePrompt(t.Context(), second)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(first.Text(), "use tabs") || strings.Contains(first.Text(), "welcome back") || second.Text() != "b" {
		t.Errorf("the prompts are %q and %q", first.Text(), second.Text())
	}
	if strings.Join(h.told, "") != "oops" {
		t.Errorf("the user is told %q", h.told)
	}
	h = newHooked(t, one("SessionStart", "", `echo '{"continue":false,"stopReason":"closed"}'`))
	if err := h.AtStart(t.Context()); !blocked(err, "closed") {
		t.Errorf("it starts: %v", err)
	}
}

func TestAStopHookKeepsTheAgentAtWorkAndKnowsThatItDid(t *testing.T) {
	h := newHooked(t, one("Stop", "", `cat > input; if grep -q '"stop_hook_active":true' input; then exit 0; fi; echo the tests fail >&2; exit 2`))
	last := &oneloop.Message{Role: oneloop.Assistant, Blocks: []oneloop.Block{&oneloop.Text{Text: "Done."}}}
	blocks, err := h.AtStop(t.Context(), last)
	if err != nil || len(blocks) != 1 || !strings.Contains(blocks[0].(*oneloop.Text).Text, "the tests fail") {
		t.Fatalf("%v, %v", blocks, err)
	}
	if in := h.input(); in["last_assistant_message"] != "Done." {
		t.Errorf("told %v", in)
	}
	if blocks, err = h.AtStop(t.Context(), last); err != nil || len(blocks) > 0 {
		t.Errorf("it was not told that the turn went on because of it: %v, %v", blocks, err)
	}
	if blocks, err = h.AtStop(t.Context(), last); err != nil || len(blocks) == 0 {
		t.Errorf("%v, %v", blocks, err)
	}
	if err := h.BeforePrompt(t.Context(), oneloop.UserText("next")); err != nil {
		t.Fatal(err)
	}
	if blocks, err = h.AtStop(t.Context(), last); err != nil || len(blocks) == 0 {
		t.Errorf("a new prompt does not begin anew: %v, %v", blocks, err)
	}
	h = newHooked(t, one("Stop", "", `echo '{"continue":false,"decision":"block","reason":"x"}'`))
	if blocks, err = h.AtStop(t.Context(), last); err != nil || len(blocks) > 0 {
		t.Errorf("a hook that ends the turn keeps it going: %v, %v", blocks, err)
	}
	h = newHooked(t, one("Stop", "", "exit 1"))
	if blocks, err = h.AtStop(t.Context(), last); err != nil || len(blocks) > 0 || len(h.told) != 1 {
		t.Errorf("a hook that fails: %v, %v, told %q", blocks, err, h.told)
	}
}

func TestTheOtherMomentsHaveTheirHooks(t *testing.T) {
	h := newHooked(t, `{"SessionEnd":[{"matcher":"clear|other","hooks":[{"type":"command","command":"cat > input; exit 2"}]}],
		"PreCompact":[{"matcher":"auto","hooks":[{"type":"command","command":"cat > input; echo keep it >&2; exit 2"}]}],
		"Notification":[{"matcher":"idle_prompt","hooks":[{"type":"command","command":"cat > input"}]}],
		"SubagentStart":[{"matcher":"explorer","hooks":[{"type":"command","command":"cat > input; echo '{\"hookSpecificOutput\":{\"additionalContext\":\"be quick\"}}'"}]}],
		"SubagentStop":[{"matcher":"explorer","hooks":[{"type":"command","command":"cat > input; echo look again >&2; exit 2"}]}]}`)
	child := policy.Subagent{ID: "2/1", Type: "explorer"}
	if err := h.AtEnd(t.Context()); err != nil || h.input()["reason"] != "other" {
		t.Errorf("SessionEnd: %v", err)
	}
	if err := h.End(t.Context(), "clear"); err != nil || h.input()["reason"] != "clear" {
		t.Errorf("SessionEnd of /clear: %v", err)
	}
	if err := h.End(t.Context(), "prompt_input_exit"); err != nil || h.input()["reason"] != "clear" {
		t.Errorf("SessionEnd ran for another reason than its matcher has: %v", err)
	}
	if err := h.BeforeCompact(t.Context(), policy.Compaction{Trigger: "auto"}); !blocked(err, "keep it") || h.input()["trigger"] != "auto" {
		t.Errorf("PreCompact: %v", err)
	}
	if err := h.BeforeCompact(t.Context(), policy.Compaction{Trigger: "manual"}); err != nil {
		t.Errorf("PreCompact by hand: %v", err)
	}
	if err := h.Notify(t.Context(), policy.Notice{Title: "t", Message: "m", Type: "idle_prompt"}); err != nil || h.input()["message"] != "m" {
		t.Errorf("Notification: %v", err)
	}
	blocks, err := h.AtChildStart(t.Context(), child)
	if err != nil || len(blocks) != 1 || h.input()["agent_id"] != "2/1" || h.input()["agent_type"] != "explorer" {
		t.Errorf("SubagentStart: %v, %v", blocks, err)
	}
	blocks, err = h.AtChildEnd(t.Context(), policy.ChildEnd{Subagent: child, Last: "found"})
	if err != nil || len(blocks) != 1 || h.input()["last_assistant_message"] != "found" {
		t.Errorf("SubagentStop: %v, %v", blocks, err)
	}
	if blocks, err := h.AtChildEnd(t.Context(), policy.ChildEnd{}); err != nil || len(blocks) > 0 {
		t.Errorf("SubagentStop of another type: %v, %v", blocks, err)
	}
	var none *policy.Hooks
	if err := errors.Join(none.AtStart(t.Context()), none.AtEnd(t.Context()), none.BeforePrompt(t.Context(), oneloop.UserText("x")), none.BeforeCompact(t.Context(), policy.Compaction{}),
		none.Notify(t.Context(), policy.Notice{})); err != nil {
		t.Error(err)
	}
}

func TestAHookCanAnswerInTheUsersPlace(t *testing.T) {
	for cmd, want := range map[string]struct {
		allow, asked bool
		says         string
	}{
		"true": {true, true, ""},
		`echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'`: {true, false, ""},
		`echo '{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"never"}}}'`:                    {false, false, "never"},
		`echo '{"hookSpecificOutput":{"decision":{"behavior":"allow","updatedInput":{"command":"x"}}}}'`:      {false, false, "PreToolUse"},
		"echo no way >&2; exit 2": {false, false, "no way"},
		"exit 1":                  {false, false, "exit code 1"},
	} {
		h := newHooked(t, one("PermissionRequest", "Bash", "cat > input; "+cmd))
		asked := false
		ask := h.Ask(func(context.Context, oneloop.Question) (oneloop.Answer, error) {
			asked = true
			return oneloop.Answer{Allow: true}, nil
		})
		q := oneloop.Question{Kind: "tool", Title: "Run this?", Rule: "Bash(ls)", Call: &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(command("ls"))}}
		a, err := ask(t.Context(), q)
		if err != nil || a.Allow != want.allow || asked != want.asked || !strings.Contains(a.Reason, want.says) {
			t.Errorf("%s: %+v, %v, asked %v", cmd, a, err, asked)
		}
		if in := h.input(); in["tool_name"] != "Bash" || in["permission_suggestions"] == nil {
			t.Errorf("told %v", in)
		}
		asked = false
		if a, err := ask(t.Context(), oneloop.Question{Kind: "trust"}); err != nil || !a.Allow || !asked {
			t.Errorf("a question about no call: %+v, %v", a, err)
		}
		a, err = h.Ask(nil)(t.Context(), q) // nobody is there
		if want.asked != (err != nil) || a.Allow != (want.allow && !want.asked) {
			t.Errorf("%s with nobody there: %+v, %v", cmd, a, err)
		}
	}
}

func TestAHookIsNotifiedWhileTheUserIsAsked(t *testing.T) {
	h := newHooked(t, one("Notification", "permission_prompt", "cat > input; echo > ready; sleep 1000"))
	ready := filepath.Join(h.dir, "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	ask := h.Ask(func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		f, err := os.Open(ready) // waits for the hook
		if err != nil {
			return oneloop.Answer{}, err
		}
		return oneloop.Answer{Allow: true}, f.Close()
	})
	a, err := ask(t.Context(), oneloop.Question{Kind: "tool", Title: "Run this?"}) // and the hook is ended with the answer
	if err != nil || !a.Allow || len(h.told) > 0 {
		t.Errorf("%+v, %v, told %q", a, err, h.told)
	}
}
