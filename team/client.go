package team

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Env is the environment variable that names the descriptor of the socket to
// the agent above, and FD the descriptor that [Broker.Attach] uses: scripts
// use 0 to 9, shells park descriptors from 10 on, taking the next that is free.
const (
	Env = "ONELOOP_AGENT_FD"
	FD  = 19
)

// ClientOptions are the subtask and where its answer goes.
type ClientOptions struct {
	Prompt string
	Dir    string // from the current one; empty: that one

	// Stdin is read to its end and handed over beside the prompt when it is a
	// pipe, a socket or a regular file. With a prompt, one on which nothing
	// comes for Wait is given up, which Stderr is told; see the package's text.
	Stdin *os.File
	Wait  time.Duration // 0: two seconds

	Stdout io.Writer // gets the answer; nil: discarded
	Stderr io.Writer // gets the child's log and why it failed; nil: discarded
}

// stdinWait is the default of [ClientOptions].Wait.
const stdinWait = 2 * time.Second

// Inherited reports whether a program with this environment runs inside a
// command of an agent, and the descriptor that leads there. It must then use
// [RunClient] and never become an agent of its own, also when the descriptor
// turns out to be useless (fd is then negative, or RunClient says why).
//
// On Linux the socket is found at [FD] also when the variable is missing.
func Inherited(env []string) (fd int, ok bool) {
	for _, kv := range env {
		if value, found := strings.CutPrefix(kv, Env+"="); found {
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				n = -1
			}
			return n, true
		}
	}
	if inheritedUnnamed() {
		return FD, true
	}
	return 0, false
}

// RunClient hands a subtask to the agent at the other end of fd, copies what
// comes back and returns the child's exit code. What the agent has to say
// about a failure goes to Stderr. An error is about the way there; the exit
// code is then 3 when there is no agent, 2 when the subtask cannot be sent,
// 130 when ctx ended and 1 otherwise. When ctx ends, so does the child.
func RunClient(ctx context.Context, fd int, o ClientOptions) (exit int, err error) {
	exit, err = runClient(ctx, fd, o)
	if err != nil && ctx.Err() != nil {
		return 130, context.Cause(ctx)
	}
	return exit, err
}

// unreachable is the error of a descriptor that leads nowhere.
func unreachable(why string) error {
	return fmt.Errorf("this command cannot reach its agent: %s; call oneloop from the command's own shell, or pass descriptor %d on "+
		"(in Python: subprocess.run(..., pass_fds=[%d]))", why, FD, FD)
}

// follow copies frames until the exit code.
func follow(s *stream, o ClientOptions) (int, error) {
	out, log := o.Stdout, o.Stderr
	if out == nil {
		out = io.Discard
	}
	if log == nil {
		log = io.Discard
	}
	for {
		kind, data, err := s.receive()
		if err != nil {
			return 1, fmt.Errorf("the agent ended before the subtask did: %w", noEOF(err))
		}
		switch kind {
		case frameStdout:
			_, err = out.Write(data)
		case frameStderr:
			_, err = log.Write(data)
		case frameExit:
			n, err := strconv.Atoi(string(data))
			if err != nil || n < 0 || n > 255 {
				return 1, fmt.Errorf("the agent sent %q where an exit code was due", data)
			}
			return n, nil
		}
		if err != nil {
			return 1, fmt.Errorf("write the answer: %w", err)
		}
	}
}

// stdoutMode says what w is, for the agent.
func stdoutMode(w io.Writer) string {
	f, ok := w.(*os.File)
	if !ok {
		return "pipe"
	}
	info, err := f.Stat()
	if err != nil {
		return "null" // closed
	}
	null, err := os.Stat(os.DevNull)
	switch mode := info.Mode(); {
	case err == nil && os.SameFile(info, null):
		return "null"
	case mode&os.ModeCharDevice != 0:
		return "terminal"
	case mode.IsRegular():
		return "file"
	}
	return "pipe"
}

var errNoPrompt = errors.New("the prompt is empty; say what is to be done")
