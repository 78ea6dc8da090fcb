//go:build linux

package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// child runs this test binary as a program, by way of a parent that does
// what setup says first.
func child(t *testing.T, setup, job string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", setup+` exec "$0"`, self)
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_JOB="+job)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func TestSignalsHaveTheirDefaultsInCommands(t *testing.T) {
	// Signals 32 and 33 are the C library's own; make hands them down ignored,
	// and nobody sends them.
	const job = `yes | head -1; echo ${PIPESTATUS[0]}; grep SigBlk /proc/self/status
		echo $((0x$(grep SigIgn /proc/self/status | cut -f2) & ~0x180000000))`
	want := "y\n141\nSigBlk:\t0000000000000000\n0\n"
	for _, setup := range []string{"", `trap "" PIPE INT TERM HUP QUIT USR1;`} {
		if got := child(t, setup, job); got != want {
			t.Errorf("after %q: got %q, want %q", setup, got, want)
		}
	}
}

// execBlocked starts this program again with signals blocked, as a careless
// parent leaves them.
func execBlocked() {
	runtime.LockOSThread()
	var set unix.Sigset_t
	set.Val[0] = 1<<(syscall.SIGTERM-1) | 1<<(syscall.SIGUSR2-1)
	err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil)
	if err == nil {
		os.Unsetenv("WORKSPACE_TEST_BLOCK")
		err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	fmt.Println(err)
	os.Exit(1)
}

func TestBlockedSignalsAreNotBlockedInCommands(t *testing.T) {
	if got := child(t, "export WORKSPACE_TEST_BLOCK=1;", `grep SigBlk /proc/self/status`); got != "SigBlk:\t0000000000000000\n" {
		t.Errorf("got %q", got)
	}
}
