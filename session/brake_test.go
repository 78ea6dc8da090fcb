package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/session"
)

// circle is a session whose model makes the calls of round(n) in its n-th
// reply, of at most 25, and whose tool gives result(n, call).
func circle(t *testing.T, round func(n int) []oneloop.Block, result func(n int, c *oneloop.ToolUse) *oneloop.ToolResult) (*session.Session, *model) {
	t.Helper()
	m := &model{}
	for n := 1; n <= 25; n++ {
		m.replies = append(m.replies, says(oneloop.StopToolUse, round(n)...))
	}
	m.replies = append(m.replies, ok())
	return &session.Session{Model: m, Transcript: session.NewLog("", session.LogOptions{}),
		Tools: tools(func(_ context.Context, c *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return result(len(m.requests), c), nil
		})}, m
}

func used(id int, input string) oneloop.Block {
	return &oneloop.ToolUse{ID: fmt.Sprint("t", id), Name: "T", Input: []byte(input)}
}

func always(text string) func(int, *oneloop.ToolUse) *oneloop.ToolResult {
	return func(int, *oneloop.ToolUse) *oneloop.ToolResult { return oneloop.TextResult(text) }
}

// lastResult is the text of the newest result of a request.
func lastResult(req *oneloop.Request) string {
	m := req.Messages[len(req.Messages)-1]
	return m.Blocks[len(m.Blocks)-1].(*oneloop.ToolResult).Text()
}

func TestATurnThatGoesRoundInCirclesIsToldAndThenEnded(t *testing.T) {
	for name, round := range map[string]func(n int) []oneloop.Block{
		"the same call": func(n int) []oneloop.Block { return []oneloop.Block{used(n, `{"a":1,"b":2}`)} },
		"written otherwise": func(n int) []oneloop.Block {
			return []oneloop.Block{used(n, []string{`{"a":1,"b":2}`, `{ "b":2, "a":1 }`}[n%2])}
		},
		"two at once": func(n int) []oneloop.Block { return []oneloop.Block{used(n, `{"a":1}`), used(n+100, `{"a":2}`)} },
	} {
		t.Run(name, func(t *testing.T) {
			s, m := circle(t, round, always("r"))
			var limited []oneloop.Limited
			err := s.Turn(t.Context(), func(e oneloop.Event) {
				if l, ok := e.(oneloop.Limited); ok {
					limited = append(limited, l)
				}
			}, text("hi"))
			limit, is := errors.AsType[*oneloop.LimitError](err)
			if !is || limit.What != "repetition" || len(limited) != 1 {
				t.Fatalf("the turn ended with %v after %v", err, limited)
			}
			if len(m.requests) != session.RepeatsEnded {
				t.Errorf("it took %d requests, not %d", len(m.requests), session.RepeatsEnded)
			}
			for i, req := range m.requests[1:] {
				if told := strings.Contains(lastResult(req), "Nothing new"); told != ((i+1)%session.RepeatsTold == 0) {
					t.Errorf("after %d rounds the model is told %q", i+1, lastResult(req))
				}
			}
			req, err := s.Transcript.Request(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := looptest.CheckRequest(req); err != nil || !strings.Contains(lastResult(req), "ended here") {
				t.Errorf("what is kept ends with %q: %v", lastResult(req), err)
			}
			m.replies = append(m.replies[:len(m.requests)], ok())
			if _, err := send(t, t.Context(), s, text("go on")); err != nil {
				t.Errorf("the next turn ends with %v", err)
			}
		})
	}
}

// TestCallsThatHaveNothingToSayCountLess: what waits says nothing, and may wait
// for long.
func TestCallsThatHaveNothingToSayCountLess(t *testing.T) {
	s, m := circle(t, func(n int) []oneloop.Block { return []oneloop.Block{used(n, `{}`)} }, always(oneloop.NoOutput))
	m.replies = m.replies[:len(m.replies)-1] // the last one ends the turn
	for n := range 400 {
		m.replies = append(m.replies, says(oneloop.StopToolUse, used(1000+n, `{}`)))
	}
	_, err := send(t, t.Context(), s, text("hi"))
	if limit, is := errors.AsType[*oneloop.LimitError](err); !is || limit.What != "repetition" || len(m.requests) != 1+20*(session.RepeatsEnded-1) {
		t.Errorf("after %d requests: %v", len(m.requests), err)
	}
}

func TestTurnsOfTwoCallsThatTakeTurnsAreCircles(t *testing.T) {
	s, m := circle(t, func(n int) []oneloop.Block { return []oneloop.Block{used(n, fmt.Sprintf(`{"a":%d}`, n%2))} }, always("r"))
	if _, err := send(t, t.Context(), s, text("hi")); err == nil || len(m.requests) != session.RepeatsEnded+1 {
		t.Errorf("after %d requests: %v", len(m.requests), err)
	}
}

func TestWhatBringsSomethingNewIsNoCircle(t *testing.T) {
	same := func(n int) []oneloop.Block { return []oneloop.Block{used(n, `{}`)} }
	for name, c := range map[string]struct {
		round  func(n int) []oneloop.Block
		result func(int, *oneloop.ToolUse) *oneloop.ToolResult
	}{
		"another result": {same, func(n int, _ *oneloop.ToolUse) *oneloop.ToolResult { return oneloop.TextResult(fmt.Sprint(n)) }},
		"another input":  {func(n int) []oneloop.Block { return []oneloop.Block{used(n, fmt.Sprintf(`{"a":%d}`, n))} }, always("r")},
		"another large number": {func(n int) []oneloop.Block {
			return []oneloop.Block{used(n, fmt.Sprintf(`{"a":%d}`, int64(1)<<60+int64(n)))}
		}, always("r")},
		"something between": {func(n int) []oneloop.Block {
			if n%3 == 0 {
				return []oneloop.Block{used(n, fmt.Sprintf(`{"a":%d}`, n))}
			}
			return same(n)
		}, always("r")},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := circle(t, c.round, c.result)
			if _, err := send(t, t.Context(), s, text("hi")); err != nil || len(m.requests) != 26 {
				t.Errorf("after %d requests: %v", len(m.requests), err)
			}
			for _, req := range m.requests[1:] {
				if strings.Contains(lastResult(req), "Nothing new") {
					t.Fatalf("the model is told %q", lastResult(req))
				}
			}
		})
	}
}

