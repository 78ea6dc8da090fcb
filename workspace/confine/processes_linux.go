//go:build amd64 || arm64

package confine

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// process is what the kernel says of a process, in the count of the reader.
type process struct {
	pid, parent, threads int
	state                byte
	name                 string
}

// String names it by the number it has in its own count.
func (p process) String() string { return fmt.Sprintf("%s (pid %d)", p.name, p.inner()) }

func (p process) inner() int {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/status")
	if err != nil {
		return p.pid
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "NSpid:"); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				if n, err := strconv.Atoi(f[len(f)-1]); err == nil {
					return n
				}
			}
		}
	}
	return p.pid
}

// descendants are the living processes below root. The holder sees no others
// than those of its commands.
func descendants(root int) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
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
	var found []process
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range below[queue[0]] {
			queue = append(queue, p.pid)
			if p.state != 'X' && (p.state != 'Z' || p.threads > 1) {
				found = append(found, p)
			}
		}
	}
	return found
}

// readProcess reads /proc/PID/stat. The name stands in brackets and may hold
// anything.
func readProcess(pid int) (process, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	open, shut := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || shut < open {
		return process{}, false
	}
	fields := strings.Fields(string(data[shut+1:]))
	if len(fields) < 18 {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	threads, err2 := strconv.Atoi(fields[17])
	if err != nil || err2 != nil {
		return process{}, false
	}
	return process{pid: pid, parent: parent, threads: threads, state: fields[0][0], name: strings.ToValidUTF8(string(data[open+1:shut]), "?")}, true
}
