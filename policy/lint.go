package policy

import (
	"fmt"
	"slices"
	"strings"

	"oneloop/policy/shell"
)

// Problem is something about a rule that its writer should know.
type Problem struct {
	File string `json:"file"`
	Tier string `json:"tier"`
	Rule string `json:"rule"`
	Text string `json:"problem"`
}

func (p Problem) String() string {
	return fmt.Sprintf("%s: permissions.%s: %s: %s", p.File, p.Tier, p.Rule, p.Text)
}

// Lint finds rules that can never decide anything (their tool does not exist,
// their scope is not looked at, a stricter rule or the danger list decides
// before them) and rules that allow more than they seem to.
func Lint(o RuleOptions, files ...File) []Problem {
	var found []Problem
	var all []Rule
	for _, tier := range []shell.Tier{shell.Deny, shell.Ask, shell.Allow} {
		for _, f := range files {
			for _, text := range f.texts(tier) {
				r, err := parseRule(tier, text, o.place(f.Base), o.Tools)
				r.File = f.Path
				say := func(format string, args ...any) {
					found = append(found, Problem{f.Path, tier.String(), r.Text, fmt.Sprintf(format, args...)})
				}
				switch why := r.problem(all); {
				case err != nil:
					say("%v", err)
					continue
				case r.dead != "":
					say("it has no effect: %s", r.dead)
					continue
				case tier == shell.Allow && f.Shared && !f.Approved:
					say("it is ignored: the file is part of the folder and not approved")
				case why != "":
					say("%s", why)
				case tier == shell.Allow && r.path != nil && !r.path.meets(o.Dir, o.Dirs):
					say("it counts for commands only: tools on files work in the workspace and in folders of --add-dir")
				}
				all = append(all, r)
			}
		}
	}
	return found
}

// problem says what is wrong with a rule beside others that come before it.
func (r Rule) problem(before []Rule) string {
	if r.dead != "" {
		return ""
	}
	for _, b := range before {
		if !b.covers(r) {
			continue
		}
		switch {
		case b.Tier > r.Tier:
			return fmt.Sprintf("it can never decide anything: the rule %s in permissions.%s of %s comes before it", b.Text, b.Tier, b.File)
		case b.Text == r.Text:
			return fmt.Sprintf("it is there twice, the other time in %s", b.File)
		}
	}
	if r.tool != "Bash" || r.spec == "" {
		return ""
	}
	words := strings.TrimSuffix(strings.TrimSuffix(r.spec, ":*"), " *")
	if v := shell.Judge(words, shell.Place{}); v.Tier > r.Tier && !strings.Contains(words, "*") {
		return fmt.Sprintf("it can never decide anything: the danger list (%s) comes before it with %s", v.Rule, v.Tier)
	}
	if r.Tier == shell.Allow && strings.HasSuffix(r.spec, "*") {
		name := strings.TrimRight(r.pattern.Program(), "0123456789.")
		switch {
		case name == "":
			return "it allows programs of any name"
		case slices.Contains(runners, name) && !strings.Contains(words, " "):
			return "it allows every command: " + name + " runs what it is given"
		}
	}
	return ""
}

// runners are programs that run any other by their arguments.
var runners = []string{"sh", "bash", "dash", "zsh", "fish", "ksh", "python", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "awk", "gawk",
	"env", "command", "exec", "eval", "nohup", "nice", "xargs", "parallel", "find", "sudo", "doas", "busybox", "ssh", "docker", "podman", "npx", "uvx", "git", "make", "vim", "ed"}

// covers reports whether r decides about all that other would, as far as that
// is seen at once.
func (r Rule) covers(other Rule) bool {
	switch {
	case r.dead != "" || r.tool != other.tool:
		return false
	case r.spec == "" || r.spec == other.spec:
		return true
	case other.spec == "":
		return false
	case r.tool == "Bash":
		return r.pattern.Covers(other.pattern)
	case r.path != nil && other.path != nil:
		return r.path.covers(other.path)
	case r.tool == "WebFetch":
		return r.host(strings.TrimPrefix(other.spec, "domain:"))
	}
	return false
}

// covers reports whether p names all that q does, as far as that is seen at
// once: a wildcard of q is a letter here.
func (p *pathPattern) covers(q *pathPattern) bool {
	for _, form := range q.forms {
		if !slices.ContainsFunc(p.forms, func(own []string) bool { return p.below(own, form) }) {
			return false
		}
	}
	return true
}
