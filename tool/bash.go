package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"oneloop"
	"oneloop/policy/shell"
	"oneloop/workspace"
)

// BashOptions are the settings of [Bash].
type BashOptions struct {
	Timeout    time.Duration // for a call that asks for none; 0: 2 minutes
	MaxTimeout time.Duration // the most a call can ask for; 0: 10 minutes
	Cap        int           // characters of output in a result; 0: 50,000
	SpillDir   string        // for the files that hold longer outputs, made with the first; empty: the system's temporary folder
	Attach     AttachFunc    // nil: nothing is attached
	Files      *Files        // their Read may show the files that hold outputs; nil: no Read may, unless they lie in the workspace
	Jobs       *Jobs         // commands in the background; nil: there can be none
}

// AttachFunc completes a command before it starts: it may fill cmd.Fds and
// cmd.Env, stop the clock of the command, and emit events of the call.
// release, if not nil, is called when the command has ended. With an error
// nothing is run, and the model is told its text.
//
// A nil clock is that of a command in the background, which goes on when the
// call and its turn are over: emit is then not to be called after the
// AttachFunc has returned, and ctx ends with the command.
type AttachFunc func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event), cmd *workspace.Cmd, clock *Clock) (release func(), err error)

type bashInput struct {
	Command         string `json:"command"`
	Timeout         int    `json:"timeout,omitempty" jsonschema:"milliseconds"`
	Description     string `json:"description,omitempty" jsonschema:"what it does, in a few words"`
	RunInBackground bool   `json:"run_in_background,omitempty" jsonschema:"answer at once and let it run"`
}

// bashSchema is the schema of bashInput, written out so that the program
// starts without making it.
const (
	bashSchema = `{"type":"object","properties":{"command":{"type":"string"},` +
		`"timeout":{"type":"integer","description":"milliseconds"},` +
		`"description":{"type":"string","description":"what it does, in a few words"}` + backgroundField + schemaEnd
	backgroundField = `,"run_in_background":{"type":"boolean","description":"answer at once and let it run"}`
	schemaEnd       = `},"required":["command"],"additionalProperties":false}`
)

// Bash is the shell as a tool. Each call runs in a new shell in the root of
// ws: a folder or a variable that one call changed is as it was in the next.
// Nothing is set in its environment to keep programs from asking questions:
// there is no input and no terminal, and they find that out by themselves.
//
// The result holds both streams as a terminal would have shown them, within
// the cap, and says how the command ended. It is an error when the command
// could not be run, ran out of time or was interrupted. A command that ends
// with another exit code than 0 was run: what that means (nothing found, files
// differ, tests fail) is the model's to judge, so that is no error.
//
// With Jobs a command can be started in the background: the result then names
// it and the file of its output, and it runs until it ends, its timeout is
// reached if it was given one, or the jobs are ended. It is judged as any
// other is.
//
// The effect of a command is ReadOnly when all of it is on the read-only table
// of package policy/shell; it then runs as that package writes it. Any other
// command runs as it is. One in the background is never ReadOnly.
func Bash(ws workspace.Workspace, opts BashOptions) oneloop.Tool {
	if opts.Timeout <= 0 {
		opts.Timeout = 2 * time.Minute
	}
	if opts.MaxTimeout <= 0 {
		opts.MaxTimeout = max(opts.Timeout, 10*time.Minute)
	}
	if opts.Cap <= 0 {
		opts.Cap = 50_000
	}
	b := &bash{ws: ws, opts: opts, place: sync.OnceValue(func() shell.Place {
		info := ws.Describe()
		return shell.Place{Dir: info.Root, Home: info.Home}
	})}
	doc, schema := "Run a bash command. Each call is a new shell in the workspace root, without input or terminal; what it leaves running is ended.", bashSchema
	if opts.Jobs == nil {
		schema = strings.Replace(schema, backgroundField, "", 1)
	} else {
		doc += " Servers and other long work: run_in_background."
	}
	t := build("Bash", doc, json.RawMessage(schema), b.run)
	t.Effect = func(call *oneloop.ToolUse) oneloop.Effect {
		var in bashInput
		if decode(call.Input, &in) == nil && !in.RunInBackground && b.analyse(unixLines(in.Command)).ReadOnly() {
			return oneloop.ReadOnly
		}
		return oneloop.Once
	}
	t.Touches = func(call *oneloop.ToolUse) ([]oneloop.Touch, error) {
		var in bashInput
		err := decode(call.Input, &in)
		return []oneloop.Touch{{Kind: oneloop.TouchCommand, Name: unixLines(in.Command)}}, err
	}
	return t
}