func TestWhoIsThereIsAskedAboutACircle(t *testing.T) {
	for name, c := range map[string]struct {
		answer oneloop.Answer
		err    error
		wants  string // in the result that follows
		ends   bool
	}{
		"yes":          {answer: oneloop.Answer{Allow: true}, wants: "16th time in a row.]"},
		"no":           {ends: true},
		"advice":       {answer: oneloop.Answer{Reason: "look elsewhere"}, wants: "The user says: look elsewhere]"},
		"nobody there": {err: errors.New("gone"), ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, m := circle(t, func(n int) []oneloop.Block { return []oneloop.Block{used(n, `{}`)} }, always("r"))
			asked := 0
			s.Repeats.Ask = func(_ context.Context, q oneloop.Question) (oneloop.Answer, error) {
				if asked++; q.Kind != "limit" || q.Detail != "T {}" {
					t.Errorf("asked %+v", q)
				}
				return c.answer, c.err
			}
			_, err := send(t, t.Context(), s, text("hi"))
			if limit, _ := errors.AsType[*oneloop.LimitError](err); (limit != nil) != c.ends || asked != 1 {
				t.Errorf("asked %d times, then %v", asked, err)
			}
			if !c.ends && !strings.HasSuffix(lastResult(m.requests[session.RepeatsEnded]), c.wants) {
				t.Errorf("the model is told %q", lastResult(m.requests[session.RepeatsEnded]))
			}
		})
	}
}

func TestCirclesMayBeLeftAlone(t *testing.T) {
	s, m := circle(t, func(n int) []oneloop.Block { return []oneloop.Block{used(n, `{}`)} }, always("r"))
	s.Repeats = session.Repeats{Tell: -1, End: -1}
	if _, err := send(t, t.Context(), s, text("hi")); err != nil || len(m.requests) != 26 || lastResult(m.requests[25]) != "r" {
		t.Errorf("after %d requests: %v", len(m.requests), err)
	}
}

func TestResultsThatArePlayedBackGiveTheSameAgain(t *testing.T) {
	same := func(n int) []oneloop.Block { return []oneloop.Block{used(n, `{}`)} }
	first, m := circle(t, same, always("r"))
	send(t, t.Context(), first, text("hi"))
	given := map[string]*oneloop.ToolResult{}
	req, err := first.Transcript.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, msg := range req.Messages {
		for _, b := range msg.Blocks {
			if r, ok := b.(*oneloop.ToolResult); ok {
				given[r.ID] = r
			}
		}
	}
	second, m2 := circle(t, same, func(_ int, c *oneloop.ToolUse) *oneloop.ToolResult { return given[c.ID] })
	if _, err := send(t, t.Context(), second, text("hi")); err == nil || len(m2.requests) != len(m.requests) {
		t.Errorf("after %d requests, not %d: %v", len(m2.requests), len(m.requests), err)
	}
	again, err := second.Transcript.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := asJSON(t, req.Messages), asJSON(t, again.Messages); !slices.Equal(a, b) {
		t.Errorf("played back it is\n%q, and was\n%q", b, a)
	}
}
