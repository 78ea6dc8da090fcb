package policy

import (
	"context"
	"errors"
	"fmt"

	"oneloop"
	"oneloop/policy/shell"
	"oneloop/workspace"
)

// occasion is what hooks are run for.
type occasion struct {
	event   HookEvent
	subject string         // what matchers are for
	input   map[string]any // what hooks are told besides the usual
	call    *oneloop.ToolUse
	touches touchesFunc // of the call; nil: they are not known
}

type touchesFunc func(*oneloop.ToolUse) ([]oneloop.Touch, error)

type touchesKey struct{}

// withTouches lets whoever is asked about a call know what it would touch.
func withTouches(ctx context.Context, t touchesFunc) context.Context {
	return context.WithValue(ctx, touchesKey{}, t)
}

// checkIf says why a rule cannot narrow a hook.
func checkIf(event HookEvent, rule string) error {
	if event != PreToolUse && event != PostToolUse && event != PermissionRequest {
		return fmt.Errorf("it is about calls, and %s is about none", event)
	}
	r, err := parseRule(shell.Deny, rule, place{dirs: []string{"/"}}, nil)
	if err == nil && r.dead != "" {
		err = errors.New(r.dead)
	}
	return err
}

// concerns reports whether a hook is for a call as far as its If goes. As with
// a rule that denies, one part of a command is enough. What may turn out to be
// what the rule names, and what is not known, is what it names.
func (h HookCommand) concerns(o occasion, at workspace.Info) bool {
	if h.If == "" || o.call == nil {
		return true
	}
	rules, err := NewRules(RuleOptions{Dir: at.Root, Dirs: at.Dirs, Home: at.Home}, File{Path: h.File, Base: at.Root, Deny: []string{h.If}})
	if err != nil || len(rules.List()) == 0 {
		return true
	}
	if o.touches == nil {
		r := rules.List()[0]
		return r.is(o.call.Name)
	}
	list, err := o.touches(o.call)
	if err != nil {
		return true
	}
	// What cannot be judged is on the danger list, which counts as a rule.
	return judge{rules: rules, at: at}.call(o.call, list).kind >= byRule
}
