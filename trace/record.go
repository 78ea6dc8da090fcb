package trace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"unicode/utf8"

	"oneloop"
	"oneloop/session"
)

// Recorder keeps what an API answers, byte for byte, beside the log of the
// session it answers to: in [session.RecordingPath], one JSON object a request.
// It is a transport, for the adapter's HTTP client, and a wrapper of the
// adapter, the innermost:
//
//	rec := &trace.Recorder{Log: log}
//	m, err := anthropic.New(anthropic.Config{Client: &http.Client{Transport: rec}, …})
//	session.Model = model.Retry(rec.Model(m), model.RetryOptions{})
//
// With a recording, [Replay] compares the pieces of replies too. What cannot be
// recorded is said once, by a [oneloop.Notice], and disturbs nothing else.
type Recorder struct {
	Log func() *session.Log // the log now; a session in memory is not recorded
	// Base sends the requests; nil: a copy of [http.DefaultTransport] that
	// leaves compression alone.
	Base http.RoundTripper

	once sync.Once
	mu   sync.Mutex
	said bool
}

// Bounds of a recording, in bytes.
const (
	RecordedReply = 16 << 20  // of one answer; of a longer one the pieces are not kept
	RecordedFile  = 256 << 20 // of a file; nothing is added to a larger one
)

// exchange is one request as it is recorded: a line of the file.
type exchange struct {
	Version int         `json:"v"`
	After   int64       `json:"after"`              // the newest entry of the log when it was sent
	Status  int         `json:"status,omitempty"`   // 0: there was no answer
	Header  http.Header `json:"header,omitempty"`   // without cookies
	Body    string      `json:"body,omitempty"`     // as it came, if it is text
	Binary  string      `json:"base64,omitempty"`   // else
	End     string      `json:"end,omitempty"`      // how the body ended: "" at its end, "stopped" by us, else an error
	Left    bool        `json:"left_out,omitempty"` // it was too long
	Pieces  []spelled   `json:"pieces,omitempty"`   // what was told of it while it came, put together
}

// spelled is what came in pieces.
type spelled struct {
	Kind string `json:"kind"` // "text", "thinking", or "input" with the call's id
	Text string `json:"text"`
}

const stopped = "stopped"

type recording struct {
	mu sync.Mutex
	exchange
	body bytes.Buffer
}

type exchangeKey struct{}

// Model records what m says. It does not change it.
func (r *Recorder) Model(m oneloop.Model) oneloop.Model {
	return oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		emit = oneloop.Sink(emit)
		log := r.Log()
		if log == nil || log.Path() == "" {
			return m.Generate(ctx, req, emit)
		}
		x := &recording{exchange: exchange{Version: 1, After: log.Newest()}}
		msg, err := m.Generate(context.WithValue(ctx, exchangeKey{}, x), req, func(e oneloop.Event) {
			x.mu.Lock()
			x.Pieces = addPiece(x.Pieces, e)
			x.mu.Unlock()
			emit(e)
		})
		x.mu.Lock() // what still reads the body comes too late
		defer x.mu.Unlock()
		if ctx.Err() != nil {
			x.End = stopped
		}
		if bad := x.write(session.RecordingPath(log.Path())); bad != nil && r.first() {
			emit(oneloop.Notice{Text: fmt.Sprintf("What the API answers cannot be recorded: %v. The conversation goes on, and is kept as always.", bad)})
		}
		return msg, err
	})
}

func (r *Recorder) first() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.said
	r.said = true
	return !was
}

// addPiece adds what e brings of a reply.
func addPiece(list []spelled, e oneloop.Event) []spelled {
	var p spelled
	switch e := e.(type) {
	case oneloop.TextDelta:
		p = spelled{"text", e.Text}
	case oneloop.ThinkingDelta:
		p = spelled{"thinking", e.Text}
	case oneloop.InputDelta:
		p = spelled{"input " + e.Name + " " + e.ID, e.JSON}
	default:
		return list
	}
	if n := len(list); n > 0 && list[n-1].Kind == p.Kind {
		list[n-1].Text += p.Text
		return list
	}
	return append(list, p)
}

var errFull = errors.New("the recording is as large as it may be")

func (x *recording) write(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return err
	} else if info.Size() >= RecordedFile {
		return errFull
	}
	switch body := x.body.Bytes(); {
	case x.Left:
		x.Pieces = nil
	case utf8.Valid(body):
		x.Body = string(body)
	default:
		x.Binary = base64.StdEncoding.EncodeToString(body)
	}
	if _, err := f.Write(append(encode(x.exchange), '\n')); err != nil {
		return err
	}
	return f.Close()
}

// RoundTrip sends a request and keeps what comes back.
func (r *Recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.once.Do(func() {
		if t, ok := http.DefaultTransport.(*http.Transport); ok && r.Base == nil {
			t = t.Clone()
			t.DisableCompression = true
			r.Base = t
		}
	})
	resp, err := r.Base.RoundTrip(req)
	x, ok := req.Context().Value(exchangeKey{}).(*recording)
	if !ok {
		return resp, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.End = err.Error()
		return resp, err
	}
	x.Status, x.Header = resp.StatusCode, resp.Header.Clone()
	x.Header.Del("Set-Cookie")
	resp.Body = &recorded{resp.Body, x}
	return resp, nil
}

// recorded is a body that is kept as it is read.
type recorded struct {
	io.ReadCloser
	to *recording
}

func (b *recorded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.to.mu.Lock()
	defer b.to.mu.Unlock()
	if b.to.body.Len()+n > RecordedReply {
		b.to.Left = true
		b.to.body.Reset()
	}
	if !b.to.Left {
		b.to.body.Write(p[:n])
	}
	if err != nil && err != io.EOF {
		b.to.End = err.Error()
	}
	return n, err
}

// readRecording reads the recording beside a log. What is left of a line that was
// not written to its end is passed over.
func readRecording(path string) ([]exchange, error) {
	f, err := os.Open(session.RecordingPath(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []exchange
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadBytes('\n')
		var x exchange
		if json.Unmarshal(line, &x) == nil && x.Version == 1 {
			list = append(list, x)
		}
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