type bash struct {
	ws    workspace.Workspace
	opts  BashOptions
	place func() shell.Place // where commands start
}

// unixLines is a command with the ends of lines that bash knows.
func unixLines(command string) string {
	return strings.TrimSuffix(strings.ReplaceAll(command, "\r\n", "\n"), "\r")
}

func (b *bash) analyse(command string) *shell.Analysis {
	return shell.Analyse(command, b.place())
}

// errTimeout is the cause of the context of a command that ran out of time.
var errTimeout = errors.New("timed out")

// longest is the length in bytes up to which a command is an argument. Linux
// takes 128 KiB.
const longest = 100_000

func (b *bash) run(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event), in bashInput) (*oneloop.ToolResult, error) {
	command := unixLines(in.Command)
	if strings.ContainsRune(command, 0) {
		return oneloop.ErrorResult("the command contains a NUL character, so it was not run. Write it without one, e.g. with printf '\\0'."), nil
	}
	if a := b.analyse(command); a.ReadOnly() {
		command = a.Source() // what was judged, and nothing else
	}
	if in.RunInBackground {
		return b.background(ctx, call, emit, command, in), nil
	}
	limit := b.limit(in.Timeout)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	out := &output{cap: b.opts.Cap, dir: b.opts.SpillDir}
	show := &live{id: call.ID, emit: emit}
	defer show.end()
	var clock Clock
	defer clock.end()
	p, release, refused := b.start(ctx, call, emit, workspace.Cmd{Argv: []string{"bash", "-c", command}, Output: writers{out, show}}, &clock)
	defer release()
	if refused != nil {
		return refused, nil
	}
	clock.start(limit, func() { cancel(errTimeout) })
	exit, err := p.Wait()
	clock.end()
	if fault := show.end(); fault != nil {
		exit.Notes = append(exit.Notes, fault.Error())
	}
	return b.report(ctx, out, exit, err, limit), nil
}

// start attaches what belongs to a command and starts it; if that fails, it
// says why. release is to be called when the command has ended, or was not
// started.
func (b *bash) start(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event), cmd workspace.Cmd, clock *Clock) (p workspace.Process, release func(), refused *oneloop.ToolResult) {
	release = func() {}
	if b.opts.Attach != nil {
		done, err := b.opts.Attach(ctx, call, emit, &cmd, clock)
		if done != nil {
			release = done
		}
		if err != nil {
			return nil, release, oneloop.ErrorResult(fmt.Sprintf("the command was not run: %v", err))
		}
	}
	if command := cmd.Argv[2]; len(command) > longest {
		text, err := byFile(&cmd, command)
		if err != nil {
			return nil, release, oneloop.ErrorResult(fmt.Sprintf("the command was not run: %v", err))
		}
		defer text.Close()
	}
	p, err := b.ws.Start(ctx, cmd)
	if err != nil {
		return nil, release, oneloop.ErrorResult(notRun(ctx, err))
	}
	return p, release, nil
}

// background starts a command that goes on when the call is answered.
func (b *bash) background(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event), command string, in bashInput) *oneloop.ToolResult {
	jobs := b.opts.Jobs
	if jobs == nil {
		return oneloop.ErrorResult("the command was not run: nothing can run in the background here. Call again without run_in_background.")
	}
	if err := jobs.admit(); err != nil {
		return oneloop.ErrorResult(fmt.Sprintf("the command was not run: %v.", err))
	}
	out, err := newJournal(b.opts.SpillDir, jobs.opts.Cap)
	if err != nil {
		jobs.leave()
		return oneloop.ErrorResult(fmt.Sprintf("the command was not run: there can be no file for its output: %v.", err))
	}
	t := &task{title: title(in.Command), output: out, limit: time.Duration(max(0, in.Timeout)) * time.Millisecond, done: make(chan struct{})}
	// The end of the turn is not that of the command.
	ctx, t.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	cmd := workspace.Cmd{Argv: []string{"bash", "-c", command}, Output: out, Limits: workspace.Limits{Time: t.limit}}
	p, release, refused := b.start(ctx, call, emit, cmd, nil)
	if refused != nil {
		release()
		t.cancel(nil)
		out.discard()
		jobs.leave()
		return refused
	}
	b.opts.Files.admit(out.file.Name())
	id := jobs.start(t, p, release)
	return oneloop.TextResult(fmt.Sprintf("%s runs in the background. Its output goes to %s, which Read shows. You are told when it ends%s.", id, out.file.Name(), jobs.stopping()))
}

