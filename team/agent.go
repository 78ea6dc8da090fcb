package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"oneloop"
	"oneloop/session"
	"oneloop/tool"
)

// DefaultPerTurn is how many agents the tool Agent starts in one turn of a
// run's first agent, by it and all below it, unless [AgentOptions] say otherwise.
const DefaultPerTurn = 12

// Kind is a kind of agent that the tool Agent can start.
type Kind struct {
	Name        string
	Description string // when to use it, for the model; empty: it is understood and not offered
}

// AgentOptions make [Agents]. Broker is needed.
type AgentOptions struct {
	// Broker returns that of the agent whose model has the tool. It is called
	// with the first call of the tool.
	Broker  func() (*Broker, error)
	Kinds   []Kind
	PerTurn int // agents started in one turn of the first agent, by all; 0: DefaultPerTurn, negative: none
}

// Agents are those that one agent starts by the tool Agent. They are safe for
// concurrent use.
//
// Every call has an answer with words in it: what the child said last, or what
// became of it (refused, cut, stopped at a limit, interrupted, failed, ended
// without an answer) with what it had said, and the id of the session in which
// its transcript is kept, by which a later call goes on with it.
//
// A child beyond the limits of the [Tree], or of PerTurn, is not started, and
// the model told so; when it asks again in its next reply the turn ends with a
// [*oneloop.LimitError]. For this the agent's model is wrapped by Model.
type Agents struct {
	opts AgentOptions

	mu      sync.Mutex
	broker  *Broker       // nil: nobody was started yet
	seats   chan struct{} // as many as may run at once
	replies int           // of the model
	refused int           // the reply whose call was the first to be refused; 0: none was
	ended   bool          // the turn, for a call after that
}

// NewAgents returns the agents of an agent, of which there are none yet.
func NewAgents(o AgentOptions) *Agents {
	return &Agents{opts: o}
}

// ready makes what is needed to start the first one.
func (a *Agents) ready() (*Broker, chan struct{}, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broker == nil {
		b, err := a.opts.Broker()
		if err != nil {
			return nil, nil, err
		}
		a.broker, a.seats = b, make(chan struct{}, max(limit(b.Tree.MaxLive, DefaultLive), 1))
	}
	return a.broker, a.seats, nil
}

// Renew forgets the agents that have ended, as [Tree.Renew] does: a person has
// spoken.
func (a *Agents) Renew() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broker != nil {
		a.broker.Tree.Renew()
	}
}

// Model is m with an eye on where turns and replies begin.
func (a *Agents) Model(m oneloop.Model) oneloop.Model {
	return oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		a.asked(req)
		return m.Generate(ctx, req, emit)
	})
}

func (a *Agents) asked(req *oneloop.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.replies++
	if n := len(req.Messages); n > 0 && prompted(req.Messages[n-1]) {
		a.refused, a.ended = 0, false
		if a.broker != nil && a.broker.depth == 0 {
			a.broker.Tree.turn()
		}
	}
}

// prompted reports whether m begins a turn.
func prompted(m *oneloop.Message) bool {
	return m.Role == oneloop.User && m.Meta.Source == "" &&
		!slices.ContainsFunc(m.Blocks, func(b oneloop.Block) bool { _, is := b.(*oneloop.ToolResult); return is })
}

// agentInput is the input of Agent.
type agentInput struct {
	Description string `json:"description,omitempty"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type,omitempty"`
	Model       string `json:"model,omitempty"`
	Effort      string `json:"effort,omitempty"`
	Resume      string `json:"resume,omitempty"`
	Background  bool   `json:"run_in_background,omitempty"` // the answer comes with the result all the same
}

const agentDoc = "Have a fresh agent, which sees only prompt, do a task. Calls in one message run at once."

// agentSchema is what is offered; more is understood.
const agentSchema = `{"type":"object","properties":{"description":{"type":"string"},"prompt":{"type":"string"},%s` +
	`"model":{"type":"string"},"resume":{"type":"string"}},"required":["description","prompt"]}`

// Tool is the tool Agent.
func (a *Agents) Tool() oneloop.Tool {
	t := tool.New("Agent", agentDoc, func(context.Context, agentInput) (string, error) { return "", nil })
	types := ""
	for _, k := range a.opts.Kinds {
		if k.Description != "" {
			t.Description += "\n- " + k.Name + ": " + k.Description
			types = `"subagent_type":{"type":"string"},`
		}
	}
	t.Schema = json.RawMessage(fmt.Sprintf(agentSchema, types))
	t.Parallel = true
	t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		var in agentInput
		if err := json.Unmarshal(call.Input, &in); err != nil {
			return nil, fmt.Errorf("read the input of Agent: %w", err)
		}
		return a.run(ctx, call, in, emit)
	}
	return t
}

// Aliases are other names of the tool: those of the lessons, task{prompt,
// description, agent_type}, of which description alone is a prompt, and the
// one it had elsewhere.
func Aliases() map[string]oneloop.Alias {
	task := oneloop.Alias{Tool: "Agent", Input: func(input json.RawMessage) (json.RawMessage, error) {
		var in map[string]json.RawMessage
		if err := json.Unmarshal(input, &in); err != nil {
			return nil, err
		}
		if kind, ok := in["agent_type"]; ok && in["subagent_type"] == nil {
			in["subagent_type"] = kind
			delete(in, "agent_type")
		}
		if in["prompt"] == nil && in["description"] != nil {
			in["prompt"] = in["description"]
			delete(in, "description")
		}
		return json.Marshal(in)
	}}
	return map[string]oneloop.Alias{"task": task, "Task": task}
}

