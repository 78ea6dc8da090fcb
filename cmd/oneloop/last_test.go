//go:build unix

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"oneloop/looptest/script"
)

// TestThreeSignalsLeaveNothing sends them so that the third comes while the
// program is tidying up, or after it.
func TestThreeSignalsLeaveNothing(t *testing.T) {
	boxes := []string{"auto", "none"}
	if runtime.GOOS == "linux" {
		boxes = append(boxes, "ll")
	}
	for _, box := range boxes {
		const gap = 5 * time.Millisecond
		p := newProduct(t, script.Say(shell("t1", `trap "" TERM INT; touch mark; while :; do sleep 1; done`)))
		cmd := p.started("mark", "--sandbox", box)
		for range 3 {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				break // it was quicker
			}
			time.Sleep(gap)
		}
		cmd.Wait()
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != syscall.SIGINT {
			t.Errorf("%s: the parent sees %v", box, cmd.ProcessState)
		}
		entries, err := os.ReadDir(p.dir)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if err != nil || !slices.Equal(names, []string{"mark"}) {
			t.Errorf("%s: left in the folder: %q, %v", box, names, err)
		}
		if left, err := filepath.Glob(filepath.Join(p.env[2][len("TMPDIR="):], "*")); len(left) > 0 || err != nil {
			t.Errorf("%s: left in the temporary folder: %q, %v", box, left, err)
		}
		if runtime.GOOS == "linux" {
			p.census()
		}
	}
}

func TestLastThingsAreDoneAsFarAsThereIsTime(t *testing.T) {
	var l lastThings
	said := make(chan string, 3)
	stay := make(chan struct{})
	defer close(stay)
	l.add(func() { <-stay })
	l.add(func() { said <- "first" })
	l.add(func() { said <- "needless" })()
	l.add(func() { panic("broken") })
	l.add(func() { said <- "second" })
	l.do()
	if did := []string{<-said, <-said}; !slices.Equal(did, []string{"second", "first"}) {
		t.Errorf("it did %q", did)
	}
	select {
	case more := <-said:
		t.Errorf("it did the %s thing, too", more)
	default:
	}
}

func TestWhatBreaksWhileTheSandboxIsPreparedIsToldInTheEnd(t *testing.T) {
	a := &agent{private: func() (string, error) { panic("no folder") }, unscratch: func() {}}
	a.waiting.Go(a.prepare)
	if err := a.Close(); err == nil || !strings.Contains(err.Error(), "prepare the sandbox: internal error: no folder") {
		t.Errorf("it ends with %v", err)
	}
}
