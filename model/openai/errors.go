package openai

import (
	"cmp"
	"strings"
	"time"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// fillError takes what a body says of an error, in OpenAI's form or in one that
// other providers and gateways use; clean makes its texts fit to be shown.
func fillError(e *oneloop.APIError, v rawjson.Value, clean func(string) string) {
	for item := range v.Items() { // some answer with a list
		v = item
		break
	}
	body := v.Field("error")
	if body.IsNull() {
		body = v
	}
	e.Type = clean(body.Field("type").Text())
	code := body.Field("code")
	if e.Code = clean(code.Text()); e.Code == "" && !code.IsNull() && code[0] != '"' {
		e.Code = clean(string(code)) // a number
	}
	e.Message = clean(body.Field("message").Text())
	for _, other := range []rawjson.Value{body, v.Field("detail"), v.Field("msg"), body.Field("metadata").Field("raw")} {
		if text := other.Text(); text != "" && (e.Message == "" || e.Message == "Provider returned error") {
			e.Message = clean(text)
		}
	}
	if id := v.Field("request_id").Text(); id != "" && e.RequestID == "" {
		e.RequestID = clean(id)
	}
	text := strings.ToLower(e.Message)
	class := classOf(e.Type, e.Code)
	switch {
	case strings.Contains(text, "image input is not supported"): // of llama.cpp, with status 500
		class = oneloop.ErrInvalidRequest
	case class == nil && e.Status == 200:
		class = classOfStatus(code)
	case class == oneloop.ErrInvalidRequest && e.Status >= 400 && e.Status != 400 && e.Status != 422, class == oneloop.ErrServer && e.Status > 500:
		class = nil // the status says more
	}
	if class != nil {
		e.Class = class
	}
	switch {
	case e.Class == oneloop.ErrBilling, strings.Contains(text, "insufficient balance"), strings.Contains(text, "insufficient_quota"):
		e.Class, e.Retry = oneloop.ErrBilling, oneloop.RetryNo
	case (e.Class == oneloop.ErrInvalidRequest || e.Class == oneloop.ErrServer || e.Class == oneloop.ErrTooLarge) && overflow(text):
		e.Class, e.Retry = oneloop.ErrContextOverflow, oneloop.RetryNo
	}
	e.RetryAfter = cmp.Or(retryInfo(body.Field("details")), wire.Wait(text), wireDelay(body.Field("metadata").Field("headers")))
}

// classOf is the class of the words that APIs use; nil: they say nothing that is
// known here.
func classOf(kind, code string) error {
	for _, word := range []string{code, kind} {
		word = strings.ToLower(word)
		if strings.Contains(word, "image") || strings.HasSuffix(word, "policy_violation") { // the same next time
			return oneloop.ErrInvalidRequest
		}
		switch word {
		case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "exceeded_current_quota_error", "arrearage", "1113", "insufficient_balance":
			return oneloop.ErrBilling
		case "rate_limit_exceeded", "rate_limit_error", "rate_limit_reached_error", "requests", "tokens", "throttling", "throttling.ratequota",
			"throttling.allocationquota", "too_many_requests", "1302", "1303", "1305":
			return oneloop.ErrRateLimited
		case "context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "1261":
			return oneloop.ErrContextOverflow
		case "model_not_found", "not_found_error", "resource_not_found_error", "1211":
			return oneloop.ErrNotFound
		case "invalid_api_key", "invalid_authentication_error", "authentication_error", "permission_error", "permission_denied", "invalidapikey", "1000", "1001", "1002":
			return oneloop.ErrAuth
		case "engine_overloaded_error", "overloaded_error", "overloaded", "server_overloaded", "server_is_overloaded", "slow_down", "service_unavailable", "unavailable":
			return oneloop.ErrOverloaded
		case "server_error", "internal_error", "internal_server_error", "api_error", "upstream_error", "timeout", "vector_store_timeout":
			return oneloop.ErrServer
		case "invalid_request_error", "invalid_prompt", "invalid_parameter_error", "badrequesterror", "invalid_request", "1210", "1213", "1214",
			"content_filter", "data_inspection_failed", "datainspectionfailed", "1301": // what is not to be said, by Azure, Alibaba and Zhipu
			return oneloop.ErrInvalidRequest
		}
	}
	return nil
}

// classOfStatus is the class of a status of HTTP that stands in an error.
func classOfStatus(code rawjson.Value) error {
	n, ok := code.Int()
	if !ok {
		return nil
	}
	switch n {
	case 401, 403:
		return oneloop.ErrAuth
	case 402:
		return oneloop.ErrBilling
	case 404:
		return oneloop.ErrNotFound
	case 413:
		return oneloop.ErrTooLarge
	case 429:
		return oneloop.ErrRateLimited
	case 503, 529:
		return oneloop.ErrOverloaded
	case 400, 422:
		return oneloop.ErrInvalidRequest
	}
	return nil
}

// overflow reports whether a message, in lower case, says that the prompt does
// not fit.
func overflow(text string) bool {
	if wire.Overflow(text) {
		return true
	}
	for _, words := range []string{"context size", "range of input length", "context window", "input tokens exceed", "too many tokens", "input is too long"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// retryInfo is the wait in the details of an error of Google's.
func retryInfo(details rawjson.Value) time.Duration {
	for v := range details.Items() {
		if d, err := time.ParseDuration(v.Field("retryDelay").Text()); err == nil && d > 0 && d < 365*24*time.Hour {
			return d
		}
	}
	return 0
}

// wireDelay is the wait in headers that a gateway hands on in a body.
func wireDelay(headers rawjson.Value) time.Duration {
	if d, err := time.ParseDuration(headers.Field("Retry-After").Text() + "s"); err == nil && d > 0 && d < 365*24*time.Hour {
		return d
	}
	return 0
}
