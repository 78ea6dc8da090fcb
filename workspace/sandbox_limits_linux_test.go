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
