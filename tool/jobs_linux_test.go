//go:build amd64 || arm64

package tool_test

import (
	"os/exec"
	"strings"
	"testing"

	"oneloop/looptest"
	"oneloop/tool"
	"oneloop/workspace"
)

// sandboxYard is a yard whose commands are confined by a backend.
func sandboxYard(t *testing.T, backend string) *yard {
	t.Helper()
	spill := t.TempDir()
	ws, err := workspace.Sandboxed(t.TempDir(), workspace.SandboxOptions{Backend: backend, State: t.TempDir(), Show: []string{spill}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := ws.Prepare(); err != nil {
		t.Skipf("the backend %s does not work here: %v", backend, err)
	}
	return newYard(t, ws, spill, tool.JobsOptions{})
}

func TestBackgroundCommandsInASandbox(t *testing.T) {
	for _, backend := range []string{workspace.BackendNS, workspace.BackendLL} {
		t.Run(backend, func(t *testing.T) {
			looptest.Census(t)
			y := sandboxYard(t, backend)
			id, file := y.background("echo up; sleep 300 & sleep 300; wait")
			y.shows(file, "up")
			if r := y.ask("Bash", fields{"command": "cat " + file + "; echo x 2>/dev/null >> " + file + " || echo not written"}); !strings.HasPrefix(r.Text(), "up\nnot written") {
				t.Errorf("a command reads and writes the output: %q", r.Text())
			}
			if r := y.ask("TaskStop", fields{"task_id": id}); r.IsError || !strings.Contains(r.Text(), "stopped, with all it had started") {
				t.Errorf("TaskStop says %q", r.Text())
			}
			y.background("exit 3")
			if got := y.heard(); !strings.Contains(got, "exit code 3") {
				t.Errorf("it is told %q", got)
			}
			y.background("sleep 300 & echo left")
			if got := y.heard(); !strings.Contains(got, "ended what it left running: sleep") {
				t.Errorf("it is told %q", got)
			}
			y.background("sleep 300; true")
			if names := y.jobs.End(); len(names) != 1 {
				t.Errorf("it ended %q", names)
			}
		})
	}
}

func TestAServerInTheBackgroundIsReachedByLaterCommandsOfTheSandbox(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed, so no server is started")
	}
	looptest.Census(t)
	y := sandboxYard(t, workspace.BackendNS)
	id, file := y.background("echo hello > index.html; exec python3 -u -m http.server --bind 127.0.0.1 8124")
	r := y.ask("Bash", fields{"command": `for i in $(seq 600); do if exec 3<>/dev/tcp/127.0.0.1/8124; then printf 'GET / HTTP/1.0\r\n\r\n' >&3; cat <&3; exit 0; fi 2>/dev/null; sleep 0.05; done; exit 1`})
	if !strings.Contains(r.Text(), "hello") {
		t.Errorf("the server answers %q", r.Text())
	}
	y.shows(file, "GET /")
	y.ask("TaskStop", fields{"task_id": id})
	if r := y.ask("Bash", fields{"command": "(exec 3<>/dev/tcp/127.0.0.1/8124) 2>/dev/null && echo still there || echo gone"}); r.Text() != "gone" {
		t.Errorf("after TaskStop the server is %q", r.Text())
	}
}
