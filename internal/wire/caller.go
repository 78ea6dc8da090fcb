package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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
)

// Caller asks one address of a model's API.
type Caller struct {
	API      string // its name in errors
	URL      *url.URL
	Header   http.Header // of every request, with the credential
	Secrets  []string    // masked wherever they appear, beside those of Header
	Client   *http.Client
	MaxEvent int           // bytes of one event of a stream, and of an answer that is no stream; 0: 64 MiB
	Lines    bool          // a stream is one JSON object a line
	Ending   time.Duration // how long the end of a stream is waited for once the reply is complete; 0: 0.25 s

	// Read takes what the JSON of an error says; clean makes its texts fit to be
	// shown. What it leaves alone stays as the status says.
	Read func(e *oneloop.APIError, said rawjson.Value, clean func(string) string)

	shown  string      // URL without secrets
	masked http.Header // Header as it may be shown
}

// NewCaller returns the caller that c describes.
func NewCaller(c Caller) *Caller {
	c.Client = Client(c.Client)
	if c.MaxEvent <= 0 {
		c.MaxEvent = 64 << 20
	}
	if c.Ending <= 0 {
		c.Ending = 250 * time.Millisecond
	}
	for name, values := range c.Header {
		for _, v := range values {
			if Secret(name) {
				c.Secrets = append(c.Secrets, strings.TrimPrefix(v, "Bearer "))
			}
		}
	}
	c.shown, c.masked = SafeURL(c.URL), MaskHeader(c.Header)
	return &c
}

// Shown is the address without secrets.
func (c *Caller) Shown() string { return c.shown }

// Reply is a message in the making.
type Reply interface {
	// Event takes in one event of the stream. Once the reply is complete an
	// error is of no matter.
	Event(sse.Event) error
	// Whole takes in an answer that came in one piece, and reports whether it
	// is one of the API's.
	Whole(rawjson.Value) (bool, error)

	Begun() bool    // something of a message came
	Complete() bool // all that was begun has ended, and why the model stopped is known
	Over() bool     // the stream said that it is at its end
	Message() *oneloop.Message
	Interrupted() *oneloop.Message // what may be kept of a reply that was stopped while it came

	// Spent is what the reply has used so far, and whether deltas of it were
	// emitted, which an error makes void.
	Spent() (u oneloop.Usage, shown bool)
}

// Answer is what a reply is made from beside its events.
type Answer struct {
	Emit      func(oneloop.Event)
	RequestID string
	caller    *Caller
	resp      *http.Response
}

// Fail is an error about the answer.
func (a *Answer) Fail(class error, format string, args ...any) *oneloop.APIError {
	return a.caller.fail(a.resp, class, fmt.Sprintf(format, args...))
}

// Said is the error that an event in the stream carries.
func (a *Answer) Said(v rawjson.Value) *oneloop.APIError {
	e := a.Fail(oneloop.ErrServer, "")
	a.caller.Read(e, v, a.caller.clean)
	return e
}

// Ask sends a request and reads the answer to the end of the message. open
// makes the reply that takes it in.
func (c *Caller) Ask(ctx context.Context, body oneloop.Parts, emit func(oneloop.Event), open func(*Answer) Reply) (*oneloop.Message, error) {
	ctx, cancel := context.WithCancel(ctx) // of the request, so that an answer can be given up
	defer cancel()
	resp, err := c.send(ctx, body, emit)
	if err != nil {
		return nil, err
	}
	return c.take(ctx, cancel, resp, emit, open)
}

// Take reads an answer that came, with a status of 2xx, to the end of the
// message.
func (c *Caller) Take(ctx context.Context, resp *http.Response, emit func(oneloop.Event), open func(*Answer) Reply) (*oneloop.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return c.take(ctx, cancel, resp, emit, open)
}

func (c *Caller) take(ctx context.Context, cancel func(), resp *http.Response, emit func(oneloop.Event), open func(*Answer) Reply) (*oneloop.Message, error) {
	defer resp.Body.Close()
	a := &Answer{Emit: emit, RequestID: c.requestID(resp.Header), caller: c, resp: resp}
	return c.receive(ctx, cancel, a, open(a))
}

