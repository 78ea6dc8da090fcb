//go:build amd64 || arm64

package confine

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// watchdog looks at what no limit of the kernel's holds for: the memory that
// all processes of a command have together, the size of all files it makes,
// and, where the kernel does not do it, the number of processes.
type watchdog struct {
	limits  Limits
	pid     int
	below   func(pid int) []process // gives what a process started
	count   bool                    // of processes
	began   time.Time
	places  []place       // that it may write
	stores  []*store      // in which these are
	enough  int64         // bytes at which it is ended: before the limit
	wrote   int64         // bytes that were written and left no trace
	between time.Duration // until the next look at free space
	memory  memory
	half    bool          // it has come half the way to the limit on processes or memory
	took    time.Duration // by the last look at these
}

const (
	// look is how often a command is looked at.
	look = 100 * time.Millisecond
	// near is how often one is looked at that is half the way to a limit.
	near = 10 * time.Millisecond
	// rest is how much longer than a look the time to the next one is at least,
	// so that looking takes no more than a tenth of a processor.
	rest = 9
)

// fastest is how many bytes a second are expected to be written at most.
const fastest = 4 << 30

func newWatchdog(l Limits, pid int, places []place, count bool) *watchdog {
	w := &watchdog{limits: l, pid: pid, places: places, below: descendants, count: count && l.Processes > 0, began: time.Now(), between: look}
	if l.Disk > 0 {
		w.enough = l.Disk - min(l.Disk/8, nearly)
		w.stores = storesOf(places)
		w.plan(0)
	}
	return w
}

// pause is the time until the next look, 0 for none at all.
func (w *watchdog) pause() time.Duration {
	if w.limits.Disk <= 0 && w.limits.Memory <= 0 && !w.count {
		return 0
	}
	pause := look
	if w.half {
		pause = min(pause, max(near, rest*w.took))
	}
	if w.limits.Disk > 0 {
		pause = min(pause, w.between)
	}
	return pause
}

// nearly is how many bytes before the limit on files a command is ended, or an
// eighth of the limit: on a busy machine it goes on writing until we get to it.
const nearly = 64 << 20

// plan makes looks more frequent the closer the limit is.
func (w *watchdog) plan(used int64) {
	left := time.Duration(w.enough-used) * time.Second / fastest
	w.between = min(max(left, 3*time.Millisecond), look)
}

// look says which limit was reached, in words.
func (w *watchdog) look() string {
	if w.limits.Disk > 0 {
		if over := w.disk(); over != "" {
			return over
		}
	}
	if w.limits.Memory <= 0 && !w.count {
		return ""
	}
	began := time.Now()
	list := w.below(w.pid)
	var number int
	for _, p := range list {
		number += p.threads
	}
	w.half = w.count && number > w.limits.Processes/2
	if limit := w.limits.Memory; limit > 0 {
		used, over := w.memory.look(list, limit)
		if over {
			return fmt.Sprintf("its processes had %s of memory together, the limit is %s", size(used), size(limit))
		}
		w.half = w.half || used > limit/2
	}
	w.took = time.Since(began)
	if w.count && number > w.limits.Processes {
		return fmt.Sprintf("it had %d processes and threads, the limit is %d", number, w.limits.Processes)
	}
	return ""
}

func size(bytes int64) string {
	const units = "KMGT"
	v, unit := float64(bytes), -1
	for v >= 1024 && unit < len(units)-1 {
		v, unit = v/1024, unit+1
	}
	if unit < 0 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " " + units[unit:unit+1] + "iB"
}

// ownPidMax reports whether the largest process number is a setting of each
// set of process numbers. On kernels before 6.14 there is one for the whole
// machine, which is never touched.
func ownPidMax() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	if n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); n != 2 {
		return false
	}
	return major > 6 || major == 6 && minor >= 14
}
