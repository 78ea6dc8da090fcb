package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/internal/unseen"
	"oneloop/policy"
	judge "oneloop/policy/shell"
	"oneloop/prompt"
)

// Where a folder and a user keep skills and commands, by precedence. The
// first of the user's is below the folder of their settings.
var (
	skillFolders   = []string{".oneloop/skills", ".agents/skills", ".claude/skills"}
	commandFolders = []string{".oneloop/commands", ".claude/commands"}
)

// skillSet is what the agents of a run share of skills.
type skillSet struct {
	looked bool
	list   []*prompt.Skill // that there were at the start
}

// places are where skills or commands are looked for: what the folder brings
// along, as far as it is trusted, beats what is the user's own.
func (p *program) places(folders []string, commands bool) (list []prompt.Place) {
	for _, name := range folders {
		if t := p.settings.Trusted; t.Has(name) {
			list = append(list, prompt.Place{Dir: filepath.Join(t.Dir, filepath.FromSlash(name)), Project: name, Commands: commands})
		}
	}
	for _, name := range folders {
		dir := p.home()
		if rest, ok := strings.CutPrefix(name, ".oneloop/"); ok {
			dir, name = p.settings.ConfigDir, rest
		}
		if dir != "" {
			list = append(list, prompt.Place{Dir: filepath.Join(dir, filepath.FromSlash(name)), Commands: commands})
		}
	}
	return list
}

// known are the skills that there were at the start: the model is told of
// these and no others, so that its tools stay as they are.
func (p *program) known() []*prompt.Skill {
	if !p.skills.looked && !p.offline && p.chosen("Skill") {
		p.skills.looked = true
		p.skills.list, _ = prompt.Find(p.places(skillFolders, false)...)
	}
	return p.skills.list
}

// callable are skills and commands as they are now.
func (p *program) callable() (list []*prompt.Skill, warnings []string) {
	return prompt.Find(append(p.places(skillFolders, false), p.places(commandFolders, true)...)...)
}

// ownSkills are the user's folders that skills were found in, and those that
// links in them lead to. Commands see them, wherever they are.
func (p *program) ownSkills() (dirs []string) {
	var looked []string
	for _, k := range p.known() {
		if k.Place.Project != "" {
			continue
		}
		if !slices.Contains(looked, k.Place.Dir) {
			looked = append(looked, k.Place.Dir)
			dirs = append(dirs, realPath(k.Place.Dir))
		}
		at := k.Folder()
		if !slices.ContainsFunc(dirs, func(dir string) bool { rel, err := filepath.Rel(dir, at); return err == nil && filepath.IsLocal(rel) }) {
			dirs = append(dirs, at)
		}
	}
	return dirs
}

// withSkills lets the model load skills, if there are any.
func (p *program) withSkills(a *agent, box *oneloop.Toolbox, gate func(oneloop.Tool) oneloop.Tool) {
	t, ok := prompt.SkillTool(prompt.SkillOptions{List: p.known(), Load: func(ctx context.Context, k *prompt.Skill, args string, emit func(oneloop.Event)) (string, error) {
		return p.loaded(ctx, a, k, args, emit)
	}})
	if ok {
		box.Tools = append(box.Tools, gate(t))
	}
	for _, dir := range p.ownSkills() { // also for a session that is gone on with, which has loaded them
		a.shows(dir)
	}
}

// loaded is the text of a skill or command, once that may be used. From then on
// its files can be read, and what it wants to be allowed is.
func (p *program) loaded(ctx context.Context, a *agent, k *prompt.Skill, args string, emit func(oneloop.Event)) (string, error) {
	if k.Place.Project != "" {
		err := p.settings.Trusted.Again(ctx, policy.TrustOptions{
			Dir: p.settings.Trusted.Dir, Home: p.home(), Store: p.settings.TrustStore(), Grant: p.opts.trust, Ask: a.traced(p.ask), Question: p.trustQuestion,
		}, k.Place.Project)
		if errors.Is(err, policy.ErrUntrusted) {
			err = fmt.Errorf("%s of this folder: %w. Go on without it, and tell the user", k.Place.Project, err)
		}
		if err != nil {
			return "", err
		}
	}
	a.shows(k.Dir)
	if err := p.let(a.rules, k); err != nil {
		emit(oneloop.Notice{Text: fmt.Sprintf("%s: allowed-tools: %v.", k.Path, err)})
	}
	return k.Text(ctx, prompt.Call{Args: args, Session: a.id, Run: func(ctx context.Context, command string) string {
		return a.ranFor(ctx, k, command, emit)
	}})
}

// Where rules are said to be from that a skill brings.
const (
	ofSkills  = "allowed-tools of a skill" // they last until the next prompt
	ofFolders = "the folder of a skill"
)

// shows has what is in a folder of skills be read, wherever that is.
func (a *agent) shows(dir string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(real) {
		return // it is gone, or a command's, which has none
	}
	a.files.Admit(real)
	for at := real; ; at = filepath.Dir(at) { // a rule for a folder it is in may be there
		if slices.ContainsFunc(a.rules.List(), func(r policy.Rule) bool { return r.Text == shown(at) }) {
			return
		}
		if filepath.Dir(at) == at {
			break
		}
	}
	a.rules.Add(judge.Allow, shown(real), policy.File{Path: ofFolders}) // a path that no rule can name is asked for
}

// shown is the rule by which what is in a folder can be read.
func shown(dir string) string {
	return "Read(/" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(filepath.ToSlash(dir)) + "/**)"
}

