package main

import (
	"os"
	"runtime"
	"runtime/debug"

	"oneloop"
)

// headroom is how many bytes the heap may grow by, once more than that is in use,
// before what is no longer needed is collected.
const headroom = 2 << 20

// heap holds down what a long conversation takes. As Go has it, as much again as
// is needed may be used before anything is collected. What a conversation holds
// is text, which costs next to nothing to look through, so that it can be
// looked through more often. Who sets GOGC decides it.
type heap struct {
	messages int
	percent  int // that was set last; 0: none was
}

// hear looks now and then how large it has become.
func (h *heap) hear(e oneloop.Event) {
	if _, ok := e.(oneloop.MessageAdded); !ok {
		return
	}
	if h.messages++; h.messages%64 != 63 {
		return
	}
	var m runtime.MemStats // runtime/metrics would take 0.3 MB at the start of every run
	runtime.ReadMemStats(&m)
	percent := h.percent
	if percent == 0 {
		percent = 100
	}
	h.set(m.NextGC * 100 / uint64(100+percent)) // as the last collection found it
}

// expect prepares for so many bytes that will be in use at once.
func (h *heap) expect(live int64) {
	if live > headroom {
		h.set(uint64(live))
	}
}

func (h *heap) set(live uint64) {
	percent := growth(live)
	if percent == h.percent || percent == 100 && h.percent == 0 || os.Getenv("GOGC") != "" {
		return
	}
	h.percent = percent
	debug.SetGCPercent(percent)
}

// growth is by how many percent a heap may grow of which so many bytes are in
// use.
func growth(live uint64) int {
	return int(min(100, max(10, headroom*100/max(live, 1))))
}
