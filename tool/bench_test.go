//go:build unix

package tool_test

import (
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"oneloop/tool"
	"oneloop/workspace"
)

// BenchmarkFlood compares a command that prints a lot with the same command
// into a pipe that is thrown away, turn by turn.
func BenchmarkFlood(b *testing.B) {
	const size = 1_000_000_000
	command := fmt.Sprintf("yes | head -c %d", size)
	t := tool.Bash(open(b, workspace.LocalOptions{}), tool.BashOptions{SpillDir: b.TempDir()})
	var plain, ours []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := exec.Command("bash", "-c", command+" | cat > /dev/null").Run(); err != nil {
			b.Fatal(err)
		}
		plain = append(plain, time.Since(began))
		began = time.Now()
		call(b, b.Context(), t, map[string]any{"command": command}, nil)
		ours = append(ours, time.Since(began))
	}
	slices.Sort(plain)
	slices.Sort(ours)
	p, o := plain[len(plain)/2], ours[len(ours)/2]
	b.ReportMetric(float64(size)/1e6/p.Seconds(), "plain-MB/s")
	b.ReportMetric(float64(size)/1e6/o.Seconds(), "ours-MB/s")
	b.ReportMetric(o.Seconds()/p.Seconds(), "ratio")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/1e6, "sys-MB")
}
