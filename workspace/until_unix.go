//go:build unix

package workspace

import "time"

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
