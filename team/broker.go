package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"oneloop"
	"oneloop/session"
	"oneloop/tool"
	"oneloop/workspace"
)

// Task is a subtask on its way to a child agent.
type Task struct {
	Agent  string // the child's path from the first agent, e.g. "/2/1"
	Depth  int    // 1 for a child of the first agent
	Prompt string // may be empty when there is Input
	Input  []byte // what was piped into the client; nil: nothing
	Dir    string // where the client was started; absolute, without symlinks, inside the workspace
	Stdout string // what the client's standard output is: "terminal", "pipe", "file" or "null"

	// Of a subtask that a call of the tool Agent hands over; see [Agents].
	Call    string // the id of the call; empty: a command did it
	Title   string // what it is to do, in a few words
	Type    string // the name of a [Kind]; empty: an agent like its parent
	Model   string // what the call asks for; empty: nothing
	Effort  string // likewise
	Session string // the id that its transcript is to have
	Resume  bool   // Session is there, and is to be gone on with

	// Share says how much of what is left of the parent's budget is to be set
	// aside: one in so many; see budget.Ledger.Reserve.
	Share int

	// Log goes to the client's standard error, at once. It fails when the
	// client is gone. Nil: there is no client.
	Log io.Writer

	// Broker is for the child's own commands.
	Broker *Broker
}

// Run works on a subtask and returns the child's last words. With an error the
// text is what the child said before it failed. It returns soon after ctx has
// ended, and calls emit only until it returns. It is called from several
// goroutines, one per child.
type Run func(ctx context.Context, t Task, emit func(oneloop.Event)) (answer string, err error)

// Options make a [Broker].
type Options struct {
	Tree *Tree    // shared by all agents of one run; nil: one with the default limits
	Root string   // the workspace; a subtask's folder lies in it
	Dirs []string // or in one of its further folders
	Link string   // a folder that is put first on the PATH of commands, see [Link]; empty: PATH stays
	Run  Run

	// Exit turns the error a child ended with into the client's exit code.
	// Nil: 5 for a limit, 6 for refused or truncated, 3 for credentials that
	// were refused, 130 for interrupted, else 1.
	Exit func(error) int
}

// Broker runs the subtasks that the commands of one agent hand over. Its
// Attach is what package tool's Bash takes to connect a command.
type Broker struct {
	Options
	path  string // of the agent whose commands it serves, "" for the first
	depth int
	count atomic.Int64 // children so far, which is how they are named
}

// NewBroker returns the broker of a run's first agent. Root and Run are needed.
func NewBroker(o Options) *Broker {
	if o.Tree == nil {
		o.Tree = new(Tree)
	}
	if o.Exit == nil {
		o.Exit = exitCode
	}
	return &Broker{Options: o}
}

// Attach connects a command that is about to start: it gives it the socket at
// descriptor [FD], the variable [Env] and the link on PATH. While a child of
// the command runs, clock is stopped. release ends the children that still run,
// and waits for them. It is a tool.AttachFunc.
//
// A command in the background, whose clock is nil, gets no socket: it would go
// on asking for subtasks when nobody listens to them. An oneloop in it says so.
func (b *Broker) Attach(ctx context.Context, _ *oneloop.ToolUse, emit func(oneloop.Event), cmd *workspace.Cmd, clock *tool.Clock) (release func(), err error) {
	if clock == nil {
		cmd.Env = b.environment(cmd.Env, nil)
		return nil, nil
	}
	theirs, release, err := b.connect(ctx, emit, clock)
	if err != nil {
		return nil, err
	}
	if theirs != nil {
		fds := map[int]*os.File{FD: theirs}
		for n, f := range cmd.Fds {
			if n != FD {
				fds[n] = f
			}
		}
		cmd.Fds = fds
	}
	cmd.Env = b.environment(cmd.Env, theirs)
	return release, nil
}

// environment returns env, further variables of a command, with what a
// command needs to find its socket and this program. Without a socket a
// command is told so, lest an oneloop in it takes itself for the first.
func (b *Broker) environment(env []string, theirs *os.File) []string {
	env = withLink(env, b.Link, os.Getenv("PATH"))
	if theirs == nil {
		return append(env, Env+"=unsupported")
	}
	return append(env, Env+"="+strconv.Itoa(FD))
}

// child returns the broker of the next child, and the child's name.
func (b *Broker) child() (*Broker, string) {
	name := fmt.Sprint(b.count.Add(1))
	return &Broker{Options: b.Options, path: b.path + "/" + name, depth: b.depth + 1}, name
}