// let has calls run unasked that a skill lists, if the user wrote it or said
// yes to it as it is. All commands are more than a skill can have allowed.
func (p *program) let(rules *policy.Rules, k *prompt.Skill) error {
	if k.Place.Project != "" && !p.settings.Trusted.Approved(k.Place.Project) {
		return nil
	}
	var wrong error
	for _, rule := range k.Tools {
		if tool, scope, _ := strings.Cut(rule, "("); tool == "*" || strings.TrimSpace(tool) == "Bash" && strings.Trim(scope, "*:) ") == "" {
			continue
		}
		wrong = errors.Join(wrong, rules.Add(judge.Allow, rule, policy.File{Path: ofSkills}))
	}
	return wrong
}

// ranFor runs a command that the text of a skill asks for: as a call of Bash,
// with all that is in front of these.
func (a *agent) ranFor(ctx context.Context, k *prompt.Skill, command string, emit func(oneloop.Event)) string {
	if a.shell == nil {
		return "[not run, there is no Bash: " + command + "]"
	}
	input, err := json.Marshal(map[string]string{"command": command, "description": "for " + k.Name})
	if err != nil {
		return "[not run: " + err.Error() + "]"
	}
	r, err := a.shell.Run(ctx, &oneloop.ToolUse{ID: "skill", Name: a.shell.Name, Input: input}, func(e oneloop.Event) {
		switch e.(type) {
		case oneloop.Denied, oneloop.Notice, oneloop.Boundary:
			emit(e)
		}
	})
	if err != nil {
		return "[" + err.Error() + "]"
	}
	return r.Text()
}

// skillItems say for the question of trust what skills or commands of a folder
// have run, and have allowed while they are used.
func skillItems(dir string, f policy.Finding) (items []string) {
	if f.Kind != policy.Skills && f.Kind != policy.Commands {
		return nil
	}
	const most = 20
	list, _ := prompt.Find(prompt.Place{Dir: filepath.Join(dir, filepath.FromSlash(f.Name)), Project: f.Name, Commands: f.Kind == policy.Commands})
	for _, k := range list {
		for _, rule := range k.Tools {
			items = append(items, tui.Head("lets run unasked: "+unseen.Line(rule)+" ("+k.Name+")"))
		}
		commands, err := k.Runs(context.Background())
		if err != nil {
			items = append(items, tui.Head(unseen.Line(err.Error())))
		}
		for _, command := range commands {
			items = append(items, tui.Head("runs when it is used: "+unseen.Line(command)+" ("+k.Name+")"))
		}
	}
	if len(items) > most {
		items = append(items[:most], fmt.Sprintf("… and %d more", len(items)-most))
	}
	return items
}

// calling is a line in which the person calls a skill or a command: its first
// word, with one / in front and no other, is the name.
func (p *program) calling(text string) (k *prompt.Skill, args string) {
	if !strings.HasPrefix(text, "/") || spelled(text) != text { // the program's own
		return nil, ""
	}
	name, args := text[1:], ""
	if i := strings.IndexAny(name, " \t\r\n"); i >= 0 {
		name, args = name[:i], name[i:]
	}
	if name == "" || strings.Contains(name, "/") {
		return nil, ""
	}
	list, _ := p.callable()
	if k = prompt.Named(list, name); k == nil || !k.ByUser {
		return nil, ""
	}
	return k, args
}

// called has what the person calls come with their words: its text, and for a
// command the files that it names.
func (t *attachment) called(ctx context.Context, words string) error {
	k, args := t.calling(words)
	if k == nil || t.agent.files == nil { // an agent with other tools than the usual

		return nil
	}
	text, err := t.loaded(ctx, t.agent, k, args, t.agent.tell)
	if err != nil {
		return &codeError{exitConfig, fmt.Errorf("/%s: %w", k.Name, err)}
	}
	t.blocks = append(t.blocks, &oneloop.Text{Text: "\n" + text})
	if says := t.agent.says; says.attached != nil {
		says.attached(fmt.Sprintf(t.words.SkillUsed, tui.Head(k.Path)))
	}
	if !k.Place.Commands {
		return nil
	}
	// What commands print names no files: it may be anybody's.
	text, err = k.Text(ctx, prompt.Call{Args: args, Run: func(context.Context, string) string { return "" }})
	if err == nil {
		t.mentions(ctx, text)
	}
	return err
}

// theirs reports whether a line of a conversation calls a skill or a command,
// and none of the program's own.
func (c *conversation) theirs(name string) bool {
	alone, withWords := c.commands(context.Background())
	if alone[name] != nil || withWords[name] != nil {
		return false
	}
	k, _ := c.calling(name)
	return k != nil
}

// listSkills is /skills.
func (c *conversation) listSkills() {
	list, warnings := c.callable()
	alone, withWords := c.commands(context.Background())
	var lines []string
	for _, k := range list {
		name := "/" + k.Name
		line := "  " + name
		if k.Hint != "" {
			line += " " + k.Hint
		}
		if k.Description != "" {
			line += "\n      " + tui.Head(k.Description)
		}
		line += "\n      " + k.Path
		switch known := prompt.Named(c.known(), k.Name) != nil; {
		case alone[name] != nil || withWords[name] != nil:
			line += "\n      " + c.words.SkillTaken
		case !k.ByUser:
			line += "\n      " + c.words.SkillModel
		case !k.ByModel || k.Place.Commands:
			line += "\n      " + c.words.SkillUser
		case !known:
			line += "\n      " + c.words.SkillNew
		}
		for _, odd := range k.Warnings {
			line += "\n      ! " + odd
		}
		lines = append(lines, line)
	}
	if len(list) == 0 {
		lines = append(lines, c.words.SkillsNone)
	}
	for _, w := range warnings {
		lines = append(lines, "! "+w)
	}
	if t := c.settings.Trusted; t.Ignores(policy.Skills) || t.Ignores(policy.Commands) {
		lines = append(lines, c.words.SkillsUntrusted)
	}
	c.front.Say(strings.Join(lines, "\n"))
}
