package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"oneloop"
	"oneloop/workspace"
)

// Hooks run the commands that settings tie to what an agent does. Its fields
// are not to be changed once something runs; its methods are safe for
// concurrent use. A nil *Hooks has no hooks. Each agent has its own.
//
// [Hooks.Gate] stands in the place of [Gate]. The methods named like the
// fields of a session are meant to be put there.
type Hooks struct {
	List      []HookCommand
	Workspace workspace.Workspace // where hooks run
	// Unconfined is where those hooks run that the user's own settings exempt
	// from the sandbox. Nil: Workspace.
	Unconfined workspace.Workspace

	Session    string // its id
	Transcript string // path of the file that keeps the conversation; empty: there is none
	Source     string // why the session starts: "startup" if empty, "resume", "clear"
	Model      string // its id
	Agent      Subagent
	Mode       func() Mode // nil: [Default]
	// Emit gets what users should know of hooks that run outside of a call,
	// possibly from several goroutines at once. Nil: nobody is told.
	Emit func(oneloop.Event)
	// Watch is called before hooks run, and done after: what changes between is
	// their doing. It is not for those of Notification, which run while the user
	// has the word. Nil: nobody wants to know.
	Watch func() (done func())

	mu      sync.Mutex
	context []string // for the next prompt
	urged   bool     // a Stop hook made the turn go on
}

// Subagent names a child agent for hooks. Zero: the session's own agent.
type Subagent struct {
	ID   string
	Type string
}

const (
	mostHookOut = 1 << 20  // bytes a hook may print on its output
	mostHookErr = 64 << 10 // bytes kept of what it prints as errors
	mostReason  = 10_000   // characters of one text for the model
)

// fire runs all hooks that are for an occasion, side by side, and gives what
// they come down to. Its error is the cause of ctx.
func (h *Hooks) fire(ctx context.Context, o occasion) (*verdict, error) {
	v := &verdict{event: o.event}
	if !h.has(o.event) {
		return v, nil
	}
	at := h.Workspace.Describe()
	list := hooksFor(h.List, o, at)
	if len(list) == 0 {
		return v, nil
	}
	payload, err := h.payload(o, at.Root)
	if err != nil {
		return nil, err
	}
	if h.Watch != nil && o.event != Notification {
		defer h.Watch()()
	}
	results := make([]hookResult, len(list))
	var wg sync.WaitGroup
	for i := range list {
		wg.Go(func() { results[i] = h.run(ctx, list[i], payload) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for _, r := range results { // in the order of the settings, whichever was first
		v.add(r)
	}
	return v, nil
}

func (h *Hooks) has(events ...HookEvent) bool {
	return h != nil && slices.ContainsFunc(h.List, func(c HookCommand) bool { return slices.Contains(events, c.Event) })
}

// payload is what hooks read.
func (h *Hooks) payload(o occasion, root string) ([]byte, error) {
	mode := Default
	if h.Mode != nil {
		mode = h.Mode()
	}
	all := map[string]any{
		"session_id": h.Session, "transcript_path": h.Transcript, "cwd": root,
		"permission_mode": mode.String(), "hook_event_name": string(o.event),
	}
	if h.Agent.ID != "" {
		all["agent_id"], all["agent_type"] = h.Agent.ID, h.Agent.Type
	}
	if o.call != nil {
		all["tool_name"], all["tool_input"], all["tool_use_id"] = o.call.Name, o.call.Input, o.call.ID
	}
	maps.Copy(all, o.input)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all); err != nil {
		return nil, fmt.Errorf("tell hooks of %s: %w", o.event, err)
	}
	return b.Bytes(), nil
}

// hookResult is how one hook ended.
type hookResult struct {
	hook   HookCommand
	failed string     // why it failed; empty: it did not
	code   int        // 0 or 2
	out    hookOutput // at code 0
	text   string     // what it printed at code 0 that is no JSON; its errors at code 2
}

// run runs one hook to its end, with everything it started. One that meets a
// fault of ours has failed.
func (h *Hooks) run(ctx context.Context, hook HookCommand, payload []byte) (r hookResult) {
	defer func() {
		if v := recover(); v != nil {
			r = hookResult{hook: hook, failed: fmt.Sprintf("could not be run: internal error: %v", v)}
		}
	}()
	out := &capped{most: mostHookOut}
	exit, errs, err := h.start(ctx, hook, payload, out)
	r = hookResult{hook: hook, code: exit.Code}
	said := strings.TrimSpace(errs)
	switch {
	case errors.Is(err, workspace.ErrTime):
		r.failed = fmt.Sprintf("took longer than %v and was ended", hook.timeout())
	case err != nil:
		r.failed = fmt.Sprintf("could not be run: %v", err)
	case exit.Signal != "":
		r.failed = "was ended by " + exit.Signal
	case exit.Code == 2:
		r.text = said
	case exit.Code != 0:
		r.failed = fmt.Sprintf("ended with exit code %d", exit.Code)
		if said != "" {
			r.failed += ": " + said
		}
	case out.over:
		r.failed = fmt.Sprintf("printed more than %d bytes", mostHookOut)
	default:
		if err := r.read(out.data); err != nil {
			r.failed = fmt.Sprintf("printed what is no answer: %v", err)
		}
	}
	return r
}

// read takes what a hook has printed: a JSON object is its answer, anything
// else is text. A byte order mark counts for nothing.
func (r *hookResult) read(data []byte) error {
	data = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("\ufeff")))
	if !bytes.HasPrefix(data, []byte("{")) {
		r.text = strings.ToValidUTF8(string(data), "\ufffd")
		if r.hook.Event.guards() {
			return r.behind(data)
		}
		return nil
	}
	if err := oneloop.CheckObject(data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &r.out); err != nil {
		return err
	}
	if err := r.out.check(r.hook.Event); err != nil {
		return err
	}
	err := strange(data, r.hook.Event)
	if said, _ := r.out.says(r.hook.Event); said == denies || r.out.stops() || said == asks && !r.hook.closed() {
		return nil // it is as strict as a failure, and has its own reason
	}
	return err
}

