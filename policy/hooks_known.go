package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// outputKeys are the fields of an answer that are understood, or known to ask
// for nothing that matters here.
var outputKeys = []string{"continue", "stopReason", "suppressOutput", "systemMessage", "decision", "reason", "hookSpecificOutput"}

// specificKeys are those of hookSpecificOutput, by event. Only events that
// guard are listed: elsewhere a field too much does no harm.
var specificKeys = map[HookEvent][]string{
	PreToolUse:        {"hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput", "additionalContext"},
	PermissionRequest: {"hookEventName", "decision", "additionalContext"},
	UserPromptSubmit:  {"hookEventName", "additionalContext", "sessionTitle"},
}

// decisionKeys are those of hookSpecificOutput.decision.
var decisionKeys = []string{"behavior", "message", "updatedInput", "updatedPermissions", "interrupt"}

// strange says which field of an answer is not known where a hook guards: it
// may be the no of somebody who has written it in another way. Names are
// compared exactly, as whoever else reads such answers does.
func strange(data json.RawMessage, event HookEvent) error {
	if !event.guards() {
		return nil
	}
	for _, level := range []struct {
		name, in string
		keys     []string
	}{
		{"", "", outputKeys},
		{"hookSpecificOutput", "hookSpecificOutput.", specificKeys[event]},
		{"decision", "hookSpecificOutput.decision.", decisionKeys},
	} {
		if level.name != "" {
			var outer map[string]json.RawMessage
			if err := json.Unmarshal(data, &outer); err != nil {
				return err
			}
			if data = outer[level.name]; !given(data) {
				return nil
			}
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if !slices.Contains(level.keys, name) {
				return fmt.Errorf("the field %s is not known for %s", shown(level.in+name), event)
			}
		}
	}
	return nil
}

// decide reports whether an object has a field, at its top, that decides or
// that somebody may have meant to decide.
func decide(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return false
	}
	return slices.ContainsFunc(deciding, func(name string) bool { _, has := fields[name]; return has })
}

// deciding are the names that answers decide by.
var deciding = []string{"decision", "permissionDecision", "permission", "behavior", "continue", "hookSpecificOutput"}