// send makes the request and returns an answer whose status is 2xx.
func (c *Caller) send(ctx context.Context, body oneloop.Parts, emit func(oneloop.Event)) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: make request: %w", c.API, err)
	}
	req.Header = c.Header // a transport does not change it
	SetBody(req, body)
	emit(oneloop.RequestSent{Method: req.Method, URL: c.shown, Header: c.masked, Body: body})
	resp, err := c.Client.Do(req)
	if err != nil {
		return nil, c.unreached(ctx, err)
	}
	emit(oneloop.ResponseStarted{Status: resp.StatusCode, Header: MaskHeader(resp.Header), RequestID: c.requestID(resp.Header)})
	decoded, err := Decode(&counted{resp.Body, emit}, resp.Header.Get("Content-Encoding"))
	if err != nil {
		resp.Body.Close()
		return nil, c.fail(resp, oneloop.ErrNotAPI, err.Error())
	}
	resp.Body = decodedBody{decoded, resp.Body}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, c.refused(ctx, resp)
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
func (c *Caller) requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "X-Amzn-Requestid"} {
		if id := h.Get(name); id != "" {
			return c.printable(id, 200)
		}
	}
	return ""
}

var readers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// receive reads the answer to the end of the message. cancel ends the
// request.
func (c *Caller) receive(ctx context.Context, cancel func(), a *Answer, r Reply) (*oneloop.Message, error) {
	body := readers.Get().(*bufio.Reader)
	body.Reset(a.resp.Body)
	defer func() {
		body.Reset(nil)
		readers.Put(body)
	}()
	var msg *oneloop.Message
	var err error
	form, readErr := sniff(body, a.resp.Header.Get("Content-Type"))
	switch {
	case form == object && c.Lines:
		msg, err = c.stream(ctx, cancel, newLines(body, c.MaxEvent), a, r)
	case form == stream:
		events := sse.NewReader(body, c.MaxEvent)
		defer events.Free()
		msg, err = c.stream(ctx, cancel, events, a, r)
	case form == object:
		msg, err = c.object(ctx, body, a, r)
	case form == nothing:
		err = c.empty(ctx, a.resp, readErr)
	default:
		text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what came is shown
		err = c.notAPI(a.resp, text)
	}
	if err != nil {
		if u, shown := r.Spent(); shown || u.Reported {
			a.Emit(oneloop.Discard{Reason: err.Error(), Usage: u})
		}
		return nil, err
	}
	drain(a.resp.Body, cancel)
	return msg, nil
}

// form is what a body looks like by its first bytes, whatever it is said to
// be.
type form int

const (
	unknown form = iota
	nothing
	stream
	object // or a list
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
		case c == '{' || c == '[':
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

// events are what a stream consists of.
type events interface{ Next() (sse.Event, error) }

// stream reads events. A server that goes silent when the message is complete,
// but for what ends the stream, is not waited for longer than c.Ending.
func (c *Caller) stream(ctx context.Context, cancel func(), from events, a *Answer, r Reply) (*oneloop.Message, error) {
	var late *time.Timer
	for !r.Over() {
		e, err := from.Next()
		if err != nil {
			return c.ended(ctx, a, r, err)
		}
		if err := r.Event(e); err != nil && !r.Complete() {
			return nil, err
		}
		if late == nil && r.Complete() {
			late = time.AfterFunc(c.Ending, cancel)
			defer late.Stop()
		}
	}
	if !r.Complete() {
		return nil, a.cut(nil)
	}
	return r.Message(), nil
}

// ended decides what a stream was worth that ended with err instead of with
// its last event.
func (c *Caller) ended(ctx context.Context, a *Answer, r Reply, err error) (*oneloop.Message, error) {
	if r.Complete() {
		return r.Message(), nil
	}
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		if !r.Begun() || errors.Is(cause, oneloop.ErrStalled) {
			return nil, cause
		}
		return r.Interrupted(), nil
	}
	var long *sse.TooLongError
	if errors.As(err, &long) {
		e := a.Fail(oneloop.ErrNotAPI, "%v, which is more than is taken", err)
		e.Err, e.Retry = err, oneloop.RetryNo
		return nil, e
	}
	return nil, a.cut(err)
}

