//go:build amd64 || arm64

package confine

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// process is what the kernel says of a process, in the count of the reader.
type process struct {
	pid, parent, threads int
	state                byte
	start, name          string // start is the time, in the words of the kernel
}

// gone reports whether it has ended. One whose first thread has ended while
// others run looks like it, and lives.
func (p process) gone() bool { return p.state == 'X' || p.state == 'Z' && p.threads <= 1 }

// signal sends signals to exactly this process: its number may be another's by
// now.
func (p process) signal(signals ...unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return // it is gone
	}
	defer unix.Close(fd)
	now, ok := readProcess(p.pid)
	for _, s := range signals {
		if ok && now.start == p.start {
			unix.PidfdSendSignal(fd, s, nil, 0)
		}
	}
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
	below := map[int][]process{}
	for _, p := range all() {
		below[p.parent] = append(below[p.parent], p)
	}
	var found []process
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, p := range below[queue[0]] {
			queue = append(queue, p.pid)
			if !p.gone() {
				found = append(found, p)
			}
		}
	}
	return found
}

// all are those there are.
func all() (list []process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok {
			list = append(list, p)
		}
	}
	return list
}

// family is the same without looking at any other process, for who sees those
// of the whole machine. A process that ends meanwhile may hide another one.
func family(root int) (found []process) {
	if !childrenKnown() {
		return descendants(root)
	}
	for _, p := range children(root) {
		if !p.gone() {
			found = append(found, p)
		}
		found = append(found, family(p.pid)...)
	}
	return found
}

// childrenKnown reports whether this kernel lists children.
var childrenKnown = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/thread-self/children")
	return err == nil
})

// children are those of all threads of a process, also dead ones.
func children(pid int) (list []process) {
	if !childrenKnown() {
		return slices.DeleteFunc(all(), func(p process) bool { return p.parent != pid })
	}
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return nil // it is gone
	}
	for _, thread := range threads {
		data, err := os.ReadFile(tasks + "/" + thread.Name() + "/children")
		if err != nil {
			continue
		}
		for _, word := range strings.Fields(string(data)) {
			n, err := strconv.Atoi(word)
			if err != nil {
				continue
			}
			if p, ok := readProcess(n); ok && p.parent == pid {
				list = append(list, p)
			}
		}
	}
	return list
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
	if len(fields) < 20 {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	threads, err2 := strconv.Atoi(fields[17])
	if err != nil || err2 != nil {
		return process{}, false
	}
	return process{pid: pid, parent: parent, threads: threads, state: fields[0][0], start: fields[19], name: strings.ToValidUTF8(string(data[open+1:shut]), "?")}, true
}
