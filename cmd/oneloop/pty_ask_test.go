//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTraceHasTheQuestionAboutTheEnvFileAndItsAnswer(t *testing.T) {
	p := newProduct(t)
	p.asking(t)
	file := filepath.Join(t.TempDir(), "trace")
	c := p.sit(usual, "TERM=xterm", "--trace="+file)
	c.sees("go on without them")
	c.types("y\r")
	c.sees("Ctrl-D")
	c.types("\x04")
	c.ends()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"kind":"question"`) || !strings.Contains(lines[1], `"kind":"answer"`) || !strings.Contains(lines[1], `"allow":true`) {
		t.Errorf("the trace is\n%s", text)
	}
}
