//go:build amd64 || arm64

package workspace_test

import (
	"bufio"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oneloop/looptest"
	"oneloop/workspace"
)

// TestSandboxOfLandlockLeavesNothingWhenWhatWatchesACommandIsKilled kills what
// keeps the processes of a command, as the kernel does when memory is short.
func TestSandboxOfLandlockLeavesNothingWhenWhatWatchesACommandIsKilled(t *testing.T) {
	for name, above := range map[string]int{"first process": 1, "holder": 2} {
		t.Run(name, func(t *testing.T) {
			looptest.Census(t)
			w := sandbox(t, workspace.SandboxOptions{Backend: workspace.BackendLL})
			r, held, err := os.Pipe() // all processes of the command hold it
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			out, said, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			p, err := w.Start(t.Context(), workspace.Cmd{
				Argv: []string{"bash", "-c", "trap '' TERM; setsid sleep 300 & (sleep 300 &) ; echo up; wait"},
				Fds:  map[int]*os.File{1: said, 5: held},
			})
			held.Close()
			said.Close()
			if err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
				t.Fatalf("it says %q, %v", line, err)
			}
			pid := p.Pid()
			for range above {
				pid = parent(t, pid)
			}
			if pid == os.Getpid() {
				t.Fatal("nothing is between the command and this program")
			}
			if err := unix.Kill(pid, unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			exit, err := p.Wait()
			if (err == nil) != (above == 1) || err == nil && exit.Signal != "SIGKILL" {
				t.Errorf("it ends with %+v, %v", exit, err)
			}
			r.SetReadDeadline(time.Now().Add(30 * time.Second))
			if _, err := r.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("a process is left: %v", err)
			}
			next, exit := bash(t, w, 30*time.Second, "echo $TMPDIR; touch $TMPDIR/file && echo on")
			again := slices.ContainsFunc(exit.Notes, func(note string) bool { return strings.Contains(note, "started again") })
			if !strings.HasSuffix(next, "\non\n") || again != (above == 2) {
				t.Errorf("the next one: %q, %+v", next, exit)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// parent is the number of a process's parent.
func parent(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "PPid:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("process %d has no parent", pid)
	return 0
}

func TestSandboxOfLandlockPassesOnHowACommandEnded(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{Backend: workspace.BackendLL})
	for command, want := range map[string]workspace.Exit{
		"exit 37":                            {Code: 37},
		"kill -KILL $$":                      {Code: -1, Signal: "SIGKILL"},
		"kill -SEGV $$":                      {Code: -1, Signal: "SIGSEGV"},
		"kill -TERM $PPID 2>/dev/null; echo": {Code: 0}, // the first process is out of reach
	} {
		_, exit := bash(t, w, 30*time.Second, command)
		if exit.Code != want.Code || exit.Signal != want.Signal || len(exit.Left) > 0 {
			t.Errorf("%s: %+v, want %+v", command, exit, want)
		}
	}
}
