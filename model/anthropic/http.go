package anthropic

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/sse"
	"oneloop/internal/wire"
)

// send makes the request and returns an answer whose status is 2xx.
func (m *Model) send(ctx context.Context, body oneloop.Parts, emit func(oneloop.Event)) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("anthropic: make request: %w", err)
	}
	req.Header = m.header // a transport does not change it
	wire.SetBody(req, body)
	emit(oneloop.RequestSent{Method: req.Method, URL: m.shown, Header: m.masked, Body: body})
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, m.unreached(ctx, err)
	}
	emit(oneloop.ResponseStarted{Status: resp.StatusCode, Header: wire.MaskHeader(resp.Header), RequestID: m.requestID(resp.Header)})
	decoded, err := wire.Decode(&counted{resp.Body, emit}, resp.Header.Get("Content-Encoding"))
	if err != nil {
		resp.Body.Close()
		return nil, m.fail(resp, oneloop.ErrNotAPI, err.Error())
	}
	resp.Body = decodedBody{decoded, resp.Body}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, m.refused(ctx, resp)
	}
	return resp, nil
}

// decodedBody reads from one and closes the other.
type decodedBody struct {
	io.Reader
	io.Closer
}

// counted tells of every read that brought something.
type counted struct {
	r    io.Reader
	emit func(oneloop.Event)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if n > 0 {
		c.emit(oneloop.Received{Bytes: n})
	}
	return n, err
}

// requestID is the API's id of an exchange. It comes from outside and is
// shown: a gateway may have put anything into it.
func (m *Model) requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "X-Amzn-Requestid"} {
		if id := h.Get(name); id != "" {
			return wire.Printable([]byte(wire.Redact(id, m.secrets...)), 200)
		}
	}
	return ""
}

// unreached is the error of a request without an answer.
func (m *Model) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the URL may hold secrets
	}
	e := &oneloop.APIError{Class: oneloop.ErrNetwork, API: API, URL: m.shown, Err: err}
	e.Message = m.shown + ": " + wire.Redact(wire.Printable([]byte(err.Error()), 500), m.secrets...)
	if wire.NoHTTP(err) {
		e.Class = oneloop.ErrNotAPI
	}
	if permanent(err) {
		e.Retry = oneloop.RetryNo
	}
	return e
}

var readers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// receive reads the answer to the end of the message. cancel ends the
// request.
func (m *Model) receive(ctx context.Context, cancel func(), resp *http.Response, r *reply) (*oneloop.Message, error) {
	r.fail = func(class error, format string, args ...any) *oneloop.APIError {
		return m.fail(resp, class, fmt.Sprintf(format, args...))
	}
	r.clean = m.clean
	r.requestID = m.requestID(resp.Header)
	body := readers.Get().(*bufio.Reader)
	body.Reset(resp.Body)
	defer func() {
		body.Reset(nil)
		readers.Put(body)
	}()
	var msg *oneloop.Message
	var err error
	switch form, readErr := sniff(body, resp.Header.Get("Content-Type")); form {
	case stream:
		msg, err = m.stream(ctx, cancel, body, r)
	case object:
		msg, err = m.object(ctx, resp, body, r)
	case nothing:
		err = m.empty(ctx, resp, readErr)
	default:
		text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what came is shown
		err = m.notAPI(resp, text)
	}
	if err != nil {
		if u := r.usage.soFar(); r.shown || u.Reported {
			r.emit(oneloop.Discard{Reason: err.Error(), Usage: u})
		}
		return nil, err
	}
	drain(resp.Body, cancel)
	return msg, nil
}

// form is what a body looks like by its first bytes, whatever it is said to
// be.
type form int

const (
	unknown form = iota
	nothing
	stream
	object
)

