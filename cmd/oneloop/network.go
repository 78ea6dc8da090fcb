package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"oneloop"
	"oneloop/internal/guard"
	"oneloop/policy"
	"oneloop/tool"
	"oneloop/workspace"
)

// network is the way of a run's commands to hosts. Subtasks share it, so that
// what was allowed is allowed to them.
type network struct {
	*program
	hosts *policy.Hosts // nil: no host is reached
	tell  func(oneloop.Event)

	mu   sync.Mutex
	runs []*reach // of commands that run, the latest last
	any  *reach   // of all of them, where it is not known which one it is; nil: not made yet

	keep    *policy.Keep
	pending []string // rules to keep
}

// reach is what one command reaches.
type reach struct {
	agent string // the path of the child whose command it is; empty: the first agent
	call  *oneloop.ToolUse
	emit  func(oneloop.Event)
	visit *policy.Visit
	clock *tool.Clock // nil: it runs in the background
	mu    sync.Mutex
	links []*link
}

// link is a host and a port that was connected to.
type link struct {
	at             string
	conns          int
	received, sent atomic.Int64 // bytes
}

// judged gives the network what it decides by.
func (n *network) judged(o policy.GateOptions) {
	if ask := o.Ask; ask != nil {
		o.Ask = func(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
			defer n.hold()()
			return ask(ctx, q)
		}
	}
	o.Keep = &policy.Keep{File: n.keep.File, Base: n.keep.Base, Add: func(rule string) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.pending = append(n.pending, rule)
		return nil
	}}
	n.hosts = policy.NewHosts(o, n.settings.Network)
}

// later is keep for rules of calls: while a command runs, a stand-in may be
// where the file is to be, and the rule waits for the command's end.
func (n *network) later(keep *policy.Keep) *policy.Keep {
	n.keep = keep
	return &policy.Keep{File: keep.File, Base: keep.Base, Add: func(rule string) error {
		n.mu.Lock()
		wait := len(n.runs) > 0
		if wait {
			n.pending = append(n.pending, rule)
		}
		n.mu.Unlock()
		if wait {
			return nil
		}
		return keep.Add(rule)
	}}
}

// flush keeps the rules that wait for it.
func (n *network) flush() {
	n.mu.Lock()
	rules := n.pending
	n.pending = nil
	n.mu.Unlock()
	for _, rule := range rules {
		if err := n.keep.Add(rule); err != nil {
			n.tell(oneloop.Notice{Text: fmt.Sprintf("The rule %s could not be written to %s (%v); it holds for this session only.", rule, n.keep.File, err)})
		}
	}
}

// attach has a command of this agent known while it runs, around what else is
// attached.
func (n *network) attach(agent string, inner tool.AttachFunc) tool.AttachFunc {
	return func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event), cmd *workspace.Cmd, clock *tool.Clock) (func(), error) {
		release, err := inner(ctx, call, emit, cmd, clock)
		if err != nil || n.hosts == nil {
			return release, err
		}
		if clock == nil { // emit is over when we return
			emit = n.tell
		}
		r := &reach{agent: agent, call: call, emit: emit, visit: n.visit(ctx, agent, call, emit), clock: clock}
		n.mu.Lock()
		n.runs, n.any = append(n.runs, r), nil
		n.mu.Unlock()
		return func() {
			n.mu.Lock()
			n.runs = slices.DeleteFunc(n.runs, func(other *reach) bool { return other == r })
			n.any = nil
			last := len(n.runs) == 0
			n.mu.Unlock()
			if last {
				n.flush()
			}
			if text := r.summary(n.words.NetworkUsed); text != "" {
				emit(oneloop.Notice{Text: text})
			}
			if release != nil {
				release()
			}
		}, nil
	}
}

func (n *network) visit(ctx context.Context, agent string, call *oneloop.ToolUse, emit func(oneloop.Event)) *policy.Visit {
	v := n.hosts.For(ctx, call, emit)
	v.Agent = agent
	return v
}

