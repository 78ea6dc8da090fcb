package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/sse"
	"oneloop/internal/wire"
)

// collected is a reply of an API whose events are texts, and whose last is true.
type collected struct {
	*wire.Answer
	texts []string
	over  bool
}

func (c *collected) Event(e sse.Event) error {
	v := rawjson.Parse(e.Data)
	switch {
	case v == nil && !e.Cut:
		return c.Malformed("no JSON")
	case v.IsObject():
		return c.Said(v)
	case v != nil && v[0] == '[': // a stream of lines begins with an object or a list
		for item := range v.Items() {
			c.texts = append(c.texts, item.Text())
		}
	case string(v) == "true":
		c.over = true
	case v != nil:
		c.texts = append(c.texts, v.Text())
	}
	return nil
}

func (c *collected) Whole(v rawjson.Value) (bool, error) {
	for item := range v.Items() {
		c.texts = append(c.texts, item.Text())
	}
	return len(c.texts) > 0, nil
}
func (c *collected) Begun() bool                  { return len(c.texts) > 0 }
func (c *collected) Complete() bool               { return c.over }
func (c *collected) Over() bool                   { return c.over }
func (c *collected) Spent() (oneloop.Usage, bool) { return oneloop.Usage{}, c.Begun() }
func (c *collected) Message() *oneloop.Message {
	return oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: strings.Join(c.texts, "|")})
}
func (c *collected) Interrupted() *oneloop.Message { return c.Message() }

func read(t *testing.T, lines bool, body io.Reader) (*oneloop.Message, []oneloop.Event, error) {
	u, err := url.Parse("http://h/v1")
	if err != nil {
		t.Fatal(err)
	}
	c := wire.NewCaller(wire.Caller{API: "texts", URL: u, Header: http.Header{"X-Key": {"sesame-open"}}, Lines: lines, MaxEvent: 1 << 20,
		Read: func(e *oneloop.APIError, v rawjson.Value, clean func(string) string) {
			e.Message = clean(v.Field("error").Text())
		}})
	var events []oneloop.Event
	emit := func(e oneloop.Event) { events = append(events, e) }
	resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/x-ndjson"}}, Body: io.NopCloser(body)}
	msg, err := c.Take(t.Context(), resp, emit, func(a *wire.Answer) wire.Reply { return &collected{Answer: a} })
	return msg, events, err
}

func TestAStreamOfOneObjectALineIsReadHoweverItComes(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "by the byte": iotest.OneByteReader} {
		msg, _, err := read(t, true, wrap(strings.NewReader("[\"\"]\n\"a\"\r\n\n  \"é\"\n\""+long+"\"\ntrue")))
		if err != nil || msg.Text() != "|a|é|"+long {
			t.Errorf("%s: %v, %+v", name, err, msg)
		}
	}
}

var errGone = errors.New("gone")

func TestAStreamOfLinesThatEndsEarlyOrIsTooLongIsAnError(t *testing.T) {
	for _, x := range []struct {
		body io.Reader
		want error
		text string
	}{
		{strings.NewReader("[\"a\"]\n\"b"), oneloop.ErrStreamCut, "ended before"},
		{io.MultiReader(strings.NewReader("[\"a\"]\n"), iotest.ErrReader(errGone)), oneloop.ErrStreamCut, "gone"},
		{strings.NewReader("[\"a\"]\n\"" + strings.Repeat("x", 2<<20) + "\"\ntrue\n"), oneloop.ErrNotAPI, "more than 1 MiB"},
		{strings.NewReader("[\"a\"]\n{\"error\":\"no: sesame-open\"}\n"), oneloop.ErrServer, "no: " + wire.Mask},
	} {
		msg, events, err := read(t, true, x.body)
		if msg != nil || !errors.Is(err, x.want) || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%v, want %v with %q", err, x.want, x.text)
		}
		if !slices.ContainsFunc(events, func(e oneloop.Event) bool { return e.Kind() == oneloop.KindDiscard }) {
			t.Errorf("%v: nothing says that what was shown is void", err)
		}
	}
}

