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
