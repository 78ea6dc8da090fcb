//go:build unix

package tool_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"oneloop/tool"
	"oneloop/workspace"
)

// wood is a tree of 100,000 files, made once for all benchmarks of a run.
var wood = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "wood")
	if err != nil {
		return "", err
	}
	scrap = dir
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func return if else for range var type struct string int error nil package import the a of to and in is it that was")
	var text strings.Builder
	for range 4000 {
		for range 1 + r.IntN(10) {
			text.WriteString(words[r.IntN(len(words))] + " ")
		}
		text.WriteString("\n")
	}
	all := text.String()
	for d := range 4000 {
		sub := filepath.Join(dir, fmt.Sprintf("p%d", d%10), fmt.Sprintf("q%d", d%100), fmt.Sprintf("r%d", d%1000), fmt.Sprintf("s%d", d))
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return dir, err
		}
		for f := range 25 {
			at := r.IntN(len(all) - 5000)
			body := all[at : at+500+r.IntN(4000)]
			if r.IntN(200) == 0 {
				body += "the needleInHay is here\n"
			}
			name := fmt.Sprintf("file%d.%s", f, []string{"go", "ts", "md", "txt", "log"}[f%5])
			if err := os.WriteFile(filepath.Join(sub, name), []byte(body), 0o600); err != nil {
				return dir, err
			}
		}
	}
	return dir, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*.log\n*.o\nnode_modules/\n/build\n.DS_Store\n*.py[cod]\n*~\n"), 0o600)
})

func woods(b *testing.B) *workspace.LocalWorkspace {
	dir, err := wood()
	if err != nil {
		b.Fatal(err)
	}
	w, err := workspace.Local(dir, workspace.LocalOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// race times a command of rg and ours turn by turn and reports the medians.
func race(b *testing.B, w *workspace.LocalWorkspace, rg []string, ours func()) {
	var theirs, mine []time.Duration
	for b.Loop() {
		began := time.Now()
		cmd := exec.Command(rg[0], rg[1:]...)
		cmd.Dir = w.Describe().Root
		if out, err := cmd.Output(); err != nil || len(out) == 0 {
			b.Fatalf("rg: %v, %d bytes", err, len(out))
		}
		theirs = append(theirs, time.Since(began))
		began = time.Now()
		ours()
		mine = append(mine, time.Since(began))
	}
	slices.Sort(theirs)
	slices.Sort(mine)
	t, m := theirs[len(theirs)/2], mine[len(mine)/2]
	b.ReportMetric(float64(t.Milliseconds()), "rg-ms")
	b.ReportMetric(float64(m.Milliseconds()), "ours-ms")
	b.ReportMetric(m.Seconds()/t.Seconds(), "ratio")
}

// BenchmarkGlob is held against rg --files: at most twice its time, also for a
// pattern that all files match, when each is looked at for its time.
func BenchmarkGlob(b *testing.B) {
	rg := ripgrep(b)
	for _, pattern := range []string{"**/*.go", "**/*"} {
		b.Run(strings.ReplaceAll(pattern, "/", ":"), func(b *testing.B) {
			w := woods(b)
			g := tool.Glob(w, tool.GlobOptions{})
			race(b, w, []string{rg, "--no-config", "--files", "./"}, func() {
				if r := call(b, b.Context(), g, map[string]any{"pattern": pattern}, nil); r.IsError {
					b.Fatal(r.Text())
				}
			})
		})
	}
}

// BenchmarkGrep is held against rg: at most 1.5 times its time with rg, four
// times without.
func BenchmarkGrep(b *testing.B) {
	rg := ripgrep(b)
	for name, opts := range map[string]tool.GrepOptions{"rg": {}, "here": {Plain: true}} {
		for _, mode := range []string{"files_with_matches", "content"} {
			b.Run(name+"/"+mode, func(b *testing.B) {
				w := woods(b)
				g := tool.Grep(w, opts)
				args := []string{rg, "--no-config", "-n", "needleInHay", "./"}
				if mode != "content" {
					args[2] = "-l"
				}
				race(b, w, args, func() {
					if r := call(b, b.Context(), g, map[string]any{"pattern": "needleInHay", "output_mode": mode}, nil); r.IsError || !strings.Contains(r.Text(), "file") {
						b.Fatal(r.Text())
					}
				})
			})
		}
	}
}
