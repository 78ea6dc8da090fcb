//go:build amd64 || arm64

package workspace_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oneloop/workspace"
)

// TestSandboxBarsProcessesThatNobodyCounts stops who counts them, as a machine
// does that is too busy.
func TestSandboxBarsProcessesThatNobodyCounts(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("the kernel bars nobody who is root: see package workspace/ordinary")
	}
	for _, backend := range []string{workspace.BackendLL, workspace.BackendBwrap} {
		t.Run(backend, func(t *testing.T) {
			if backend == workspace.BackendBwrap {
				needBwrap(t)
			}
			barsProcesses(t, backend)
		})
	}
}

func barsProcesses(t *testing.T, backend string) {
	f := newField(t, attackKit(t))
	w := sandboxAt(t, f.ws, workspace.SandboxOptions{Backend: backend, Show: []string{f.base}, Limits: attackLimits})
	name := f.base + "/flood" // as no other process of this test is called
	if err := os.Rename(f.attack, name); err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{name, "flood", "1500", "go"}, Output: in})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		p.Wait()
		in.Close()
		close(ended)
	}()
	stuck := time.AfterFunc(time.Minute, func() { out.CloseWithError(os.ErrDeadlineExceeded) })
	defer stuck.Stop()
	lines := bufio.NewReader(out)
	if text, err := lines.ReadString('\n'); text != "READY\n" {
		t.Fatalf("it printed %q: %v", text, err)
	}
	counts := parent(t, parent(t, below(t, os.Getpid(), "flood"))) // of its first process
	if err := syscall.Kill(counts, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	f.write("ws/go", "")
	text, err := lines.ReadString('\n')
	// Others of the user may end meanwhile, and leave room.
	n, err2 := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(text, "FLOOD ")))
	if err != nil || err2 != nil || n < attackLimits.Processes || n > 900 {
		t.Errorf("with a limit of %d it printed %q: %v", attackLimits.Processes, text, err)
	}
	out.Close()
	if err := syscall.Kill(counts, syscall.SIGCONT); err != nil {
		t.Error(err)
	}
	<-ended
}

// below finds a process by its name among those that another one started.
func below(t *testing.T, root int, name string) int {
	t.Helper()
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		if now, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", queue[0])); string(now) == name+"\n" {
			return queue[0]
		}
		tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", queue[0]))
		for _, task := range tasks {
			children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", queue[0], task.Name()))
			for word := range strings.FieldsSeq(string(children)) {
				if pid, err := strconv.Atoi(word); err == nil {
					queue = append(queue, pid)
				}
			}
		}
	}
	t.Fatalf("no process %s is found", name)
	return 0
}

// TestSandboxRaisesNoLimitOnProcesses starts where there are limits already.
func TestSandboxRaisesNoLimitOnProcesses(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("for root the kernel has no such limits: see package workspace/ordinary")
	}
	var here unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &here); err != nil {
		t.Fatal(err)
	}
	most := min(here.Max, 30000) - 1
	want := fmt.Sprintf("%d %d\n", most-1, most)
	cmd := exec.Command("bash", "-c", fmt.Sprintf(`ulimit -Su %d; ulimit -Hu %d; exec "$0"`, most-1, most), os.Args[0])
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_JOB=limited", "ROOT="+t.TempDir(), "STATE="+t.TempDir())
	if out, err := cmd.CombinedOutput(); !strings.HasPrefix(string(out), want) {
		t.Errorf("it finds %q, %v, and was given %q", out, err, want)
	}
}

// limitedJob prints the limits that a command finds on processes.
func limitedJob() error {
	w, err := workspace.Sandboxed(os.Getenv("ROOT"), workspace.SandboxOptions{State: os.Getenv("STATE"), Backend: workspace.BackendLL, Limits: workspace.SandboxLimits{Processes: 1 << 20}})
	if err != nil {
		return err
	}
	defer w.Close()
	p, err := w.Start(context.Background(), workspace.Cmd{Argv: []string{"bash", "-c", "echo $(ulimit -Su) $(ulimit -Hu)"}, Output: os.Stdout})
	if err != nil {
		return err
	}
	_, err = p.Wait()
	return err
}
