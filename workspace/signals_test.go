//go:build linux

package workspace_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
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
	const job = `yes | head -1; echo ${PIPESTATUS[0]}; grep -E 'Sig(Ign|Blk)' /proc/self/status`
	want := "y\n141\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
	for _, setup := range []string{"", `trap "" PIPE INT TERM HUP QUIT USR1;`} {
		if got := child(t, setup, job); got != want {
			t.Errorf("after %q: got %q, want %q", setup, got, want)
		}
	}
}

func TestBlockedSignalsAreNotBlockedInCommands(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here; only it can block signals before a program starts")
	}
	setup := python + ` -c 'import os,signal,sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR2]); os.execv(sys.argv[1], sys.argv[1:])' "$0"; exit;`
	if got := child(t, setup, `grep SigBlk /proc/self/status`); !strings.Contains(got, "0000000000000000") {
		t.Errorf("got %q", got)
	}
}