func TestAnObjectOverManyLinesIsOneEventOfAStreamOfLines(t *testing.T) {
	for body, x := range map[string]struct {
		class error
		text  string
	}{
		"{\n  \"error\": \"no\"\n}\n":      {oneloop.ErrServer, "the API failed: no"},
		"{\n  \"error\": \"no":             {oneloop.ErrStreamCut, "ended before"},
		"{\n" + strings.Repeat(" ", 2<<20): {oneloop.ErrNotAPI, "more than 1 MiB"},
	} {
		if _, _, err := read(t, true, iotest.OneByteReader(strings.NewReader(body))); !errors.Is(err, x.class) || !strings.Contains(err.Error(), x.text) {
			t.Errorf("%.40q: %v", body, err)
		}
	}
}

func TestAListIsAnAnswerInOnePiece(t *testing.T) {
	if msg, _, err := read(t, false, strings.NewReader(` ["a","b"] `)); err != nil || msg.Text() != "a|b" {
		t.Errorf("%v, %v", msg, err)
	}
	for body, want := range map[string]error{`["a",`: oneloop.ErrStreamCut, `[["a"]`: oneloop.ErrStreamCut, `["a"}`: oneloop.ErrNotAPI, `[]`: oneloop.ErrNotAPI} {
		if _, _, err := read(t, false, strings.NewReader(body)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", body, err, want)
		}
	}
}

func TestACredentialThatComesBackIsNowhereShown(t *testing.T) {
	key := "sesame-open-0123456789"
	u, err := url.Parse("http://h/v1")
	if err != nil {
		t.Fatal(err)
	}
	c := wire.NewCaller(wire.Caller{API: "texts", URL: u, Header: http.Header{"X-Key": {key}}, Read: func(e *oneloop.APIError, v rawjson.Value, clean func(string) string) {
		e.Message = clean(v.Field("error").Text())
	}})
	fill := strings.Repeat("x", 190)
	for name, resp := range map[string]*http.Response{
		"type":      {Header: http.Header{"Content-Type": {"text/plain " + key}}, Body: io.NopCloser(strings.NewReader("no"))},
		"id":        {Header: http.Header{"Request-Id": {key[:5] + "\a" + key[5:]}}, Body: io.NopCloser(strings.NewReader("no"))},
		"split":     {Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"error":"` + key[:9] + "\u200b" + key[9:] + `"}`))},
		"page":      {Header: http.Header{}, Body: io.NopCloser(strings.NewReader("<p>" + fill + key))},
		"event":     {Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader("data: {" + fill + key + "\n\n"))},
		"its error": {Header: http.Header{}, Body: io.NopCloser(iotest.ErrReader(errors.New("read " + key)))},
	} {
		resp.StatusCode = 200
		_, err := c.Take(t.Context(), resp, oneloop.Sink(nil), func(a *wire.Answer) wire.Reply { return &quoting{collected{Answer: a}} })
		if e, ok := errors.AsType[*oneloop.APIError](err); !ok || strings.Contains(e.Error()+e.RequestID, key[:8]) || strings.Contains(string(e.Body), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c.Client = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 500, Header: http.Header{"Content-Type": {"text/plain " + key}}, Body: io.NopCloser(strings.NewReader("no"))}, nil
	})}
	if _, err := c.Ask(t.Context(), oneloop.Parts{[]byte("{}")}, oneloop.Sink(nil), nil); err == nil || strings.Contains(err.Error(), key[:8]) {
		t.Errorf("a status: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// quoting says what it does not understand.
type quoting struct{ collected }

func (q *quoting) Event(e sse.Event) error { return q.Malformed("no JSON: %s", q.Quote(e.Data)) }

func TestNothingIsTakenUnderAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(oneloop.ErrInterrupted)
	u, _ := url.Parse("http://h/v1")
	c := wire.NewCaller(wire.Caller{API: "texts", URL: u})
	resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(iotest.ErrReader(context.Canceled))}
	msg, err := c.Take(ctx, resp, oneloop.Sink(nil), func(a *wire.Answer) wire.Reply { return &collected{Answer: a} })
	if msg != nil || err != oneloop.ErrInterrupted {
		t.Errorf("%v, %v", msg, err)
	}
}
