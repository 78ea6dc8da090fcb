package main

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"oneloop"
	"oneloop/internal/config"
	"oneloop/internal/rawjson"
	"oneloop/internal/tui"
	"oneloop/model/anthropic"
	"oneloop/model/catalog"
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

// silentError ends the program with a code and no more words, as the user has
// been told.
type silentError struct {
	code int
	said string // for those who read JSON
}

func (e *silentError) Error() string { return e.said }

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
	case errors.As(err, &coded) && !errors.Is(err, syscall.EPIPE):
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
	said := err.Error()
	if denied, ok := errors.AsType[*deniedError](err); ok {
		said = strings.Replace(said, denied.Error(), denied.in(p.words), 1)
	}
	text := tui.Visible(strings.Join(strings.FieldsFunc(said, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
	hint := p.hint(err)
	if hint == "" {
		return text
	}
	return strings.TrimSuffix(text, ".") + ". " + hint
}

// hint is what to do next, and what is kept; empty when the error says it.
func (p *program) hint(err error) string {
	if limit, ok := errors.AsType[*oneloop.LimitError](err); ok {
		if flag := limitFlag(limit.What); flag != "" {
			return fmt.Sprintf(p.words.HintLimit, flag)
		}
		return p.words.HintOtherLimit
	}
	switch {
	case errors.As(err, new(*oneloop.RefusedError)):
		return p.words.HintRefused
	}
	if cut, ok := errors.AsType[*oneloop.TruncatedError](err); ok {
		switch cut.Stop {
		case oneloop.StopContextWindow:
			return p.words.HintTooLong
		case oneloop.StopPause:
			return p.words.HintPaused
		}
		return p.words.HintTruncated
	}
	if api, ok := errors.AsType[*oneloop.APIError](err); ok {
		return p.named(p.apiHint(api))
	}
	return ""
}

// named is a hint with the variables or settings of the provider that is asked.
func (p *program) named(hint string) string {
	a, _ := p.settings.Access(p.settings.Model.Provider)
	if a.Name == "" || a.Name == "anthropic" || a.Name != p.settings.Model.Provider || a.Through != "" {
		return hint
	}
	key, address := "providers."+a.Name, a.Address
	if len(a.Keys) > 0 && !a.Commanded() {
		key = a.Keys[0].Variable
	}
	if a.Custom {
		address = "providers." + a.Name + ".baseURL"
	}
	api := map[string]string{catalog.Chat: "Chat Completions API", catalog.Responses: "Responses API", catalog.Gemini: "Gemini API", catalog.Ollama: "Ollama API"}[a.API]
	return strings.NewReplacer("ANTHROPIC_API_KEY", key, "ANTHROPIC_BASE_URL", address, "Messages API", cmp.Or(api, "Messages API")).Replace(hint)
}

// through reports whether the program beside this one finds the credentials, and
// says itself what is missing of them.
func (p *program) through() bool {
	a, _ := p.settings.Access(p.settings.Model.Provider)
	return a.Through != ""
}

func (p *program) apiHint(e *oneloop.APIError) string {
	w := p.words
	say := func(format string) string { return fmt.Sprintf(format, p.where(e)) }
	switch e.Class {
	case oneloop.ErrAuth:
		if p.through() {
			return ""
		}
		return say(w.HintAuth)
	case oneloop.ErrBilling:
		return say(w.HintBilling)
	case oneloop.ErrContextOverflow:
		return w.HintTooLong
	case oneloop.ErrTooLarge:
		return say(w.HintTooLarge)
	case oneloop.ErrNetwork:
		return say(p.networkHint(e))
	case oneloop.ErrNotFound:
		if !saidByAPI(e) { // a page for a wrong address
			return say(w.HintNotAPI)
		}
		return fmt.Sprintf(w.HintNotFound, p.modelName(), p.where(e))
	case oneloop.ErrNotAPI:
		if e.Location != "" {
			return fmt.Sprintf(w.HintRedirect, p.where(e), base(e.Location))
		}
		return say(w.HintNotAPI)
	case oneloop.ErrInvalidRequest:
		if e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented {
			return say(w.HintNotAPI)
		}
		return say(w.HintInvalid)
	case oneloop.ErrStreamCut:
		return say(w.HintCut)
	case oneloop.ErrStalled:
		return say(w.HintStalled)
	}
	if e.RetryAfter >= time.Minute {
		return fmt.Sprintf(w.HintBusyUntil, p.where(e), time.Now().Add(e.RetryAfter).Format(time.DateTime))
	}
	if e.Class == oneloop.ErrServer {
		return say(w.HintServer)
	}
	return say(w.HintBusy)
}

// saidByAPI reports whether an error is in the form of an API. Many servers of
// Chat Completions give it no type.
func saidByAPI(e *oneloop.APIError) bool {
	return e.Type != "" || e.API != anthropic.API && !rawjson.Parse(e.Body).Field("error").IsNull()
}

// networkHint tells whether nobody answered, whoever did is not to be trusted,
// or the connection was there and broke.
func (p *program) networkHint(e *oneloop.APIError) string {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](e); ok {
		return p.words.HintCertificate
	}
	op, ok := errors.AsType[*net.OpError](e)
	_, dns := errors.AsType[*net.DNSError](e)
	if dns || ok && (op.Op == "dial" || op.Op == "proxyconnect") || e.Err == nil {
		return p.words.HintNetwork
	}
	return p.words.HintBroken
}

// where is the address that was asked.
func (p *program) where(e *oneloop.APIError) string {
	return base(cmp.Or(e.URL, p.address()))
}

// base is the base URL of an address that is asked, without its query.
func base(url string) string {
	address, _, _ := strings.Cut(url, "?")
	return strings.TrimSuffix(address, "/v1/messages")
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
