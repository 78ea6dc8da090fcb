package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"oneloop"
	"oneloop/budget"
	"oneloop/internal/config"
	"oneloop/model/catalog"
	"oneloop/policy"
	"oneloop/prompt"
	"oneloop/session"
	"oneloop/team"
)

// childTurns is how many requests an agent that another one started makes,
// unless its definition says otherwise.
const childTurns = 100

// generalAgent and exploringAgent are kinds of agents that models know.
// They need no place in what the model is told.
const (
	generalAgent   = "general-purpose"
	exploringAgent = "Explore"
)

// kinds are the kinds of agents that can be started: those that are defined,
// and those that are known without.
func (p *program) kinds() []prompt.Agent {
	list := slices.Clone(p.defined())
	for _, known := range []prompt.Agent{{Name: generalAgent}, {Name: exploringAgent, Tools: []string{"Bash", "Read", "Glob", "Grep", "WebFetch"}}} {
		if !slices.ContainsFunc(list, func(a prompt.Agent) bool { return a.Name == known.Name }) {
			list = append(list, known)
		}
	}
	return list
}

// defined are the agents that files define, read once. Those of the folder
// count only when it is trusted, and then before those of the user.
func (p *program) defined() []prompt.Agent {
	p.definitions.read.Do(func() {
		var folders []prompt.AgentFolder
		if t := p.settings.Trusted; t != nil {
			// As a root: no link leads out of it, that of a folder neither.
			root, err := os.OpenRoot(t.Dir)
			if err == nil {
				defer root.Close()
			}
			for _, name := range []string{".oneloop/agents", ".claude/agents"} {
				if err != nil || !t.Has(name) {
					continue
				}
				if dir, err := fs.Sub(root.FS(), name); err == nil {
					folders = append(folders, prompt.AgentFolder{FS: dir, Name: name})
				}
			}
		}
		for _, dir := range []string{p.settings.ConfigDir, filepath.Join(p.home(), ".claude")} {
			if filepath.IsAbs(dir) {
				dir = filepath.Join(dir, "agents")
				folders = append(folders, prompt.AgentFolder{FS: os.DirFS(dir), Name: dir})
			}
		}
		d := &p.definitions
		d.agents, d.notes = prompt.Agents(folders...)
		for _, k := range d.agents {
			d.look(k)
		}
	})
	return p.definitions.agents
}

// look takes note of what a definition says that comes to nothing here. That an
// agent is left without tools is said at the start; the rest only to who asks, as
// files are written for other programs too.
func (d *definitions) look(k prompt.Agent) {
	var unknown []string
	for _, name := range k.Tools {
		if !slices.Contains(toolNames, name) && !strings.Contains(name, "(") {
			unknown = append(unknown, name)
		}
	}
	switch {
	case len(unknown) == 0:
	case len(unknown) == len(k.Tools):
		d.notes = append(d.notes, fmt.Sprintf("%s: the agent %s has no tools at all: there is no %s here, only %s", k.File, k.Name, strings.Join(unknown, ", "), strings.Join(toolNames, ", ")))
	default:
		d.hints = append(d.hints, fmt.Sprintf("%s: these tools are not known here: %s", k.File, strings.Join(unknown, ", ")))
	}
	if k.Description == "" {
		d.hints = append(d.hints, k.File+": it has no description, so the model is not told of it; who names it can start it")
	}
}

// definitions are the agents that files define.
type definitions struct {
	read   sync.Once
	agents []prompt.Agent
	notes  []string // what is to be said of them
	hints  []string // what is said where they are listed
}

