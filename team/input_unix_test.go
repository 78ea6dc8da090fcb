//go:build unix

package team

import (
	"errors"
	"os"
	"testing"
	"time"
)

func TestASilentPipeIsGivenUpWhenNobodyWorksTwiceInARow(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	answers := []bool{true, false, true, false, false, true}
	asked := 0
	p := &patient{ctx: t.Context(), f: r, wait: 2 * time.Millisecond, busy: func() (bool, error) {
		asked++
		return answers[asked-1], nil
	}}
	if n, err := p.Read(make([]byte, 1)); n != 0 || !errors.Is(err, errSilent) {
		t.Errorf("read %d bytes, %v", n, err)
	}
	if asked != 5 {
		t.Errorf("asked %d times, want 5", asked)
	}
}
