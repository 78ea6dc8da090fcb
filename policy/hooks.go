package policy

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"

	"oneloop/workspace"
)

// HookEvent is the name of a moment at which hooks run.
type HookEvent string

const (
	PreToolUse        HookEvent = "PreToolUse"        // before a call is judged; guards it
	PostToolUse       HookEvent = "PostToolUse"       // after a call that ran without error
	PermissionRequest HookEvent = "PermissionRequest" // before the user is asked about a call; guards it
	UserPromptSubmit  HookEvent = "UserPromptSubmit"  // before a prompt is kept; guards it
	SessionStart      HookEvent = "SessionStart"      // before the first turn
	SessionEnd        HookEvent = "SessionEnd"        // after the last
	Stop              HookEvent = "Stop"              // when the agent is done
	SubagentStart     HookEvent = "SubagentStart"     // before a child agent begins
	SubagentStop      HookEvent = "SubagentStop"      // when a child agent is done
	PreCompact        HookEvent = "PreCompact"        // before the conversation is made shorter
	Notification      HookEvent = "Notification"      // when the user is waited for
)

var hookEvents = []HookEvent{PreToolUse, PostToolUse, PermissionRequest, UserPromptSubmit, SessionStart, SessionEnd,
	Stop, SubagentStart, SubagentStop, PreCompact, Notification}

// guards reports whether hooks of the event stand between the model, or a
// prompt, and what happens. One that fails then counts as a no.
func (e HookEvent) guards() bool {
	return e == PreToolUse || e == PermissionRequest || e == UserPromptSubmit
}

// Failure says what it means when a hook fails: when it cannot be started,
// takes too long, is ended by a signal, exits with another code than 0 and 2,
// or prints what cannot be understood.
type Failure int

const (
	FailClosed  Failure = iota + 1 // as if it had said no
	FailNoticed                    // the user is told, and it goes on
)

// Time limits of hooks that set none.
const (
	DefaultHookTime = time.Minute
	EndHookTime     = 5 * time.Second // of SessionEnd: somebody waits to leave
)

// HookCommand is one command that settings tie to an event.
type HookCommand struct {
	Event   HookEvent
	Matcher string        // which tools, sources, … it is for; empty: all
	Command string        // for bash, unless Args is set
	Args    []string      // not nil: Command is a program that is run without a shell
	Timeout time.Duration // 0: [DefaultHookTime], or [EndHookTime]
	Failure Failure       // 0: FailClosed where the event guards, else FailNoticed
	If      string        // a rule: only for calls that it would be about; empty: all
	Plain   bool          // runs outside of the sandbox
	File    string        // the settings it is from

	match func(string) bool
}

// key is the same for hooks that would do the same.
func (h HookCommand) key() string {
	return fmt.Sprintf("%q %q %v %v %v", h.Command, h.Args, h.Timeout, h.Failure, h.Plain)
}

func (h HookCommand) timeout() time.Duration {
	if h.Timeout > 0 {
		return h.Timeout
	}
	if h.Event == SessionEnd {
		return EndHookTime
	}
	return DefaultHookTime
}

func (h HookCommand) closed() bool {
	return h.Failure == FailClosed || h.Failure == 0 && h.Event.guards()
}

// String names the hook for messages.
func (h HookCommand) String() string {
	name := strings.Join(append([]string{h.Command}, h.Args...), " ")
	if r := []rune(name); len(r) > 80 {
		name = string(r[:80]) + "…"
	}
	return fmt.Sprintf("the hook %q of %s", name, h.Event)
}

// HookSource says whose settings hooks are from.
type HookSource struct {
	File string // its path
	// Own says that it is the user's own file, which alone can have hooks run
	// outside of the sandbox.
	Own bool
}

type hookGroup struct {
	Matcher string            `json:"matcher"`
	Hooks   []json.RawMessage `json:"hooks"`
}

// hookKeys are the settings of a hook that are understood. A hook that sets
// others asks for something we would not do.
var hookKeys = []string{"type", "command", "args", "shell", "timeout", "onFailure", "sandbox", "if", "statusMessage"}

type hookSettings struct {
	Type      string   `json:"type"`
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	Shell     string   `json:"shell"`
	Timeout   *float64 `json:"timeout"` // seconds
	OnFailure string   `json:"onFailure"`
	Sandbox   string   `json:"sandbox"`
	If        string   `json:"if"`
}

