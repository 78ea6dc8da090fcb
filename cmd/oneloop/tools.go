package main

import (
	"context"
	"slices"
	"strings"

	"oneloop"
	"oneloop/policy"
	"oneloop/tool"
	"oneloop/workspace"
)

// toolNames are the tools there are, in the order in which the model sees
// them.
var toolNames = []string{"Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "TodoWrite", "TaskStop", "TaskOutput", "Agent", "Skill", "Memory", "AskUserQuestion"}

// checkTools refuses names of tools that do not exist.
func (p *program) checkTools() error {
	if p.opts.tools == "" || p.opts.tools == "bash" {
		return nil
	}
	for name := range strings.SplitSeq(p.opts.tools, ",") {
		if !slices.Contains(toolNames, strings.TrimSpace(name)) {
			return usagef(p.words.FlagValue, "--tools", name, strings.Join(toolNames, ", ")+"; bash")
		}
	}
	return nil
}

// chosen reports whether the command line wants a tool.
func (p *program) chosen(name string) bool {
	switch p.opts.tools {
	case "":
		return true
	case "bash":
		return name == "Bash"
	}
	return slices.ContainsFunc(strings.Split(p.opts.tools, ","), func(n string) bool { return strings.TrimSpace(n) == name })
}

// tools are the agent's and what the model is told of them. What is written
// here first is asked last: policy is outside of everything else.
func (p *program) tools(s spec, prof profile, ws workspace.Workspace, a *agent) (*oneloop.Toolbox, []oneloop.ToolDef, error) {
	box := &oneloop.Toolbox{Tools: s.tools, Aliases: prof.aliases}
	if s.tools != nil {
		return box, box.Defs(), nil
	}
	rules, err := policy.NewRules(policy.RuleOptions{Dir: a.dir, Dirs: ws.Describe().Dirs, Home: p.home()}, p.settings.Permissions...)
	if err != nil {
		return nil, nil, err
	}
	if s.parent != nil && s.parent.ws == ws {
		a.files = s.parent.files.Child()
	} else {
		a.files = tool.NewFiles(ws, tool.FilesOptions{})
		a.drop = a.files.Close
	}
	a.hooks.Watch = a.watching
	ask := a.hooks.Ask(p.askFor(s))
	a.rules = rules
	judging := policy.GateOptions{
		Isolation: func() policy.Isolation { return p.isolation(ws) },
		ModeNow:   p.mode, Workspace: ws, Home: p.home(), Rules: rules, Ask: ask, Keep: p.settings.Keep(a.dir),
	}
	if p.ask != nil { // a conversation
		judging.ModeBy = "/mode"
	}
	if s.parent == nil {
		judging.Keep = a.net.later(judging.Keep)
		a.net.judged(judging)
	}
	judge := a.hooks.Gate(judging)
	gate := func(t oneloop.Tool) oneloop.Tool { return judge(a.answerable(t)) }
	a.reader = gate(a.files.Attach())
	a.jobs = p.background(s, a)
	nested := p.nested(s, a, ws)
	for _, t := range []oneloop.Tool{
		a.files.Watch(tool.Bash(p.commands(ws), tool.BashOptions{Attach: s.attach, SpillDir: a.scratch, Files: a.files, Jobs: a.jobs})),
		nested(a.files.Read()), nested(a.files.Write()), nested(a.files.Edit()),
		tool.Glob(ws, tool.GlobOptions{}), tool.Grep(ws, tool.GrepOptions{}),
		tool.WebFetch(tool.WebFetchOptions{}),
	} {
		if p.chosen(t.Name) {
			box.Tools = append(box.Tools, gate(t))
		}
	}
	if p.chosen("TodoWrite") {
		a.todos = new(tool.Todos)
		box.Tools = append(box.Tools, gate(a.todos.Tool()))
	}
	p.withSkills(a, box, gate)
	if a.jobs != nil && p.chosen("TaskStop") {
		box.Tools = append(box.Tools, gate(a.jobs.Stop()))
	}
	if a.jobs != nil && p.opts.tools != "" && p.chosen("TaskOutput") { // who wants it names it
		box.Tools = append(box.Tools, gate(a.jobs.Output()))
	}
	if m := p.notebook(); m != nil && p.chosen("Memory") && p.opts.tools != "bash" {
		box.Tools = append(box.Tools, gate(m.Tool()))
	}
	if p.ask != nil && p.chosen("AskUserQuestion") { // a model that may ask nobody need not know how
		box.Tools = append(box.Tools, gate(tool.AskUserQuestion(a.traced(ask))))
	}
	if p.mode() == policy.Plan && p.opts.tools == "" {
		box.Tools = append(box.Tools, gate(tool.ExitPlanMode(tool.PlanOptions{
			Ask: a.traced(ask), In: func() bool { return p.mode() == policy.Plan },
			Leave: func(context.Context) error { p.modes.approved(); return nil },
		})))
	}
	p.agentTool(s, a, box, judge)
	if s.parent == nil && p.form != nil { // it does nothing, so nothing judges it
		box.Tools = append(box.Tools, p.form.Tool())
	}
	// What a skill runs goes through Bash, if it is left to the agent.
	if i := slices.IndexFunc(box.Tools, func(t oneloop.Tool) bool { return t.Name == "Bash" }); i >= 0 {
		bash := box.Tools[i]
		a.shell = &bash
	}
	return box, p.searching(prof.defs(box)), nil
}
