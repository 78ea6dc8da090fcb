package anthropic

import (
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// classOf is the class of the API's own word.
func classOf(kind string) error {
	switch kind {
	case "overloaded_error":
		return oneloop.ErrOverloaded
	case "rate_limit_error":
		return oneloop.ErrRateLimited
	case "api_error", "timeout_error", "conflict_error":
		return oneloop.ErrServer
	case "authentication_error", "permission_error":
		return oneloop.ErrAuth
	case "billing_error":
		return oneloop.ErrBilling
	case "not_found_error":
		return oneloop.ErrNotFound
	case "request_too_large":
		return oneloop.ErrTooLarge
	case "invalid_request_error":
		return oneloop.ErrInvalidRequest
	}
	return nil
}

// fillError takes what a body says of an error, in the API's form or in one
// that gateways use; clean makes its texts fit to be shown.
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
	if class := classOf(e.Type); class != nil {
		e.Class = class
	}
	text := strings.ToLower(e.Message)
	switch {
	case strings.HasSuffix(e.Code, "_spend_limit_reached"), strings.Contains(text, "credit balance is too low"):
		e.Class, e.Retry = oneloop.ErrBilling, oneloop.RetryNo
	case e.Class == oneloop.ErrInvalidRequest && (wire.Overflow(text) || body.Field("code").Text() == "context_length_exceeded"):
		e.Class = oneloop.ErrContextOverflow
	}
}
