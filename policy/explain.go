package policy

import (
	"cmp"
	"path/filepath"
	"slices"

	"oneloop"
	"oneloop/policy/shell"
)

// Decision is what is decided about a call, in the form that other programs
// read.
type Decision struct {
	Decision string `json:"decision"`       // "allow", "ask" or "deny", by the rules alone: neither mode nor sandbox count
	Rule     string `json:"rule,omitempty"` // that decided; empty: none did
	File     string `json:"file,omitempty"` // the rule is in; empty: it is built in, or of this session
	Reason   string `json:"reason"`         // a phrase
	Part     string `json:"part,omitempty"` // of a command it is about; empty: all of it
	// Wants are rules that would allow what is asked for.
	Wants []string `json:"wants,omitempty"`
	// Sandboxed says whether it would run confined.
	Sandboxed bool `json:"sandboxed"`
	// Why is the reason in the form in which it can be told in other words.
	Why *oneloop.Reason `json:"-"`
}

var tiers = map[string]shell.Tier{"allow": shell.Allow, "ask": shell.Ask, "deny": shell.Deny}

func (f finding) decision(in Isolation) Decision {
	d := Decision{Decision: f.tier.String(), Rule: f.rule, File: f.file, Part: f.part, Sandboxed: in.Sandboxed}
	if f.tier == shell.Ask && f.kind <= byGuard {
		d.Wants = f.wants
	}
	d.Reason, d.Why = f.reason.String(), Told(f.reason)
	return d
}

// Explain says what the rules decide about a call that touches what is listed.
// It runs nothing. Mode and Ask do not count.
func Explain(o GateOptions, call *oneloop.ToolUse, touches ...oneloop.Touch) Decision {
	g := &gate{GateOptions: o.placed()}
	in := g.isolation()
	in.Sandboxed = in.Sandboxed && onlyCommands(touches)
	f := g.judge(g.Rules).call(call, touches)
	f.reason = cmp.Or(f.reason, shell.Because("unasked", "nothing about it is to be asked for"))
	for _, t := range touches {
		if file := t.Kind == oneloop.TouchRead || t.Kind == oneloop.TouchWrite; file && !isInside(t.Name, g.Dir, g.Dirs) {
			f.reason = shell.Because("but-outside", "%s; but it is outside the workspace, where tools on files go only with --add-dir", f.reason)
		}
	}
	return f.decision(in)
}

// ExplainCommand is [Explain] for a shell command.
func ExplainCommand(o GateOptions, command string) Decision {
	return Explain(o, &oneloop.ToolUse{Name: "Bash"}, oneloop.Touch{Kind: oneloop.TouchCommand, Name: command})
}

// isInside reports whether a real path is in one of the folders.
func isInside(name, dir string, more []string) bool {
	return slices.ContainsFunc(append([]string{dir}, more...), func(root string) bool {
		rel, err := filepath.Rel(realPath(root), name)
		return err == nil && filepath.IsLocal(rel)
	})
}
