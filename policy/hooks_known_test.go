//go:build unix

package policy_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"oneloop"
)

// What is not known may be a no that is written in another way.
func TestAnAnswerWithAFieldThatIsNotKnownIsANoWhereAHookGuards(t *testing.T) {
	for printed, names := range map[string]string{
		`{"permissionDecision":"deny"}`: "permissionDecision", `{"permission":"deny"}`: "permission", `{"foo":1}`: "foo", `{"foo":null}`: "foo", `{"Decision":"approve"}`: "Decision",
		`{"hookSpecificOutput":{"decision":{"behavior":"deny"}}}`:                             "hookSpecificOutput.decision",
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecison":"deny"}}`:    "hookSpecificOutput.permissionDecison",
		`{"hookSpecificOutput":{"permissionDecision":"allow","permision":"deny"}}`:            "hookSpecificOutput.permision",
		`{"decision":"approve","permission":"deny"}`:                                          "permission",
		"text\n" + `{"permissionDecision":"deny"}`:                                            "permissionDecision",
		"text\n" + `{"permission":"deny"}`:                                                    "permission",
		"text\n" + `{"hookSpecificOutput":{"permissionDecison":"deny"}}`:                      "permissionDecison",
		`{"hookSpecificOutput":{"permissionDecision":"allow","updatedToolOutput":"not yet"}}`: "updatedToolOutput",
	} {
		h := newHooked(t, one("PreToolUse", "Bash", "printf %s "+quote(printed)))
		if ran, r, _ := h.call("ls"); len(ran) > 0 || !strings.Contains(r.Text(), "the field") || !strings.Contains(r.Text(), names) || !strings.Contains(r.Text(), "is not known") {
			t.Errorf("%s: ran %q, answer %q", printed, ran, r.Text())
		}
		h = newHooked(t, one("PreToolUse", "Bash", "printf %s "+quote(printed), `,"onFailure":"ignore"`))
		if ran, _, events := h.call("ls"); len(ran) != 1 || !strings.Contains(saidNotices(events), names) {
			t.Errorf("%s, ignored: ran %q, said %q", printed, ran, saidNotices(events))
		}
	}
	for _, printed := range []string{
		`{}`, `{"continue":true,"stopReason":"","suppressOutput":true,"systemMessage":"hello","decision":"approve","reason":"fine"}`, `{"hookSpecificOutput":null}`,
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"x","updatedInput":null,"additionalContext":"y"}}`,
		"text\n" + `{"tool_name":"Bash","tool_input":{"decision":"x"}}`,
	} {
		h := newHooked(t, one("PreToolUse", "Bash", "printf %s "+quote(printed)))
		if ran, r, events := h.call("ls"); len(ran) != 1 || r.IsError || strings.Contains(saidNotices(events), "not known") {
			t.Errorf("%s: ran %q, answer %q", printed, ran, r.Text())
		}
	}
	h := newHooked(t, one("UserPromptSubmit", "", "printf %s "+quote(`{"hookSpecificOutput":{"permissionDecision":"deny"}}`)))
	if err := h.BeforePrompt(t.Context(), oneloop.UserText("hello")); !blocked(err, "hookSpecificOutput.permissionDecision") {
		t.Errorf("a prompt is taken: %v", err)
	}
	h = newHooked(t, one("PostToolUse", "Bash", "printf %s "+quote(`{"foo":1}`)))
	if ran, r, events := h.call("ls"); len(ran) != 1 || r.IsError || saidNotices(events) != "" {
		t.Errorf("after a call: ran %q, answer %q, said %q", ran, r.Text(), saidNotices(events))
	}
}

func TestAPermissionRequestIsAnsweredInItsOwnForm(t *testing.T) {
	for printed, allowed := range map[string]bool{
		`{"hookSpecificOutput":{"decision":{"behavior":"allow","updatedPermissions":[],"interrupt":false}}}`: true,
		`{"hookSpecificOutput":{"decision":{"behavior":"allow","behaviour":"deny"}}}`:                        false,
		`{"hookSpecificOutput":{"permissionDecision":"deny"}}`:                                               false,
		`{"decision":"block","hookSpecificOutput":{"decision":{"behavior":"allow"}}}`:                        false,
		`{"decision":"approve","hookSpecificOutput":{"decision":{"behavior":"deny"}}}`:                       false,
	} {
		h := newHooked(t, one("PermissionRequest", "Bash", "printf %s "+quote(printed)))
		ask := h.Ask(func(context.Context, oneloop.Question) (oneloop.Answer, error) {
			t.Errorf("%s: the user is asked", printed)
			return oneloop.Answer{Allow: true}, nil
		})
		a, err := ask(t.Context(), oneloop.Question{Kind: "tool", Call: &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(command("ls"))}})
		if err != nil || a.Allow != allowed {
			t.Errorf("%s: %+v, %v", printed, a, err)
		}
	}
}

func TestOfTwoDecisionsInOneAnswerTheStrictestCounts(t *testing.T) {
	for printed, says := range map[string]string{
		`{"decision":"block","reason":"not this","hookSpecificOutput":{"permissionDecision":"allow","permissionDecisionReason":"fine"}}`:     "not this",
		`{"decision":"block","reason":"not this","hookSpecificOutput":{"permissionDecision":"ask"}}`:                                         "not this",
		`{"decision":"approve","reason":"fine","hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"not this"}}`:    "not this",
		`{"decision":"block","reason":"old","hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"not this"}}`:       "not this",
		`{"decision":"block","reason":"not this","hookSpecificOutput":{"permissionDecision":"deny"}}`:                                        "not this",
		`{"decision":"block","reason":"not this","foo":1}`:                                                                                   "not this",
		`{"decision":"approve","reason":"fine","hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"look at it"}}`:   "look at it",
		`{"continue":false,"stopReason":"enough","decision":"approve","hookSpecificOutput":{"permissionDecision":"allow"},"permission":"x"}`: "enough",
	} {
		for _, more := range []string{"", `,"onFailure":"ignore"`} {
			h := newHooked(t, one("PreToolUse", "Bash", "printf %s "+quote(printed), more))
			if ran, r, _ := h.call("ls"); len(ran) > 0 || !strings.Contains(r.Text(), says) || strings.Contains(r.Text(), "fine") {
				t.Errorf("%s: ran %q, answer %q", printed, ran, r.Text())
			}
		}
	}
}
