// Package trace shows and keeps what an agent does, and has it done again.
//
// [Replay] takes a session again from its log and compares; [Again] puts what was
// said in it to another model; a [Recorder] keeps the bytes of the API.
//
// The others are sinks for events: [Lines] writes them as JSON, one a line;
// [Pretty] prints what a reader wants to see of the loop; [StreamJSON] speaks the
// message format that programs driving other command-line agents read.
//
// A sink is safe for concurrent use. It never changes an event and never
// fails the agent: the first error of its writer is kept for Err, and nothing
// is written after it.
//
// Secrets of at least eight bytes are masked wherever they appear, also as they
// stand in JSON, in addresses and in base64. One that arrives in pieces, each
// an event of its own, is masked too: what could be its beginning is held back
// until more comes, so that a piece may be written a little later, with the
// next one. Secrets that are spelled otherwise, backwards for instance, are not
// recognised.
package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"oneloop"
	"oneloop/internal/mask"
)

// output writes whole records and hides secrets in them.
type output struct {
	mu   sync.Mutex
	w    io.Writer
	hide *mask.Mask
	err  error
}

func newOutput(w io.Writer, secrets []string) *output {
	return &output{w: w, hide: mask.New(secrets...)}
}

// write writes one record; the caller holds the lock.
func (o *output) write(record []byte) {
	if o.err != nil {
		return
	}
	o.err = o.hide.Write(o.w, record)
}

// Err is the first error of the writer.
func (o *output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// encode gives v as JSON without escapes for HTML. What is encoded here
// always can be; an error would be ours and is shown in its place.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		b.Reset()
		enc.Encode(map[string]string{"error": err.Error()})
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Lines writes every event as an [oneloop.Envelope], one JSON object a line.
// Events that only count bytes are left out. One that has no form in JSON, such
// as a call whose input is none, is replaced by a notice that says so.
//
// Its Err names the first event that is missing. Where the writer took a part of
// it, the file ends in the middle of a line.
type Lines struct {
	*output
	session string
	seq     uint64
	now     func() time.Time
	pieces  *pieces
}

// NewLines returns a sink that writes to w. Secrets are masked wherever they
// appear.
func NewLines(w io.Writer, session string, secrets ...string) *Lines {
	l := &Lines{output: newOutput(w, secrets), session: session, now: time.Now}
	l.pieces = newPieces(l.hide)
	return l
}

// Event writes one event.
func (l *Lines) Event(e oneloop.Event) {
	if e.Kind() == oneloop.KindReceived {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pieces.pass(e, l.event)
}

func (l *Lines) event(e oneloop.Event) {
	if l.err != nil {
		return
	}
	l.seq++
	line, err := l.line(e)
	if err != nil {
		text := fmt.Sprintf("the event %s that belongs here has no form in JSON: %v", e.Kind(), err)
		if line, err = l.line(oneloop.Notice{Text: text}); err != nil {
			l.err = err
			return
		}
	}
	if l.write(append(line, '\n')); l.err != nil {
		l.err = fmt.Errorf("event %d (%s) and all after it are missing: %w", l.seq, e.Kind(), l.err)
	}
}

func (l *Lines) line(e oneloop.Event) ([]byte, error) {
	return oneloop.NewEnvelope(l.seq, l.now(), l.session, e).AppendJSON(nil)
}
