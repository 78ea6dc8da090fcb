package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"oneloop"
	"oneloop/session"
)

// BenchmarkRound is one request, its call and the result, with a log and
// without one.
func BenchmarkRound(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(map[bool]string{false: "in memory", true: "kept"}[kept], func(b *testing.B) {
			n := 0
			m := oneloop.ModelFunc(func(_ context.Context, _ *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
				if n++; n > b.N {
					return says(oneloop.StopEndTurn, text("done")), nil
				}
				emit(oneloop.Spend{Model: "m", Requests: n})
				id := fmt.Sprint("toolu_", n)
				return says(oneloop.StopToolUse, &oneloop.ToolUse{ID: id, Name: "T", Input: json.RawMessage(fmt.Sprintf(`{"command":"true %d"}`, n))}), nil
			})
			s := &session.Session{Model: m, Transcript: new(oneloop.History)}
			s.Tools = tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
				return oneloop.TextResult(fmt.Sprint("(no output)", n)), nil
			})
			if kept {
				l := session.NewLog(filepath.Join(b.TempDir(), "s.jsonl"), session.LogOptions{})
				defer l.Close()
				l.Use(session.Setup{Tools: s.Tools.(*oneloop.Toolbox).Defs()})
				s.Transcript = l
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := s.Turn(b.Context(), nil, text("go")); err != nil {
				b.Fatal(err)
			}
		})
	}
}
