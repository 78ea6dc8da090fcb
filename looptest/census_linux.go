package looptest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// process is what the system says of one process, as far as it may be asked
// about any: number, parent, name, state, start.
type process struct {
	pid, parent int
	name, state string
	start       string // in ticks since the system started; tells a number used again
}

func (p process) key() string { return fmt.Sprint(p.pid, "@", p.start) }
func (p process) String() string {
	return fmt.Sprintf("process %d (%s, state %s)", p.pid, p.name, p.state)
}

// descendants returns the processes below root, and why the list may be
// incomplete.
func descendants(root int) (list []process, why string) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Sprintf("processes are not looked at: %v", err)
	}
	below := map[int][]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok {
			below[p.parent] = append(below[p.parent], p)
		}
	}
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range below[queue[0]] {
			list = append(list, p)
			queue = append(queue, p.pid)
		}
	}
	var reaper int32
	if err := prctlGetSubreaper(&reaper); err != nil {
		return list, fmt.Sprintf("whether this program is a subreaper is not known: %v", err)
	}
	if reaper == 0 {
		return list, "this program is no subreaper, so a process whose parent has ended is not found; call workspace.Helper in TestMain"
	}
	return list, ""
}

// readProcess reads the line of a process. One that has just gone is no error.
func readProcess(pid int) (process, bool) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	// The name stands in brackets and may hold anything, brackets too.
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	fields := strings.Fields(string(line[end+1:]))
	if len(fields) < 20 {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return process{}, false
	}
	return process{pid: pid, parent: parent, name: string(line[open+1 : end]), state: fields[0], start: fields[19]}, true
}

func prctlGetSubreaper(into *int32) error {
	return unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(into)), 0, 0, 0)
}
