package anthropic

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

const (
	maxErrorBody = 64 << 10 // bytes of an error's body that are read
	keptBody     = 4 << 10  // and kept
	shownBody    = 200      // characters of a body that is not the API's
	shownMessage = 2000     // characters of a message of the API's
)

// classes by the API's own word.
var classes = map[string]error{
	"overloaded_error":      oneloop.ErrOverloaded,
	"rate_limit_error":      oneloop.ErrRateLimited,
	"api_error":             oneloop.ErrServer,
	"timeout_error":         oneloop.ErrServer,
	"conflict_error":        oneloop.ErrServer,
	"authentication_error":  oneloop.ErrAuth,
	"permission_error":      oneloop.ErrAuth,
	"billing_error":         oneloop.ErrBilling,
	"not_found_error":       oneloop.ErrNotFound,
	"request_too_large":     oneloop.ErrTooLarge,
	"invalid_request_error": oneloop.ErrInvalidRequest,
}

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
func (m *Model) fail(resp *http.Response, class error, message string) *oneloop.APIError {
	return &oneloop.APIError{
		Class: class, API: API, URL: m.shown, Status: resp.StatusCode,
		Message: m.clean(message), RequestID: m.requestID(resp.Header),
	}
}

// clean makes text from elsewhere fit to be shown.
func (m *Model) clean(text string) string {
	return wire.Printable([]byte(wire.Redact(text, m.secrets...)), shownMessage)
}

// refused reads the error of an answer whose status is not 2xx.
func (m *Model) refused(ctx context.Context, resp *http.Response) error {
	if s := resp.StatusCode; s >= 300 && s < 400 {
		return m.redirected(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := m.said(resp, rawjson.Parse(body))
	if e.Type == "" && e.Message == "" {
		e.Message = m.describe(resp, body, err)
		if resp.StatusCode == http.StatusForbidden {
			// Not the API that refuses, but something before it.
			e.Class, e.Retry = oneloop.ErrNotAPI, oneloop.RetryNo
		}
	}
	if resp.StatusCode == http.StatusNotFound {
		e.Message += " (asked: POST " + m.shown + ")"
	}
	e.Body = m.kept(body)
	return e
}

// redirected is the error for an address that sends us elsewhere, where we do
// not take the credentials.
func (m *Model) redirected(resp *http.Response) error {
	to, location := "another address", ""
	if u, err := resp.Location(); err == nil {
		location = m.clean(wire.SafeURL(u))
		to = location
	}
	e := m.fail(resp, oneloop.ErrNotAPI, fmt.Sprintf("%s redirects to %s; set the base URL to where the API is", m.shown, to))
	e.Location, e.Retry = location, oneloop.RetryNo
	return e
}

// said reads an error in the API's form, or in one that gateways use.
func (m *Model) said(resp *http.Response, v rawjson.Value) *oneloop.APIError {
	e := m.fail(resp, classOf(resp.StatusCode), "")
	fillError(e, v, m.clean)
	e.RetryAfter = wire.RetryAfter(resp.Header, time.Now())
	switch strings.ToLower(strings.TrimSpace(resp.Header.Get("X-Should-Retry"))) {
	case "true":
		e.Retry = oneloop.RetryYes
	case "false":
		e.Retry = oneloop.RetryNo
	}
	e.Body = m.kept(v)
	return e
}

// fillError takes what a body says of an error; clean makes its texts fit to
// be shown.
func fillError(e *oneloop.APIError, v rawjson.Value, clean func(string) string) {
	body := v.Field("error")
	if body.IsNull() {
		body = v
	}
	e.Type = clean(body.Field("type").Text())
	e.Code = clean(body.Field("details").Field("error_code").Text())
	e.Message = clean(body.Field("message").Text())
	if text := body.Text(); text != "" { // "error": "text"
		e.Message = clean(text)
	}
	if id := v.Field("request_id").Text(); id != "" {
		e.RequestID = clean(id)
	}
	if class, ok := classes[e.Type]; ok {
		e.Class = class
	}
	text := strings.ToLower(e.Message)
	switch {
	case strings.HasSuffix(e.Code, "_spend_limit_reached"), strings.Contains(text, "credit balance is too low"):
		e.Class, e.Retry = oneloop.ErrBilling, oneloop.RetryNo
	case e.Class == oneloop.ErrInvalidRequest && (overflow(text) || body.Field("code").Text() == "context_length_exceeded"):
		e.Class = oneloop.ErrContextOverflow
	}
}

// overflow reports whether a message, in lower case, says that the prompt
// does not fit.
func overflow(text string) bool {
	for _, words := range []string{"prompt is too long", "exceed context limit", "exceeds the context window",
		// of gateways to other models
		"context_length_exceeded", "maximum context length"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// notAPI is the error for a 2xx answer that is none of the API's.
func (m *Model) notAPI(resp *http.Response, body []byte) *oneloop.APIError {
	e := m.fail(resp, oneloop.ErrNotAPI, m.describe(resp, body, nil))
	e.RetryAfter = wire.RetryAfter(resp.Header, time.Now())
	e.Body = m.kept(body)
	return e
}

// describe says what came instead of the API's answer; err is what ended the
// reading of its body, if something did.
func (m *Model) describe(resp *http.Response, body []byte, err error) string {
	kind := wire.Printable([]byte(resp.Header.Get("Content-Type")), 100)
	if kind == "" {
		kind = "no content type"
	}
	said := wire.Printable([]byte(wire.Redact(string(body), m.secrets...)), shownBody)
	if said == "" && err != nil {
		return fmt.Sprintf("status %d, %s, a body that cannot be read: %s", resp.StatusCode, kind, m.clean(err.Error()))
	}
	if said == "" {
		return fmt.Sprintf("status %d, %s, an empty body", resp.StatusCode, kind)
	}
	return fmt.Sprintf("status %d, %s: %s", resp.StatusCode, kind, said)
}

func (m *Model) kept(body []byte) []byte {
	if len(body) == 0 {
		return nil
	}
	return []byte(wire.Redact(string(body[:min(len(body), keptBody)]), m.secrets...))
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
