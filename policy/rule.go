package policy

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"oneloop/policy/shell"
)

// Rule is one rule of the settings: Tool or Tool(specifier), in a tier.
type Rule struct {
	Tier shell.Tier
	Text string // as it is written
	File string // it is written in, or the flag; empty: of this session

	tool    string
	spec    string // empty: whatever the call is
	pattern shell.Pattern
	path    *pathPattern
	dead    string // why it can never decide anything; empty: it can
}

// Tools whose calls can be ruled. A rule for another one is a mistake, and a
// mistake in a rule must not pass for no rule.
var toolNames = []string{"Bash", "Read", "Write", "Edit", "Glob", "Grep", "NotebookEdit", "WebFetch", "WebSearch", "AskUserQuestion", "ExitPlanMode", "EnterPlanMode",
	"TodoWrite", "Memory", "Agent", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskStop", "TaskOutput", "SendMessage", "Skill", "ToolSearch", "Monitor",
	"CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "EnterWorktree", "ExitWorktree", "LSP", "ListMcpResourcesTool", "ReadMcpResourceTool"}

// parseRule reads one rule.
func parseRule(tier shell.Tier, text string, at place, more []string) (Rule, error) {
	r := Rule{Tier: tier, Text: strings.TrimSpace(text)}
	name, spec, scoped := strings.Cut(r.Text, "(")
	r.tool = strings.TrimSpace(name)
	if scoped {
		inner, closed := strings.CutSuffix(spec, ")")
		if !closed {
			return r, fmt.Errorf("the rule %q does not end with a parenthesis; write Tool or Tool(what)", text)
		}
		if spec = strings.TrimSpace(inner); spec != "*" {
			r.spec = spec
		}
		if spec == "" {
			return r, fmt.Errorf("the rule %q says nothing between its parentheses; write %s for every call", text, r.tool)
		}
	}
	if err := r.known(more); err != nil {
		return r, err
	}
	return r, r.scope(at)
}

// known refuses tools that do not exist.
func (r *Rule) known(more []string) error {
	if strings.HasPrefix(r.tool, "mcp__") && len(r.tool) > len("mcp__") {
		return nil
	}
	for _, list := range [][]string{toolNames, more} {
		if slices.Contains(list, r.tool) {
			return nil
		}
		for _, n := range list {
			if strings.EqualFold(n, r.tool) {
				return fmt.Errorf("the rule %q is for a tool named %q, which does not exist; the tool is %s", r.Text, r.tool, n)
			}
		}
	}
	return fmt.Errorf("the rule %q is for a tool named %q, which does not exist", r.Text, r.tool)
}

// scope reads what is between the parentheses. A rule that can never match is
// kept and marked: others know such rules, and files are shared.
func (r *Rule) scope(at place) (err error) {
	switch {
	case r.spec == "" && r.tool == "mcp__*" && r.Tier == shell.Allow:
		r.dead = "it allows every tool of every server, which is more than anybody can know; name the server"
	case r.spec == "":
		r.pattern, err = shell.ParsePattern("*")
	case r.tool == "Bash":
		if r.pattern, err = shell.ParsePattern(r.spec); err != nil {
			r.dead, err = err.Error(), nil
		}
	case r.tool == "Read" || r.tool == "Edit":
		if r.path, err = parsePath(r.spec, at); err == nil {
			r.path.fold = r.Tier > shell.Allow
		}
	case r.tool == "WebFetch":
		if host, is := strings.CutPrefix(r.spec, "domain:"); !is || strings.TrimSpace(host) == "" {
			r.dead = "its scope is not understood; write WebFetch(domain:example.org)"
		}
	case r.tool == "Write" || r.tool == "NotebookEdit":
		r.dead = fmt.Sprintf("paths are looked for in rules for Read and Edit only; write Edit(%s)", r.spec)
	case r.tool == "Glob" || r.tool == "Grep":
		r.dead = fmt.Sprintf("paths are looked for in rules for Read and Edit only; write Read(%s)", r.spec)
	case r.tool == "Agent" || r.tool == "Task" || r.tool == "Skill":
	default:
		r.dead = fmt.Sprintf("calls of %s are not told apart; write %s for all of them", r.tool, r.tool)
	}
	if err != nil {
		return fmt.Errorf("the rule %q: %w", r.Text, err)
	}
	return nil
}

// is reports whether r is for calls of a tool.
func (r *Rule) is(tool string) bool {
	switch {
	case r.dead != "":
		return false
	case r.tool == tool, r.tool == "Task" && tool == "Agent", r.tool == "Agent" && tool == "Task":
		return true
	case !strings.HasPrefix(r.tool, "mcp__"):
		return false
	case strings.HasSuffix(r.tool, "*"):
		return strings.HasPrefix(tool, strings.TrimSuffix(r.tool, "*"))
	}
	return strings.HasPrefix(tool, r.tool+"__") && strings.Count(r.tool, "__") == 1
}

// host reports whether r is for a host, which may have a port behind it.
func (r *Rule) host(name string) bool {
	if r.tool != "WebFetch" || r.dead != "" {
		return false
	}
	if r.spec == "" {
		return true
	}
	want := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(r.spec, "domain:")))
	name = hostname(name)
	if suffix, is := strings.CutPrefix(want, "*."); is {
		return strings.HasSuffix(name, "."+suffix)
	}
	return name == want || want == "*"
}

// hostname is a host without port, in lower case.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}

// String is the rule as it is written.
func (r Rule) String() string { return r.Text }
