package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"oneloop"
	"oneloop/budget"
	"oneloop/internal/config"
	"oneloop/internal/tui"
	"oneloop/model"
	"oneloop/model/catalog"
	"oneloop/policy"
	"oneloop/prompt"
	"oneloop/session"
	"oneloop/team"
	"oneloop/tool"
	"oneloop/trace"
	"oneloop/workspace"
)

// agent is one agent with everything around it.
type agent struct {
	*session.Session
	id        string
	offered   []string // names of the tools as the model sees them
	dir       string
	model     catalog.Model
	ledger    *budget.Ledger
	log       atomic.Pointer[session.Log]
	build     func() *session.Session // an agent like this one, over its log
	change    func() error            // asks model from now on
	scratch   string                  // of the run, outside the folder that is worked in
	own       bool                    // Close removes scratch
	unscratch func()                  // it is removed

	ws      workspace.Workspace
	box     *workspace.SandboxWorkspace // nil: commands are not confined
	unbox   func()                      // it is closed
	ready   sync.Once
	waiting sync.WaitGroup
	broken  error                           // what waiting waits for met a fault
	caches  func()                          // keeps those of commands in order; nil: there are none
	private func() (link string, err error) // makes scratch
	net     *network

	parent *agent                       // nil: it is the first of its run
	broker func() (*team.Broker, error) // of its subtasks
	agents *team.Agents                 // that it starts by a tool; nil: it has none
	kind   prompt.Agent                 // as it is defined

	charging sync.Mutex // held while what children used is noted

	hooks   *policy.Hooks
	ends    ending
	todos   *tool.Todos    // its plan; nil: it makes none
	nested  *prompt.Nested // tells of instructions below the folder; nil: it does not
	jobs    *tool.Jobs     // what runs in the background; nil: nothing can
	idle    idle           // when it has nothing to do
	wakes   bool           // what is told then makes it go on
	rules   *policy.Rules
	earlier int64         // the newest prompt the log had when it was opened
	shots   *shots        // what files were before
	files   *tool.Files   // what the agent knows of files
	reader  oneloop.Tool  // shows a file that the person names
	shell   *oneloop.Tool // Bash as the model calls it; nil: there is none
	says    mentionsSaid
	drop    func() error                        // closes files; nil: they share another agent's
	hear    atomic.Pointer[func(oneloop.Event)] // who listens now
	lost    func(*session.LostError)            // says what of the conversation is lost
	one     sync.Mutex                          // held while they hear
}

// tell hands an event that belongs to no turn to the log, and to whoever
// listens.
func (a *agent) tell(e oneloop.Event) {
	if l := a.log.Load(); l != nil {
		l.Event(e)
	}
	if hear := a.hear.Load(); hear != nil {
		(*hear)(e)
	}
}

// spec is what differs from one agent to another.
type spec struct {
	dir    string         // where it works
	system string         // instead of the profile's
	tools  []oneloop.Tool // instead of the usual ones
	ledger *budget.Ledger // nil: one with the limits of the command line
	resume string         // the log to go on with; empty: a new one
	child  *session.Child // which call it is for
	id     string         // of a new log; empty: any
	kind   prompt.Agent   // what a call of Agent wants it to be
	broker *team.Broker   // of its own subtasks

	parent *agent // nil: it is the first of its run

	// A child has this of the run it belongs to; the first agent makes it.
	attach tool.AttachFunc
}

