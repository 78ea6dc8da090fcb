package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"oneloop/internal/tui"
	"oneloop/session"
)

// replayTest is a test of the session: its package, how it is named, and the
// file of the log.
const replayTest = `package %s

import (
	"testing"

	"oneloop/looptest"
	"oneloop/trace"
)

// A session that was kept is taken again from its log. With the tools of an
// agent as Tools, they run beside the log and have to answer as it says.
func TestSession%s(t *testing.T) {
	looptest.Replay(t, %q, trace.ReplayOptions{
		// Tools: &oneloop.Toolbox{Tools: …},
	})
}
`

// writeTest makes a test of a session: its log, which needs no other, and a
// file of Go beside it. What is there already is not written over.
func (p *program) writeTest(path, dir string) error {
	fail := func(err error) error { return &codeError{exitConfig, err} }
	var log bytes.Buffer
	if err := session.Export(&log, path); err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fail(err)
	}
	of, err := packageIn(dir)
	if err != nil {
		return fail(err)
	}
	id := idOf(path)
	name := regexp.MustCompile(`[^0-9A-Za-z]+`).ReplaceAllString(id, "_")
	files := map[string][]byte{
		"session_" + name + "_test.go": fmt.Appendf(nil, replayTest, of, "_"+name, id+".jsonl"),
		id + ".jsonl":                  log.Bytes(),
	}
	for _, f := range []string{id + ".jsonl", "session_" + name + "_test.go"} {
		if err := writeNew(filepath.Join(dir, f), files[f]); err != nil {
			return fail(err)
		}
		if _, err := fmt.Fprintln(p.stdout, tui.Visible(filepath.Join(dir, f))); err != nil {
			return err
		}
	}
	return nil
}

func writeNew(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// packageIn is the package that a test in dir belongs to.
func packageIn(dir string) (string, error) {
	files, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			return "", err
		}
		if found := regexp.MustCompile(`(?m)^package (\w+)`).FindSubmatch(text); found != nil {
			return strings.TrimSuffix(string(found[1]), "_test") + "_test", nil
		}
	}
	return "replay_test", nil
}
