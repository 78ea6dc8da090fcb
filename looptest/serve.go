package looptest

import (
	"testing"

	"oneloop/looptest/script"
)

// Serve starts a scripted server that lives as long as the test. The test
// fails when a request breaks the rules of the API, when one comes for which
// nothing is scripted, and when a reply was never asked for.
func Serve(t testing.TB, replies ...script.Reply) *script.Server {
	t.Helper()
	return ServeOver(t, nil, replies...)
}

// ServeOver is [Serve] over another API, e.g. one of package wires. A wire is
// for one server.
func ServeOver(t testing.TB, wire *script.Wire, replies ...script.Reply) *script.Server {
	t.Helper()
	s := script.New(replies...)
	s.Wire = wire
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the scripted server: %v", err)
		}
		if err := s.Check(); err != nil {
			t.Errorf("scripted server: %v", err)
		}
	})
	return s
}
