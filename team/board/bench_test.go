package board_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"oneloop/team/board"
)

func BenchmarkClaimAndRelease(b *testing.B) {
	for _, many := range []int{200, 10_000} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "tasks.jsonl")
			var text bytes.Buffer
			for id := 1; id <= many; id++ { // each waits for the one before
				fmt.Fprintf(&text, `{"v":1,"n":%d,"t":"2026-01-02T03:04:05Z","tasks":{"%d":{"subject":"x","blockedBy":[%d]}}}`+"\n", id, id, id-1)
			}
			if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
				b.Fatal(err)
			}
			one := open(b, path, board.Options{})
			b.ReportAllocs()
			for b.Loop() {
				c, err := one.ClaimNext(b.Context(), "s/a")
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Release(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
