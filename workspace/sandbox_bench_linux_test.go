//go:build amd64 || arm64

package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

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

// BenchmarkSandboxInManyFolders is what a command costs in a workspace with a
// thousand folders, beside one in an empty workspace.
func BenchmarkSandboxInManyFolders(b *testing.B) {
	few, many := b.TempDir(), b.TempDir()
	for i := range 999 {
		dir := filepath.Join(many, fmt.Sprint("part", i/100), fmt.Sprint("folder", i%100))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for n := range 10 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("File%d.go", n)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	var times [2]nanos
	var boxes []*workspace.SandboxWorkspace
	for _, dir := range []string{few, many} {
		boxes = append(boxes, sandboxAt(b, dir, workspace.SandboxOptions{}))
	}
	for b.Loop() {
		for i, w := range boxes {
			times[i].add(func() { bash(b, w, time.Minute, "true") })
		}
	}
	b.ReportMetric(times[0].median(), "empty-ns")
	b.ReportMetric(times[1].median(), "many-ns")
}
