package workspace_test

import (
	"bytes"
	"os"
	"testing"

	"oneloop/workspace"
)

// BenchmarkReplace compares replacing a file of 10 MB with reading and writing
// it without any care, turn by turn so that the machine's noise hits both.
func BenchmarkReplace(b *testing.B) {
	w := open(b, workspace.LocalOptions{})
	dir := w.Describe().Root
	data := bytes.Repeat([]byte("some text\n"), 1<<20)
	put(b, dir+"/plain", string(data), 0o644)
	put(b, dir+"/f", string(data), 0o644)
	var plain, ours nanos
	for b.Loop() {
		plain.add(func() {
			got, err := os.ReadFile(dir + "/plain")
			if err == nil {
				err = os.WriteFile(dir+"/plain", got, 0o644)
			}
			if err != nil {
				b.Fatal(err)
			}
		})
		ours.add(func() {
			if _, err := w.Files().Replace("f", data, 0o644); err != nil {
				b.Fatal(err)
			}
		})
	}
	b.ReportMetric(plain.median(), "plain-ns")
	b.ReportMetric(ours.median(), "ours-ns")
	b.ReportMetric(ours.median()/plain.median(), "ratio")
}

// BenchmarkReplaceSmall is an everyday file, which is on the disk at the end.
func BenchmarkReplaceSmall(b *testing.B) {
	w := open(b, workspace.LocalOptions{})
	put(b, w.Describe().Root+"/f", "old", 0o644)
	data := bytes.Repeat([]byte("some text\n"), 800)
	for b.Loop() {
		if _, err := w.Files().Replace("f", data, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	w := open(b, workspace.LocalOptions{})
	put(b, w.Describe().Root+"/some/folder/deep/down/f", "old", 0o644)
	for b.Loop() {
		if _, err := w.Files().Resolve("some/folder/deep/down/f"); err != nil {
			b.Fatal(err)
		}
	}
}
