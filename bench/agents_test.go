package main

import (
	"strings"
	"testing"
)

func TestACrewTakesItsTurnsSideBySide(t *testing.T) {
	for _, kind := range []string{crewBare, crewAgents} {
		m, err := serveMany(4)
		if err != nil {
			t.Fatal(err)
		}
		r, err := crew(kind, m.URL(), 30, 4)
		if err != nil || r.Turns != 120 || r.Seconds <= 0 || r.Failed != 0 {
			t.Errorf("%s: %+v %v", kind, r, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAMemberThatFailsIsCounted(t *testing.T) {
	m, err := serveMany(2)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range m.replies {
		m.replies[i][2] = strings.ReplaceAll(m.replies[i][2], "HTTP/1.1 200", "HTTP/1.1 400")
	}
	for _, kind := range []string{crewBare, crewAgents} {
		if r, err := crew(kind, m.URL(), 3, 2); err != nil || r.Failed != 3 {
			t.Errorf("%s: %+v %v", kind, r, err)
		}
	}
}
