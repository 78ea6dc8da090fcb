package board

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"oneloop/internal/journal"
)

// SetElapsed has leases run by a clock of their own, as the system's does that
// stops while a computer is suspended.
func (b *Board) SetElapsed(f func() time.Duration) { b.j.View(func() { b.s.elapsed = f }) }

// Shorten rewrites the file now.
func (b *Board) Shorten() error {
	return b.j.Rewrite(context.Background(), func() ([][]byte, error) { return b.s.rewritten(), nil })
}

// Lines is how many lines the file has.
func (b *Board) Lines() int { return b.j.Lines() }

// Read is a board of lines that are in no file, and what it would rewrite them to.
// Nothing can be changed in it.
func Read(text []byte) (b *Board, lines [][]byte, skipped int) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b = &Board{opts: Options{Now: func() time.Time { return at }, Losses: DefaultLosses}, path: "there is none"}
	b.s = &state{wall: b.opts.Now, elapsed: func() time.Duration { return 0 }}
	b.j = journal.New(b.path, b.s)
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if json.Valid(line) { // others the journal leaves out
			b.s.Apply(line)
		}
	}
	return b, b.s.rewritten(), b.s.skipped
}

const LeastLines = leastLines
