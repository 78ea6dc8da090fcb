package workspace_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"oneloop/workspace"
)

// A program may end its first thread and go on in others. Package init runs on
// the first thread.
func init() {
	if os.Getenv("WORKSPACE_TEST_HEADLESS") == "" {
		return
	}
	go func() {
		time.Sleep(time.Minute)
		os.Exit(0)
	}()
	time.Sleep(10 * time.Millisecond) // the other thread is in its sleep
	syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
}

func TestAProcessWhoseFirstThreadEndedIsEndedToo(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, exit := bash(t, w, 20*time.Second, `WORKSPACE_TEST_HEADLESS=1 setsid '`+self+`' & p=$!
for i in $(seq 500); do grep -q '^State:.*Z' /proc/$p/status && break; sleep 0.01; done; echo $p`)
	if len(exit.Left) != 1 || strings.Contains(exit.Left[0], "could not") {
		t.Errorf("left: %q", exit.Left)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(out)); err == nil {
		t.Error("it is still there")
	}
}
