package looptest

import (
	"testing"

	"oneloop"
	"oneloop/session"
	"oneloop/trace"
)

// Replay takes the session whose log is at path again, as [trace.Replay] does,
// and fails the test where it comes out otherwise: with the first difference,
// or with each call that o.Tools, if there are any, answer otherwise than the
// log has it. `oneloop replay ID --test DIR` writes such a test.
//
// What cannot be replayed of a log is logged; a log of which nothing can be is
// an error.
func Replay(t testing.TB, path string, o trace.ReplayOptions) *trace.Replayed {
	t.Helper()
	r, err := trace.Replay(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, why := range r.LeftOut {
		t.Logf("left out: %s", why)
	}
	if r.Differs != nil {
		t.Error(r.Differs)
	} else if r.Turns == 0 {
		t.Errorf("%s has no turn that could be replayed", path)
	}
	for _, a := range r.Answers {
		t.Errorf("turn %d, call %s of %s %s\nwas answered: %s\nand is:       %s", a.Turn, a.Call.ID, a.Call.Name, a.Call.Input, answered(a.Was), answered(a.Is))
	}
	return r
}

func answered(r *oneloop.ToolResult) string {
	if r == nil {
		return "not at all"
	}
	text, err := oneloop.AppendBlock(nil, r)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Recorded is what the user said in the session whose log is at path, turn by
// turn, and what the model replied: for an agent that is wired in its own way.
//
//	said, replies := looptest.Recorded(t, "session.jsonl")
//	agent := myAgent(looptest.Script(t, replies...))
//
// Replies that were interrupted are not among them.
func Recorded(t testing.TB, path string) (said []*oneloop.Message, replies []Reply) {
	t.Helper()
	_, damage, err := session.Read(path, func(e session.Entry) error {
		m := e.Message
		switch {
		case m == nil:
		case m.Role == oneloop.Assistant && m.Stop != oneloop.StopInterrupted:
			r := Reply{Message: m}
			for _, b := range m.Blocks {
				if text, ok := b.(*oneloop.Text); ok {
					r.Events = append(r.Events, oneloop.TextDelta{Text: text.Text})
				}
			}
			replies = append(replies, r)
		case m.Role == oneloop.User && m.Meta.Source == "" && !answers(m):
			said = append(said, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range damage {
		t.Errorf("%s: %v", path, d)
	}
	return said, replies
}

func answers(m *oneloop.Message) bool {
	if len(m.Blocks) == 0 {
		return false
	}
	_, ok := m.Blocks[0].(*oneloop.ToolResult)
	return ok
}
