package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"oneloop/session"
)

func TestCopiesOfFilesAreRemovedWithTheirSessionAndInTime(t *testing.T) {
	state, now := t.TempDir(), time.Now()
	folder := filepath.Join(state, "sessions", "work-1")
	for id, age := range map[string]time.Duration{"new": 0, "old": filesAge + time.Hour, "gone": 0, "removed": 0} {
		dir := filepath.Join(folder, id+session.FilesEnd)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if id == "removed" {
			l := session.NewLog(filepath.Join(folder, id+".jsonl"), session.LogOptions{})
			l.SetInfo(func(i *session.Info) { i.Name = "a name" })
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		} else if id != "gone" {
			if err := os.WriteFile(filepath.Join(folder, id+".jsonl"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		file := filepath.Join(dir, "list.jsonl")
		if err := os.WriteFile(file, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (names []string) {
		found, err := filepath.Glob(filepath.Join(folder, "*"+session.FilesEnd))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			names = append(names, filepath.Base(f))
		}
		slices.Sort(names)
		return names
	}
	if err := (session.Store{Dir: filepath.Join(state, "sessions")}).Remove(filepath.Join(folder, "removed.jsonl")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"gone.files", "new.files", "old.files"}, left()); diff != "" {
		t.Errorf("after the session was removed (-want +got):\n%s", diff)
	}
	if err := os.Mkdir(filepath.Join(folder, "begun.files"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "begun.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tidyFiles(state, now)
	if diff := cmp.Diff([]string{"begun.files", "new.files"}, left()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Once a day is enough.
	if err := os.Mkdir(filepath.Join(folder, "later.files"), 0o700); err != nil {
		t.Fatal(err)
	}
	tidyFiles(state, now.Add(time.Hour))
	tidied := left()
	tidyFiles(state, now.Add(filesEvery+time.Hour))
	if diff := cmp.Diff([][]string{{"begun.files", "later.files", "new.files"}, {"begun.files", "new.files"}}, [][]string{tidied, left()}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
