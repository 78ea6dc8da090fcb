package main

import (
	"testing"

	"oneloop/internal/tui"
	"oneloop/workspace/confine"
)

// What depends on the kernel is not seen by the test of doctor.
func TestWhatIsWeakerOnOtherKernelsHasWordsInBothLanguages(t *testing.T) {
	for _, w := range []string{confine.Counted, confine.WithoutLandlock, confine.WithoutSignals} {
		if got := tui.Messages("zh").Weakness(w); got == w {
			t.Errorf("in Chinese it is %q", got)
		}
		if got := tui.Messages("en").Weakness(w); got != w {
			t.Errorf("in English it is %q", got)
		}
	}
}
