package looptest

import (
	"bytes"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// grace is how long what a test started may take to be gone.
const grace = 2 * time.Second

// Census fails the test when processes or goroutines that began after the
// call are still there two seconds after the test's own clean-up. It is called
// first, and not in tests that run beside others.
//
// Processes are found by following parents from this one, on Linux only. A
// process whose parent has ended is found when this program is its
// subreaper, which workspace.Helper makes it; the test's log says so when it
// is not. A dead child nobody has waited for counts too.
func Census(t testing.TB) {
	t.Helper()
	procs, why := descendants(os.Getpid())
	if why != "" {
		t.Logf("CENSUS INCOMPLETE: %s", why)
	}
	before := map[string]bool{}
	for _, p := range procs {
		before[p.key()] = true
	}
	stacks := map[string]bool{}
	for id := range goroutines() {
		stacks[id] = true
	}
	t.Cleanup(func() {
		end := time.Now().Add(grace)
		for {
			left := leftovers(before, stacks)
			if len(left) == 0 {
				return
			}
			if time.Now().After(end) {
				for _, l := range left {
					t.Errorf("left behind: %s", l)
				}
				return
			}
			time.Sleep(10 * time.Millisecond) // the system tells nobody when the last one is gone
		}
	})
}

func leftovers(before, stacks map[string]bool) []string {
	var left []string
	procs, _ := descendants(os.Getpid())
	for _, p := range procs {
		if !before[p.key()] {
			left = append(left, p.String())
		}
	}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	for id, stack := range goroutines() {
		if !stacks[id] && !harmless(stack) {
			left = append(left, stack)
		}
	}
	return left
}

// goroutines returns the stack of every goroutine but the caller's.
func goroutines() map[string]string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			buf = buf[:n]
			break
		}
		buf = make([]byte, 2*len(buf))
	}
	all := map[string]string{}
	for i, stack := range bytes.Split(buf, []byte("\n\n")) {
		head, _, _ := strings.Cut(strings.TrimPrefix(string(stack), "goroutine "), " ")
		if i > 0 { // the first is this one
			all[head] = string(stack)
		}
	}
	return all
}

// harmless goroutines are those that the system keeps once they were needed.
func harmless(stack string) bool {
	for _, part := range []string{
		"os/signal.signal_recv", "os/signal.loop", "runtime.ensureSigM", "runtime.ReadTrace",
		"testing.runTests", "testing.(*T).Run(", "testing.(*M).startAlarm", "testing.tRunner.func1(",
		"internal/synctest.Run(",
	} {
		if strings.Contains(stack, part) {
			return true
		}
	}
	return false
}
