//go:build unix && !linux

package workspace

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func prepare() { catchIgnored() }

func widen(*os.File) {}

func startProcess(path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	return os.StartProcess(path, argv, attr)
}

// A tree is the process group of a command. What leaves the group is not
// found.
type tree struct{ pid int }

func newTree() *tree { return &tree{} }

func (t *tree) adopt(p *os.Process) error { t.pid = p.Pid; return nil }
func (t *tree) forget()                   {}
func (t *tree) reap()                     {}

func (t *tree) gone() bool { return unix.Kill(-t.pid, 0) == unix.ESRCH }

func (t *tree) finish(patience time.Duration) []string {
	if until(patience, t.gone) {
		return nil
	}
	t.end()
	return []string{fmt.Sprintf("process group %d", t.pid)}
}

// endAll has no list of commands to go by.
func endAll() {}

func (t *tree) end() {
	unix.Kill(-t.pid, unix.SIGTERM)
	if gently(t.gone) {
		return
	}
	unix.Kill(-t.pid, unix.SIGKILL)
	until(stuck, t.gone)
}