// hold stops the clocks of all commands, as it is not known which one waits.
func (n *network) hold() (resume func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held := slices.Clone(n.runs)
	for _, r := range held {
		if r.clock != nil {
			r.clock.Stop()
		}
	}
	return func() {
		for _, r := range held {
			if r.clock != nil {
				r.clock.Start()
			}
		}
	}
}

// whose is the command that connects. When several run, nothing tells which of
// them it is: then it is one of them, and all are named to who is asked. When
// none runs, as between the hooks of a turn, it is one of nobody's.
func (n *network) whose(ctx context.Context) *reach {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case len(n.runs) == 0:
		return &reach{visit: n.visit(ctx, "", &oneloop.ToolUse{Name: "Hook"}, n.tell)}
	case len(n.runs) == 1:
		return n.runs[0]
	case n.any == nil:
		agent, commands := n.runs[0].agent, []string(nil)
		same := !slices.ContainsFunc(n.runs, func(r *reach) bool { return r.agent != agent })
		if !same { // then each command says whose it is
			agent = ""
		}
		for _, r := range n.runs {
			var in struct{ Command string }
			if json.Unmarshal(r.call.Input, &in) != nil {
				continue
			}
			if !same && r.agent != "" {
				in.Command = fmt.Sprintf(n.words.NetworkBy, r.agent) + "\n" + in.Command
			}
			commands = append(commands, in.Command)
		}
		input, err := json.Marshal(map[string]string{"command": strings.Join(commands, "\n"+n.words.NetworkOr+"\n")})
		if err != nil {
			return n.runs[len(n.runs)-1] // a map of strings has no such error
		}
		call := &oneloop.ToolUse{Name: "Bash", Input: input}
		// The question outlives the connection that it is asked for, as one
		// that is for a single command does, and each of the commands.
		n.any = &reach{call: call, visit: n.visit(context.WithoutCancel(ctx), agent, call, n.say)}
	}
	return n.any
}

// say tells of a connection in the course of a call that runs, so that it is
// counted there, or else beside them all.
func (n *network) say(e oneloop.Event) {
	emit := n.tell
	n.mu.Lock()
	for _, r := range n.runs {
		if r.clock != nil {
			emit = r.emit
		}
	}
	n.mu.Unlock()
	emit(e)
}

// dial connects a command to a host that it may reach. What is dialled is the
// address that was looked at.
func (n *network) dial(ctx context.Context, kind, host string, port int) (net.Conn, error) {
	if n.hosts == nil {
		return nil, &guard.RefusedError{What: host, Why: "there is no network"}
	}
	g := guard.Guard{Ports: []uint16{uint16(port)}, Near: n.settings.Network.Near()}
	if err := g.Look(host, uint16(port)); err != nil {
		return nil, err
	}
	r := n.whose(ctx)
	if err := r.visit.Allow(ctx, host, port); err != nil {
		return nil, err
	}
	at := net.JoinHostPort(host, strconv.Itoa(port))
	conn, err := g.DialContext(ctx, kind, at)
	if err != nil {
		return nil, err
	}
	return &counted{conn, r.linked(at)}, nil
}

func (r *reach) linked(at string) *link {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.links, func(l *link) bool { return l.at == at })
	if i < 0 {
		i, r.links = len(r.links), append(r.links, &link{at: at})
	}
	r.links[i].conns++
	return r.links[i]
}

// summary is one line about all that was reached; empty: nothing was.
func (r *reach) summary(form string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	const most = 8
	var parts []string
	for i, l := range r.links {
		if i == most {
			parts = append(parts, fmt.Sprintf("… (%d)", len(r.links)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s ×%d ↓%s ↑%s", l.at, l.conns, megabytes(int(l.received.Load())), megabytes(int(l.sent.Load()))))
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(form, strings.Join(parts, ", "))
}

// counted is a connection whose bytes are counted.
type counted struct {
	net.Conn
	link *link
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.link.received.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.link.sent.Add(int64(n))
	return n, err
}

func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
