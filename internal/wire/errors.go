package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"oneloop"
	"oneloop/internal/rawjson"
)

const (
	maxErrorBody = 64 << 10 // bytes of an error's body that are read
	keptBody     = 4 << 10  // and kept
	shownBody    = 200      // characters of a body that is not the API's
	shownMessage = 2000     // characters of a message of the API's
)

// classOf is the class of a status whose body says nothing we know.
func classOf(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return oneloop.ErrAuth
	case http.StatusPaymentRequired:
		return oneloop.ErrBilling
	case http.StatusNotFound:
		return oneloop.ErrNotFound
	case http.StatusRequestEntityTooLarge:
		return oneloop.ErrTooLarge
	case http.StatusTooManyRequests:
		return oneloop.ErrRateLimited
	case 529:
		return oneloop.ErrOverloaded
	case http.StatusRequestTimeout, http.StatusConflict:
		return oneloop.ErrServer
	case http.StatusNotImplemented:
		return oneloop.ErrInvalidRequest
	}
	if status >= 500 || status < 300 {
		return oneloop.ErrServer
	}
	return oneloop.ErrInvalidRequest
}

// fail is an error about an answer that came.
func (c *Caller) fail(resp *http.Response, class error, message string) *oneloop.APIError {
	return &oneloop.APIError{
		Class: class, API: c.API, URL: c.shown, Status: resp.StatusCode,
		Message: c.clean(message), RequestID: c.requestID(resp.Header),
	}
}

// clean makes text from elsewhere fit to be shown.
func (c *Caller) clean(text string) string {
	return c.printable(text, shownMessage)
}

// printable are the first n characters of text that can be shown, without
// secrets: neither as they came nor as they read once it is printable.
func (c *Caller) printable(text string, n int) string {
	return Redact(Printable([]byte(Redact(text, c.Secrets...)), n), c.Secrets...)
}

// refused reads the error of an answer whose status is not 2xx.
func (c *Caller) refused(ctx context.Context, resp *http.Response) error {
	if s := resp.StatusCode; s >= 300 && s < 400 {
		return c.redirected(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := c.said(resp, rawjson.Parse(body))
	if e.Type == "" && e.Message == "" {
		e.Message = c.describe(resp, body, err)
		if resp.StatusCode == http.StatusForbidden {
			// Not the API that refuses, but something before it.
			e.Class, e.Retry = oneloop.ErrNotAPI, oneloop.RetryNo
		}
	}
	if resp.StatusCode == http.StatusNotFound {
		e.Message += " (asked: POST " + c.shown + ")"
	}
	e.Body = c.kept(body)
	return e
}

// redirected is the error for an address that sends us elsewhere, where we do
// not take the credentials.
func (c *Caller) redirected(resp *http.Response) error {
	to, location := "another address", ""
	if u, err := resp.Location(); err == nil {
		location = c.clean(SafeURL(u))
		to = location
	}
	e := c.fail(resp, oneloop.ErrNotAPI, fmt.Sprintf("%s redirects to %s; set the base URL to where the API is", c.shown, to))
	e.Location, e.Retry = location, oneloop.RetryNo
	return e
}

// said reads an error in the API's form, or in one that gateways use.
func (c *Caller) said(resp *http.Response, v rawjson.Value) *oneloop.APIError {
	e := c.fail(resp, classOf(resp.StatusCode), "")
	c.Read(e, v, c.clean)
	if wait := RetryAfter(resp.Header, time.Now()); wait > 0 {
		e.RetryAfter = wait
	}
	switch strings.ToLower(strings.TrimSpace(resp.Header.Get("X-Should-Retry"))) {
	case "true":
		e.Retry = oneloop.RetryYes
	case "false":
		e.Retry = oneloop.RetryNo
	}
	e.Body = c.kept(v)
	return e
}

// notAPI is the error for a 2xx answer that is none of the API's.
func (c *Caller) notAPI(resp *http.Response, body []byte) *oneloop.APIError {
	e := c.fail(resp, oneloop.ErrNotAPI, c.describe(resp, body, nil))
	e.RetryAfter = RetryAfter(resp.Header, time.Now())
	e.Body = c.kept(body)
	return e
}

// describe says what came instead of the API's answer; err is what ended the
// reading of its body, if something did.
func (c *Caller) describe(resp *http.Response, body []byte, err error) string {
	kind := c.printable(resp.Header.Get("Content-Type"), 100)
	if kind == "" {
		kind = "no content type"
	}
	said := c.printable(string(body), shownBody)
	if said == "" && err != nil {
		return fmt.Sprintf("status %d, %s, a body that cannot be read: %s", resp.StatusCode, kind, c.clean(err.Error()))
	}
	if said == "" {
		return fmt.Sprintf("status %d, %s, an empty body", resp.StatusCode, kind)
	}
	return fmt.Sprintf("status %d, %s: %s", resp.StatusCode, kind, said)
}

func (c *Caller) kept(body []byte) []byte {
	if len(body) == 0 {
		return nil
	}
	return []byte(Redact(string(body[:min(len(body), keptBody)]), c.Secrets...))
}

// unreached is the error of a request without an answer.
func (c *Caller) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the URL may hold secrets
	}
	e := &oneloop.APIError{Class: oneloop.ErrNetwork, API: c.API, URL: c.shown, Err: err}
	e.Message = c.shown + ": " + c.printable(err.Error(), 500)
	if NoHTTP(err) {
		e.Class = oneloop.ErrNotAPI
	}
	if permanent(err) {
		e.Retry = oneloop.RetryNo
	}
	return e
}

