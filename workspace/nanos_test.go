package workspace_test

import (
	"slices"
	"time"
)

// nanos are timings whose median shrugs off a busy machine.
type nanos []float64

func (n *nanos) add(f func()) {
	began := time.Now()
	f()
	*n = append(*n, float64(time.Since(began)))
}

func (n nanos) median() float64 {
	slices.Sort(n)
	return n[len(n)/2]
}