// limit is the time a call has that asks for so many milliseconds.
func (b *bash) limit(ms int) time.Duration {
	switch {
	case ms <= 0:
		return b.opts.Timeout
	case int64(ms) >= b.opts.MaxTimeout.Milliseconds():
		return b.opts.MaxTimeout
	}
	return time.Duration(ms) * time.Millisecond
}

// writers hands what is printed to the result and to those who watch.
type writers struct {
	out  *output
	show *live
}

func (w writers) Write(p []byte) (int, error) {
	w.show.write(p)
	return w.out.Write(p)
}

// byFile hands a long command over in a file, which the shell closes before
// it runs what is in it. $0, exit codes, line numbers and input are those of
// a command given as an argument.
func byFile(cmd *workspace.Cmd, command string) (io.Closer, error) {
	text, err := workspace.TextFile(command)
	if err != nil {
		return nil, err
	}
	n := 9 // the last that every shell takes as one digit
	for cmd.Fds[n] != nil {
		n++
	}
	fds := map[int]*os.File{n: text}
	for k, f := range cmd.Fds {
		fds[k] = f
	}
	cmd.Fds = fds
	cmd.Argv[2] = fmt.Sprintf(`eval "$(</dev/fd/%d)" %d<&-`, n, n)
	return text, nil
}

// notRun says why nothing was run.
func notRun(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return "not started: the turn was interrupted before the command began, so it changed nothing."
	case errors.Is(err, workspace.ErrNoProgram):
		return "no bash was found on PATH (folders in the workspace do not count), so the command was not run. Tell the user to install bash or to add it to PATH."
	case errors.Is(err, workspace.ErrNoRoot):
		return fmt.Sprintf("the command was not run: %v. No command can run until the user has made the folder again.", err)
	}
	return fmt.Sprintf("the command was not run: %v.", err)
}

// report puts the result together: how it ended early, what it printed, and
// what else is to be known.
func (b *bash) report(ctx context.Context, out *output, exit workspace.Exit, err error, limit time.Duration) *oneloop.ToolResult {
	text, notes := out.finish()
	b.opts.Files.admit(out.kept())
	text = strings.TrimRight(text, "\n")
	if strings.TrimSpace(text) == "" {
		text = oneloop.NoOutput
	}
	notes = append(ending(exit, err), notes...)
	var before string
	switch {
	case err == nil:
	case errors.Is(err, errTimeout):
		before = fmt.Sprintf("timed out after %v and was ended, with all it had started; it may have changed things. If it waited for input: there is none, "+
			"so use flags that keep it from asking (such as -y, --no-edit, -m). If it needs longer, give a timeout of up to %d ms. Output so far:\n",
			limit, b.opts.MaxTimeout.Milliseconds())
	case ctx.Err() != nil:
		before = "interrupted while it ran, and ended with all it had started; it may have changed things. Output so far:\n"
	default:
		before = fmt.Sprintf("the command was run, but how it ended is unknown: %v. Output:\n", err)
	}
	for _, n := range notes {
		text += "\n[" + n + "]"
	}
	r := oneloop.TextResult(before + text)
	r.IsError = err != nil
	return r
}

// ending says how the shell ended, unless we ended it, and what came with it.
func ending(exit workspace.Exit, err error) []string {
	var notes []string
	switch {
	case err != nil:
	case exit.Signal != "":
		notes = append(notes, "ended by signal "+exit.Signal)
	case exit.Code > 128 && signals[exit.Code-128] != "":
		notes = append(notes, fmt.Sprintf("exit code %d, which stands for %s", exit.Code, signals[exit.Code-128]))
	case exit.Code != 0:
		notes = append(notes, fmt.Sprintf("exit code %d", exit.Code))
	}
	if len(exit.Left) > 0 {
		notes = append(notes, "ended what it left running: "+strings.Join(exit.Left, ", "))
	}
	return append(notes, exit.Notes...)
}

// signals are those a shell reports as 128 and their number, where the number
// is the same on all systems.
var signals = map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}
