package session_test

import (
	"testing"

	"oneloop"
	"oneloop/session"
)

func TestAnAsideGoesWithTheNextPromptAndIsNone(t *testing.T) {
	m := &model{replies: []*oneloop.Message{nil, ok()}}
	log := new(session.Log)
	s := &session.Session{Model: m, Transcript: log}
	said := text("a prompt")
	log.Append(t.Context(), session.Aside(text("before")))
	if err := s.Turn(t.Context(), nil, said); err == nil {
		t.Fatal("the first turn did not fail")
	}
	log.Append(t.Context(), session.Aside(text("between")))
	if err := s.Turn(t.Context(), nil, said); err != nil { // the second try of the same
		t.Fatal(err)
	}
	var got []string
	for _, x := range m.requests[1].Messages {
		got = append(got, x.Text())
	}
	if len(got) != 3 || got[0] != "before" || got[1] != "a prompt" || got[2] != "between" {
		t.Errorf("the model is told %q", got)
	}
	if p := log.Prompts(); len(p) != 1 || p[0].Text != "a prompt" {
		t.Errorf("the prompts are %+v", p)
	}
}
