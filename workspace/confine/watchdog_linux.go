//go:build amd64 || arm64

package confine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
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
	dirs    []string
	below   func(pid int) []process // gives what a process started
	count   bool                    // of processes
	began   time.Time
	free    []uint64      // bytes free below each of dirs, as far as they are its own affair
	enough  int64         // bytes at which it is ended: before the limit
	wrote   int64         // bytes that were written and left no trace
	between time.Duration // until the next look at free space
}

// look is how often a command is looked at.
const look = 100 * time.Millisecond

// fastest is how many bytes a second are expected to be written at most.
const fastest = 4 << 30

func newWatchdog(l Limits, pid int, dirs []string, count bool) *watchdog {
	w := &watchdog{limits: l, pid: pid, dirs: dirs, below: descendants, count: count && l.Processes > 0, began: time.Now(), between: look}
	if l.Disk > 0 {
		w.enough = l.Disk - min(l.Disk/8, nearly)
		for _, dir := range dirs {
			w.free = append(w.free, freeBytes(dir))
		}
		w.plan(0)
	}
	return w
}

// pause is the time until the next look, 0 for none at all.
func (w *watchdog) pause() time.Duration {
	switch {
	case w.limits.Disk > 0:
		return min(look, w.between)
	case w.limits.Memory > 0 || w.count:
		return look
	}
	return 0
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
	var memory int64
	var number int
	for _, p := range w.below(w.pid) {
		memory += ownMemory(p.pid)
		number += p.threads
	}
	if w.limits.Memory > 0 && memory > w.limits.Memory {
		return fmt.Sprintf("its processes had %s of memory together, the limit is %s", size(memory), size(w.limits.Memory))
	}
	if w.count && number > w.limits.Processes {
		return fmt.Sprintf("it had %d processes and threads, the limit is %d", number, w.limits.Processes)
	}
	return ""
}

// ownMemory is what a process has for itself, in bytes.
func ownMemory(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	var all, resident, shared int64
	if _, err := fmt.Sscan(string(data), &all, &resident, &shared); err != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}

// disk looks at the free space and at how much was written, which costs little,
// and counts files only when one of them tells that it may be too much: others
// use the space too, and free it, and what was written may be gone again.
func (w *watchdog) disk() string {
	var used int64
	for i, dir := range w.dirs {
		if now := freeBytes(dir); now < w.free[i] {
			used = max(used, int64(w.free[i]-now))
		}
	}
	wrote := w.written()
	if used = max(used, wrote-w.wrote); used > w.enough {
		used = 0
		for _, dir := range w.dirs {
			used += changedSince(dir, w.began)
		}
		for i, dir := range w.dirs {
			w.free[i] = freeBytes(dir) + uint64(used)
		}
		w.wrote = wrote - used
	}
	w.plan(used)
	if used > w.enough {
		return fmt.Sprintf("the files it changed take %s, and the limit is %s", size(used), size(w.limits.Disk))
	}
	return ""
}

// written is how many bytes all processes have sent to disks, those included
// that have ended and were waited for.
func (w *watchdog) written() int64 {
	sum := writtenBy(w.pid)
	for _, p := range w.below(w.pid) {
		sum += writtenBy(p.pid)
	}
	return sum
}

func writtenBy(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n
		}
	}
	return 0
}

func freeBytes(dir string) uint64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0
	}
	return st.Bfree * uint64(st.Bsize)
}

// changedSince is the space, in bytes, of files changed since then.
func changedSince(dir string, then time.Time) int64 {
	var sum int64
	filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone, or closed to us
		}
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil && time.Unix(st.Ctim.Unix()).After(then) {
			sum += st.Blocks * 512
		}
		return nil
	})
	return sum
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