// newAgent wires an agent. Read from the bottom: a session over a model, tools
// and a history; every layer wraps the one before it.
func (p *program) newAgent(s spec) (_ *agent, err error) {
	a := &agent{ledger: s.ledger, parent: s.parent, broker: func() (*team.Broker, error) { return s.broker, nil }}
	if s.parent != nil {
		a.scratch = s.parent.scratch
	}
	defer func() {
		if err != nil {
			a.Close()
		}
	}()
	if err := p.keep(a, s); err != nil {
		return nil, &codeError{exitConfig, err}
	}
	p.asBefore(&s, a)
	if s.attach == nil {
		if s.attach, err = p.first(a); err != nil {
			return nil, &codeError{exitConfig, err}
		}
	}
	a.net = &network{program: p, tell: a.tell}
	if s.parent != nil {
		a.net = s.parent.net
	}
	s.attach = a.net.attach(s.path(), s.attach)
	if s.parent != nil && s.parent.dir == s.dir {
		a.ws = s.parent.ws
	} else if a.ws, err = p.open(a, s.dir); err != nil {
		return nil, &codeError{exitConfig, err}
	}
	p.snapshots(a, s.parent)
	ws := a.ws
	info := ws.Describe()
	if info.Shell == "" {
		return nil, &codeError{exitConfig, errors.New(p.words.NoBash)}
	}
	a.dir, a.model, a.kind = info.Root, p.catalogueOf(s.kind.Model), s.kind
	if a.ledger == nil {
		a.ledger = p.newLedger(a)
	}
	if p.opts.maxCost > 0 {
		if err := a.ledger.Priced(a.model.ID); err != nil {
			return nil, &codeError{exitConfig, err}
		}
	}
	if a.hooks, err = p.hooks(s, ws, a); err != nil {
		return nil, &codeError{exitConfig, err}
	}
	prof := p.profile(info.Root)
	box, defs, err := p.tools(s, prof, ws, a)
	if err != nil {
		return nil, &codeError{exitConfig, err}
	}
	if p.opts.maxCost > 0 && s.parent == nil {
		if err := p.priced(a); err != nil {
			return nil, &codeError{exitConfig, err}
		}
	}
	for _, d := range defs {
		a.offered = append(a.offered, d.Name)
	}
	m, err := p.asked(a)
	if err != nil {
		return nil, &codeError{exitConfig, err}
	}
	use := func() *session.Log {
		log := a.log.Load()
		log.Use(session.Setup{
			Model:  a.model.ID,
			System: p.fixed(p.system(prof, s.system), log, s, a),
			Tools:  defs,
			Params: oneloop.Params{MaxTokens: maxTokens(a.model, prof), Effort: p.effort(s, a.model)},
		})
		return log
	}
	a.change = func() (err error) {
		if m, err = p.asked(a); err != nil {
			return err
		}
		use()
		a.hooks.Model, a.Session.Model = a.model.ID, m
		a.fitted(a.Session)
		return nil
	}
	a.build = func() *session.Session {
		log := use()
		if s.parent == nil {
			p.heard(log)
		}
		a.recall()
		made := &session.Session{Model: m, Tools: a.planned(box), Inbox: new(session.Inbox), Transcript: log, Repeats: session.Repeats{Ask: a.hooks.Ask(p.askFor(s))}}
		p.moments(a, s.parent, made)
		a.fitted(made)
		a.carried(made)
		a.keeping(made)
		return made
	}
	a.Session = a.build()
	return a, nil
}

// hooks are those of the settings, as one agent's.
func (p *program) hooks(s spec, ws workspace.Workspace, a *agent) (*policy.Hooks, error) {
	h := &policy.Hooks{
		List: p.settings.Hooks, Workspace: ws, Session: a.id, Model: a.model.ID, Emit: a.tell,
		Mode: p.mode,
	}
	if s.parent != nil {
		h.Session, h.Agent, h.Emit = s.parent.hooks.Session, policy.Subagent{ID: a.id, Type: cmp.Or(s.kind.Name, "subtask")}, s.parent.hooks.Emit
	}
	if len(h.List) == 0 || p.settings.Sandbox == "none" {
		return h, nil
	}
	var err error
	h.Unconfined, err = workspace.Local(a.dir, workspace.LocalOptions{Secrets: p.settings.Secrets(), Dirs: p.besides(a.dir)})
	return h, err
}

