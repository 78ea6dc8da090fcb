package trace

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"oneloop"
	"oneloop/session"
)

// playback plays a recording: it is the transport of an adapter that is not to
// reach anybody.
type playback struct {
	list  []exchange // what is not played yet
	now   *exchange
	stop  context.CancelCauseFunc // of the request that is played
	none  []int64                 // replies of the log before which a request is not in it
	model oneloop.Model           // over this transport
}

// before drops what was recorded before the entry n was made.
func (b *playback) before(n int64) {
	if b == nil {
		return
	}
	for len(b.list) > 0 && b.list[0].After < n {
		b.list = b.list[1:]
	}
}

// next takes what was recorded next, before the entry n was made.
func (b *playback) next(n int64) (x exchange, ok bool) {
	if b == nil || len(b.list) == 0 || b.list[0].After >= n {
		return x, false
	}
	x, b.list = b.list[0], b.list[1:]
	return x, true
}

func (b *playback) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	x := b.now
	if x.Status == 0 {
		return nil, errors.New(x.End)
	}
	body := []byte(x.Body)
	if x.Binary != "" {
		var err error
		if body, err = base64.StdEncoding.DecodeString(x.Binary); err != nil {
			return nil, fmt.Errorf("read the recording: %w", err)
		}
	}
	var end io.Reader = strings.NewReader("")
	switch {
	case x.End == stopped:
		end = reader(func([]byte) (int, error) {
			b.stop(oneloop.ErrInterrupted)
			return 0, context.Canceled
		})
	case x.End != "":
		end = reader(func([]byte) (int, error) { return 0, errors.New(x.End) })
	}
	return &http.Response{StatusCode: x.Status, Status: http.StatusText(x.Status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: x.Header.Clone(), Body: io.NopCloser(io.MultiReader(bytes.NewReader(body), end)), ContentLength: -1, Request: req}, nil
}

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// stream tells what was recorded of the next reply, and what the log has
// between the tries.
func (p *player) stream(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) error {
	e := p.upcoming()
	if p.tape == nil || e == nil {
		return nil
	}
	if p.tape.model == nil {
		m, err := p.o.Adapter(p.fold.Setup().Model, p.tape)
		if err != nil {
			return err
		}
		p.tape.model = m
	}
	p.paused = false
	tries := p.tries()
	for first := true; ; first = false {
		x, more := p.tape.next(e.N)
		if tries--; !more && tries >= 0 {
			p.tape.none = append(p.tape.none, e.N)
		}
		if !more {
			return p.wrong()
		}
		if !first {
			p.until(oneloop.KindRetry, emit)
		}
		if p.decode(ctx, x, req, e, emit); p.over() {
			return p.wrong()
		}
	}
}

// tries is how many requests the log knows of that were sent for what it has
// next, at least: the reply, and what was tried before it.
func (p *player) tries() (n int) {
	for _, e := range p.entries[p.pos:p.end] {
		switch {
		case e.Message != nil && e.Message.Role == oneloop.Assistant:
			return n + 1
		case e.Message != nil, e.Kind == string(oneloop.KindTurnEnd):
			return n
		case e.Kind == string(oneloop.KindRetry):
			n++
		}
	}
	return n
}

// unrecorded says what the recording lacks.
func (p *player) unrecorded() {
	if p.tape == nil || len(p.tape.none) == 0 {
		return
	}
	const most = 8
	var names []string
	for _, n := range p.tape.none {
		names = append(names, fmt.Sprint(n))
	}
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	p.out.LeftOut = append(p.out.LeftOut, "the recording lacks requests, so what came of them was taken as the log has it: those for the entries "+text)
}

// until tells what the log has up to the next event of a kind, if there is one
// before the next message.
func (p *player) until(kind oneloop.Kind, emit func(oneloop.Event)) {
	for i := p.pos; i < p.end; i++ {
		e := p.entries[i]
		if e.Message != nil || e.Kind == string(oneloop.KindTurnEnd) {
			return
		}
		if e.Kind == string(kind) {
			for p.pos <= i {
				p.tell(emit)
			}
			return
		}
	}
}

// decode decodes one recorded exchange and compares what it comes to. e is the
// reply that the log has, or the turn's end.
func (p *player) decode(ctx context.Context, x exchange, req *oneloop.Request, e *session.Entry, emit func(oneloop.Event)) {
	if x.Left {
		p.out.LeftOut = append(p.out.LeftOut, fmt.Sprintf("turn %d: the pieces of the reply before entry %d are not in the recording, it was too long", p.turn, e.N))
		return
	}
	ctx, p.tape.stop = context.WithCancelCause(ctx)
	defer p.tape.stop(nil)
	p.tape.now = &x
	var pieces []spelled
	msg, err := p.tape.model.Generate(ctx, req, func(event oneloop.Event) {
		pieces = addPiece(pieces, event)
		if !kept(event) { // else the log has it
			p.telling = true
			emit(event)
			p.telling = false
		}
	})
	p.out.Recorded++
	if !slices.Equal(pieces, x.Pieces) && !(x.End == stopped && piecesBegin(pieces, x.Pieces)) {
		p.differAt(e, "the pieces "+string(encode(x.Pieces)), "the pieces "+string(encode(pieces)))
		return
	}
	whole := err == nil && x.End == "" && msg.Stop != oneloop.StopPause && !p.paused
	if p.paused = err == nil && msg.Stop == oneloop.StopPause; whole && e.Message != nil && !sameReply(e.Message, msg) {
		p.differAt(e, describe(*e), "what is recorded: "+describeMessage(msg))
	}
}

// piecesBegin reports whether one of both is the beginning of the other: what
// was told last when a reply was stopped is a matter of time.
func piecesBegin(a, b []spelled) bool {
	text := func(list []spelled) (s string) {
		for _, p := range list {
			s += p.Kind + "\n" + p.Text + "\n"
		}
		return strings.TrimSuffix(s, "\n")
	}
	x, y := text(a), text(b)
	return strings.HasPrefix(x, y) || strings.HasPrefix(y, x)
}

// sameReply reports whether a reply that was read anew is the one of the log.
// The ids that the adapter makes where there are none, or where they are taken,
// are others each time.
func sameReply(logged, msg *oneloop.Message) bool {
	if sameMessage(logged, msg) {
		return true
	}
	was, is := logged.Meta.Repairs, msg.Meta.Repairs
	if len(was) != len(is) {
		return false
	}
	x, err := logged.AppendJSON(nil)
	if err != nil {
		return false
	}
	y, err := msg.AppendJSON(nil)
	if err != nil {
		return false
	}
	for i, r := range is {
		if r.What == "id" && was[i].What == "id" {
			y = bytes.ReplaceAll(y, encode(r.To), encode(was[i].To))
		}
	}
	return sameJSON(x, y)
}
