package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"oneloop"
	"oneloop/workspace"
)

// JobsOptions are the settings of [NewJobs].
type JobsOptions struct {
	Most int   // commands that run at a time; 0: 16
	Cap  int64 // bytes of output that are kept of each; 0: 64 MiB
	// Tell is called, from any goroutine, when a command has ended by itself
	// or at its time limit, with a line for the model: which, how, and where
	// its output is. Nil: nobody is told.
	Tell func(text string)
	// Note is called by [Jobs.End] with what the workspace has to tell of a
	// command that it ended, a line for each: what was put back, for example.
	// Nil: nobody is told.
	Note func(text string)
	// Within are the jobs of the agent that this one works for. Both share
	// what Most of it allows.
	Within *Jobs
}

// Jobs are the commands that one agent runs in the background: Bash starts
// them, the tool of [Jobs.Stop] ends one, [Jobs.End] all of them. They are
// safe for concurrent use.
type Jobs struct {
	opts    JobsOptions
	running *atomic.Int64 // those of all agents that share a limit

	mu        sync.Mutex
	list      []*task // in the order they were started
	stoppable bool    // the model has the tool of Stop
}

// NewJobs returns the jobs of an agent, of which there are none yet.
func NewJobs(o JobsOptions) *Jobs {
	j := &Jobs{opts: o, running: new(atomic.Int64)}
	if o.Within != nil {
		j.running, j.opts.Most = o.Within.running, o.Within.opts.Most
	}
	if j.opts.Most <= 0 {
		j.opts.Most = 16
	}
	if j.opts.Cap <= 0 {
		j.opts.Cap = 64 << 20
	}
	return j
}

// task is one command in the background.
type task struct {
	id     string
	title  string
	begun  time.Time
	output *journal
	limit  time.Duration
	cancel context.CancelCauseFunc
	how    string        // it ended; valid once done is closed, as notes is
	notes  []string      // of the workspace, beside how
	done   chan struct{} // closed when it has ended and that was told

	over  bool // these two are held by Jobs.mu
	quiet bool // somebody ends it and knows: nobody is told
}

// name is what people call a job by.
func (t *task) name() string { return fmt.Sprintf("%s (%s)", t.id, t.title) }

var (
	errStopped = errors.New("stopped")
	errOver    = errors.New("the session is over")
)

// title is a command in one short line.
func title(command string) string {
	const most = 60
	line := strings.Join(strings.Fields(command), " ")
	n := 0
	for i := range line {
		if n++; n > most {
			return line[:i] + "…"
		}
	}
	return line
}

// admit takes one of the places there are. leave gives it back.
func (j *Jobs) admit() error {
	if j.running.Add(1) <= int64(j.opts.Most) {
		return nil
	}
	j.leave()
	own := "none of them yours"
	if mine := j.Running(); len(mine) > 0 {
		own = "yours are " + strings.Join(mine, ", ")
	}
	return fmt.Errorf("%d commands run in the background already, which is the most there may be (%s). Stop one that is not needed any more, or wait for its end", j.opts.Most, own)
}

func (j *Jobs) leave() { j.running.Add(-1) }

// start sees a command that was started to its end, when release is called. It
// returns the command's id.
func (j *Jobs) start(t *task, p workspace.Process, release func()) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	t.id, t.begun = fmt.Sprintf("bash_%d", len(j.list)+1), time.Now()
	j.list = append(j.list, t)
	go func() { // End waits for it
		t.how = t.await(p, release)
		j.leave()
		j.mu.Lock()
		t.over = true
		quiet := t.quiet
		j.mu.Unlock()
		if !quiet && j.opts.Tell != nil {
			j.opts.Tell(fmt.Sprintf("The background command %s has ended: %s.", t.name(), t.how))
		}
		close(t.done)
	}()
	return t.id
}

// await waits for the end of a command and says how it ended. A fault on the
// way ends what is told of it, not the program.
func (t *task) await(p workspace.Process, release func()) (how string) {
	defer t.cancel(nil)
	defer func() {
		if v := recover(); v != nil {
			how = fmt.Sprintf("how is unknown, for there was an internal error: %v; %s", v, t.output.close())
		}
	}()
	exit, err := func() (workspace.Exit, error) {
		defer release()
		return p.Wait()
	}()
	t.notes = exit.Notes
	return strings.Join(append(t.ending(exit, err), t.output.close()), "; ")
}

// ending says how a command ended, and what came with it.
func (t *task) ending(exit workspace.Exit, err error) []string {
	how := "exit code 0"
	switch {
	case err == nil && (exit.Signal != "" || exit.Code != 0):
		return ending(exit, nil)
	case err == nil:
	case errors.Is(err, errStopped), errors.Is(err, errOver):
		how = "it was stopped, with all it had started"
	case errors.Is(err, workspace.ErrTime):
		how = fmt.Sprintf("its timeout of %v was reached, so it was stopped with all it had started", t.limit)
	default:
		how = fmt.Sprintf("how is unknown: %v", err)
	}
	return append([]string{how}, ending(exit, err)...)
}

// Running names the commands that run, in the order they were started, as in
// "bash_1 (npm run dev)".
func (j *Jobs) Running() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var names []string
	for _, t := range j.list {
		if !t.over {
			names = append(names, t.name())
		}
	}
	return names
}

// Job is a command in the background, as it is told of.
type Job struct {
	ID     string // "bash_1"
	Title  string // the command in one short line
	Begun  time.Time
	Output string // the file of what it prints
	How    string // it ended; empty: it runs
}