// Why a child's context ended.
var (
	errClientGone  = fmt.Errorf("the command that asked for the subtask has gone: %w", oneloop.ErrInterrupted)
	errEmpty       = errors.New("it ended without an answer")
	errCommandOver = fmt.Errorf("the command that asked for the subtask is over: %w", oneloop.ErrInterrupted)
)

// usageError is a subtask that cannot be taken as it is.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// job is one command's connection to the agent: everything a client of that
// command needs.
type job struct {
	broker *Broker
	ctx    context.Context
	emit   func(oneloop.Event)
	clock  clock

	clients atomic.Int64 // that are listened to
	waiting atomic.Int64 // those of them that wait for input
}

// clock is the time limit of a command. Calls nest.
type clock interface {
	Stop()
	Start()
}

// serve sees one client through, from its first frame to its exit code.
func (j *job) serve(s *stream, theirs string) {
	j.clients.Add(1)
	defer j.clients.Add(-1)
	if s.hello() != nil {
		return
	}
	if want := fmt.Sprint(greeting, version); theirs != want {
		s.verdict("", fmt.Sprintf("this program and the agent above it are different versions (%q, %q); start the agent again", theirs, want), 3)
		return
	}
	seat, err := j.broker.Tree.take(j.broker.depth + 1)
	if err != nil {
		j.refuse(s, err)
		return
	}
	defer seat.leave()
	t, err := j.readTask(s)
	if err == nil {
		t.Dir, err = inside(t.Dir, j.broker.Root, j.broker.Dirs...)
	}
	if err != nil {
		if usage := new(usageError); errors.As(err, &usage) {
			s.verdict("", "the subtask was not taken: "+usage.text, 2)
		}
		return // else the client has gone, or never spoke our language
	}
	seat.used = true
	answer, err := j.run(s, t)
	seat.leave() // before the client can see the end, and ask again
	if err == nil {
		s.verdict(answer, "", 0)
		return
	}
	said := ""
	if answer != "" {
		said = " (what it said before that went to standard output)"
	}
	s.verdict(answer, "the subtask failed: "+err.Error()+said, j.broker.Exit(err))
}

// refuse tells a client that there is no place for its subtask.
func (j *job) refuse(s *stream, err error) {
	next := "do this work yourself, without a subtask"
	if l := new(oneloop.LimitError); errors.As(err, &l) && strings.HasSuffix(l.Limit, "at once") {
		next = "wait until a running subtask has ended, then try again"
	}
	j.emit(oneloop.Notice{Text: "a subtask was refused: " + err.Error()})
	s.verdict("", fmt.Sprintf("the subtask was refused: %v; %s", err, next), 5)
}

// run runs the child of a client, for as long as the client is there. The
// command's own time limit stands still meanwhile.
func (j *job) run(s *stream, t Task) (string, error) {
	ctx, cancel := context.WithCancelCause(j.ctx)
	defer cancel(nil)
	defer s.watch(cancel)()

	t.Log = logWriter{s}
	j.clock.Stop()
	defer j.clock.Start()
	return j.broker.start(ctx, t, j.emit)
}

// start runs a child, from the event of its start to that of its end.
func (b *Broker) start(ctx context.Context, t Task, emit func(oneloop.Event)) (string, error) {
	child, name := b.child()
	t.Agent, t.Depth, t.Broker = child.path, child.depth, child
	if t.Session == "" {
		t.Session = session.NewID()
	}
	t.Share = b.Tree.share()
	emit(oneloop.ChildStart{Agent: t.Agent, Prompt: t.Prompt, Title: t.Title, Type: t.Type, Session: t.Session, Call: t.Call})
	answer, err := b.call(ctx, t, func(e oneloop.Event) { emit(below(name, e)) })
	if strings.TrimSpace(answer) == "" {
		answer = ""
		if err == nil {
			err = errEmpty
		}
	}
	if cause := context.Cause(ctx); err != nil && cause != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, oneloop.ErrInterrupted)) {
		err = cause
	}
	end := oneloop.ChildEnd{Agent: t.Agent}
	if err != nil {
		end.Error = err.Error()
	}
	emit(end)
	return answer, err
}

