package ollama

import (
	"net/http"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// fillError takes what a body says of an error: {"error":"text"}, or an object
// as gateways have it. There are no words for programs, so the text is read.
func fillError(e *oneloop.APIError, v rawjson.Value, clean func(string) string) {
	body := v.Field("error")
	if body.IsNull() {
		body = v.Field("message")
	}
	text := body.Text()
	if body.IsObject() {
		text = body.Field("message").Text()
		e.Type = clean(body.Field("type").Text())
		e.Code = clean(body.Field("code").Text())
	}
	e.Message = clean(text)
	said := strings.ToLower(e.Message)
	e.RetryAfter = wire.Wait(said)
	has := func(words ...string) bool {
		for _, w := range words {
			if !strings.Contains(said, w) {
				return false
			}
		}
		return true
	}
	switch {
	case has("context", "exceed"), has("context", "longer than"), has("prompt too long"), wire.Overflow(said):
		e.Class = oneloop.ErrContextOverflow
	case has("model", "not found"):
		e.Class, e.Retry = oneloop.ErrNotFound, oneloop.RetryNo
		e.Message += "; get it with: ollama pull NAME"
	case has("does not support"), has("invalid model name"), has("process inputs", "image"): // the last with status 500
		e.Class = oneloop.ErrInvalidRequest
	case has("server busy"), has("maximum pending requests"):
		e.Class = oneloop.ErrOverloaded
	case has("requires more system memory"), has("out of memory"):
		e.Class, e.Retry = oneloop.ErrServer, oneloop.RetryNo
	case has("unauthorized"):
		e.Class = oneloop.ErrAuth
		if !v.Field("signin_url").IsNull() {
			e.Message += "; sign in with: ollama signin"
		}
	case has("usage limit"):
		e.Class = oneloop.ErrRateLimited
	case e.Status == http.StatusOK, has("parsing tool call"):
		e.Class = oneloop.ErrServer // the model wrote what is no call, or its runner ended
	}
}