// agentTool gives an agent the tool that starts others, and takes from one of
// a kind the tools that it has not. A child has the tool only where its kind
// names it.
func (p *program) agentTool(s spec, a *agent, box *oneloop.Toolbox, judge func(oneloop.Tool) oneloop.Tool) {
	if p.chosen("Agent") && p.opts.tools != "bash" && (s.parent == nil || slices.Contains(s.kind.Tools, "Agent")) {
		kinds := p.kinds()
		var offered []team.Kind
		for _, k := range kinds {
			offered = append(offered, team.Kind{Name: k.Name, Description: k.Description})
		}
		a.agents = team.NewAgents(team.AgentOptions{Broker: a.broker, Kinds: offered})
		t := a.answerable(a.agents.Tool())
		// To be judged it changes nothing: what its agents do is judged call by call.
		t.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
		box.Tools = append(box.Tools, p.asWhatItIs(a, judge(t)))
		box.Aliases = maps.Clone(box.Aliases)
		maps.Copy(box.Aliases, team.Aliases())
	}
	box.Tools = slices.DeleteFunc(box.Tools, func(t oneloop.Tool) bool { return !a.mayHave(t.Name) })
}

// asWhatItIs has a call that goes on with an agent judged by what that one is,
// not by what the call says: a rule against its kind holds for it too.
func (p *program) asWhatItIs(a *agent, t oneloop.Tool) oneloop.Tool {
	run := t.Run
	t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		var in map[string]json.RawMessage
		var id string
		if json.Unmarshal(call.Input, &in) == nil && json.Unmarshal(in["resume"], &id) == nil && id != "" {
			first := a
			for first.parent != nil {
				first = first.parent
			}
			if l, err := p.earlierChild(first, id); err == nil { // else it is refused, in words
				kind, _ := json.Marshal(cmp.Or(l.Child.Type, generalAgent)) // a string has a form in JSON
				in["subagent_type"] = kind
				input, err := json.Marshal(in)
				if err != nil {
					return nil, fmt.Errorf("read the input of Agent: %w", err)
				}
				call = &oneloop.ToolUse{ID: call.ID, Name: call.Name, Input: input}
			}
		}
		return run(ctx, call, emit)
	}
	return t
}

// mayHave reports whether the definitions of the agent, and of all above it,
// leave it a tool: what was taken from one is not got back by starting another.
func (a *agent) mayHave(tool string) bool {
	for ; a != nil; a = a.parent {
		if a.kind.Tools != nil && !slices.Contains(a.kind.Tools, tool) || slices.Contains(a.kind.Without, tool) {
			return false
		}
	}
	return true
}

// asBefore makes of s, which a person goes on with, what it was if it is the
// session of an agent that another one started.
func (p *program) asBefore(s *spec, a *agent) {
	if s.resume == "" || s.parent != nil {
		return
	}
	child := a.log.Load().Child()
	if child == nil || child.Type == "" {
		return
	}
	for _, k := range p.kinds() {
		if k.Name != child.Type {
			continue
		}
		if k.Model = modelCalled(k.Model); p.opts.model != "" {
			k.Model = ""
		}
		if s.kind = k; k.Body != "" && !slices.Contains(p.opts.flags, "--system-prompt") {
			s.system = p.kindSystem(k, s.dir)
		}
		return
	}
	p.settings.Notices = append(p.settings.Notices, fmt.Sprintf("the agent %q that this session was one of is not defined any more: it goes on as any other.", child.Type))
}

// newLedger is that of the first agent of a run. What earlier runs of the
// session cost counts.
func (p *program) newLedger(a *agent) *budget.Ledger {
	l := budget.New(budget.Limits{Requests: p.opts.maxTurns, Cost: p.opts.maxCost})
	l.Use(p.price)
	if log := a.log.Load(); log != nil && p.opts.maxCost > 0 {
		if t := log.Bill().Total; t.Requests > 0 {
			l.Began(budget.Totals{Requests: t.Requests, Usage: t.TotalUsage, Cost: t.TotalCost, Known: t.TotalKnown})
		}
	}
	return l
}

// priced is an error when a limit on cost cannot be kept for the models that
// definitions name.
func (p *program) priced(a *agent) error {
	if a.agents == nil {
		return nil
	}
	for _, k := range p.defined() {
		if k.Model == "" {
			continue
		}
		if err := a.ledger.Priced(modelCalled(k.Model)); err != nil {
			return fmt.Errorf("agent %s (%s): %w", k.Name, k.File, err)
		}
	}
	return nil
}

