// Command oneloop is a coding agent for the terminal. This package is the one
// place where everything is wired, by explicit calls: read run, then task and
// converse, then newAgent.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"oneloop"
	"oneloop/internal/config"
	"oneloop/internal/tui"
	"oneloop/team"
	"oneloop/tool"
	"oneloop/workspace"
)

func main() {
	workspace.Helper()
	closeMemory()
	os.Exit(run(os.Args[1:]))
}

// program is one run of the command.
type program struct {
	opts     *options
	env      []string
	words    *tui.Text
	settings *config.Settings
	stdin    *os.File
	stdout   *os.File
	stderr   *os.File
	ready    func()          // waits until signals are taken over
	before   []oneloop.Event // what happened before there was a trace
	ask      oneloop.Ask     // nil: nobody is there
	modes    modes
	offline  bool // no model is asked, no host reached, nothing kept: tools of a replay
	last     lastThings
	heap     heap
	tree     *worktree // that the session works in; nil: in none
	skills   skillSet

	instructed bool // it was said what of the instructions is left out

	definitions definitions
	clouds      clouds
	windows     windows
	form        *tool.Answer // the form the answer is to have; nil: any
}

// run does what the command line says and returns the exit code.
func run(args []string) int {
	p := &program{env: os.Environ(), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	p.words = tui.Messages(config.Language(p.env))
	opts, err := parse(args, p.words)
	if err != nil {
		return p.fail(err)
	}
	p.opts = opts
	switch {
	case opts.command == "help" && len(opts.words) > 0:
		return p.help(opts.words[0])
	case opts.help || opts.command == "help":
		return p.help(opts.command)
	case opts.version || opts.command == "version":
		return p.print(fmt.Sprintf(p.words.Version, version(), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH) + "\n")
	case opts.command == "demo":
		return p.end(p.demo, os.Interrupt)
	case opts.command == "policy":
		return p.end(p.policy)
	case opts.command == "doctor":
		return p.end(p.doctor)
	case opts.command == "models":
		return p.end(p.models, os.Interrupt)
	case opts.command == "sessions":
		return p.end(p.sessions)
	case opts.command == "fork":
		return p.end(p.forkCommand)
	case opts.command == "completion":
		return p.end(p.completion)
	case opts.command == "replay":
		return p.end(p.replay, os.Interrupt)
	case opts.command == "team" && len(opts.words) > 0 && opts.words[0] == "worktrees":
		return p.end(p.treesCommand, os.Interrupt)
	case opts.command != "":
		return p.fail(usagef(p.words.NotYet, opts.command))
	}
	if fd, inside := team.Inherited(p.env); inside {
		return p.subtask(fd)
	}
	if opts.task(p.stdin) {
		return p.end(p.task, os.Interrupt)
	}
	return p.end(p.converse)
}

// end runs work under the signals that end a program and turns how it ended
// into the exit code. A signal ends the program as that signal would.
//
// A panic of ours becomes one line. By then everything that work deferred has
// been done: the terminal is given back, what was started is ended.
func (p *program) end(work func(context.Context) error, also ...os.Signal) (code int) {
	defer func() {
		if v := recover(); v != nil {
			code = p.fail(fmt.Errorf("internal error: %v. Please report it, with what you did before", v))
		}
	}()
	ctx, ready, stop := tui.Signals(context.Background(), workspace.Hurry, func() { workspace.EndAll(); p.last.do() }, also...)
	p.ready = ready
	if p.opts != nil && p.opts.command != "" {
		ready() // what prints at once may find that nobody reads it
	}
	err := work(ctx)
	p.clouds.leave()
	var sig *tui.SignalError
	if errors.As(context.Cause(ctx), &sig) {
		stop()
		tui.Die(sig.Signal)
	}
	stop()
	if err == nil {
		return exitDone
	}
	return p.fail(err)
}

// fail says what went wrong and returns the exit code.
func (p *program) fail(err error) int {
	code := exitCode(err)
	var silent *silentError
	if !errors.As(err, &silent) && code != exitPipe {
		fmt.Fprintf(p.stderr, "oneloop: %s\n", p.explain(err))
	}
	return code
}

// help prints how a command is used, and the whole screen for those that it
// says all of.
func (p *program) help(command string) int {
	switch command {
	case "replay":
		return p.print(p.words.ReplayHelp)
	case "sessions":
		return p.print("oneloop " + p.words.SessionsUsage + "\n")
	case "fork":
		return p.print("oneloop " + p.words.ForkUsage + "\n")
	case "models":
		return p.print("oneloop " + p.words.ModelsUsage + "\n")
	case "team":
		return p.print("oneloop " + p.words.TreeUsage + "\n")
	case "policy":
		return p.print("oneloop " + p.words.PolicyUsage + "\n")
	}
	return p.print(p.words.Usage)
}

// print writes text to stdout.
func (p *program) print(text string) int {
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return p.fail(err)
	}
	return exitDone
}

// version is what the build knows of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "0.1.0-dev"
	}
	return info.Main.Version
}

// subtask hands the task to the agent whose command this runs in. Model, tools
// and limits are that agent's.
func (p *program) subtask(fd int) int {
	unused := slices.DeleteFunc(p.opts.flags, func(f string) bool { return f == "--print" || f == "--directory" || f == "--yes" })
	if len(unused) > 0 {
		fmt.Fprintf(p.stderr, "oneloop: "+p.words.ChildFlags+"\n", strings.Join(unused, ", "))
	}
	var code int
	end := p.end(func(ctx context.Context) error {
		var err error
		code, err = team.RunClient(ctx, fd, team.ClientOptions{
			Prompt: p.opts.prompt, Dir: p.opts.dir, Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr,
		})
		if err != nil && !errors.Is(err, syscall.EPIPE) {
			return &codeError{code, err}
		}
		return err
	}, os.Interrupt)
	if end != exitDone {
		return end
	}
	return code
}