// object reads a body that is one JSON value: an error, or a whole message
// from a server that does not stream.
func (c *Caller) object(ctx context.Context, body io.Reader, a *Answer, r Reply) (*oneloop.Message, error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(c.MaxEvent)+1))
	v := rawjson.Parse(data)
	switch {
	case ctx.Err() != nil && v == nil:
		return nil, context.Cause(ctx)
	case len(data) > c.MaxEvent:
		e := a.Fail(oneloop.ErrNotAPI, "the answer has more than %d MiB", c.MaxEvent>>20)
		e.Retry = oneloop.RetryNo
		return nil, e
	case v == nil && err != nil:
		return nil, a.cut(err)
	case v == nil && unfinished(data):
		return nil, a.cut(io.ErrUnexpectedEOF)
	case v == nil:
		return nil, c.notAPI(a.resp, data)
	}
	if said := v.Field("error"); !said.IsNull() {
		return nil, c.said(a.resp, v)
	}
	switch ok, err := r.Whole(v); {
	case err != nil:
		return nil, err
	case !ok:
		return nil, c.notAPI(a.resp, data)
	}
	return r.Message(), nil
}

// unfinished reports whether data is the beginning of JSON.
func unfinished(data []byte) bool {
	var v json.RawMessage
	return json.NewDecoder(bytes.NewReader(data)).Decode(&v) == io.ErrUnexpectedEOF
}

// empty is the error for an answer whose body has no first byte.
func (c *Caller) empty(ctx context.Context, resp *http.Response, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e := c.notAPI(resp, nil)
	if err == io.EOF {
		return e
	}
	e.Message, e.Err = c.describe(resp, nil, err), err
	if !errors.Is(err, ErrNoGzip) {
		e.Class = oneloop.ErrStreamCut
	}
	return e
}

const (
	drainBytes = 64 << 10
	drainTime  = 100 * time.Millisecond
)

// drain reads what follows the message, so that the connection can serve the
// next request. A server that does not end its answer within drainTime loses
// the connection instead.
func drain(body io.Reader, cancel func()) {
	t := time.AfterFunc(drainTime, cancel)
	defer t.Stop()
	io.CopyN(io.Discard, body, drainBytes) // an error means a new connection next time
}

// lines reads a stream that has one JSON object a line.
type lines struct {
	r    *bufio.Reader
	max  int
	line []byte
}

func newLines(r *bufio.Reader, max int) *lines { return &lines{r: r, max: max} }

// Next returns the next line that is not blank as the data of an event.
func (l *lines) Next() (sse.Event, error) {
	for {
		l.line = l.line[:0]
		var err error = bufio.ErrBufferFull
		for err == bufio.ErrBufferFull {
			var piece []byte
			piece, err = l.r.ReadSlice('\n')
			if l.line = append(l.line, piece...); len(l.line) > l.max {
				return sse.Event{}, &sse.TooLongError{Max: l.max}
			}
		}
		if string(bytes.TrimSpace(l.line)) == "{" && err == nil { // one object over many lines, from what does not stream
			rest, _ := io.ReadAll(io.LimitReader(l.r, int64(l.max)+1)) // what ended it is told next time
			if l.line = append(l.line, rest...); len(l.line) > l.max {
				return sse.Event{}, &sse.TooLongError{Max: l.max}
			}
			return sse.Event{Data: l.line, Cut: rawjson.Parse(l.line) == nil}, nil
		}
		if len(bytes.TrimSpace(l.line)) > 0 {
			return sse.Event{Data: l.line, Cut: err != nil}, nil
		}
		if err != nil {
			return sse.Event{}, err
		}
	}
}
