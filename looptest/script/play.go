package script

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// play writes the reply, with everything that is to go wrong on the way.
func play(w http.ResponseWriter, r *http.Request, reply Reply, req Request, wire *Wire) {
	if !pause(r.Context(), reply.Wait) {
		panic(http.ErrAbortHandler)
	}
	pieces, kind := reply.render(req, wire)
	head := w.Header()
	head.Set("Content-Type", kind)
	head.Set("Request-Id", fmt.Sprintf("req_script_%04d", req.N))
	for name, values := range reply.Header {
		head[http.CanonicalHeaderKey(name)] = values
	}
	p := player{ctx: r.Context(), reply: reply, out: w, flush: http.NewResponseController(w).Flush}
	if reply.Gzip {
		head.Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		p.out = z
		p.flush = func() error {
			if err := z.Flush(); err != nil {
				return err
			}
			return http.NewResponseController(w).Flush()
		}
		p.end = z.Close
	}
	status := reply.Status
	if status == 0 {
		status = http.StatusOK
	}
	w.WriteHeader(status)
	if !p.play(pieces) {
		panic(http.ErrAbortHandler) // breaks the connection
	}
}

// render gives the pieces of the body and their type.
func (r Reply) render(req Request, wire *Wire) (pieces [][]byte, kind string) {
	switch {
	case r.Body != nil:
		if len(r.Body) > 0 {
			pieces = [][]byte{r.Body}
		}
		return pieces, "application/json"
	case r.SSE != nil:
		_, kind := wire.Stream(Reply{}, &req)
		return splitEvents(r.SSE), kind
	case r.fails():
		return [][]byte{wire.Error(*r.Error)}, "application/json"
	case r.OneShot || !req.Stream:
		return [][]byte{wire.Whole(r, &req)}, "application/json"
	}
	return wire.Stream(r, &req)
}

// fails reports whether the answer is an error of HTTP.
func (r Reply) fails() bool { return r.Error != nil && r.Status >= http.StatusBadRequest }

type player struct {
	ctx   context.Context
	reply Reply
	out   io.Writer
	flush func() error
	end   func() error
}

// play reports whether the body is to be ended as if it were whole.
func (p *player) play(pieces [][]byte) bool {
	pieces = p.cut(pieces)
	if p.flush() != nil { // the headers go out before the first piece
		return false
	}
	for i, piece := range pieces {
		if i > 0 && !pause(p.ctx, p.reply.Delay) || !p.pauseAfter(i) || !p.write(piece) {
			return false
		}
		if p.reply.Sent != nil {
			p.reply.Sent(i + 1)
		}
	}
	if !p.pauseAfter(len(pieces)) {
		return false
	}
	if p.reply.Cut != nil && !p.reply.Cut.Clean {
		return false
	}
	return p.end == nil || p.end() == nil
}

// cut drops what lies behind the cut.
func (p *player) cut(pieces [][]byte) [][]byte {
	c := p.reply.Cut
	switch {
	case c == nil:
		return pieces
	case c.Bytes == 0:
		n := c.Events
		if n < 0 {
			n += len(pieces)
		}
		return pieces[:min(max(n, 0), len(pieces))]
	}
	total := 0
	for _, piece := range pieces {
		total += len(piece)
	}
	left := c.Bytes
	if left < 0 {
		left = max(left+total, 0)
	}
	var kept [][]byte
	for _, piece := range pieces {
		n := min(left, len(piece))
		if n == 0 {
			break
		}
		kept = append(kept, piece[:n])
		left -= n
	}
	return kept
}

func (p *player) pauseAfter(n int) bool {
	for _, x := range p.reply.Pauses {
		if x.After == n && !pause(p.ctx, x.For) {
			return false
		}
	}
	return true
}

func (p *player) write(piece []byte) bool {
	for len(piece) > 0 {
		n := len(piece)
		if p.reply.Chunk > 0 {
			n = min(n, p.reply.Chunk)
		}
		if _, err := p.out.Write(piece[:n]); err != nil {
			return false
		}
		if p.flush() != nil {
			return false
		}
		piece = piece[n:]
	}
	return true
}

// pause reports whether the client is still there after d.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	var over <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-over:
		return true
	case <-ctx.Done():
		return false
	}
}