func sniff(body *bufio.Reader, contentType string) (form, error) {
	declared := strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "text/event-stream")
	for {
		c, err := body.ReadByte()
		if err != nil {
			if declared && err == io.EOF {
				return stream, nil
			}
			return nothing, err
		}
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
			continue
		}
		body.UnreadByte() // of the byte just read: never fails
		switch {
		case c == '{':
			return object, nil
		case c == '<':
			return unknown, nil
		case declared || c == ':':
			return stream, nil
		}
		begin, _ := body.Peek(len("event:")) // fewer bytes decide as well
		if bytes.HasPrefix(begin, []byte("event:")) || bytes.HasPrefix(begin, []byte("data:")) {
			return stream, nil
		}
		return unknown, nil
	}
}

// stream reads server-sent events. A server that goes silent when the message
// is complete, but for its last event, is not waited for longer than endTime.
func (m *Model) stream(ctx context.Context, cancel func(), body io.Reader, r *reply) (*oneloop.Message, error) {
	events := sse.NewReader(body, m.maxEvent)
	defer events.Free()
	var late *time.Timer
	for !r.over {
		e, err := events.Next()
		if err != nil {
			return m.ended(ctx, r, err)
		}
		if err := r.event(e, m.streamEvents); err != nil && !r.complete() {
			return nil, err
		}
		if late == nil && r.stop != "" && r.complete() {
			late = time.AfterFunc(endTime, cancel)
			defer late.Stop()
		}
	}
	if !r.complete() {
		return nil, r.cut(nil)
	}
	return r.message(), nil
}

// ended decides what a stream was worth that ended with err instead of with
// its last event.
func (m *Model) ended(ctx context.Context, r *reply, err error) (*oneloop.Message, error) {
	if r.complete() {
		return r.message(), nil
	}
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if !r.begun || errors.Is(cause, oneloop.ErrStalled) {
			return nil, cause
		}
		return r.interrupted(), nil
	}
	var long *sse.TooLongError
	if errors.As(err, &long) {
		e := r.fail(oneloop.ErrNotAPI, "%v, which is more than is taken", err)
		e.Err, e.Retry = err, oneloop.RetryNo
		return nil, e
	}
	return nil, r.cut(err)
}

// object reads a body that is one JSON object: an error, or a whole message
// from a server that does not stream.
func (m *Model) object(ctx context.Context, resp *http.Response, body io.Reader, r *reply) (*oneloop.Message, error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(m.maxEvent)+1))
	v := rawjson.Parse(data)
	switch {
	case ctx.Err() != nil && v == nil:
		return nil, context.Cause(ctx)
	case len(data) > m.maxEvent:
		e := r.fail(oneloop.ErrNotAPI, "the answer has more than %d MiB", m.maxEvent>>20)
		e.Retry = oneloop.RetryNo
		return nil, e
	case v == nil && err != nil:
		return nil, r.cut(err)
	case v == nil && bytes.HasSuffix(bytes.TrimSpace(data), []byte("}")):
		return nil, m.notAPI(resp, data)
	case v == nil:
		return nil, r.cut(io.ErrUnexpectedEOF)
	}
	if said := v.Field("error"); !said.IsNull() {
		return nil, m.said(resp, v)
	}
	if v.Field("type").Text() != "message" {
		return nil, m.notAPI(resp, data)
	}
	if err := r.whole(v); err != nil {
		return nil, err
	}
	return r.message(), nil
}

// empty is the error for an answer whose body has no first byte.
func (m *Model) empty(ctx context.Context, resp *http.Response, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := m.notAPI(resp, nil)
	if err == io.EOF {
		return e
	}
	e.Message, e.Err = m.describe(resp, nil, err), err
	if !errors.Is(err, wire.ErrNoGzip) {
		e.Class = oneloop.ErrStreamCut
	}
	return e
}

const (
	drainBytes = 64 << 10
	drainTime  = 100 * time.Millisecond
	endTime    = 250 * time.Millisecond
)

// drain reads what follows the message, so that the connection can serve the
// next request. A server that does not end its answer within drainTime loses
// the connection instead.
func drain(body io.Reader, cancel func()) {
	t := time.AfterFunc(drainTime, cancel)
	defer t.Stop()
	io.CopyN(io.Discard, body, drainBytes) // an error means a new connection next time
}
