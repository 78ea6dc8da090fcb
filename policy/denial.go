package policy

import (
	"fmt"
	"strings"

	"oneloop"
	"oneloop/policy/shell"
)

// by is what the user writes to have the mode m.
func (o GateOptions) by(m Mode) string { return o.ModeBy + " " + m.String() }

// unreadable is a call of which it cannot be told what it would touch.
func unreadable(call *oneloop.ToolUse, err error) *denial {
	if strings.EqualFold(call.Name, "Bash") {
		return &denial{
			reason: shell.Because("unread", "the command could not be read"),
			text:   `Not run: the command could not be read from the input. Call it with {"command": "…"}.`,
		}
	}
	return &denial{
		reason: shell.Because("untold", "what the call would touch cannot be told: %s", err.Error()),
		text:   fmt.Sprintf("Not run: %v. Nothing was changed.", err),
	}
}

func (g *gate) planned(call *oneloop.ToolUse) *denial {
	return &denial{
		reason: shell.Because("plan", "the mode is plan, in which only calls run that change nothing"),
		rule:   g.by(Default),
		text: fmt.Sprintf("Not run: the permission mode is plan, and this call of %s may change something. "+
			"Describe what you would do, with ExitPlanMode if you have it; the user can leave the mode with %s.", call.Name, g.by(Default)),
	}
}

// about is the finding as one line: the part, and why.
func (f finding) about() *shell.Reason {
	if f.part == "" {
		return f.reason
	}
	return of(f.part, f.reason)
}

// of is a reason that is about something.
func of(what string, reason *shell.Reason) *shell.Reason {
	return shell.Because("of", "%s: %s", what, reason)
}

// Told is a reason in the form in which events and questions have it.
func Told(r *shell.Reason) *oneloop.Reason {
	if r == nil {
		return nil
	}
	told := &oneloop.Reason{Code: r.Code, Text: r.Text}
	for _, a := range r.Args {
		told.Args = append(told.Args, Told(a))
	}
	return told
}

// event tells of a denial.
func (d *denial) event(call *oneloop.ToolUse) oneloop.Denied {
	return oneloop.Denied{Call: call, Reason: d.reason.String(), Why: Told(d.reason), Rule: d.rule, Nobody: d.nobody}
}

// source says which rule decided.
func (f finding) source() string {
	if f.file == "" {
		return f.rule
	}
	return f.rule + " in " + f.file
}

// denied is what a rule or the danger list never lets run.
func denied(f finding) *denial {
	if f.kind == byDanger {
		return &denial{
			reason: f.about(),
			text: fmt.Sprintf("Not run, none of the command: the part `%s` is on the danger list (%s). "+
				"No permission mode allows it. %s", f.part, f.reason, instead(f.danger)),
		}
	}
	what := "Not run"
	if f.part != "" {
		what = fmt.Sprintf("Not run, none of the command: the part `%s` is denied", f.part)
	}
	by := "by the rule " + f.source()
	return &denial{
		reason: shell.Because("by-rule", "%s (by the rule %s)", f.about(), f.source()),
		text:   fmt.Sprintf("%s: %s (%s). No permission mode allows it. Do without it, or ask the user to change the rule.", what, f.reason, by),
	}
}

// unasked is what somebody would have to be asked for.
func (g *gate) unasked(call *oneloop.ToolUse, f finding, why string) *denial {
	d := &denial{reason: f.about(), nobody: true}
	var tell string
	if f.kind <= byGuard && len(f.wants) > 0 {
		d.rule = strings.Join(f.wants, ", ")
		tell = fmt.Sprintf("the user can allow it with %s in permissions.allow of the settings: %s", plural(f.wants), d.rule)
		if f.kind == byDefaultEdit {
			tell += ", or allow all edits in the workspace with " + g.by(AcceptEdits)
		}
	} else if f.kind == byHook {
		tell = "tell the user what the hook said"
	} else if f.firm {
		tell = "write it so that it is plain what it runs: the rule " + f.source() + " denies in every mode"
	} else {
		d.rule = g.by(Bypass)
		tell = "tell the user that " + d.rule + " allows it"
	}
	what := fmt.Sprintf("Not run: this call of %s needs", call.Name)
	if f.part != "" {
		what = fmt.Sprintf("Not run, none of the command: the part `%s` needs", f.part)
	}
	d.text = fmt.Sprintf("%s the user's permission (%s), and %s. Do without it, or %s.", what, f.reason, why, tell)
	if f.part == "" {
		d.reason = of(call.Name, d.reason)
	}
	return d
}

func plural(wants []string) string {
	if len(wants) == 1 {
		return "this rule"
	}
	return "these rules"
}

// instead says what to do rather than break a rule of the deny tier.
func instead(rule string) string {
	switch rule {
	case shell.RuleRemove:
		return "Name the files or folders inside the workspace that should go, one by one."
	case shell.RuleDevice, shell.RuleFormat:
		return "Write to an ordinary file instead; if a disk must be written, ask the user to do it."
	case shell.RulePower:
		return "If the machine must go down or restart, ask the user to do it."
	case shell.RuleForkBomb:
		return "Start a fixed number of processes and wait for them."
	}
	return "Ask the user to do it."
}
