package session_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/session"
)

// longLog writes a log of 10,000 messages, 50 MB in all.
func longLog(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "long.jsonl")
	l := session.NewLog(path, session.LogOptions{})
	said := strings.Repeat("A line of output, 中文 \"quoted\" and\tso on.\n", 200)
	for i := range 2500 {
		id := fmt.Sprint("toolu_", i)
		reply := oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: said[:400]}, &oneloop.ToolUse{ID: id, Name: "Bash", Input: json.RawMessage(`{"command":"go test ./..."}`)})
		reply.Stop = oneloop.StopToolUse
		done := oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: said})
		done.Stop = oneloop.StopEndTurn
		if err := l.Append(b.Context(), oneloop.UserText(said[:300]), reply, oneloop.NewMessage(oneloop.User, &oneloop.ToolResult{ID: id, Content: []oneloop.Block{&oneloop.Text{Text: said}}}), done); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkOpen compares opening a long session with decoding its lines once
// with encoding/json into raw messages. The limit is 3.
func BenchmarkOpen(b *testing.B) {
	path := longLog(b)
	if info, err := os.Stat(path); err != nil || info.Size() < 40<<20 {
		b.Fatal(info.Size(), err)
	}
	var open, decode time.Duration
	for b.Loop() {
		began := time.Now()
		l, _, err := session.OpenLog(path, session.LogOptions{})
		if err != nil {
			b.Fatal(err)
		}
		open += time.Since(began)
		l.Close()
		began = time.Now()
		decodeLines(b, path)
		decode += time.Since(began)
	}
	b.ReportMetric(float64(open)/float64(decode), "x-decode")
	b.ReportMetric(float64(open.Milliseconds())/float64(b.N), "ms-open")
}

func decodeLines(b *testing.B, path string) {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return
		}
		var e struct {
			N    int64           `json:"n"`
			At   string          `json:"t"`
			Kind string          `json:"k"`
			Data json.RawMessage `json:"d"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			b.Fatal(err)
		}
	}
}
