package anthropic

import "slices"

// run is a text that only grows, in pieces of which only the last one grows: one
// that is long is not copied, and no room is kept behind it. What was handed out
// of it never changes.
type run struct {
	full [][]byte
	size int    // of what is in full
	tail []byte // the last piece
}

// pieceSize is how long a piece is at least, in bytes, before another one is
// begun.
const pieceSize = 256 << 10

// shareSize is how long a text is at least, in bytes, that is not copied.
const shareSize = 2 << 10

func (r *run) len() int { return r.size + len(r.tail) }

// next begins another piece if the last one is full. What is appended until it
// is called again lies in one piece, but for what is shared.
func (r *run) next() {
	if len(r.tail) >= pieceSize {
		r.end()
		r.tail = make([]byte, 0, pieceSize+pieceSize/8)
	}
}

// end ends the last piece.
func (r *run) end() {
	if len(r.tail) > 0 {
		r.full = append(r.full, slices.Clone(r.tail)) // without the room behind it
		r.size += len(r.tail)
		r.tail = nil
	}
}

// share appends a text that never changes. A long one is not copied.
func (r *run) share(text []byte) {
	if len(text) < shareSize {
		r.tail = append(r.tail, text...)
		return
	}
	r.end()
	r.full = append(r.full, slices.Clip(text))
	r.size += len(text)
}

// parts appends what is between two places.
func (r *run) parts(dst [][]byte, from, to int) [][]byte {
	at := 0
	for _, piece := range r.full {
		dst = appendPart(dst, piece, from-at, to-at)
		at += len(piece)
	}
	return appendPart(dst, r.tail, from-at, to-at)
}

func appendPart(dst [][]byte, piece []byte, from, to int) [][]byte {
	from, to = max(from, 0), min(to, len(piece))
	if from >= to {
		return dst
	}
	return append(dst, piece[from:to:to])
}

// upTo is the beginning of the text, which can grow otherwise.
func (r *run) upTo(end int) run {
	var begin run
	for _, piece := range r.full {
		if begin.size+len(piece) > end {
			begin.tail = slices.Clone(piece[:end-begin.size])
			return begin
		}
		begin.full = append(begin.full, piece)
		begin.size += len(piece)
	}
	begin.tail = slices.Clone(r.tail[:end-begin.size])
	return begin
}

// from is what follows a place in the piece it is in.
func (r *run) from(at int) []byte {
	begin := r.size
	if at >= begin {
		return r.tail[at-begin:]
	}
	for _, piece := range slices.Backward(r.full) {
		if begin -= len(piece); at >= begin {
			return piece[at-begin:]
		}
	}
	return nil
}
