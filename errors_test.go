package oneloop_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"oneloop"
)

func TestErrorsAreOneLine(t *testing.T) {
	full := &oneloop.APIError{
		Class: oneloop.ErrOverloaded, API: "anthropic", URL: "http://localhost/v1/messages", Status: 529,
		Type: "overloaded_error", Code: "busy", Message: "try\n\t again  later\r\n", RequestID: "req_1",
		RetryAfter: time.Second, Retry: oneloop.RetryYes, Body: []byte("{\n}"), Err: io.ErrUnexpectedEOF,
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{full, "anthropic: the API is overloaded (HTTP 529): overloaded_error: try again later [request req_1]"},
		{&oneloop.APIError{API: "anthropic", Class: oneloop.ErrServer, Status: 200, Type: "api_error"},
			"anthropic: the API failed: api_error"}, // in a stream: 200 would mislead
		{&oneloop.APIError{Class: oneloop.ErrNetwork, Message: "connection refused"}, "the API could not be reached: connection refused"},
		{&oneloop.APIError{Class: oneloop.ErrServer, Type: "odd\ntype"}, "the API failed: odd type"},
		{&oneloop.RefusedError{}, "the model refused"},
		{&oneloop.RefusedError{Category: "bio", Explanation: "not this"}, "the model refused (bio): not this"},
		{&oneloop.RefusedError{Explanation: "not\n this"}, "the model refused: not this"},
		{&oneloop.TruncatedError{Stop: oneloop.StopMaxTokens}, "the reply was cut at the model's output limit"},
		{&oneloop.TruncatedError{Stop: oneloop.StopContextWindow}, "the reply was cut at the end of the model's window"},
		{&oneloop.LimitError{What: "cost", Limit: "$1.00", Used: "$1.02"}, "the limit on cost is reached: $1.02 of $1.00"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%T says %q, want %q", c.err, got, c.want)
		}
	}
}

func TestAnAPIErrorIsOfItsClassAndItsCause(t *testing.T) {
	classes := []error{
		oneloop.ErrOverloaded, oneloop.ErrRateLimited, oneloop.ErrServer, oneloop.ErrNetwork, oneloop.ErrStreamCut,
		oneloop.ErrStalled, oneloop.ErrNotAPI, oneloop.ErrContextOverflow, oneloop.ErrTooLarge, oneloop.ErrAuth,
		oneloop.ErrBilling, oneloop.ErrNotFound, oneloop.ErrInvalidRequest,
	}
	for _, class := range classes {
		var err error = &oneloop.APIError{Class: class, Err: context.Canceled}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v: the cause is lost", class)
		}
		for _, other := range classes {
			if errors.Is(err, other) != (class == other) {
				t.Errorf("%v is of the class %v: %v", class, other, class != other)
			}
		}
		if strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%q has several lines", err)
		}
	}
	if errors.Is(&oneloop.APIError{}, oneloop.ErrServer) {
		t.Error("an error without a class is of one")
	}
}
