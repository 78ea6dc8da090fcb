//go:build amd64 || arm64

package confine

import (
	"os"
	"testing"
	"time"
)

func TestWhatComesNearALimitIsLookedAtMoreOften(t *testing.T) {
	for _, c := range []struct {
		threads int
		took    time.Duration
		want    time.Duration
	}{
		{threads: 200, want: look},
		{threads: 201, want: near},
		{threads: 201, took: 3 * time.Millisecond, want: 27 * time.Millisecond},
		{threads: 201, took: time.Second, want: look},
	} {
		w := newWatchdog(Limits{Processes: 400}, 0, nil, true)
		w.below = func(int) []process { return []process{{threads: 1}, {threads: c.threads - 1}} }
		if over := w.look(); over != "" || w.pause() > look {
			t.Fatalf("%d threads: %q", c.threads, over)
		}
		w.took = c.took
		if got := w.pause(); got != c.want {
			t.Errorf("with %d threads, and a look that took %v, the next one is %v later, want %v", c.threads, c.took, got, c.want)
		}
	}
}

// TestMemoryOfAMomentIsNotTooMuch stands for a process between vfork and exec.
func TestMemoryOfAMomentIsNotTooMuch(t *testing.T) {
	us := process{pid: os.Getpid()}
	limit := ownMemory(us.pid) * 3 / 2
	var m memory
	for i, c := range []struct {
		list []process
		over bool
	}{{[]process{us, us}, false}, {[]process{us}, false}, {[]process{us, us}, false}, {[]process{us, us}, true}} {
		m.next = time.Time{}
		if used, over := m.look(c.list, limit); over != c.over || used <= 0 {
			t.Errorf("look %d finds %d bytes with a limit of %d, too much: %t", i, used, limit, over)
		}
	}
}