// moments has hooks run at those of a session. To the hooks a child is no
// session: its beginning and its end are other moments.
func (p *program) moments(a, parent *agent, s *session.Session) {
	if parent == nil {
		s.BeforePrompt, s.AtStop = p.attaching(a, a.hooks.BeforePrompt), p.asking(a.hooks.AtStop)
		s.AtStart = func(ctx context.Context) error { return a.ends.start(ctx, a.hooks) }
		s.AtEnd = func(ctx context.Context) error { return a.ends.end(ctx, a.hooks) }
		return
	}
	s.BeforePrompt = func(ctx context.Context, prompt *oneloop.Message) error {
		more, err := a.hooks.AtChildStart(ctx, a.hooks.Agent)
		prompt.Blocks = append(prompt.Blocks, more...)
		return err
	}
	urged := false
	s.AtStop = func(ctx context.Context, last *oneloop.Message) ([]oneloop.Block, error) {
		more, err := a.hooks.AtChildEnd(ctx, policy.ChildEnd{Subagent: a.hooks.Agent, Last: last.Text(), Urged: urged})
		urged = len(more) > 0
		return more, err
	}
}

// spent is what the agent and its children used so far.
func (a *agent) spent() oneloop.Spend {
	t := a.ledger.Totals()
	return oneloop.Spend{TotalUsage: t.Usage, TotalCost: t.Cost, TotalKnown: t.Known, Requests: t.Requests}
}

// Close ends the session and takes away what the agent made outside of its
// folder.
func (a *agent) Close() error {
	a.endJobs()
	var err error
	if a.Session != nil {
		err = a.Session.Close(context.Background())
	}
	a.waiting.Wait()
	err = errors.Join(err, a.broken)
	if a.box != nil {
		err = errors.Join(err, a.box.Close())
		a.unbox()
	}
	if a.net != nil && a.own {
		a.net.flush()
	}
	if a.own {
		err = errors.Join(err, a.shots.close())
	}
	if a.drop != nil {
		err = errors.Join(err, a.drop())
	}
	if l := a.log.Load(); l != nil {
		told := l.Kept() != nil // then Trouble has said so
		bad := l.Close()
		if !told {
			err = errors.Join(err, bad)
		} else if lost, ok := errors.AsType[*session.LostError](bad); ok && a.lost != nil {
			a.lost(lost)
		}
	}
	if a.own {
		err = errors.Join(err, os.RemoveAll(a.scratch))
		a.unscratch()
	}
	return err
}

// adapter speaks to the model's API. What it answers is recorded if that is
// asked for.
func (p *program) adapter(a *agent, name string) (oneloop.Model, error) {
	if p.offline {
		return oneloop.ModelFunc(func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
			return nil, errors.New("no model is asked in a replay")
		}), nil
	}
	var client *http.Client
	var rec *trace.Recorder
	if p.opts.record {
		rec = &trace.Recorder{Log: a.log.Load}
		client = &http.Client{Transport: rec}
	}
	m, err := p.speak(name, client)
	if err != nil || rec == nil {
		return m, err
	}
	return rec.Model(m), nil
}

// retries turns the settings, where 0 is none and at once, into options, where
// 0 is the usual.
func (p *program) retries() model.RetryOptions {
	o := model.RetryOptions{Retries: p.settings.MaxRetries, Delay: p.settings.RetryDelay}
	if o.Retries == 0 {
		o.Retries = -1
	}
	if o.Delay == 0 {
		o.Delay = 1
	}
	return o
}

func (p *program) modelName() string {
	if p.settings.Model.Name != "" {
		return p.settings.Model.Full()
	}
	return catalog.Default().ID
}

// catalogue is what is known of the model; its ID is the name that is asked.
func (p *program) catalogue() catalog.Model { return p.catalogueOf("") }

// catalogueOf is catalogue for another model; empty: the usual one.
func (p *program) catalogueOf(name string) catalog.Model {
	name = cmp.Or(name, p.modelName())
	m := p.lookup(name)
	if w := findChapter(p.opts.series).window; w > 0 {
		m.Context = min(m.Context, w)
	}
	if n := int(p.settings.ContextWindow); n > 0 && m.ID == p.modelName() && !p.granted(name) {
		m.Context = n
	}
	return m
}

// granted reports whether the window of this model is what its server gives, so
// that it cannot be set to be larger.
func (p *program) granted(name string) bool {
	_, a, err := p.reach(name)
	return err == nil && a.API == catalog.Ollama
}

