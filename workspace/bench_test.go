package workspace_test

import (
	"bytes"
	"os/exec"
	"testing"

	"oneloop/workspace"
)

// BenchmarkTrue compares the everyday command with the least the standard
// library can do, turn by turn so that the machine's noise hits both.
func BenchmarkTrue(b *testing.B) {
	w := open(b, workspace.LocalOptions{})
	root := w.Describe().Root
	var plain, ours nanos
	for b.Loop() {
		plain.add(func() {
			cmd := exec.Command("bash", "-c", "true")
			cmd.Dir = root
			if _, err := cmd.CombinedOutput(); err != nil {
				b.Fatal(err)
			}
		})
		ours.add(func() {
			var out bytes.Buffer
			p, err := w.Start(b.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "true"}, Output: &out})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := p.Wait(); err != nil {
				b.Fatal(err)
			}
		})
	}
	b.ReportMetric(plain.median(), "plain-ns")
	b.ReportMetric(ours.median(), "ours-ns")
	b.ReportMetric(ours.median()/plain.median(), "ratio")
}
