//go:build amd64 || arm64

package confine

import (
	"os"
	"strconv"
	"strings"
)

// sooner is what a command adds to its badness, of at most 1000, by which the
// kernel chooses whom to end when there is no memory left.
const sooner = 500

// endSooner makes the kernel choose a process, and what that starts from now on,
// rather than the agent. dir is that of the process in /proc. It is only a hint:
// where it is not taken nothing else changes.
func endSooner(dir string) {
	f, err := os.OpenFile(dir+"/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	text := make([]byte, 20)
	n, _ := f.Read(text)
	if now, err := strconv.Atoi(strings.TrimSpace(string(text[:n]))); err == nil && now < sooner {
		f.WriteAt([]byte(strconv.Itoa(sooner)), 0)
	}
}

// endAllSooner does it for a process and all below it. One that is made meanwhile
// may be missed.
func endAllSooner(pid int) {
	endSooner("/proc/" + strconv.Itoa(pid))
	for _, p := range family(pid) {
		endSooner("/proc/" + strconv.Itoa(p.pid))
	}
}
