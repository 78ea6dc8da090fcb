package board

import (
	"context"
	"time"
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

// Fold is what comes out of lines, written as lines again.
func Fold(lines ...[]byte) (out [][]byte, skipped int) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &state{wall: func() time.Time { return at }, elapsed: func() time.Duration { return 0 }}
	for _, line := range lines {
		s.Apply(line)
	}
	return s.rewritten(), s.skipped
}

const LeastLines = leastLines
