package session_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/session"
)

// TestLogsOfEveryFormatOpen has logs as programs wrote them, in testdata/v1 for
// version 1 of the format and so on, each with what it comes to in a file
// beside it. They are never written anew: a program of later reads what one of
// today keeps. See docs/sessions.md.
func TestLogsOfEveryFormatOpen(t *testing.T) {
	if err := freezeLogs(t); err != nil {
		t.Fatal(err)
	}
	for v := 1; v <= session.Format; v++ {
		frozen := filepath.Join("testdata", fmt.Sprint("v", v))
		names, err := filepath.Glob(filepath.Join(frozen, "*.jsonl"))
		if err != nil || len(names) == 0 {
			t.Fatalf("there are no logs of version %d: go test ./session -run LogsOfEveryFormat -freeze writes them; %v", v, err)
		}
		dir := t.TempDir() // they are mended and gone on with
		if err := os.CopyFS(dir, os.DirFS(frozen)); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			t.Run(name, func(t *testing.T) { opens(t, filepath.Join(dir, filepath.Base(name))) })
		}
	}
}

func opens(t *testing.T, path string) {
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(strings.TrimSuffix(path, ".jsonl") + ".golden")
	if err != nil {
		t.Fatal(err)
	}
	l, damage := open(t, path)
	if diff := cmp.Diff(string(want), account(t, l, damage)); diff != "" {
		t.Errorf("it comes to something else (-want +got):\n%s", diff)
	}
	if err := l.Append(t.Context(), oneloop.UserText("go on")); err != nil {
		t.Fatal(err)
	}
	before := asJSON(t, request(t, l).Messages)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(path)
	if whole := bytes.LastIndexByte(was, '\n') + 1; err != nil || !bytes.HasPrefix(now, was[:whole]) {
		t.Errorf("what was kept was changed, %v", err)
	}
	again, damage := open(t, path)
	if diff := cmp.Diff(before, asJSON(t, request(t, again).Messages)); diff != "" || len(damage) > 0 {
		t.Errorf("opened again it is another conversation, damage %v (-want +got):\n%s", damage, diff)
	}
}

// account is what a log comes to: what lists show, what is known beside the
// conversation, and the messages of the next request.
func account(t *testing.T, l *session.Log, damage []session.Damage) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "in %s: %+v\n", l.Dir(), l.Info())
	for _, d := range damage {
		fmt.Fprintf(&b, "damage: %v\n", d)
	}
	s := l.Spent()
	fmt.Fprintf(&b, "spent: %d requests, $%.6f\n", s.Requests, s.TotalCost)
	for _, p := range l.Prompts() {
		fmt.Fprintf(&b, "prompt: %d %q\n", p.N, p.Text)
	}
	for _, w := range l.Undelivered() {
		fmt.Fprintf(&b, "waiting: %d %q\n", w.When, w.Text())
	}
	req := request(t, l)
	for _, s := range req.System {
		fmt.Fprintf(&b, "system: %s\n", s.(*oneloop.Text).Text)
	}
	for _, d := range req.Tools {
		fmt.Fprintf(&b, "tool: %s, %s, %s\n", d.Name, d.Description, d.Schema)
	}
	fmt.Fprintf(&b, "params: %+v\n", req.Params)
	for _, m := range asJSON(t, req.Messages) {
		b.WriteString(m + "\n")
	}
	return b.String()
}

// TestTheFrozenLogsHaveEveryKindOfEntry keeps a kind from being forgotten when
// the logs of a format are written.
func TestTheFrozenLogsHaveEveryKindOfEntry(t *testing.T) {
	kinds := strings.Fields(`session setup message intent output rewind compact redact queue info
		turn_start turn_end retry discard question answer denied spend compacted limit notice boundary child_start child_end`)
	for v := 1; v <= session.Format; v++ {
		missing := slices.Clone(kinds)
		names, err := filepath.Glob(filepath.Join("testdata", fmt.Sprint("v", v), "*.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(text) {
				var e struct {
					Kind string `json:"k"`
				}
				if json.Unmarshal(line, &e) == nil { // the end of one is torn
					missing = slices.DeleteFunc(missing, func(k string) bool { return k == e.Kind })
				}
			}
		}
		if len(missing) > 0 {
			t.Errorf("version %d: no log has an entry of the kinds %v", v, missing)
		}
	}
}

// freezeLogs writes the logs of the newest format if that was asked for, and
// none is there.
func freezeLogs(t *testing.T) error {
	if !*freeze {
		return nil
	}
	dir := filepath.Join("testdata", fmt.Sprint("v", session.Format))
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is there: what was frozen stays as it is", dir)
	}
	scratch := t.TempDir()
	tellStories(t, scratch)
	if err := os.CopyFS(dir, os.DirFS(scratch)); err != nil {
		return err
	}
	names, err := filepath.Glob(filepath.Join(scratch, "*.jsonl"))
	if err != nil {
		return err
	}
	for _, name := range names { // in scratch, since opening mends
		l, damage := open(t, name)
		golden := strings.TrimSuffix(filepath.Base(name), ".jsonl") + ".golden"
		if err := os.WriteFile(filepath.Join(dir, golden), []byte(account(t, l, damage)), 0o644); err != nil {
			return err
		}
		l.Close()
	}
	return nil
}
