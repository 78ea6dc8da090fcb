//go:build amd64 || arm64

package workspace_test

import (
	"os/exec"
	"testing"

	"oneloop/workspace"
)

// BenchmarkSandbox compares what a command costs without a sandbox, in ours,
// and in that of bubblewrap, where it is installed.
func BenchmarkSandbox(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchCommand(b, open(b, workspace.LocalOptions{})) })
	b.Run("ns", func(b *testing.B) {
		w := sandbox(b, workspace.SandboxOptions{})
		if err := w.Prepare(); err != nil {
			b.Fatal(err)
		}
		benchCommand(b, w)
	})
	b.Run("bwrap", func(b *testing.B) {
		bwrap, err := exec.LookPath("bwrap")
		if err != nil {
			b.Skip("bwrap is not installed")
		}
		dir := b.TempDir()
		for b.Loop() {
			cmd := exec.Command(bwrap, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
				"--tmpfs", "/tmp", "--bind", dir, dir, "--chdir", dir, "bash", "-c", "true")
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}

func benchCommand(b *testing.B, w workspace.Workspace) {
	for b.Loop() {
		p, err := w.Start(b.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "true"}, Output: &buffer{}})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Code != 0 {
			b.Fatalf("%+v, %v", exit, err)
		}
	}
}
