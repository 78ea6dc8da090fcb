package policy

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"oneloop"
	"oneloop/policy/shell"
)

// Hosts decides which hosts commands in a sandbox may connect to, by the rules
// for WebFetch that name a domain, by what the settings say of the sandbox's
// network, and by asking. Whether the address behind a name may be dialled is
// not judged here.
type Hosts struct {
	g   *gate
	net Network
}

// NewHosts judges by the rules of o and by n. Its questions are put to the Ask
// of o, one at a time; "always" goes to its Keep, as those of [Gate] do.
func NewHosts(o GateOptions, n Network) *Hosts {
	return &Hosts{&gate{o.placed(), make(chan struct{}, 1)}, n}
}

// Allowed are the hosts that settings and rules allow, as they are written
// there. A nil Hosts allows none.
func (h *Hosts) Allowed() (list []string) {
	if h == nil {
		return nil
	}
	for _, d := range h.net.Allowed {
		list = append(list, d.Text)
	}
	for _, r := range h.g.Rules.List() {
		if r.Tier == shell.Allow && r.tool == "WebFetch" && r.spec != "" && r.dead == "" {
			list = append(list, strings.TrimPrefix(r.spec, "domain:"))
		}
	}
	return list
}

// HostError says why a host is not connected to, in words for the model. It is
// a kind of [fs.ErrPermission].
type HostError struct{ text string }

func (e *HostError) Error() string { return e.text }

// Is makes it a kind of [fs.ErrPermission].
func (e *HostError) Is(target error) bool { return target == fs.ErrPermission }

// For begins to decide for one command. An answer that was given for it counts
// until it ends, so that a program which tries again does not ask again. ctx
// is the command's: with it its questions end. call is never nil.
func (h *Hosts) For(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) *Visit {
	return &Visit{hosts: h, ctx: ctx, call: call, emit: emit, asked: map[string]*hostAnswer{}}
}

// Visit is what one command may connect to. It is safe for concurrent use.
type Visit struct {
	// Agent is the path of the child whose command it is, for who is asked;
	// empty: the first agent. It is set before anything is decided.
	Agent string

	hosts *Hosts
	ctx   context.Context
	call  *oneloop.ToolUse
	emit  func(oneloop.Event)

	mu    sync.Mutex
	asked map[string]*hostAnswer // by host and port
}

// hostAnswer is how a host was decided about.
type hostAnswer struct {
	done chan struct{} // closed when err is final
	err  error
}

// Allow returns nil when the command may connect to a host, in the form that
// package guard gives it, and a port. It may ask, and wait for the answer to
// one that was asked before; the end of ctx ends the waiting and no question.
// Its error is a [*HostError], or the cause of ctx. [oneloop.Denied] is
// emitted once for a host.
func (v *Visit) Allow(ctx context.Context, host string, port int) error {
	at := net.JoinHostPort(host, strconv.Itoa(port))
	f := v.hosts.decide(host, port)
	if f.tier == shell.Allow {
		return nil
	}
	v.mu.Lock()
	a := v.asked[at]
	mine := a == nil
	if mine {
		a = &hostAnswer{done: make(chan struct{})}
		v.asked[at] = a
	}
	v.mu.Unlock()
	if mine {
		a.err = v.refuse(v.settle(f, host, port, at))
		close(a.done)
		return a.err
	}
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refuse tells of a denial and makes it an error.
func (v *Visit) refuse(d *denial) error {
	if d == nil {
		return nil
	}
	v.emit(d.event(v.call))
	return &HostError{d.text}
}

// settle comes to a decision about a host that is not simply allowed.
func (v *Visit) settle(f finding, host string, port int, at string) *denial {
	g := v.hosts.g
	switch {
	case f.tier == shell.Deny:
		return hostDenied(f, at)
	case v.hosts.net.Strict != "" && f.kind == byDefault:
		return g.hostUnasked(f, at, "sandbox.network.strictAllowlist in "+v.hosts.net.Strict+" keeps the user from being asked")
	case g.Ask == nil || g.mode() == DontAsk:
		return g.hostUnasked(f, at, g.nobody())
	}
	return v.ask(host, port, at)
}

// ask puts a host to the user, after those that were first. What was answered
// meanwhile may decide it.
func (v *Visit) ask(host string, port int, at string) *denial {
	g, ctx := v.hosts.g, v.ctx
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return hostEnded(at, context.Cause(ctx))
	}
	if ctx.Err() != nil {
		return hostEnded(at, context.Cause(ctx))
	}
	f := v.hosts.decide(host, port)
	switch f.tier {
	case shell.Allow:
		return nil
	case shell.Deny:
		return hostDenied(f, at)
	}
	want := ""
	if f.kind == byDefault {
		want = f.wants[0]
	}
	q := v.question(f, at, want)
	v.emit(oneloop.Asked{Question: q})
	a, err := g.Ask(ctx, q)
	if err != nil {
		a = oneloop.Answer{Reason: err.Error()}
	}
	v.emit(oneloop.Answered{Question: q, Answer: a})
	switch {
	case err != nil && ctx.Err() != nil:
		return hostEnded(at, err)
	case err != nil:
		d := g.hostUnasked(f, at, fmt.Sprintf("no answer came (%v)", err))
		d.nobody = false
		return d
	case !a.Allow:
		return refused(&shell.Reason{Text: at}, a.Reason, "the user was asked whether this command may connect to "+at+" and said no.")
	case a.Always && want != "":
		g.keep(want, v.emit)
	}
	return nil
}

