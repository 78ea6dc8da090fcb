package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"oneloop"
	"oneloop/policy/shell"
)

// GateOptions are the options of [Gate].
type GateOptions struct {
	Mode Mode
	// Dir is where commands start: the root of the tools' workspace. Empty or
	// relative: as seen from the working directory when Gate is called; where
	// that cannot be found, the root folder, whose relative paths are judged
	// most strictly.
	Dir string
	// Home is the home folder of commands. Empty: the user's; where that
	// cannot be found, unknown: then ~ and $HOME are still a home folder.
	Home string
}

// placed fills in what is empty.
func (o GateOptions) placed() GateOptions {
	if dir, err := filepath.Abs(o.Dir); err == nil { // of "": the working directory
		o.Dir = dir
	} else {
		o.Dir = "/"
	}
	if o.Home == "" {
		if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
			o.Home = home
		}
	}
	return o
}

// Gate returns the wrapper that decides whether a call runs. It belongs
// outside of every other wrapper.
//
// A tool that runs shell commands ([oneloop.Tool].Touches) has each judged by
// the danger list, whatever the tool is called. Its deny tier
// holds in every mode; its ask tier is refused except in [Bypass], because
// nobody is asked here. In [Plan] only calls run whose effect is
// [oneloop.ReadOnly]. What cannot be judged is refused.
//
// A call that is refused never reaches the tool: it is answered with what did
// not run, why, and what to do instead, and [oneloop.Denied] is emitted.
func Gate(o GateOptions) func(oneloop.Tool) oneloop.Tool {
	o = o.placed()
	return func(t oneloop.Tool) oneloop.Tool {
		run, effect, touches := t.Run, t.Effect, touchesOf(t)
		t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
			if d := o.decide(call, effect, touches); d != nil {
				emit(oneloop.Denied{Call: call, Reason: d.reason, Rule: d.rule, Nobody: d.nobody})
				return oneloop.ErrorResult(d.text), nil
			}
			return run(ctx, call, emit)
		}
		return t
	}
}

// denial is a call that does not run.
type denial struct {
	reason string // one line, for the user
	rule   string // what would allow it; empty: nothing does
	nobody bool
	text   string // for the model
}

// decide returns nil for a call that runs.
func (o GateOptions) decide(call *oneloop.ToolUse, effect func(*oneloop.ToolUse) oneloop.Effect, touches func(*oneloop.ToolUse) ([]oneloop.Touch, error)) *denial {
	if o.Mode < Default || o.Mode > Bypass {
		return &denial{
			reason: "the permission mode is unknown",
			text:   "Not run: the permission mode is unknown, so nothing may run. Tell the user.",
		}
	}
	if o.Mode == Plan && (effect == nil || effect(call) != oneloop.ReadOnly) {
		return &denial{
			reason: "the mode is plan, in which only calls run that change nothing",
			rule:   "--permission-mode default",
			text: fmt.Sprintf("Not run: the permission mode is plan, and this call of %s may change something. "+
				"Describe what you would do; the user can leave the mode with --permission-mode default.", call.Name),
		}
	}
	if touches == nil {
		return nil
	}
	list, err := touches(call)
	if err != nil {
		return &denial{
			reason: "the command could not be read",
			text:   `Not run: the command could not be read from the input. Call it with {"command": "…"}.`,
		}
	}
	for _, touch := range list {
		if touch.Kind != oneloop.TouchCommand {
			continue
		}
		if d := o.judge(shell.Judge(touch.Name, shell.Place{Dir: o.Dir, Home: o.Home})); d != nil {
			return d
		}
	}
	return nil
}

// touchesOf is how t tells what a call would touch. A tool called Bash that does not say
// is read as package tool's Bash is: its name promises a shell.
func touchesOf(t oneloop.Tool) func(*oneloop.ToolUse) ([]oneloop.Touch, error) {
	if t.Touches != nil || !strings.EqualFold(t.Name, "Bash") {
		return t.Touches
	}
	return func(call *oneloop.ToolUse) ([]oneloop.Touch, error) {
		var in struct {
			Command *string `json:"command"`
		}
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return nil, err
		}
		if in.Command == nil {
			return nil, errors.New("it has no command")
		}
		return []oneloop.Touch{{Kind: oneloop.TouchCommand, Name: *in.Command}}, nil
	}
}

func (o GateOptions) judge(v shell.Verdict) *denial {
	switch v.Tier {
	case shell.Allow:
		return nil
	case shell.Ask:
		if o.Mode == Bypass {
			return nil
		}
		return &denial{
			reason: fmt.Sprintf("%s: %s", v.Part, v.Reason),
			rule:   "--permission-mode bypassPermissions",
			nobody: true,
			text: fmt.Sprintf("Not run, none of the command: the part `%s` needs the user's permission (%s), and nobody is there to give it. "+
				"Do without it, or tell the user that --permission-mode bypassPermissions allows it.", v.Part, v.Reason),
		}
	}
	return &denial{
		reason: fmt.Sprintf("%s: %s", v.Part, v.Reason),
		text: fmt.Sprintf("Not run, none of the command: the part `%s` is on the danger list (%s). "+
			"No permission mode allows it. %s", v.Part, v.Reason, instead(v.Rule)),
	}
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