// modelCalled is the model that a word means: the newest of a family, or the
// one with that name.
func modelCalled(word string) string {
	if slices.Contains([]string{"opus", "sonnet", "haiku"}, word) {
		for _, m := range catalog.All() {
			if strings.HasPrefix(m.ID, "claude-"+word) {
				return m.ID
			}
		}
	}
	return word
}

// child runs a subtask that a command or a call of Agent handed over: an agent
// like its parent, or of another kind, with a history of its own and within
// its parent's limits.
func (p *program) child(parent *agent) team.Run {
	return func(ctx context.Context, t team.Task, emit func(oneloop.Event)) (string, error) {
		s, err := p.childSpec(parent, t)
		if err != nil {
			return "", &team.NotStarted{Err: err}
		}
		defer s.ledger.Return()
		a, err := p.newAgent(s)
		if err != nil {
			return "", &team.NotStarted{Err: err}
		}
		t.Broker.Run = p.child(a)
		defer a.Close()
		var said answer
		last := "" // said before calls whose results were the end
		a.hear.Store(&emit)
		err = a.Turn(ctx, func(e oneloop.Event) {
			said.hear(e)
			if _, is := inner(e).(oneloop.Spend); is {
				parent.charged()
			}
			if m, is := e.(oneloop.MessageAdded); is && m.Message.Role == oneloop.Assistant {
				last = cmp.Or(strings.TrimSpace(m.Message.Text()), last)
			}
			emit(e)
		}, &oneloop.Text{Text: withInput(t.Prompt, t.Input)})
		if left := a.endJobs(); left != "" {
			emit(oneloop.Notice{Text: fmt.Sprintf(p.words.BackgroundEnded, left)})
		}
		if err == nil && t.Call == "" { // the answer of a call is an answer all the same
			err = said.denied()
		}
		if err != nil && t.Call != "" {
			return cmp.Or(said.text(), last), err
		}
		return said.text(), err
	}
}

// inner is an event without the agents that it comes through.
func inner(e oneloop.Event) oneloop.Event {
	for {
		c, is := e.(oneloop.Child)
		if !is {
			return e
		}
		e = c.Event
	}
}

// charged has the agent's log know what its children used so far: it counts
// when the program is killed before the agent's own next reply, too.
func (a *agent) charged() {
	a.charging.Lock()
	defer a.charging.Unlock()
	if log := a.log.Load(); log != nil {
		log.Event(a.spent())
	}
}

// childSpec is what a subtask is to be. Part of what is left to its parent is
// set aside for it.
func (p *program) childSpec(parent *agent, t team.Task) (spec, error) {
	s := spec{parent: parent, dir: t.Dir, id: t.Session, broker: t.Broker, attach: t.Broker.Attach}
	first := parent
	for first.parent != nil {
		first = first.parent
	}
	limits := budget.Limits{}
	if t.Call != "" {
		s.kind.Name, limits.Requests = cmp.Or(t.Type, generalAgent), childTurns
	}
	asked := t.Model
	if t.Resume {
		l, err := p.earlierChild(first, t.Session)
		if err != nil {
			return s, err
		}
		if l.Dir != realPath(parent.dir) { // else in the same workspace
			s.dir = l.Dir
		}
		s.resume, s.kind.Name = l.Path, cmp.Or(l.Child.Type, generalAgent)
		asked = cmp.Or(asked, l.Model)
	}
	s.child = &session.Child{Of: first.id, Path: strings.TrimPrefix(t.Agent, "/"), Call: t.Call, Type: s.kind.Name}
	if s.kind.Name != "" {
		kinds := p.kinds()
		i := slices.IndexFunc(kinds, func(k prompt.Agent) bool { return k.Name == s.kind.Name })
		if i < 0 {
			return s, fmt.Errorf("there is no agent of type %q any more", s.kind.Name)
		}
		s.kind = kinds[i]
		limits.Requests = cmp.Or(s.kind.MaxTurns, limits.Requests)
	}
	s.kind.Model = modelCalled(cmp.Or(asked, s.kind.Model, parent.model.ID))
	if s.kind.Effort = cmp.Or(t.Effort, s.kind.Effort); s.kind.Effort != "" && !slices.Contains(config.Efforts(), s.kind.Effort) {
		return s, fmt.Errorf("there is no effort %q, only %s", s.kind.Effort, strings.Join(config.Efforts(), ", "))
	}
	if s.kind.Body != "" {
		s.system = p.kindSystem(s.kind, s.dir)
	}
	var err error
	s.ledger, err = parent.ledger.Reserve(limits, t.Share)
	return s, err
}

