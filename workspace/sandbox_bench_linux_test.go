//go:build amd64 || arm64

package workspace_test

import (
	"os/exec"
	"testing"

	"oneloop/workspace"
)

// BenchmarkSandbox compares a command in the sandbox with one that is forked
// and executed, and with one in the sandbox of bubblewrap where that is
// installed. They take turns, so that what else the machine does hits all.
func BenchmarkSandbox(b *testing.B) {
	dir := b.TempDir()
	w := sandboxAt(b, dir, workspace.SandboxOptions{})
	if err := w.Prepare(); err != nil {
		b.Fatal(err)
	}
	wrap := []string{"--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
		"--tmpfs", "/tmp", "--bind", dir, dir, "--chdir", dir, "bash", "-c", "true"}
	bwrap, _ := exec.LookPath("bwrap")
	run := func(name string, args ...string) {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	var plain, ours, theirs nanos
	for b.Loop() {
		plain.add(func() { run("bash", "-c", "true") })
		ours.add(func() {
			p, err := w.Start(b.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "true"}, Output: &buffer{}})
			if err != nil {
				b.Fatal(err)
			}
			if exit, err := p.Wait(); err != nil || exit.Code != 0 {
				b.Fatalf("%+v, %v", exit, err)
			}
		})
		if bwrap != "" {
			theirs.add(func() { run(bwrap, wrap...) })
		}
	}
	b.ReportMetric(plain.median(), "plain-ns")
	b.ReportMetric(ours.median(), "ours-ns")
	b.ReportMetric(ours.median()/plain.median(), "ratio")
	if bwrap != "" {
		b.ReportMetric(theirs.median()/plain.median(), "bwrap-ratio")
	}
}
