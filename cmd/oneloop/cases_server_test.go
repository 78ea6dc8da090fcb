package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// serverProgram builds testdata/server, without the race detector.
func serverProgram(t *testing.T) string {
	t.Helper()
	// Read here so that the go command knows that the result depends on it.
	if _, err := os.ReadFile("testdata/server/main.go"); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "server")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "./testdata/server")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// serveApart gives p a model in a program of its own, which takes note of the
// memory p takes before the second reply. stop ends it and says what was
// wrong with the requests.
func (p *product) serveApart(program string, size int) (stop func()) {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), program, strconv.Itoa(size))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	lines.Scan()
	p.env = append(p.env, "ANTHROPIC_BASE_URL="+lines.Text())
	var said strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines.Scan() {
			if lines.Text() != "asked" {
				said.WriteString(lines.Text() + "\n")
				continue
			}
			p.peak = peak(int(p.pid.Load()))
			fmt.Fprintln(stdin)
		}
	}()
	return func() {
		p.t.Helper()
		stdin.Close()
		<-done
		if err := cmd.Wait(); err != nil || said.Len() > 0 {
			p.t.Errorf("the strict server: %v\n%s", err, &said)
		}
	}
}
