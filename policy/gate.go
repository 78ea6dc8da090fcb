package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"oneloop"
	"oneloop/policy/shell"
	"oneloop/workspace"
)

// GateOptions are the options of [Gate]. The zero value has no rules, asks
// nobody and takes commands for unconfined.
type GateOptions struct {
	Mode Mode
	// ModeNow is asked for the mode with every call, where it can change. Nil:
	// it is Mode.
	ModeNow func() Mode
	// ModeBy is how the user changes the mode, as what is in front of its
	// name. Empty: "--permission-mode".
	ModeBy string
	// Workspace is the tools' own. Dir, Dirs, Home and Isolation are what it
	// says of itself where they are empty.
	Workspace workspace.Workspace
	// Dir is where commands start: the root of the tools' workspace. Empty or
	// relative: as seen from the working directory when Gate is called; where
	// that cannot be found, the root folder, whose relative paths are judged
	// most strictly.
	Dir  string
	Dirs []string // further folders of the workspace, absolute
	// Home is the home folder of commands. Empty: the user's; where that
	// cannot be found, unknown: then ~ and $HOME are still a home folder.
	Home  string
	Rules *Rules      // nil: none
	Ask   oneloop.Ask // nil: nobody is there
	// Isolation says what confines commands, with every call. Nil: nothing.
	Isolation func() Isolation
	// Keep is where a rule goes that the user answers "always" with. Nil: it
	// is kept for the session only.
	Keep *Keep
}

// Isolation is what confines commands.
type Isolation struct {
	// Sandboxed says that the kernel keeps commands inside the workspace:
	// what no rule decides is then allowed, for commands and for edits in
	// the workspace.
	Sandboxed bool
	// ReadOnly says that commands cannot change the workspace either: then
	// they run in [Plan] too.
	ReadOnly bool
	// Text says it to people, as in "ns, no network". Empty: "no sandbox".
	Text string
}

// IsolationOf is what confines the commands of a workspace.
func IsolationOf(info workspace.Info) Isolation {
	if info.Sandbox == "" || info.Sandbox == "none" {
		return Isolation{}
	}
	network := "no network"
	if info.Network == "proxy" {
		network = "network by rules"
	}
	return Isolation{Sandboxed: true, Text: info.Sandbox + ", " + network}
}

func (i Isolation) String() string {
	return cmp.Or(i.Text, map[bool]string{true: "sandboxed"}[i.Sandboxed], "no sandbox")
}

// Keep puts rules into a settings file.
type Keep struct {
	File string // its path, for people and as the rules' origin
	Base string // as in [File]
	Add  func(rule string) error
}

// placed fills in what is empty.
func (o GateOptions) placed() GateOptions {
	if o.Workspace != nil {
		info := o.Workspace.Describe()
		o.Dir, o.Home = cmp.Or(o.Dir, info.Root), cmp.Or(o.Home, info.Home)
		if o.Dirs == nil {
			o.Dirs = info.Dirs
		}
		if o.Isolation == nil {
			o.Isolation = func() Isolation { return IsolationOf(o.Workspace.Describe()) }
		}
	}
	if dir, err := filepath.Abs(o.Dir); err == nil { // of "": the working directory
		o.Dir = dir
	} else {
		o.Dir = "/"
	}
	if led, err := filepath.EvalSymlinks(o.Dir); err == nil {
		o.Dir = led // as the files in it are called
	}
	if o.Home == "" {
		if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
			o.Home = home
		}
	}
	o.ModeBy = cmp.Or(o.ModeBy, "--permission-mode")
	if o.Rules == nil {
		o.Rules = &Rules{opts: RuleOptions{Dir: o.Dir, Dirs: o.Dirs, Home: o.Home}}
	}
	return o
}

// gate is the wrapper's state.
type gate struct {
	GateOptions
	turn chan struct{} // held while a question is open
}

