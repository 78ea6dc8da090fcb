//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// memory is what all processes of a command have together: what is of no file,
// and of what several of them share one copy. The zero value is ready.
type memory struct {
	doubt bool      // it was too much at the last look
	next  time.Time // when it is counted again
}

// look gives it in bytes, or more where that is not over the limit, and whether
// it is too much. That takes two looks: a process that is about to execute a
// program has for a moment the memory of the one that made it, and looks like
// another one with as much.
func (m *memory) look(list []process, limit int64) (used int64, over bool) {
	for _, p := range list {
		used += residentMemory(p.pid)
	}
	if used <= limit {
		m.doubt = false
		return used, false
	}
	// The kernel goes through all of the memory to count, so that this is done a
	// fifth of the time at most.
	began := time.Now()
	if !m.doubt && began.Before(m.next) {
		return used, false
	}
	used = 0
	for _, p := range list {
		used += ownMemory(p.pid)
	}
	now := time.Now()
	m.next = now.Add(4 * now.Sub(began))
	over = used > limit && m.doubt
	m.doubt = used > limit
	return used, over
}

// residentMemory is all that a process has in memory, in bytes, also of files.
func residentMemory(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	var all, resident int64
	if _, err := fmt.Sscan(string(data), &all, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// ownMemory is what of that is of no file, in bytes, and of what is shared the
// process's part. Where that is closed to us what is shared counts in full.
func ownMemory(pid int) int64 {
	dir := "/proc/" + strconv.Itoa(pid)
	if n, ok := figures(dir+"/smaps_rollup", "Pss_Anon:", "Pss_Shmem:"); ok {
		return n
	}
	n, _ := figures(dir+"/status", "RssAnon:", "RssShmem:")
	return n
}

// figures adds up lines of a file in /proc that have these names, in bytes. It
// reports whether all of them are there.
func figures(path string, names ...string) (sum int64, ok bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	found := 0
	for line := range strings.Lines(string(data)) {
		for _, name := range names {
			rest, ok := strings.CutPrefix(line, name)
			if !ok {
				continue
			}
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err == nil {
				sum, found = sum+n<<10, found+1
			}
		}
	}
	return sum, found == len(names)
}
