package tool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"oneloop/tool"
)

// BenchmarkEdit compares an edit of a 10 MB file with reading that file and
// writing it, turn by turn. The ratio is to be at most 3.
func BenchmarkEdit(b *testing.B) {
	line := "\tresult = append(result, transform(item)) // line %07d\n"
	var content strings.Builder
	for i := 0; content.Len() < 10_000_000; i++ {
		fmt.Fprintf(&content, line, i)
	}
	middle := fmt.Sprintf("line %07d", strings.Count(content.String(), "\n")/2)
	crlf := strings.ReplaceAll(content.String(), "\n", "\r\n")
	for _, kind := range []struct{ name, content string }{{"LF", content.String()}, {"CRLF", crlf}} {
		b.Run(kind.name, func(b *testing.B) {
			d := sit(b, tool.FilesOptions{})
			d.put("f", kind.content)
			plain, ours := []time.Duration{}, []time.Duration{}
			old, now := middle, strings.ToUpper(middle)
			for b.Loop() {
				began := time.Now()
				raw, err := os.ReadFile(filepath.Join(d.root, "f"))
				if err == nil {
					err = os.WriteFile(filepath.Join(d.root, "g"), raw, 0o644)
				}
				if err != nil {
					b.Fatal(err)
				}
				plain = append(plain, time.Since(began))
				began = time.Now()
				d.works("Edit", d.edit("f", old, now))
				ours = append(ours, time.Since(began))
				old, now = now, old
			}
			slices.Sort(plain)
			slices.Sort(ours)
			p, o := plain[len(plain)/2], ours[len(ours)/2]
			b.ReportMetric(float64(p.Microseconds())/1e3, "plain-ms")
			b.ReportMetric(float64(o.Microseconds())/1e3, "ours-ms")
			b.ReportMetric(o.Seconds()/p.Seconds(), "ratio")
		})
	}
}
