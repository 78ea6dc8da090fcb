package looptest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/session"
	"oneloop/tool"
	"oneloop/trace"
)

func weather(sky string) *oneloop.Toolbox {
	return &oneloop.Toolbox{Tools: []oneloop.Tool{
		tool.New("weather", "The weather in a city.", func(_ context.Context, in city) (string, error) {
			return sky + " in " + in.Name, nil
		}),
	}}
}

// In your package this is func TestTheRecordedSessionGoesAsItWent: a session
// that went well stays one. Its model is the log; your tools run beside it, and
// answer as they did.
func theRecordedSessionGoesAsItWent(t *testing.T) {
	r := looptest.Replay(t, "testdata/weather.jsonl", trace.ReplayOptions{Tools: weather("sunny")})
	if r.Turns != 1 || r.Replies != 2 || r.Calls != 1 {
		t.Errorf("%+v", r)
	}
}

func TestTheRecordedSessionGoesAsItWent(t *testing.T) { theRecordedSessionGoesAsItWent(t) }

// A test of tools against a session that was kept.
func ExampleReplay() {
	_ = theRecordedSessionGoesAsItWent
}

// ledger is a test that is to fail.
type ledger struct {
	testing.TB
	lines []string
}

func (l *ledger) Helper() {}
func (l *ledger) Errorf(format string, args ...any) {
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}
func (l *ledger) Error(args ...any) { l.lines = append(l.lines, fmt.Sprint(args...)) }

func TestAToolThatAnswersOtherwiseFailsTheTest(t *testing.T) {
	l := &ledger{TB: t}
	looptest.Replay(l, "testdata/weather.jsonl", trace.ReplayOptions{Tools: weather("rainy")})
	if len(l.lines) != 1 || !strings.Contains(l.lines[0], "sunny in Beijing") || !strings.Contains(l.lines[0], "rainy in Beijing") {
		t.Errorf("%q", l.lines)
	}
	l.lines = nil
	looptest.Replay(l, "testdata/weather.jsonl", trace.ReplayOptions{Tools: weather("Sunny"),
		Same: func(_ *oneloop.ToolUse, was, is *oneloop.ToolResult) bool {
			return strings.EqualFold(was.Text(), is.Text())
		}})
	if len(l.lines) != 0 {
		t.Errorf("%q", l.lines)
	}
}

func TestAnAgentOfAnyKindPlaysWithRecordedReplies(t *testing.T) {
	said, replies := looptest.Recorded(t, "testdata/weather.jsonl")
	model := looptest.Script(t, replies...)
	agent := &session.Session{Model: model, Tools: weather("sunny")}
	for _, m := range said {
		for _, err := range agent.Send(t.Context(), m.Blocks...) {
			if err != nil {
				t.Error(err)
			}
		}
	}
	if n := len(model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}
