package main

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"oneloop"
	"oneloop/policy"
	judge "oneloop/policy/shell"
	"oneloop/workspace"
)

// commands is the workspace as commands of the model see it: in the mode plan
// they change nothing in it. Without a sandbox that cannot be had, and only
// calls that change nothing run.
func (p *program) commands(ws workspace.Workspace) workspace.Workspace {
	box, confined := ws.(*workspace.SandboxWorkspace)
	if !confined {
		return ws
	}
	return planned{ws, box.ReadOnly(), func() bool { return p.mode() == policy.Plan }}
}

// planned is a workspace that is read-only to commands in plan.
type planned struct {
	workspace.Workspace
	frozen workspace.Workspace
	plan   func() bool
}

func (w planned) Start(ctx context.Context, cmd workspace.Cmd) (workspace.Process, error) {
	if w.plan() {
		return w.frozen.Start(ctx, cmd)
	}
	return w.Workspace.Start(ctx, cmd)
}

// isolation is what confines the commands of ws now.
func (p *program) isolation(ws workspace.Workspace) policy.Isolation {
	in := policy.IsolationOf(ws.Describe())
	if _, confined := ws.(*workspace.SandboxWorkspace); !confined {
		return in
	}
	if in.ReadOnly = p.mode() == policy.Plan; in.ReadOnly {
		in.Text += ", read-only"
	}
	return in
}

// boundary tells of it those who listen.
func (p *program) boundary(ws workspace.Workspace) oneloop.Boundary {
	b := oneloop.Boundary{Mode: p.mode().String(), In: p.isolation(ws).String()}
	if box, confined := ws.(*workspace.SandboxWorkspace); confined {
		s := box.Status()
		b.Weaker, b.Network = s.Weaker, s.Network
		if p.mode() != policy.Plan {
			b.Write = s.Write
		}
	}
	return b
}

// inForce tells what commands run in, once that is known.
func (p *program) inForce(a *agent, emit func(oneloop.Event)) {
	emit(p.boundary(a.ws))
	if a.box == nil {
		return
	}
	for _, note := range a.box.Status().Notes {
		emit(oneloop.Notice{Text: note + "."})
	}
}

// opening says at the beginning of a conversation what holds in it.
func (p *program) opening(a *agent) []string {
	var lines []string
	m := p.mode()
	switch {
	case a.box == nil:
	case m == policy.Plan:
		lines = append(lines, p.words.SandboxPlan)
	default:
		lines = append(lines, p.words.SandboxOn)
	}
	if m != policy.Default {
		lines = append(lines, p.modeLine(m))
	}
	if len(p.settings.Dirs) > 0 {
		lines = append(lines, fmt.Sprintf(p.words.AlsoIn, strings.Join(p.settings.Dirs, ", ")))
	}
	return lines
}

func (p *program) modeLine(m policy.Mode) string {
	return fmt.Sprintf(p.words.ModeIs, m, p.words.Modes[m])
}

// userSettings is the user's settings file, for people.
func (p *program) userSettings() string {
	return filepath.Join(cmp.Or(p.settings.ConfigDir, filepath.Join("~", ".config", "oneloop")), "settings.json")
}

// permissions is what /permissions shows.
func (c *conversation) permissions() string {
	w := c.words
	lines := []string{c.modeLine(c.mode())}
	if from := c.settings.From["permission_mode"]; from != "" && c.mode() == c.settings.Mode {
		lines[0] += " (" + fmt.Sprintf(w.ModeFrom, from) + ")"
	}
	list := c.agent.rules.List()
	if len(list) == 0 {
		lines = append(lines, w.RulesNone)
	} else {
		lines = append(lines, w.RulesHead)
	}
	wrong := policy.Lint(policy.RuleOptions{Dir: c.agent.dir, Dirs: c.settings.Dirs, Home: c.home()}, c.settings.Permissions...)
	for _, r := range list {
		lines = append(lines, fmt.Sprintf("  %-5s  %s  (%s)", r.Tier, judge.Visible(r.Text), r.File))
		wrong = slices.DeleteFunc(wrong, func(p policy.Problem) bool {
			same := p.File == r.File && p.Tier == r.Tier.String() && p.Rule == r.Text
			if same {
				lines = append(lines, "         "+judge.Visible(p.Text))
			}
			return same
		})
	}
	if len(wrong) > 0 {
		lines = append(lines, w.RulesOther)
	}
	for _, p := range wrong {
		lines = append(lines, fmt.Sprintf("  %-5s  %s  (%s)", p.Tier, judge.Visible(p.Rule), p.File), "         "+judge.Visible(p.Text))
	}
	rest := w.RulesElse
	if c.agent.box == nil {
		rest = w.RulesElseNone
	}
	local := filepath.Join(c.agent.dir, ".oneloop", "settings.local.json")
	return strings.Join(append(lines, rest, fmt.Sprintf(w.RulesChange, c.userSettings(), local)), "\n")
}

// sandbox is what /sandbox shows. It starts the sandbox if need be, to tell of
// the one that works here.
func (c *conversation) sandbox() string {
	w, a := c.words, c.agent
	change := fmt.Sprintf(w.SandboxChange, c.userSettings())
	if a.box == nil {
		return w.SandboxNone + "\n" + change
	}
	a.ready.Do(func() { a.waiting.Go(a.prepare) })
	a.waiting.Wait()
	err := a.box.Prepare()
	s := a.box.Status()
	var lines []string
	if err != nil {
		lines = append(lines, err.Error(), w.SandboxMissing)
	} else {
		lines = append(lines, w.Boundary(c.boundary(a.ws)))
		for _, f := range s.Failed {
			why := f.Why
			if f.Mend != "" {
				why += " (" + f.Mend + ")"
			}
			lines = append(lines, "  "+fmt.Sprintf(w.SandboxFailed, f.Backend, why))
		}
	}
	may := strings.Join(s.Write, ", ")
	if c.mode() == policy.Plan {
		may = "/tmp" // the folders are read-only
	}
	lines = append(lines, "  "+fmt.Sprintf(w.SandboxWrite, may), "  "+fmt.Sprintf(w.SandboxHidden, s.Hidden))
	if s.Network == "proxy" {
		lines = append(lines, "  "+fmt.Sprintf(w.SandboxHosts, cmp.Or(strings.Join(a.net.hosts.Allowed(), ", "), "-")))
	} else {
		lines = append(lines, "  "+w.SandboxNoNet)
	}
	lines = append(lines, "  "+c.limited())
	return strings.Join(append(lines, change), "\n")
}
