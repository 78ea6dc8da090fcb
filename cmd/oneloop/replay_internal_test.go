package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"oneloop/session"
)

func TestAFolderIsCopiedAndTheCopyLeadsNowhereElse(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write := func(name, text string, mode os.FileMode) {
		path := filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("a/x.sh", "#!/bin/sh\n", 0o755)
	write(".git", "gitdir: /somewhere/else/.git/worktrees/a\n", 0o600)
	write("linked/.git", "gitdir: ../../else\n", 0o600)
	write("sub/.git", "gitdir: ../modules/sub\n", 0o600)
	for name, target := range map[string]string{"inside": filepath.Join(from, "a"), "outside": "/nowhere", "relative": "a/x.sh"} {
		if err := os.Symlink(target, filepath.Join(from, name)); err != nil {
			t.Skip("NOT TRIED: no links can be made here: ", err)
		}
	}
	then := time.Now().Add(-time.Hour).Truncate(time.Second)
	for name, mode := range map[string]os.FileMode{"": 0o755, "a": 0o711} {
		if err := errors.Join(os.Chmod(filepath.Join(from, name), mode), os.Chtimes(filepath.Join(from, name), then, then)); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyFolder(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a", "linked"} {
		was, err := os.Stat(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if is, err := os.Stat(filepath.Join(to, name)); err != nil || is.Mode() != was.Mode() || !is.ModTime().Equal(was.ModTime()) {
			t.Errorf("the folder %q: %v %v %v", name, is, was, err)
		}
	}
	was, err := os.Stat(filepath.Join(from, "a/x.sh"))
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.Stat(filepath.Join(to, "a/x.sh"))
	if err != nil || is.Mode() != was.Mode() || !is.ModTime().Equal(was.ModTime()) {
		t.Errorf("%v %v %v", is, was, err)
	}
	for name, want := range map[string]string{"inside": filepath.Join(to, "a"), "outside": "/nowhere", "relative": "a/x.sh"} {
		if got, err := os.Readlink(filepath.Join(to, name)); got != want {
			t.Errorf("%s leads to %s, %v", name, got, err)
		}
	}
	for name, want := range map[string]bool{".git": false, "linked/.git": false, "sub/.git": true} {
		if _, err := os.Lstat(filepath.Join(to, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAFolderThatIsTooLargeIsNotCopiedAtAll(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a hole takes place there")
	}
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	if err := errors.Join(os.WriteFile(filepath.Join(from, "a"), []byte("x"), 0o600), os.WriteFile(filepath.Join(from, "b"), nil, 0o600), os.Truncate(filepath.Join(from, "b"), copyBytes)); err != nil {
		t.Fatal(err)
	}
	if err := copyFolder(t.Context(), from, to); err == nil || !strings.Contains(err.Error(), "which is the most that is copied") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(to); !os.IsNotExist(err) {
		t.Errorf("something was copied: %v", err)
	}
}

func TestAPathIsSaidOnce(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "/s/a.jsonl", Err: fs.ErrPermission}
	for want, err := range map[string]error{"open /s/a.jsonl: permission denied": denied, "/s/a.jsonl: it has no entries": errors.New("it has no entries")} {
		if got := unread(session.Listed{Path: "/s/a.jsonl", Err: err}); got.Error() != want || !errors.Is(got, err) {
			t.Errorf("%v", got)
		}
	}
}

func TestAPathIsRenamedWhereItIsOne(t *testing.T) {
	for text, want := range map[string]string{
		"cd /w/p && ls /w/p/x": "cd /tmp/p && ls /tmp/p/x",
		"/w/project /w/p-2":    "/w/project /w/p-2",
		"/w/p.git /w/p. /w/p":  "/w/p.git /tmp/p. /tmp/p",
		`"/w/p" '/w/p'`:        `"/tmp/p" '/tmp/p'`,
		"nothing":              "nothing",
	} {
		if got := rename(text, "/w/p", "/tmp/p"); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
	if got := rename("a text", "", "x"); got != "a text" {
		t.Error(got)
	}
}