// start starts the hook, feeds it and waits for its end. The JSON is its
// standard input as a file, which needs nobody who writes it.
func (h *Hooks) start(ctx context.Context, hook HookCommand, payload []byte, out io.Writer) (workspace.Exit, string, error) {
	ws := h.Workspace
	if hook.Plain && h.Unconfined != nil {
		ws = h.Unconfined
	}
	in, err := workspace.TextFile(string(payload))
	if err != nil {
		return workspace.Exit{}, "", err
	}
	defer in.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return workspace.Exit{}, "", err
	}
	defer r.Close()
	root := ws.Describe().Root
	cmd := workspace.Cmd{
		Argv:   []string{"bash", "-c", hook.Command},
		Env:    []string{"CLAUDE_PROJECT_DIR=" + root, "ONELOOP_PROJECT_DIR=" + root},
		Fds:    map[int]*os.File{0: in, 2: w},
		Output: out,
		Limits: workspace.Limits{Time: hook.timeout()},
	}
	if hook.Args != nil {
		cmd.Argv = append([]string{hook.Command}, hook.Args...)
	}
	p, err := ws.Start(ctx, cmd)
	w.Close()
	if err != nil {
		return workspace.Exit{}, "", err
	}
	errs := &capped{most: mostHookErr}
	read := make(chan error, 1)
	go func() { read <- errs.all(r) }()
	exit, err := p.Wait()
	// All it started has ended. Only a stranger could still hold the pipe.
	if r.SetReadDeadline(time.Now().Add(time.Second)) != nil {
		r.Close()
	}
	if fault := <-read; err == nil {
		err = fault
	}
	return exit, strings.ToValidUTF8(string(errs.data), "\ufffd"), err
}

// capped keeps the first bytes that are written to it.
type capped struct {
	most int
	data []byte
	over bool
}

// all writes what can be read. An error of reading is the end, too, so that
// its own is a fault of ours.
func (c *capped) all(r io.Reader) (fault error) {
	defer func() {
		if v := recover(); v != nil {
			fault = fmt.Errorf("internal error: read what it says: %v", v)
		}
	}()
	io.Copy(c, r)
	return nil
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.most-len(c.data))
	c.data = append(c.data, p[:n]...)
	c.over = c.over || n < len(p)
	return len(p), nil
}
