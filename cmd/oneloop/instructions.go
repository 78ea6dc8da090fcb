package main

import (
	"context"
	"slices"

	"oneloop"
	"oneloop/internal/mask"
	"oneloop/policy"
	"oneloop/prompt"
	"oneloop/session"
	"oneloop/workspace"
)

// bare reports whether the system prompt is to be what the command line says
// and nothing else.
func (p *program) bare(s spec) bool {
	return p.opts.tools == "bash" || p.opts.series != "" || s.system != "" || slices.Contains(p.opts.flags, "--system-prompt")
}

// fixed is a system prompt with the parts that are made when a session begins,
// and stay as they were then for as long as it is gone on with.
func (p *program) fixed(system []oneloop.Block, log *session.Log, s spec, a *agent) []oneloop.Block {
	if p.bare(s) {
		return system
	}
	if req, err := log.Request(context.Background()); err == nil && len(req.System)+len(req.Tools) > 0 {
		for _, b := range req.System {
			if t, ok := b.(*oneloop.Text); ok && (prompt.AreInstructions(t.Text) || prompt.IsMemory(t.Text)) {
				system = append(system, b)
			}
		}
		return system
	}
	text, notices := p.settings.Instructions.Text(prompt.RenderOptions{
		May: p.mayInstruct(a),
		Put: func(text string) string { return mask.New(p.settings.Secrets()...).String(text) },
	})
	notes, err := p.remembered(a)
	if err != nil {
		notices = append(notices, err.Error()+".")
	}
	if s.parent == nil && !p.instructed { // a child has the same to say
		p.instructed = true
		p.settings.Notices = append(p.settings.Notices, notices...)
	}
	for _, part := range []string{text, notes} {
		if part != "" {
			system = append(system, &oneloop.Text{Text: part})
		}
	}
	return system
}

// mayInstruct says which files of the folder instruct the model: those that the
// user trusts and that no rule keeps from being read.
func (p *program) mayInstruct(a *agent) func(prompt.Instruction) bool {
	return func(f prompt.Instruction) bool {
		if !p.settings.Trusted.Has(f.Name) {
			return false
		}
		touch := oneloop.Touch{Kind: oneloop.TouchRead, Name: f.Path}
		d := policy.Explain(policy.GateOptions{Dir: a.dir, Home: p.home(), Rules: a.rules}, &oneloop.ToolUse{Name: "Read"}, touch)
		return d.Decision != "deny"
	}
}

// nested has the model told of instructions below the folder, where those of
// the folder itself are trusted.
func (p *program) nested(s spec, a *agent, ws workspace.Workspace) func(oneloop.Tool) oneloop.Tool {
	if p.bare(s) || !slices.ContainsFunc(p.settings.Instructions.Files, func(f prompt.Instruction) bool { return p.settings.Trusted.Has(f.Name) }) {
		return func(t oneloop.Tool) oneloop.Tool { return t }
	}
	a.nested = &prompt.Nested{Workspace: ws, Tell: func(text string) {
		a.Session.Inbox.Put(session.WithNext, &oneloop.Text{Text: text})
	}}
	return a.nested.Watch
}

// initiate has the model write the instructions of the folder.
func (c *conversation) initiate(ctx context.Context) {
	if err := c.turn(ctx, prompt.Init); err != nil {
		return // ctx has ended, and so does the conversation
	}
}

// spelled is the task that a word of the command line stands for.
func spelled(text string) string {
	if text == "/init" {
		return prompt.Init
	}
	return text
}
