//go:build unix

package workspace

import "time"

// gently waits for what was asked to end until it has, as long as there is
// time for that.
func gently(ended func() bool) bool {
	until(grace, func() bool { return hurried.Load() || ended() })
	return ended()
}

// until asks for a condition in growing intervals until it holds or d is over.
func until(d time.Duration, holds func() bool) bool {
	deadline := time.Now().Add(d)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if holds() {
			return true
		}
		rest := time.Until(deadline)
		if rest <= 0 {
			return false
		}
		time.Sleep(min(pause, rest))
	}
}