func (p *program) profile(root string) profile {
	if p.opts.tools == "bash" {
		return seedProfile(root)
	}
	if p.opts.series != "" {
		return findChapter(p.opts.series).profile(root)
	}
	confined := ""
	if p.settings.Sandbox != "none" {
		confined = inSandbox
	}
	if p.mode() == policy.Plan {
		confined += inPlan
	}
	return defaultProfile(root, p.settings.Dirs, confined)
}

func maxTokens(m catalog.Model, prof profile) int {
	limit := m.MaxOutput
	if prof.maxTokens > 0 {
		limit = min(limit, prof.maxTokens)
	}
	return limit
}

// system is the system prompt, fixed for the session.
func (p *program) system(prof profile, own string) []oneloop.Block {
	text := prof.system
	switch {
	case own != "": // also beside the flag, which is for the run's own agent
		text = own
	case slices.Contains(p.opts.flags, "--system-prompt"): // an empty one is none
		text = p.opts.system
	}
	if p.opts.appendSystem != "" {
		text += "\n\n" + p.opts.appendSystem
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []oneloop.Block{&oneloop.Text{Text: text}}
}

// withInput puts what was piped in behind the words.
func withInput(prompt string, input []byte) string {
	switch {
	case len(input) == 0:
		return prompt
	case strings.TrimSpace(prompt) == "":
		return string(input)
	}
	return prompt + "\n\n<stdin>\n" + strings.TrimSuffix(string(input), "\n") + "\n</stdin>"
}

// home is the home folder of commands, empty when it is unknown.
func (p *program) home() string {
	if h := p.variable("HOME"); filepath.IsAbs(h) {
		return h
	}
	return ""
}

// folder is where the work is done, absolute.
func (p *program) folder() (string, error) {
	dir := p.opts.dir
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(abs); err == nil && !info.IsDir() {
			err = errors.New("it is no folder")
		}
	}
	if err != nil {
		return "", usagef(p.words.BadDir, dir, plain(err))
	}
	return abs, nil
}

// plain is err without the path that its message names already.
func plain(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// noted is ask with its questions and answers kept for the trace, which begins
// later.
func (p *program) noted(ask oneloop.Ask) oneloop.Ask {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
		return session.Put(ctx, ask, q, func(e oneloop.Event) { p.before = append(p.before, e) })
	}
}

// load reads the settings. ask is for the one question, whether the folder is
// trusted; nil means that nobody is there.
func (p *program) load(ctx context.Context, dir string, ask oneloop.Ask) error {
	if err := p.loadSettings(ctx, dir, ask); err != nil {
		return err
	}
	if err := p.askable(ctx); err != errNobody {
		return err
	}
	fmt.Fprint(p.stderr, p.words.NoKey)
	for _, n := range p.settings.Notices {
		fmt.Fprintf(p.stderr, "oneloop: %s\n", n)
	}
	return &silentError{exitConfig, errNobody.Error()}
}

// loadSettings is load for those who need no key.
func (p *program) loadSettings(ctx context.Context, dir string, ask oneloop.Ask) error {
	dirs, err := p.addDirs()
	if err != nil {
		return err
	}
	settings, err := config.Load(ctx, config.Input{
		Flags: config.Flags{
			Model: p.opts.model, Fallback: p.opts.fallback, Effort: p.opts.effort, PermissionMode: p.opts.mode, Sandbox: p.opts.sandbox,
			WebSearch: p.opts.search, Memory: p.opts.memory, Bell: p.opts.bell, AllowedTools: p.opts.allowed, AddDirs: dirs, Trust: p.opts.trust,
		},
		Environ: p.env, Dir: dir, Like: like(dir), Ask: session.Queue(p.noted(ask)), Question: p.trustQuestion,
	})
	if err != nil {
		return err
	}
	p.settings, p.words = settings, tui.Messages(settings.Language)
	if a, _ := settings.Access(settings.Model.Provider); settings.Picked {
		settings.Notices = append(settings.Notices, fmt.Sprintf(p.words.OnlyProvider, a.Name, a.From, settings.Model))
	}
	p.modes.begin(settings.Mode)
	return nil
}