// Gate returns the wrapper that decides whether a call runs. It belongs
// outside of every other wrapper.
//
// A call is judged by what it touches ([oneloop.Tool].Touches), whatever the
// tool is called: commands by the danger list, the rules and the read-only
// table, files by their real paths, hosts by name. A rule that denies holds in
// every mode, and so does the deny tier of the danger list. What would be
// asked for is put to Ask, one question after the other; when nobody is there
// it is denied.
//
// Files that a rule denies to read are withheld ([workspace.Withhold]) from
// the tools that look through many.
//
// A call that is refused never reaches the tool: it is answered with what did
// not run, why, and what to do instead, and [oneloop.Denied] is emitted.
func Gate(o GateOptions) func(oneloop.Tool) oneloop.Tool {
	g := &gate{o.placed(), make(chan struct{}, 1)}
	return func(t oneloop.Tool) oneloop.Tool {
		run, effect, touches := t.Run, t.Effect, touchesOf(t)
		t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
			if d := g.decide(ctx, call, effect, touches, emit); d != nil {
				emit(d.event(call))
				return oneloop.ErrorResult(d.text), nil
			}
			if withheld := g.judge(g.Rules).withheld(); withheld != nil {
				ctx = workspace.Withhold(ctx, withheld)
			}
			return run(ctx, call, emit)
		}
		return t
	}
}

// denial is a call that does not run.
type denial struct {
	reason *shell.Reason // for the user
	rule   string        // what would allow it; empty: nothing does
	nobody bool
	text   string // for the model
}

func (g *gate) mode() Mode {
	if g.ModeNow != nil {
		return g.ModeNow()
	}
	return g.Mode
}

func (g *gate) isolation() Isolation {
	if g.Isolation != nil {
		return g.Isolation()
	}
	return Isolation{}
}

func (g *gate) judge(rules *Rules) judge {
	return judge{rules: rules, at: workspace.Info{Root: g.Dir, Dirs: g.Dirs, Home: g.Home}}
}

// decide returns nil for a call that runs.
func (g *gate) decide(ctx context.Context, call *oneloop.ToolUse, effect func(*oneloop.ToolUse) oneloop.Effect,
	touches func(*oneloop.ToolUse) ([]oneloop.Touch, error), emit func(oneloop.Event)) *denial {
	mode, in := g.mode(), g.isolation()
	if mode < Default || mode > Bypass {
		return &denial{
			reason: shell.Because("unknown-mode", "the permission mode is unknown"),
			text:   "Not run: the permission mode is unknown, so nothing may run. Tell the user.",
		}
	}
	var list []oneloop.Touch
	if touches != nil {
		var err error
		if list, err = touches(call); err != nil {
			return unreadable(call, err)
		}
	}
	found := hooked(ctx, g.judge(g.Rules).call(call, list))
	if found.tier == shell.Deny {
		return denied(found)
	}
	if mode == Plan && (effect == nil || effect(call) != oneloop.ReadOnly) && !(in.Sandboxed && in.ReadOnly && onlyCommands(list)) {
		return g.planned(call)
	}
	if found = lifted(found, mode, in); found.tier == shell.Allow {
		return nil
	}
	if found.danger == shell.RuleSyntax { // a slip to be mended, and nothing to be permitted
		return &denial{
			reason: found.about(),
			text:   fmt.Sprintf("Not run, none of the command: %s. Correct it, or write it in another way.", found.reason),
		}
	}
	if g.Ask == nil || mode == DontAsk {
		return g.unasked(call, found, g.nobody())
	}
	return g.ask(ctx, call, list, emit)
}

// lifted is a finding after what the mode and the sandbox make of it.
func lifted(f finding, mode Mode, in Isolation) finding {
	if f.tier != shell.Ask || f.firm {
		return f
	}
	edit, command := f.kind == byDefaultEdit, f.kind == byDefaultRun
	if mode == Bypass || edit && mode == AcceptEdits || (edit || command) && in.Sandboxed {
		f.tier = shell.Allow
	}
	return f
}

// hookAnswer is what hooks say of a call whose context it is in: [asks] or
// [allows], and why.
type hookAnswer struct {
	answer answer
	reason string
}

type hookKey struct{}

// hooked is a finding with what hooks said. A hook that allows counts only
// where no rule and no list asked: it is no way around what somebody wrote.
func hooked(ctx context.Context, f finding) finding {
	h, _ := ctx.Value(hookKey{}).(hookAnswer)
	switch {
	case h.answer == asks && f.tier < shell.Deny:
		return finding{tier: shell.Ask, kind: byHook, firm: true, reason: shell.Because("hook-asks", "a hook wants the user to be asked: %s", h.reason)}
	case h.answer == allows && f.tier == shell.Ask && f.kind < byGuard:
		return finding{tier: shell.Allow, kind: byHook, reason: &shell.Reason{Text: h.reason}}
	}
	return f
}

// onlyCommands reports whether commands are all that a call touches.
func onlyCommands(list []oneloop.Touch) bool {
	for _, t := range list {
		if t.Kind != oneloop.TouchCommand {
			return false
		}
	}
	return len(list) > 0
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
