package wire

import "slices"

// Run is a text that only grows, in pieces of which only the last one grows: one
// that is long is not copied, and no room is kept behind it. What was handed out
// of it never changes.
type Run struct {
	full [][]byte
	size int    // of what is in full
	Tail []byte // the last piece, to which may be appended
}

// pieceSize is how long a piece is at least, in bytes, before another one is
// begun.
const pieceSize = 256 << 10

// shareSize is how long a text is at least, in bytes, that is not copied.
const shareSize = 2 << 10

// Len is the number of bytes in it.
func (r *Run) Len() int { return r.size + len(r.Tail) }

// Next begins another piece if the last one is full. What is appended until it
// is called again lies in one piece, but for what is shared.
func (r *Run) Next() {
	if len(r.Tail) >= pieceSize {
		r.end()
		r.Tail = make([]byte, 0, pieceSize+pieceSize/8)
	}
}

// end ends the last piece.
func (r *Run) end() {
	if len(r.Tail) > 0 {
		r.full = append(r.full, slices.Clone(r.Tail)) // without the room behind it
		r.size += len(r.Tail)
		r.Tail = nil
	}
}

// Share appends a text that never changes. A long one is not copied.
func (r *Run) Share(text []byte) {
	if len(text) < shareSize {
		r.Tail = append(r.Tail, text...)
		return
	}
	r.end()
	r.full = append(r.full, slices.Clip(text))
	r.size += len(text)
}

// Parts appends what is between two places.
func (r *Run) Parts(dst [][]byte, from, to int) [][]byte {
	at := 0
	for _, piece := range r.full {
		dst = appendPart(dst, piece, from-at, to-at)
		at += len(piece)
	}
	return appendPart(dst, r.Tail, from-at, to-at)
}

func appendPart(dst [][]byte, piece []byte, from, to int) [][]byte {
	from, to = max(from, 0), min(to, len(piece))
	if from >= to {
		return dst
	}
	return append(dst, piece[from:to:to])
}

// UpTo is the beginning of the text, which can grow otherwise.
func (r *Run) UpTo(end int) Run {
	var begin Run
	for _, piece := range r.full {
		if begin.size+len(piece) > end {
			begin.Tail = slices.Clone(piece[:end-begin.size])
			return begin
		}
		begin.full = append(begin.full, piece)
		begin.size += len(piece)
	}
	begin.Tail = slices.Clone(r.Tail[:end-begin.size])
	return begin
}

// From is what follows a place in the piece it is in.
func (r *Run) From(at int) []byte {
	begin := r.size
	if at >= begin {
		return r.Tail[at-begin:]
	}
	for _, piece := range slices.Backward(r.full) {
		if begin -= len(piece); at >= begin {
			return piece[at-begin:]
		}
	}
	return nil
}
