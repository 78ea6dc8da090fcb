//go:build linux

package main

import "testing"

func TestAConversationHasNoFormOfItsAnswer(t *testing.T) {
	c := newProduct(t).sit(wide, "TERM=xterm", "--json-schema", "form.json")
	c.sees("--json-schema goes only with one task")
	if code := c.ends().ExitStatus(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}