// call is Run, with a panic as an error.
func (b *Broker) call(ctx context.Context, t Task, emit func(oneloop.Event)) (answer string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the child agent broke down: %v", v)
		}
	}()
	if b.Run == nil {
		return "", errors.New("this program runs no subtasks: its team.Options have no Run")
	}
	return b.Run(ctx, t, emit)
}

// below puts an event of the named child, or of an agent below it, into the
// stream of its parent.
func below(name string, e oneloop.Event) oneloop.Event {
	if c, ok := e.(oneloop.Child); ok {
		return oneloop.Child{Agent: name + "/" + c.Agent, Event: c.Event}
	}
	return oneloop.Child{Agent: name, Event: e}
}

type logWriter struct{ s *stream }

func (w logWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := w.s.send(frameStderr, p); err != nil {
		return 0, fmt.Errorf("write to the subtask's client: %w", err)
	}
	return len(p), nil
}

// taskHead is the payload of a task frame.
type taskHead struct {
	Dir    []byte `json:"dir"` // a path need not be text
	Stdout string `json:"stdout"`
}

// readTask reads everything a client has to say.
func (j *job) readTask(s *stream) (Task, error) {
	var (
		t       Task
		prompt  []byte
		waiting int64 // 1 from the client's question to its task
	)
	defer func() { j.waiting.Add(-waiting) }()
	for {
		kind, data, err := s.receive()
		if err != nil {
			return t, fmt.Errorf("read subtask: %w", err)
		}
		if kind == frameAsk {
			j.waiting.Add(1 - waiting)
			waiting = 1
			busy := "0"
			if j.clients.Load() > j.waiting.Load() {
				busy = "1"
			}
			if err := s.send(frameBusy, []byte(busy)); err != nil {
				return t, fmt.Errorf("read subtask: %w", err)
			}
			continue
		}
		j.waiting.Add(-waiting)
		waiting = 0
		switch kind {
		case frameTask:
			var head taskHead
			if err := json.Unmarshal(data, &head); err != nil {
				return t, fmt.Errorf("read subtask: %w", err)
			}
			t.Dir, t.Stdout = string(head.Dir), head.Stdout
		case framePrompt:
			prompt = append(prompt, data...)
		case frameInput:
			t.Input = append(t.Input, data...)
		case frameEnd:
			t.Prompt = string(prompt)
			if strings.TrimSpace(t.Prompt) == "" && len(t.Input) == 0 {
				return t, &usageError{"the prompt is empty; say what is to be done"}
			}
			return t, nil
		default:
			return t, fmt.Errorf("read subtask: unknown frame %q", kind)
		}
		if len(prompt)+len(t.Input) > MaxTask {
			return t, &usageError{tooLarge}
		}
	}
}

var tooLarge = fmt.Sprintf("prompt and piped input together are over %d MiB; put the data into a file and name the file in the prompt", MaxTask>>20)

// inside returns dir without symlinks if it is a folder in the workspace.
func inside(dir, root string, more ...string) (string, error) {
	var roots []string
	for _, name := range append([]string{root}, more...) {
		real, err := filepath.EvalSymlinks(name)
		if err != nil {
			return "", fmt.Errorf("resolve the workspace: %w", err)
		}
		roots = append(roots, real)
	}
	refused := &usageError{fmt.Sprintf("the folder %s is not in the workspace %s; change into the workspace first", dir, root)}
	if !filepath.IsAbs(dir) {
		return "", refused
	}
	to, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", &usageError{fmt.Sprintf("the folder %s cannot be reached: %v", dir, err)}
	}
	if !slices.ContainsFunc(roots, func(real string) bool {
		rel, err := filepath.Rel(real, to)
		return err == nil && filepath.IsLocal(rel)
	}) {
		return "", refused
	}
	if info, err := os.Stat(to); err != nil || !info.IsDir() {
		return "", &usageError{fmt.Sprintf("%s is no folder", dir)}
	}
	return to, nil
}

// exitCode is the default of [Options].Exit.
func exitCode(err error) int {
	var (
		limit     *oneloop.LimitError
		refused   *oneloop.RefusedError
		truncated *oneloop.TruncatedError
	)
	switch {
	case errors.As(err, &limit):
		return 5
	case errors.As(err, &refused), errors.As(err, &truncated):
		return 6
	case errors.Is(err, oneloop.ErrAuth):
		return 3
	case errors.Is(err, oneloop.ErrInterrupted), errors.Is(err, oneloop.ErrShutdown), errors.Is(err, context.Canceled):
		return 130
	}
	return 1
}
