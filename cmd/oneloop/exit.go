package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"oneloop"
	"oneloop/internal/config"
	"oneloop/internal/tui"
)

// Exit codes, as `oneloop help` lists them.
const (
	exitDone      = 0
	exitFailed    = 1 // model or API
	exitUsage     = 2
	exitConfig    = 3 // credentials or configuration
	exitDenied    = 4 // a call was denied because nobody could be asked
	exitLimit     = 5
	exitRefused   = 6   // refused or truncated
	exitInterrupt = 130 // interrupted
	exitPipe      = 141 // nobody reads the answer
)

// silentError ends the program with a code and no more words.
type silentError struct{ code int }

func (e *silentError) Error() string { return "" }

// codeError is an error with an exit code of its own.
type codeError struct {
	code int
	error
}

func (e *codeError) Unwrap() error { return e.error }

// exitCode is the program's answer to how a task ended.
func exitCode(err error) int {
	var (
		silent  *silentError
		coded   *codeError
		usage   *usageError
		conf    *config.Error
		limit   *oneloop.LimitError
		refused *oneloop.RefusedError
		cut     *oneloop.TruncatedError
	)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &silent):
		return silent.code
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &conf):
		return conf.Exit
	case errors.As(err, &limit):
		return exitLimit
	case errors.As(err, &refused), errors.As(err, &cut):
		return exitRefused
	case errors.Is(err, oneloop.ErrAuth), errors.Is(err, oneloop.ErrBilling):
		return exitConfig
	case errors.Is(err, oneloop.ErrInterrupted):
		return exitInterrupt
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	}
	return exitFailed
}

// explain is the error with what to do about it, on one line. Errors may quote
// what a model or a server said, and several may be joined.
func (p *program) explain(err error) string {
	text := tui.Visible(strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
	hint := p.hint(err)
	if hint == "" {
		return text
	}
	return strings.TrimSuffix(text, ".") + ". " + hint
}

func (p *program) hint(err error) string {
	var limit *oneloop.LimitError
	var api *oneloop.APIError
	errors.As(err, &api)
	switch {
	case errors.As(err, &limit):
		if flag := limitFlag(limit.What); flag != "" {
			return fmt.Sprintf(p.words.HintLimit, flag)
		}
	case errors.Is(err, oneloop.ErrAuth):
		return p.words.HintAuth
	case errors.Is(err, oneloop.ErrBilling):
		return p.words.HintBilling
	case errors.Is(err, oneloop.ErrContextOverflow):
		return p.words.HintTooLong
	case errors.Is(err, oneloop.ErrNetwork) && api != nil:
		return fmt.Sprintf(p.words.HintNetwork, api.URL)
	case errors.Is(err, oneloop.ErrNotFound) && api != nil:
		return fmt.Sprintf(p.words.HintNotFound, p.modelName(), api.URL)
	case errors.Is(err, oneloop.ErrNotAPI) && api != nil:
		return fmt.Sprintf(p.words.HintNotAPI, api.URL)
	case errors.Is(err, oneloop.ErrOverloaded), errors.Is(err, oneloop.ErrRateLimited), errors.Is(err, oneloop.ErrServer):
		return p.words.HintBusy
	case errors.As(err, new(*oneloop.RefusedError)):
		return p.words.HintRefused
	case errors.As(err, new(*oneloop.TruncatedError)):
		return p.words.HintTruncated
	}
	return ""
}

// limitFlag is the flag that sets a limit, empty when none does.
func limitFlag(what string) string {
	switch what {
	case "turns":
		return "--max-turns"
	case "cost":
		return "--max-cost"
	}
	return ""
}