// cut is the error for a stream that ended too early.
func (a *Answer) cut(err error) *oneloop.APIError {
	text := "the connection ended before the reply was complete"
	if errors.Is(err, ErrNoGzip) {
		text = "the reply cannot be read to its end"
	}
	e := a.Fail(oneloop.ErrStreamCut, "%s", text)
	if err != nil && err != io.EOF {
		e.Err = err
		e.Message += ": " + a.caller.printable(err.Error(), 200)
	}
	return e
}

// Malformed is the error for a stream that cannot be understood.
func (a *Answer) Malformed(format string, args ...any) *oneloop.APIError {
	return a.Fail(oneloop.ErrServer, "the stream cannot be understood: "+format, args...)
}

// Quote is the beginning of what came and cannot be understood, as it may be
// shown.
func (a *Answer) Quote(data []byte) string { return a.caller.printable(string(data), shownBody) }

// Overflow reports whether a message of an API, in lower case, says that the
// prompt does not fit into the model's window.
func Overflow(text string) bool {
	for _, words := range []string{"prompt is too long", "exceed context limit", "exceeds the context window",
		"context_length_exceeded", "maximum context length"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// Wait is the wait that a message of an API, in lower case, asks for: "please try
// again in 1m30.5s." or "please retry after 20 seconds."; 0: none.
func Wait(text string) time.Duration {
	for _, words := range []string{"try again in ", "retry in ", "retry after ", "try again after "} {
		_, rest, ok := strings.Cut(text, words)
		if !ok {
			continue
		}
		word, after, _ := strings.Cut(rest, " ")
		d, err := time.ParseDuration(strings.TrimRight(word, ".,"))
		if err != nil && strings.HasPrefix(after, "second") {
			d, err = time.ParseDuration(word + "s")
		}
		if err == nil && d > 0 && d < 365*24*time.Hour {
			return d
		}
	}
	return 0
}

// permanent reports whether a transport error will be the same next time.
func permanent(err error) bool {
	var (
		record  tls.RecordHeaderError
		host    x509.HostnameError
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		check   *tls.CertificateVerificationError
	)
	return errors.As(err, &record) || errors.As(err, &host) || errors.As(err, &unknown) || errors.As(err, &invalid) ||
		errors.As(err, &check) || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}
