// Package tui is what a person sees of the program: a conversation at a
// terminal ([Terminal], or [Plain] where the terminal can do nothing but
// print), the progress of one task ([Progress]), and every text in two
// languages ([Messages]).
//
// It reads events and takes prompts; it keeps no state of a conversation.
// [Front] is the seam at which another user interface takes its place.
package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"oneloop"
)

// Front is what a conversation needs of the person in front of it. Its
// methods may be called from several goroutines.
type Front interface {
	// Prompt waits for the next text the person sends and returns it as it
	// was typed, never blank. What was typed while a turn ran comes first.
	// The error is [io.EOF] when the person leaves, and the cause of ctx when
	// ctx ends.
	Prompt(ctx context.Context) (string, error)

	// Typed waits for the next text the person sends while a turn runs, and
	// returns it at once where Prompt would return it after the turn. It returns
	// only the cause of ctx where nobody types: what comes from a file or a pipe
	// was there before the turn, and is for Prompt.
	Typed(ctx context.Context) (string, error)

	// Turn says that a turn begins: until end is called, the person can stop
	// it, and the returned context then ends with [oneloop.ErrInterrupted].
	// Turns do not overlap.
	Turn(ctx context.Context) (turn context.Context, end func())

	// Show shows an event, returning quickly.
	Show(e oneloop.Event)

	// Ask puts a question, as [oneloop.Ask] has it. Questions that come
	// together are put one after the other. What was typed before a question
	// was shown is no answer to it. The error is [oneloop.ErrInterrupted]
	// when the person stopped the turn instead, [io.EOF] when they are gone.
	Ask(ctx context.Context, q oneloop.Question) (oneloop.Answer, error)

	// Say shows text of the program itself on lines of its own.
	Say(text string)

	// Write shows lines some other part of the program prints, e.g. a trace.
	io.Writer

	// Close gives the terminal back. It may be called more than once.
	Close() error
}

// Options are the settings of a conversation. In, Out and Err default to the
// standard streams, Words to English, Env to [os.Getenv].
type Options struct {
	In, Out, Err *os.File
	Words        *Text
	Env          func(string) string
	History      string // file that keeps prompts between runs; empty: none
	LeaveOnBlank bool   // a blank line ends the conversation
	// Bell rings the terminal's bell when a turn has ended or a question is
	// shown, and the person has done nothing for so long; 0: it never rings.
	Bell time.Duration
	// Standing is shown above the line that is typed; empty: nothing is.
	// BackTab is what Shift+Tab does, which may change that. Both are called
	// with the front locked and must not call it. Nil: there is none.
	Standing func() string
	BackTab  func()
	// Complete is asked by Tab for what the end of the text before the cursor
	// may become, under the same conditions. Where it knows nothing, and in a
	// text that comes faster than it is typed, Tab is a tab.
	Complete func(before string) Completion
}

func (o *Options) defaults() {
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Err == nil {
		o.Err = os.Stderr
	}
	if o.Words == nil {
		o.Words = &english
	}
	if o.Env == nil {
		o.Env = os.Getenv
	}
}

// Open opens the conversation: a [Terminal] where there is a terminal that
// can move its cursor, else a [Plain].
func Open(o Options) (Front, error) {
	o.defaults()
	if !capable(o) {
		return NewPlain(o)
	}
	return NewTerminal(o)
}

// capable reports whether a line editor can work.
func capable(o Options) bool {
	if !term.IsTerminal(int(o.In.Fd())) || !mobile(o.Out, o.Env) {
		return false
	}
	w, h, err := term.GetSize(int(o.Out.Fd()))
	return err == nil && w > 0 && h > 0
}

// mobile reports whether f is a terminal that can move its cursor.
func mobile(f *os.File, env func(string) string) bool {
	t := env("TERM")
	return term.IsTerminal(int(f.Fd())) && t != "dumb" && (t != "" || termOptional)
}

// Color reports whether colours may be written to f: f is a terminal, TERM
// says that it knows them, and NO_COLOR is empty.
func Color(f *os.File, env func(string) string) bool {
	return env("NO_COLOR") == "" && mobile(f, env)
}

// SignalError is the cause a context of [Signals] ends with.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return fmt.Sprintf("ended by signal: %v", e.Signal) }

// Unwrap is [oneloop.ErrInterrupted] for an interrupt from the keyboard,
// [oneloop.ErrShutdown] else.
func (e *SignalError) Unwrap() error {
	if e.Signal == os.Interrupt {
		return oneloop.ErrInterrupted
	}
	return oneloop.ErrShutdown
}
