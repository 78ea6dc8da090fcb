//go:build amd64 || arm64

package workspace_test

import (
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
)

func TestSandboxLimitsMemoryInEachBackend(t *testing.T) {
	inNamespaces(t, limitsMemory)
	t.Run(workspace.BackendLL, func(t *testing.T) { limitsMemory(t, workspace.BackendLL) })
}

func limitsMemory(t *testing.T, backend string) {
	w := sandbox(t, workspace.SandboxOptions{Backend: backend, Limits: workspace.SandboxLimits{Memory: 128 << 20}})
	command := `x=$(head -c 10000000 /dev/zero | tr '\0' x); echo ${#x}; for i in 1 2 3 4 5; do x=$x$x; done; sleep 1; echo through`
	if out, exit := bash(t, w, 30*time.Second, command); exit.Code == 0 || !strings.HasPrefix(out, "10000000\n") || strings.Contains(out, "through") {
		t.Errorf("it went through: %+v %s", exit, out)
	}
	if l := w.Status().Limits; l != (workspace.SandboxLimits{Processes: 4096, Memory: 128 << 20}) {
		t.Errorf("it says %+v", l)
	}
}

func TestSandboxCountsTemporaryFilesAndSharedMemoryAsFiles(t *testing.T) {
	inNamespaces(t, func(t *testing.T, backend string) {
		t.Parallel()
		w := sandbox(t, workspace.SandboxOptions{Backend: backend, Limits: workspace.SandboxLimits{Disk: 16 << 20}})
		if out, exit := bash(t, w, 30*time.Second, "head -c 12M /dev/zero > /tmp/left; sleep 0.05; echo through"); exit.Code != 0 || out != "through\n" {
			t.Fatalf("%+v %s", exit, out)
		}
		if out, exit := bash(t, w, 30*time.Second, "head -c 4M /dev/zero | tee /tmp/more > /dev/shm/more; sleep 0.05; echo through"); exit.Code != 0 || out != "through\n" {
			t.Errorf("what was left by another command counts: %+v %s", exit, out)
		}
		for _, command := range []string{
			"head -c 24M /dev/zero > /tmp/large",
			"head -c 24M /dev/zero > /dev/shm/large",
			"head -c 8M /dev/zero | tee /tmp/part | tee /dev/shm/part > part",
			"exec 3> /dev/shm/open; rm /dev/shm/open; head -c 24M /dev/zero >&3",
		} {
			out, exit := bash(t, w, 30*time.Second, command+"; sleep 5; echo through")
			if exit.Code == 0 || strings.Contains(out, "through") || !strings.Contains(strings.Join(exit.Notes, "\n"), "the limit is 16 MiB") {
				t.Errorf("%s: %+v %s", command, exit, out)
			}
		}
	})
}