// ParseHooks reads the hooks section of a settings file: an object of events,
// each a list of {matcher, hooks}. A hook that cannot be run as its settings
// ask is left out with a notice, unless it would guard: that is an error,
// because what it guards would else go unguarded.
func ParseHooks(section json.RawMessage, from HookSource) (hooks []HookCommand, notices []string, err error) {
	var events map[string]json.RawMessage
	if err := json.Unmarshal(section, &events); err != nil {
		return nil, nil, fmt.Errorf("hooks must be an object of events: %w", err)
	}
	names := make([]string, 0, len(events))
	for name := range events {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		event := HookEvent(name)
		if !slices.Contains(hookEvents, event) {
			notices = append(notices, fmt.Sprintf("hooks.%s is ignored: there is no such event here", shown(name)))
			continue
		}
		var groups []hookGroup
		if err := json.Unmarshal(events[name], &groups); err != nil {
			return nil, nil, fmt.Errorf("hooks.%s must be a list of {matcher, hooks}: %w", name, err)
		}
		for i, g := range groups {
			match, err := matcher(g.Matcher)
			if err != nil {
				return nil, nil, fmt.Errorf("hooks.%s[%d].matcher: %w", name, i, err)
			}
			for j, raw := range g.Hooks {
				h, err := parseHook(event, raw, from)
				at := fmt.Sprintf("hooks.%s[%d].hooks[%d]", name, i, j)
				switch {
				case err != nil && event.guards():
					return nil, nil, fmt.Errorf("%s: %w, and what it guards would go unguarded", at, err)
				case err != nil:
					notices = append(notices, fmt.Sprintf("%s is not run: %v", at, err))
					continue
				}
				h.Matcher, h.match = g.Matcher, match
				hooks = append(hooks, h)
			}
		}
	}
	return hooks, notices, nil
}

func parseHook(event HookEvent, raw json.RawMessage, from HookSource) (HookCommand, error) {
	h := HookCommand{Event: event, File: from.File}
	var all map[string]json.RawMessage
	var s hookSettings
	if err := json.Unmarshal(raw, &all); err != nil {
		return h, fmt.Errorf("it must be an object: %w", err)
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return h, err
	}
	if s.Type != "command" {
		return h, fmt.Errorf("its type is %q; only command is known here", shown(s.Type))
	}
	for key, v := range all {
		if off := string(v); !slices.Contains(hookKeys, key) && off != "null" && off != "false" {
			return h, fmt.Errorf("it sets %s, which is not known here", shown(key))
		}
	}
	switch {
	case strings.TrimSpace(s.Command) == "" || strings.ContainsRune(s.Command, 0):
		return h, fmt.Errorf("its command is missing")
	case s.Shell != "" && s.Shell != "bash":
		return h, fmt.Errorf("its shell is %q; only bash is known here", s.Shell)
	case s.Sandbox != "" && s.Sandbox != "none":
		return h, fmt.Errorf("its sandbox is %q; it can only be none", s.Sandbox)
	case s.Sandbox == "none" && !from.Own:
		return h, fmt.Errorf("it asks to run outside of the sandbox, which only hooks in the user's own settings may")
	case s.Timeout != nil && !(*s.Timeout > 0 && *s.Timeout <= 24*3600):
		return h, fmt.Errorf("its timeout must be a number of seconds, more than 0 and at most a day")
	}
	switch s.OnFailure {
	case "":
	case "block":
		h.Failure = FailClosed
	case "ignore":
		h.Failure = FailNoticed
	default:
		return h, fmt.Errorf("its onFailure is %q; it can be block or ignore", s.OnFailure)
	}
	if s.Timeout != nil {
		h.Timeout = time.Duration(*s.Timeout * float64(time.Second))
	}
	if s.If != "" {
		if err := checkIf(event, s.If); err != nil {
			return h, fmt.Errorf("its if cannot be used: %w", err)
		}
	}
	h.Command, h.Args, h.If, h.Plain = s.Command, s.Args, s.If, s.Sandbox == "none"
	return h, nil
}

// plainMatcher are the characters besides letters and digits of a matcher that
// is no expression.
const plainMatcher = "_-|, "

// matcher makes a function of a matcher: empty and "*" are for everything,
// words between | (or commas) for these names, and anything else is a regular
// expression that is looked for in the name.
func matcher(text string) (func(string) bool, error) {
	if text == "" || text == "*" {
		return func(string) bool { return true }, nil
	}
	if !strings.ContainsFunc(text, func(r rune) bool {
		word := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !word && !strings.ContainsRune(plainMatcher, r)
	}) {
		var names []string
		for _, n := range strings.FieldsFunc(text, func(r rune) bool { return r == '|' || r == ',' }) {
			names = append(names, strings.TrimSpace(n))
		}
		return func(name string) bool { return slices.Contains(names, name) }, nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return re.MatchString, nil
}

// hooksFor lists the hooks that are for an occasion, each once.
func hooksFor(list []HookCommand, o occasion, at workspace.Info) []HookCommand {
	var out []HookCommand
	seen := map[string]bool{}
	for _, h := range list {
		if h.Event != o.event || seen[h.key()] {
			continue
		}
		// A prompt and the end of a turn have nothing to match.
		if o.event != UserPromptSubmit && o.event != Stop && h.match != nil && !h.match(o.subject) {
			continue
		}
		if !h.concerns(o, at) {
			continue
		}
		seen[h.key()] = true
		out = append(out, h)
	}
	return out
}