func (j Job) String() string {
	state := j.How
	if state == "" {
		state = fmt.Sprintf("runs for %v now; its output so far is in %s", time.Since(j.Begun).Round(time.Second), j.Output)
	}
	return fmt.Sprintf("%s (%s): %s", j.ID, j.Title, state)
}

// List is all commands of the agent, in the order they were started.
func (j *Jobs) List() []Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	list := make([]Job, len(j.list))
	for i, t := range j.list {
		list[i] = Job{ID: t.id, Title: t.title, Begun: t.begun, Output: t.output.file.Name()}
		if t.over {
			list[i].How = t.how
		}
	}
	return list
}

// End ends all commands that run, waits until nothing of them is left, and
// returns their names. What there is to say of them goes to Note. Tell is not called any more when it returns. More may
// be started afterwards.
func (j *Jobs) End() []string {
	j.mu.Lock()
	var names []string
	var ended []*task
	for _, t := range j.list {
		if !t.over {
			t.quiet = true
			names, ended = append(names, t.name()), append(ended, t)
			t.cancel(errOver)
		}
	}
	all := slices.Clone(j.list)
	j.mu.Unlock()
	for _, t := range all {
		<-t.done
	}
	for _, t := range ended {
		for _, note := range t.notes {
			if j.opts.Note != nil {
				j.opts.Note(t.name() + ": " + note)
			}
		}
	}
	return names
}

// stopping says how the model ends a command, behind a sentence.
func (j *Jobs) stopping() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stoppable {
		return "; TaskStop ends it"
	}
	return ""
}

type stopInput struct {
	TaskID string `json:"task_id"`
}

const stopSchema = `{"type":"object","properties":{"task_id":{"type":"string"}},"required":["task_id"],"additionalProperties":false}`

// Stop is the tool that ends a command in the background.
func (j *Jobs) Stop() oneloop.Tool {
	j.mu.Lock()
	j.stoppable = true
	j.mu.Unlock()
	t := build("TaskStop", "Stop a background command by its id.", json.RawMessage(stopSchema), j.stop)
	// What it ends is the agent's own and was started with leave.
	t.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
	return t
}

func (j *Jobs) stop(ctx context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event), in stopInput) (*oneloop.ToolResult, error) {
	j.mu.Lock()
	i := slices.IndexFunc(j.list, func(t *task) bool { return t.id == in.TaskID })
	if i < 0 {
		j.mu.Unlock()
		return j.unknown(in.TaskID), nil
	}
	t := j.list[i]
	before := t.over
	if !before {
		t.quiet = true
		t.cancel(errStopped)
	}
	j.mu.Unlock()
	select {
	case <-t.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("%s is being stopped: %w", t.name(), context.Cause(ctx))
	}
	if before {
		return oneloop.TextResult(fmt.Sprintf("%s had ended before: %s.", t.name(), t.how)), nil
	}
	return oneloop.TextResult(fmt.Sprintf("%s has ended: %s.", t.name(), t.how)), nil
}

// unknown is the result of a call for a command that there is not.
func (j *Jobs) unknown(id string) *oneloop.ToolResult {
	now := "none runs"
	if names := j.Running(); len(names) > 0 {
		now = "there are " + strings.Join(names, ", ")
	}
	return oneloop.ErrorResult(fmt.Sprintf("there is no background command %q; %s.", id, now))
}

type outputInput struct {
	TaskID string `json:"task_id,omitempty"`
}

const outputSchema = `{"type":"object","properties":{"task_id":{"type":"string"}},"additionalProperties":false}`

// latest is how many characters of the end of an output the tool of
// [Jobs.Output] shows. Read shows all of it.
const latest = 4000

// Output is the tool that tells how commands in the background are doing: all of
// them, or one with the end of what it printed.
func (j *Jobs) Output() oneloop.Tool {
	t := build("TaskOutput", "How background commands are doing: all, or one and the end of its output.", json.RawMessage(outputSchema), j.tell)
	t.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
	t.Parallel = true
	return t
}

func (j *Jobs) tell(_ context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event), in outputInput) (*oneloop.ToolResult, error) {
	list := j.List()
	if in.TaskID == "" {
		if len(list) == 0 {
			return oneloop.TextResult("No command was started in the background."), nil
		}
		var lines []string
		for _, one := range list {
			lines = append(lines, one.String())
		}
		return oneloop.TextResult(strings.Join(lines, "\n")), nil
	}
	i := slices.IndexFunc(list, func(one Job) bool { return one.ID == in.TaskID })
	if i < 0 {
		return j.unknown(in.TaskID), nil
	}
	end, err := lastOf(list[i].Output)
	if err != nil {
		return nil, fmt.Errorf("%s. What it printed cannot be read: %w", list[i], err)
	}
	if strings.TrimSpace(end) == "" {
		end = "It printed nothing so far."
	}
	return oneloop.TextResult(list[i].String() + "\n" + end), nil
}

// lastOf is the end of an output, as a terminal would show it.
func lastOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	from := max(0, size-16*latest)
	raw := make([]byte, size-from)
	n, err := f.ReadAt(raw, from)
	if err != nil && err != io.EOF {
		return "", err
	}
	var seen filter
	seen.write(raw[:n])
	seen.end()
	if from == 0 && seen.chars <= latest {
		return string(seen.text), nil
	}
	return "[…]\n" + string(tail(seen.text, latest)), nil
}