func (v *Visit) question(f finding, at, want string) oneloop.Question {
	q := oneloop.Question{Kind: "host", Title: "Connect to this host?", Call: v.call, Agent: v.Agent}
	f.tell(&q, f.reason)
	q.Detail = at
	if list, err := touchesOf(oneloop.Tool{ToolDef: oneloop.ToolDef{Name: "Bash"}})(v.call); err == nil {
		q.Detail += "\n" + shell.Visible(list[0].Name)
	}
	if want != "" {
		q.Rule = want
		if k := v.hosts.g.Keep; k != nil {
			q.File = k.File
		}
	}
	return q
}

func hostDenied(f finding, at string) *denial {
	by := "by " + f.source()
	return &denial{
		reason: of(at, shell.Because("by", "%s (%s)", f.reason, by)),
		text:   fmt.Sprintf("%s is denied (%s). No permission mode allows it. Do without it, or ask the user to change that.", at, by),
	}
}

func hostEnded(at string, err error) *denial {
	return &denial{reason: of(at, shell.Because("no-answer", "no answer came: %s", err.Error())), text: at + " is not connected to: the command ended before the user answered."}
}

// hostUnasked is a host that somebody would have to be asked for.
func (g *gate) hostUnasked(f finding, at, why string) *denial {
	d := &denial{reason: of(at, f.reason), nobody: true}
	d.rule = g.by(Bypass)
	tell := "tell the user that " + d.rule + " allows it"
	if f.kind == byDefault {
		d.rule = f.wants[0]
		tell = "the user can allow it with this rule in permissions.allow of the settings: " + d.rule
	}
	d.text = fmt.Sprintf("%s needs the user's permission (%s), and %s. Do without it, or %s.", at, f.reason, why, tell)
	return d
}

// decide is what is thought of a host, in the mode that is in force.
func (h *Hosts) decide(host string, port int) finding {
	return lifted(h.judge(host, port), h.g.mode(), Isolation{})
}

// judge decides by what is written. A rule without a domain is for the tool:
// to deny and to ask it counts here too, to allow it does not.
func (h *Hosts) judge(host string, port int) finding {
	if d, ok := find(h.net.Denied, host, port); ok {
		return finding{tier: shell.Deny, kind: byRule, rule: "sandbox.network.deniedDomains: " + d.Text, file: d.File, reason: shell.Because("settings-deny", "the settings deny it")}
	}
	for _, r := range h.g.Rules.List() {
		if r.host(host) && (r.Tier > shell.Allow || r.spec != "") {
			return ruled(r, shell.Because("rule-says", "a rule says so"))
		}
	}
	if _, ok := find(h.net.Allowed, host, port); ok {
		return finding{}
	}
	return finding{
		tier: shell.Ask, kind: byDefault, reason: shell.Because("host-unruled", "no rule allows the host %s", host),
		wants: []string{"WebFetch(domain:" + host + ")"},
	}
}

func find(list []Domain, host string, port int) (Domain, bool) {
	i := slices.IndexFunc(list, func(d Domain) bool { return d.match(host, port) })
	if i < 0 {
		return Domain{}, false
	}
	return list[i], true
}
