package gemini

import (
	"strconv"
	"strings"
	"time"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// classOf is the class of the API's own word.
func classOf(status string) error {
	switch status {
	case "UNAVAILABLE":
		return oneloop.ErrOverloaded
	case "RESOURCE_EXHAUSTED":
		return oneloop.ErrRateLimited
	case "INTERNAL", "UNKNOWN", "ABORTED", "CANCELLED", "DEADLINE_EXCEEDED", "DATA_LOSS":
		return oneloop.ErrServer
	case "UNAUTHENTICATED", "PERMISSION_DENIED":
		return oneloop.ErrAuth
	case "NOT_FOUND":
		return oneloop.ErrNotFound
	case "INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED", "ALREADY_EXISTS":
		return oneloop.ErrInvalidRequest
	}
	return nil
}

// fillError takes what a body says of an error, in the API's form or in one
// that gateways use; clean makes its texts fit to be shown. An answer that is
// a list has the error in its first item.
func fillError(e *oneloop.APIError, v rawjson.Value, clean func(string) string) {
	for item := range v.Items() {
		v = item
		break
	}
	body := v.Field("error")
	if body.IsNull() {
		body = v
	}
	e.Type = clean(body.Field("status").Text())
	if e.Type == "" {
		e.Type = clean(body.Field("type").Text())
	}
	e.Message = clean(body.Field("message").Text())
	if text := body.Text(); text != "" { // "error": "text"
		e.Message = clean(text)
	}
	if class := classOf(e.Type); class != nil {
		e.Class = class
	}
	for d := range body.Field("details").Items() {
		if reason := d.Field("reason").Text(); reason != "" {
			e.Code = clean(reason)
		}
		if wait := delay(d.Field("retryDelay")); wait > 0 {
			e.RetryAfter = wait
		}
		for v := range d.Field("violations").Items() {
			if quota := v.Field("quotaId").Text(); quota != "" {
				e.Code = clean(quota)
			}
		}
	}
	text := strings.ToLower(e.Message)
	if e.RetryAfter == 0 { // of a gateway that hands on the text alone
		e.RetryAfter = wire.Wait(text)
	}
	switch {
	case e.Code == "API_KEY_INVALID", strings.Contains(text, "api key not valid"):
		e.Class = oneloop.ErrAuth
	case e.Class == oneloop.ErrRateLimited && strings.Contains(e.Code, "PerDay"):
		e.Retry = oneloop.RetryNo // whatever the delay says, it is used up until tomorrow
	case e.Code == "BILLING_DISABLED", strings.Contains(text, "credits are depleted"), strings.Contains(text, "spending cap"), e.Class == oneloop.ErrInvalidRequest && strings.Contains(text, "billing"):
		e.Class, e.Retry = oneloop.ErrBilling, oneloop.RetryNo
	case e.Class == oneloop.ErrInvalidRequest && strings.Contains(text, "payload size exceeds"):
		e.Class = oneloop.ErrTooLarge
	case e.Class == oneloop.ErrInvalidRequest && overflow(text):
		e.Class = oneloop.ErrContextOverflow
	}
}

// overflow reports whether a message says that the prompt does not fit.
func overflow(text string) bool {
	return wire.Overflow(text) || strings.Contains(text, "token count") &&
		(strings.Contains(text, "exceeds the maximum number") || strings.Contains(text, "only supports up to"))
}

// delay is a duration as the API writes it: "34.4s".
func delay(v rawjson.Value) time.Duration {
	s, ok := strings.CutSuffix(v.Text(), "s")
	f, err := strconv.ParseFloat(s, 64)
	if !ok || err != nil || !(f > 0) || f > 365*24*3600 {
		return 0
	}
	return time.Duration(f * float64(time.Second))
}