func (a *Agents) run(ctx context.Context, call *oneloop.ToolUse, in agentInput, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
	t, err := a.task(call, in)
	if err != nil {
		return nil, err
	}
	b, seats, err := a.ready()
	if err != nil {
		return nil, fmt.Errorf("%w. No agent was started; do this work yourself.", err)
	}
	if err := b.Tree.admit(limit(a.opts.PerTurn, DefaultPerTurn)); err != nil {
		return a.refuse(err, emit), nil
	}
	select { // more calls than may run at once wait for each other
	case seats <- struct{}{}:
		defer func() { <-seats }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	seat, err := b.Tree.take(b.depth + 1)
	if err != nil {
		return a.refuse(err, emit), nil
	}
	defer seat.leave()
	seat.used = true
	t.Dir, t.Stdout = b.Root, "pipe"
	emit(oneloop.ToolOutput{ID: call.ID, Text: "agent session " + t.Session + "\n"}) // kept, should this program end before the child
	answer, err := b.start(ctx, t, emit)
	return ended(t, answer, err), nil
}

// task is what a call asks for.
func (a *Agents) task(call *oneloop.ToolUse, in agentInput) (Task, error) {
	t := Task{Call: call.ID, Prompt: in.Prompt, Title: session.Title(in.Description), Type: in.Type, Model: in.Model, Effort: in.Effort, Session: session.NewID()}
	if strings.TrimSpace(t.Prompt) == "" {
		return t, errors.New("the prompt is blank, so no agent was started. Call again and say what is to be done.")
	}
	if t.Title == "" {
		t.Title = session.Title(t.Prompt)
	}
	if in.Resume != "" {
		t.Session, t.Resume = in.Resume, true
		return t, nil
	}
	if t.Type != "" && !slices.ContainsFunc(a.opts.Kinds, func(k Kind) bool { return k.Name == t.Type }) {
		var names []string
		for _, k := range a.opts.Kinds {
			names = append(names, k.Name)
		}
		return t, fmt.Errorf("there is no agent of type %q, so none was started. The types are: %s; without one it is an agent like you.", t.Type, strings.Join(names, ", "))
	}
	return t, nil
}

// refuse answers a call for which there is no place.
func (a *Agents) refuse(err error, emit func(oneloop.Event)) *oneloop.ToolResult {
	l := new(oneloop.LimitError)
	if !errors.As(err, &l) || strings.HasSuffix(l.Limit, "at once") {
		return oneloop.ErrorResult(fmt.Sprintf("No agent was started: %v. Call again when one has ended.", err))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refused == 0 { // said once, however many calls there are
		a.refused = a.replies
		emit(oneloop.Notice{Text: "an agent was not started: " + err.Error()})
	}
	if a.replies == a.refused {
		return oneloop.ErrorResult(fmt.Sprintf("No agent was started: %v. Do the rest yourself, or end your turn and say what is left; the turn ends when you ask for another.", err))
	}
	if !a.ended {
		a.ended = true
		emit(oneloop.Limited{What: l.What, Limit: l.Limit, Used: l.Used})
	}
	r := oneloop.ErrorResult(fmt.Sprintf("No agent was started: %v. You were told so before, so the turn was ended here.", err))
	r.EndTurn = true
	return r
}

// NotStarted is the error of a [Run] that did not come to start the child.
type NotStarted struct{ Err error }

func (e *NotStarted) Error() string { return e.Err.Error() }
func (e *NotStarted) Unwrap() error { return e.Err }

// ended is the answer to a call whose child has ended.
func ended(t Task, answer string, err error) *oneloop.ToolResult {
	if never, is := errors.AsType[*NotStarted](err); is {
		return oneloop.ErrorResult(fmt.Sprintf("The agent was not started: %v.", never.Err))
	}
	id := &oneloop.Text{Text: fmt.Sprintf("\n[agent session %s; resume goes on with it]", t.Session)}
	if err == nil {
		r := oneloop.TextResult(shortened(answer, t.Session))
		r.Content = append(r.Content, id)
		return r
	}
	text := fmt.Sprintf("The agent %s: %v. ", how(err), err)
	if answer == "" {
		text += "It had said nothing."
	} else {
		text += "What it had said:\n" + shortened(answer, t.Session)
	}
	r := oneloop.ErrorResult(text)
	r.Content = append(r.Content, id)
	return r
}

// how a child ended with err.
func how(err error) string {
	switch {
	case errors.Is(err, errEmpty):
		return "gave no result"
	case errors.As(err, new(*oneloop.RefusedError)):
		return "was refused"
	case errors.As(err, new(*oneloop.TruncatedError)):
		return "was cut"
	case errors.As(err, new(*oneloop.LimitError)):
		return "was stopped"
	case errors.Is(err, oneloop.ErrInterrupted), errors.Is(err, oneloop.ErrShutdown), errors.Is(err, context.Canceled):
		return "was interrupted"
	}
	return "failed"
}

// Of a longer answer the beginning and the end are handed on, in bytes.
const (
	answerHead = 36_000
	answerTail = 12_000
)

func shortened(answer, id string) string {
	if len(answer) <= answerHead+answerTail {
		return answer
	}
	head, tail := strings.ToValidUTF8(answer[:answerHead], ""), strings.ToValidUTF8(answer[len(answer)-answerTail:], "")
	return fmt.Sprintf("%s\n[%d bytes are left out; all of it is in session %s]\n%s", head, len(answer)-len(head)-len(tail), id, tail)
}