// effort is that of an agent. One of another model has the run's only where that
// model knows it.
func (p *program) effort(s spec, m catalog.Model) string {
	if s.kind.Effort == "" && m.ID != p.modelName() && !slices.Contains(m.Efforts, p.settings.Effort) {
		return ""
	}
	return cmp.Or(s.kind.Effort, p.settings.Effort)
}

// earlierChild is the log of a subtask of the conversation that is gone on
// with.
func (p *program) earlierChild(first *agent, id string) (l session.Listed, err error) {
	store := p.store()
	if store == nil {
		return l, errors.New("nothing is kept here, so no agent can be gone on with; start a new one")
	}
	l, err = store.Find(realPath(first.dir), id)
	switch {
	case errors.Is(err, session.ErrNoSession) || err == nil && (l.ID != id || l.Child == nil || l.Child.Of != first.id):
		return l, fmt.Errorf("no agent of this conversation has the session %q; start a new one", id)
	case err == nil && l.Err != nil:
		return l, unread(l)
	case err == nil && session.InUse(l.Path):
		return l, fmt.Errorf("the agent of the session %s is at work. Wait for its answer before you go on with it", id)
	}
	if _, bad := os.Stat(l.Dir); err == nil && errors.Is(bad, fs.ErrNotExist) {
		return l, fmt.Errorf("its folder %s is gone; start a new one", l.Dir)
	}
	return l, err
}

// kindSystem is the system prompt of an agent that a file defines: what is in
// the file, and what it must know of the place.
func (p *program) kindSystem(k prompt.Agent, dir string) string {
	where := fmt.Sprintf("You work in the folder %s.", dir)
	if p.settings.Sandbox != "none" && (k.Tools == nil || slices.Contains(k.Tools, "Bash")) {
		where += inSandbox
	}
	if p.mode() == policy.Plan {
		where += inPlan
	}
	return k.Body + "\n\n" + where + "\nYour last message is your answer: who started you sees nothing else."
}

// newTurn says that a person has spoken.
func (a *agent) newTurn() {
	if a.agents != nil {
		a.agents.Renew()
	}
}

// subagents is /agents: those that can be started, and those of this
// conversation.
func (c *conversation) subagents() {
	var lines []string
	for _, k := range c.defined() {
		line := "  " + k.Name
		if k.Description != "" {
			line += "  " + k.Description
		}
		lines = append(lines, line, "      "+k.File)
	}
	if lines == nil {
		lines = []string{"  " + c.words.AgentsNone}
	}
	lines = append([]string{c.words.AgentsDefined}, lines...)
	for _, n := range slices.Concat(c.definitions.notes, c.definitions.hints) {
		lines = append(lines, "  ! "+n)
	}
	if store := c.store(); store != nil {
		children, err := store.Children(realPath(c.agent.dir), c.agent.id)
		if err != nil {
			c.front.Say(fmt.Sprintf(c.words.ErrorLine, c.explain(err)))
			return
		}
		if len(children) > 0 {
			lines = append(lines, c.words.AgentsOfThis)
		}
		for _, l := range children {
			lines = append(lines, fmt.Sprintf("  %s  %s", l.ID, c.sessionLine(l)))
		}
	}
	c.front.Say(strings.Join(lines, "\n"))
}
