// Package team lets an agent have agents of its own.
//
// It begins with recursion. A command that an agent runs may call oneloop
// again:
//
//	grep -l parse *.go | xargs -n1 -P4 oneloop "explain this file in one line:"
//
// Such an oneloop is no second agent with keys and limits of its own, it is a
// thin client ([RunClient]). It finds a socket that the command inherited,
// hands its subtask over, and prints what comes back. The agent that runs the
// command holds the other end (a [Broker]): it runs the subtask as a child
// agent, with its own model, its own limits and its own purse. Model, keys,
// depth, number and money never leave the agent's process, so nothing that a
// command can put into an environment changes them; the environment only
// names the descriptor.
//
// # In a program of your own
//
// The oneloop that a command finds first on its PATH is the program that runs
// the agent, whatever that is ([Link]). Such a program looks, right behind
// workspace.Helper and before it makes an agent, whether it is to be a client:
//
//	if fd, inside := team.Inherited(os.Environ()); inside {
//		code, err := team.RunClient(ctx, fd, team.ClientOptions{Prompt: …, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
//		…
//	}
//
// The agent gives its commands the other end: the Attach of a [Broker] goes into
// tool.BashOptions, and the Broker's Run is a function that makes an agent for a
// [Task], with Task.Broker.Attach for its commands, and returns its last words.
//
// # A tool
//
// An agent has the same by a tool, Agent: [Agents] make it over a [Broker], and
// the two share one Run and one [Tree].
//
// # Limits
//
// A [Tree] bounds all agents of one run: how deep they nest, how many run at
// once, how many there are in all. A subtask beyond that is refused with one
// line on the client's standard error and exit code 5; the agent that wanted
// it goes on.
//
// # Standard input
//
// Piped input is read to its end and becomes part of the subtask. When there is
// a prompt too, an open pipe on which nothing comes for two seconds is given up,
// with a line that says so: some programs leave a pipe open that nobody writes
// to. These seconds do not count while another client of the same command is at
// work, so that
//
//	oneloop "write a haiku" | oneloop "translate it into Chinese"
//
// takes its time. Put the output of another slow program into a file first.
//
// # On the wire
//
// Each command gets a socket pair of its own (SOCK_SEQPACKET on Linux,
// SOCK_DGRAM elsewhere), which is how an agent knows which command a client
// belongs to. A client makes a stream pair and passes one end over it in one
// packet that says "oneloop-agent/1". Everything else goes over the stream, in
// frames of a one-byte kind, a four-byte big-endian length and the payload, so
// that clients running side by side cannot mix:
//
//	client: q  does anybody else work?   t  {"dir","stdout"}   p  prompt   i  piped input   e  that was all
//	agent:  h  version   b  1 or 0, the answer to q   o  for standard output   s  for standard error   x  exit code, the last
//
// The stream is also the child's life: when the client's end closes the child
// is cancelled, and when the command is over all its children are.
//
// # What this does not confine
//
// A command that is free to run any program may run one that closes the
// descriptor and starts an agent by other means. Keys are kept out of commands
// by package workspace; confining what a program may do is the business of a
// sandbox.
//
// Windows has no descriptors to inherit in this way. There a command is told
// so, and an oneloop inside it says that subtasks are not supported.
package team

import (
	"fmt"
	"sync"

	"oneloop"
)

// Defaults of a [Tree].
const (
	DefaultDepth = 3
	DefaultLive  = 8
	DefaultTotal = 32
)

// Tree bounds the agents below one agent, all generations together. The zero
// value has the default limits; below zero means none at all. The limits are
// not to be changed once an agent runs. It is safe for concurrent use.
type Tree struct {
	MaxDepth int // generations below the first agent; 0: DefaultDepth
	MaxLive  int // children running at the same time; 0: DefaultLive
	MaxTotal int // children started as long as the Tree is in use, or since Renew; 0: DefaultTotal

	mu    sync.Mutex
	live  int
	total int
	calls int // children that the tool Agent started in this turn of the first agent
}

// seat is a child's place in a tree.
type seat struct {
	tree *Tree
	once sync.Once
	used bool // a child ran on it
}

// take finds a seat for a child of the given generation. The error is an
// [*oneloop.LimitError].
func (t *Tree) take(depth int) (*seat, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if most := limit(t.MaxDepth, DefaultDepth); depth > most {
		return nil, full("depth", "%d", depth-1, most)
	}
	if most := limit(t.MaxTotal, DefaultTotal); t.total >= most {
		return nil, full("agents", "%d in all", t.total, most)
	}
	if most := limit(t.MaxLive, DefaultLive); t.live >= most {
		return nil, full("agents", "%d at once", t.live, most)
	}
	t.live++
	t.total++
	return &seat{tree: t}, nil
}

// admit counts a child that the tool Agent is to start in this turn of the
// first agent.
func (t *Tree) admit(most int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.calls >= most {
		return full("agents", "%d in one turn", t.calls, most)
	}
	t.calls++
	return nil
}

// turn begins another turn of the first agent.
func (t *Tree) turn() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = 0
}

// leave gives the seat back. A seat on which no child ran does not count.
func (s *seat) leave() {
	s.once.Do(func() {
		s.tree.mu.Lock()
		defer s.tree.mu.Unlock()
		s.tree.live--
		if !s.used {
			s.tree.total--
		}
	})
}

// share says how much of what is left of a budget is to be set aside for a
// child that has its seat: one in so many. Those that may come beside it find
// as much, and so does their parent.
func (t *Tree) share() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(limit(t.MaxLive, DefaultLive)-t.live, 0) + 2
}

// Renew forgets the children that have ended: MaxTotal begins anew. It is for
// when a person speaks, who sees what is going on.
func (t *Tree) Renew() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total = t.live
}

func limit(set, otherwise int) int {
	switch {
	case set < 0:
		return 0
	case set == 0:
		return otherwise
	}
	return set
}

func full(what, form string, used, most int) error {
	return &oneloop.LimitError{What: what, Limit: fmt.Sprintf(form, most), Used: fmt.Sprint(used)}
}
