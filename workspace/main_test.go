package workspace_test

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"oneloop/workspace"
)

func TestMain(m *testing.M) {
	if os.Getenv("WORKSPACE_TEST_UNPREPARED") != "" {
		_, err := workspace.Local(".", workspace.LocalOptions{})
		fmt.Print(err)
		os.Exit(0)
	}
	if os.Getenv("WORKSPACE_TEST_BLOCK") != "" {
		execBlocked()
	}
	workspace.Helper()
	if job := os.Getenv("WORKSPACE_TEST_JOB"); job != "" {
		if special, ok := jobs[job]; ok {
			fmt.Println(special())
			os.Exit(1)
		}
		os.Exit(runJob(job))
	}
	if dir := os.Getenv("WORKSPACE_TEST_REPLACE"); dir != "" {
		replaceForEver(dir)
	}
	if dir := os.Getenv("WORKSPACE_TEST_HOLD"); dir != "" {
		holdWorktree(dir, os.Getenv("WORKSPACE_TEST_STATE"))
	}
	os.Exit(m.Run())
}

// open returns a workspace in a fresh folder.
func open(t testing.TB, opts workspace.LocalOptions) *workspace.LocalWorkspace {
	t.Helper()
	w, err := workspace.Local(t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

type buffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

func (b *buffer) String() string {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.String()
}

// bash runs a command to its end, which must come within limit.
func bash(t testing.TB, w workspace.Workspace, limit time.Duration, command string) (string, workspace.Exit) {
	t.Helper()
	var out buffer
	began := time.Now()
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", command}, Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	// A busy machine takes its time for anything; what hangs does so for minutes.
	if took := time.Since(began); took > max(limit, 30*time.Second) {
		t.Errorf("%q took %v, more than %v", command, took, limit)
	}
	return out.String(), exit
}
