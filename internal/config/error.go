package config

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Exit codes of the program that this package's errors stand for.
const (
	ExitUsage  = 2 // a flag is wrong
	ExitConfig = 3 // the environment, a file or a credential is wrong
)

// Error is a setting that cannot be used. Its text is one line that says what
// is wrong and what to do.
type Error struct {
	Exit int
	Text string
	Err  error // the failure below, if any
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Err }

func usage(format string, args ...any) error {
	return &Error{Exit: ExitUsage, Text: oneLine(fmt.Sprintf(format, args...))}
}

func misconfigured(err error, format string, args ...any) error {
	return &Error{Exit: ExitConfig, Text: oneLine(fmt.Sprintf(format, args...)), Err: err}
}

// oneLine makes text fit for one line of a terminal: a value from a file or
// the environment may hold anything.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, text)
}

// cause is err without the path that a message names already.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
