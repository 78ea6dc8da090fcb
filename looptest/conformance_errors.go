package looptest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest/script"
)

// half is a reply that fails after it has begun.
func half(kind string) script.Reply {
	r := script.Say(script.Text("half"))
	r.Error = &script.Error{Type: kind, Message: "no"}
	return r
}

// broken is a reply that ends too early.
func broken() script.Reply {
	r := script.Say(script.Text("half"))
	r.Cut = &script.Cut{Events: 2}
	return r
}

func classes(t *testing.T, b bench) {
	type failing struct {
		reply script.Reply
		want  error
	}
	list := []failing{
		{script.Fail(401, "authentication_error", "no"), oneloop.ErrAuth},
		{script.Fail(403, "permission_error", "no"), oneloop.ErrAuth},
		{script.Fail(404, "not_found_error", "no"), oneloop.ErrNotFound},
		{script.Fail(429, "rate_limit_error", "no"), oneloop.ErrRateLimited},
		{script.Fail(400, "invalid_request_error", "no"), oneloop.ErrInvalidRequest},
		{script.Fail(400, script.Overflow, ""), oneloop.ErrContextOverflow},
		{script.Fail(500, "api_error", "no"), oneloop.ErrServer},
		{script.Fail(529, "overloaded_error", "no"), oneloop.ErrOverloaded},
		{broken(), oneloop.ErrStreamCut},
	}
	if !b.speaks().Traits.NoClasses {
		list = append(list, failing{half("overloaded_error"), oneloop.ErrOverloaded}, failing{half("invalid_request_error"), oneloop.ErrInvalidRequest},
			failing{half("rate_limit_error"), oneloop.ErrRateLimited},
			failing{script.Reply{Error: &script.Error{Type: "overloaded_error", Message: "no"}}, oneloop.ErrOverloaded})
	}
	if !b.speaks().Traits.NoBilling {
		list = append(list, failing{script.Fail(402, "billing_error", "no"), oneloop.ErrBilling})
	}
	list = append(list, failing{half("api_error"), oneloop.ErrServer})
	for _, c := range list {
		_, m := b.serve(t, c.reply)
		_, msg, err := generate(t.Context(), m, asking())
		var api *oneloop.APIError
		if msg != nil || !errors.As(err, &api) || !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
			continue
		}
		if c.reply.Error != nil && c.reply.Error.Message != "" && !strings.Contains(api.Message, c.reply.Error.Message) {
			t.Errorf("%v does not say what the API said", err)
		}
		if api.API == "" || strings.Contains(err.Error(), Key) {
			t.Errorf("error %+v", api)
		}
	}
}

func comeBack(t *testing.T, b bench) {
	inHeader := script.Fail(429, "rate_limit_error", "no")
	inHeader.Header = map[string][]string{"Retry-After": {"7"}}
	inBody := script.Fail(429, "rate_limit_error", "no")
	inBody.Error.Retry = 1500 * time.Millisecond
	for _, c := range []struct {
		reply script.Reply
		want  time.Duration
	}{{inHeader, 7 * time.Second}, {inBody, 1500 * time.Millisecond}} {
		if c.reply.Error.Retry > 0 && !b.speaks().Traits.Hint {
			continue
		}
		_, m := b.serve(t, c.reply)
		_, _, err := generate(t.Context(), m, asking())
		var api *oneloop.APIError
		if !errors.As(err, &api) || api.RetryAfter != c.want {
			t.Errorf("%v: come back after %v, want %v", err, api.RetryAfter, c.want)
		}
	}
}

// notTheAPI is what gateways answer in the place of an API.
func notTheAPI(t *testing.T, b bench) {
	for _, c := range []struct {
		name  string
		reply script.Reply
		want  []error
	}{
		{"a page", script.HTML(200, "<p>hello \x1b[31mthere"), []error{oneloop.ErrNotAPI}},
		{"no body", script.Reply{Body: []byte{}}, []error{oneloop.ErrNotAPI, oneloop.ErrStreamCut}},
		{"other JSON", script.Reply{Body: []byte(`{"hello":"there"}`)}, []error{oneloop.ErrNotAPI}},
		{"text", script.Reply{Body: []byte("upstream busy")}, []error{oneloop.ErrNotAPI}},
		{"a page of an error", script.HTML(502, "<p>bad gateway"), []error{oneloop.ErrServer, oneloop.ErrNotAPI, oneloop.ErrOverloaded}},
		{"an error with a good status", script.Reply{Body: b.speaks().Error(script.Error{Type: "api_error", Message: "busy"})}, []error{oneloop.ErrServer}},
	} {
		_, m := b.serve(t, c.reply)
		_, msg, err := generate(t.Context(), m, asking())
		var api *oneloop.APIError
		if msg != nil || !errors.As(err, &api) || !slices.Contains(c.want, api.Class) {
			t.Errorf("%s: %+v, %v", c.name, msg, err)
			continue
		}
		if strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: the error has control characters: %q", c.name, err)
		}
	}
}

func voids(t *testing.T, b bench) {
	reply := script.Say(script.TextPieces("half ", "of ", "it"))
	reply.Cut = &script.Cut{Events: b.completes(t, b.frames(t, reply))}
	_, m := b.serve(t, reply)
	events, _, err := generate(t.Context(), m, asking())
	if err == nil {
		t.Fatal("a cut reply is no error")
	}
	last := slices.IndexFunc(events, func(e oneloop.Event) bool { return e.Kind() == oneloop.KindDiscard })
	if last < 0 {
		t.Fatal("nothing says that the deltas are void")
	}
	for _, e := range events[last:] {
		if e.Kind() == oneloop.KindTextDelta {
			t.Error("text comes after it was declared void")
		}
	}
}
