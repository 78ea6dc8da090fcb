package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"oneloop"
)

func TestALargeHeapIsCollectedSooner(t *testing.T) {
	for live, want := range map[uint64]int{0: 100, headroom: 100, 2 * headroom: 50, 100 * headroom: 10} {
		if got := growth(live); got != want {
			t.Errorf("with %d bytes in use it may grow by %d %%, not %d", live, got, want)
		}
	}
	t.Setenv("GOGC", "")
	was := debug.SetGCPercent(100)
	defer func() { debug.SetGCPercent(was) }()
	large := make([]byte, 100*headroom)
	runtime.GC()
	var h heap
	for range 63 {
		h.hear(oneloop.TextDelta{})
		h.hear(oneloop.MessageAdded{})
	}
	if got := debug.SetGCPercent(100); got != 10 {
		t.Errorf("%d bytes are in use, and it may grow by %d %%", len(large), got)
	}
	runtime.KeepAlive(large)

	for size, want := range map[int64]int{1: 100, 100 * headroom: 10} { // of a log that is opened
		h = heap{}
		h.expect(size)
		if got := debug.SetGCPercent(100); got != want {
			t.Errorf("%d bytes are expected, and it may grow by %d %%, not %d", size, got, want)
		}
	}
}
