package oneloop

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Classes of API errors. An [*APIError] wraps exactly one.
var (
	ErrOverloaded      = errors.New("the API is overloaded")
	ErrRateLimited     = errors.New("rate limit reached")
	ErrServer          = errors.New("the API failed")
	ErrNetwork         = errors.New("the API could not be reached")
	ErrStreamCut       = errors.New("the reply was cut off")
	ErrStalled         = errors.New("the API went silent")
	ErrNotAPI          = errors.New("the answer is not the API's")
	ErrContextOverflow = errors.New("the conversation does not fit the model's window")
	ErrTooLarge        = errors.New("the request is too large")
	ErrAuth            = errors.New("the credentials were refused")
	ErrBilling         = errors.New("the account cannot pay for this")
	ErrNotFound        = errors.New("no such model or address")
	ErrInvalidRequest  = errors.New("the request was refused")
)

// APIError is an error an API gave, or the failure to get an answer from it.
type APIError struct {
	Class      error         // one of the classes above
	API        string        // e.g. "anthropic"
	URL        string        // without credentials
	Status     int           // of HTTP; 0 without an answer; 200 when the error came in a stream
	Type       string        // the API's word, e.g. "overloaded_error"
	Code       string        // the API's machine-readable cause, if it gave one
	Message    string        // the API's text, or what went wrong on the way
	RequestID  string        //
	RetryAfter time.Duration // as the API asked for; 0: it did not
	Retry      Retryable     // what the API said about another try
	Location   string        // where the address redirects to, without credentials; nothing was sent there
	At         *Position     // the part of the request that it is about; nil: the API named none
	Body       []byte        // the first bytes of the answer
	Err        error         // the failure below, if any
}

// Position is a part of a request: a message, a block of it, a part of a tool
// result. Message is one of the request's.
type Position struct {
	Message *Message
	Block   int // index in Message.Blocks; -1: the message as a whole
	Inner   int // index in the Content of a tool result; -1: the block as a whole
}

// Retryable is what an API said about another try.
type Retryable int

const (
	RetryUnsaid Retryable = iota
	RetryYes
	RetryNo
)

// Error is one line without credentials.
func (e *APIError) Error() string {
	var b strings.Builder
	if e.API != "" {
		b.WriteString(e.API + ": ")
	}
	if e.Class != nil {
		b.WriteString(e.Class.Error())
	}
	if e.Status != 0 && e.Status != 200 {
		b.WriteString(" (HTTP " + strconv.Itoa(e.Status) + ")")
	}
	if e.Type != "" {
		b.WriteString(": " + e.Type)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RequestID != "" {
		b.WriteString(" [request " + e.RequestID + "]")
	}
	return oneLine(b.String())
}

// oneLine makes every run of white space, ends of lines too, one space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (e *APIError) Unwrap() []error {
	var errs []error
	if e.Class != nil {
		errs = append(errs, e.Class)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// Causes a context of ours ends with; see [context.Cause].
var (
	ErrInterrupted = errors.New("interrupted")
	ErrShutdown    = errors.New("the program is ending")
)

// RefusedError ends a turn whose last message is a refusal.
type RefusedError struct {
	Category    string // the API's word, may be empty
	Explanation string
}

func (e *RefusedError) Error() string {
	s := "the model refused"
	if e.Category != "" {
		s += " (" + e.Category + ")"
	}
	if e.Explanation != "" {
		s += ": " + e.Explanation
	}
	return oneLine(s)
}

// TruncatedError ends a turn whose last message was cut at a limit of the
// model, or paused by the API, and could not be continued.
type TruncatedError struct{ Stop StopReason }

func (e *TruncatedError) Error() string {
	switch e.Stop {
	case StopContextWindow:
		return "the reply was cut at the end of the model's window"
	case StopPause:
		return "the reply was paused again and again and never finished"
	}
	return "the reply was cut at the model's output limit"
}

// LimitError ends a turn at a limit somebody set.
type LimitError struct {
	What  string // "turns", "tokens", "cost", "time", "depth", "agents", "repetition"
	Limit string // as text with its unit
	Used  string
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the limit on %s is reached: %s of %s", e.What, e.Used, e.Limit)
}
