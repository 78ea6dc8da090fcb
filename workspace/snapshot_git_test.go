package workspace_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop/workspace"
)

func TestRepositoriesOfEveryKindComeBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TRIED: git's own line ends")
	}
	for _, c := range []struct {
		name   string
		make   func(s *shot) // the files are there
		copied bool          // of what is committed
	}{
		{"plain", func(s *shot) { s.commit() }, false},
		{"an index of version 4", func(s *shot) {
			s.commit()
			s.git("update-index", "--index-version", "4", "--force-write-index")
		}, false},
		{"names by SHA-256", func(s *shot) {
			s.git("init", "-q", "--object-format=sha256")
			s.commit()
		}, false},
		{"line ends that are changed on the way", func(s *shot) {
			s.write(".gitattributes", "*.txt text eol=crlf\n")()
			s.write("dir/a.txt", "a\r\na\r\n")()
			s.commit()
		}, true},
		{"attributes that change nothing", func(s *shot) {
			s.write(".gitattributes", "* text=auto\n*.png binary\n")()
			s.commit()
		}, false},
		{"a filter", func(s *shot) {
			s.write(".gitattributes", "*.txt filter=upper\n")()
			s.git("init", "-q")
			s.git("config", "filter.upper.clean", "tr a-z A-Z")
			s.commit()
		}, true},
		{"nested", func(s *shot) {
			s.git("-C", "dir", "init", "-q")
			s.git("-C", "dir", "add", ".")
			s.git("-C", "dir", "commit", "-q", "-m", "all")
			s.commit()
		}, false},
		{"an index that is split", func(s *shot) {
			s.commit()
			s.git("update-index", "--split-index")
			s.write("dir/b.txt", "b, later")()
			s.git("add", "-A")
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShot(t, workspace.SnapshotOptions{})
			s.write("top.txt", "top\n")()
			s.write("dir/a.txt", "a\n")()
			s.write("dir/deep/b.txt", "b\n")()
			c.make(s)
			want := contents(t, s.root)
			first := s.prompt()
			s.command(func() {
				s.remove("dir/deep")()
				s.write("dir/a.txt", "agent\n")()
				s.write("top.txt", "agent\n")()
			})
			s.settle()
			p, _ := s.back(first)
			if len(p.Lost) > 0 {
				t.Errorf("the plan says %q", said(p))
			}
			if diff := cmp.Diff(want, contents(t, s.root)); diff != "" {
				t.Errorf("(-was +is):\n%s", diff)
			}
			info, err := os.Stat(filepath.Join(s.state, "bytes"))
			if err != nil {
				t.Fatal(err)
			}
			if copied := info.Size() > int64(len("agent\n")); copied != c.copied {
				t.Errorf("%d bytes were copied", info.Size())
			}
		})
	}
}

func TestAWorktreeAndAFolderBesideComeBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TRIED: git's own line ends")
	}
	main := newShot(t, workspace.SnapshotOptions{})
	main.write("sub/file", "0\n")()
	main.commit()
	tree := filepath.Join(real(t, t.TempDir()), "tree")
	main.git("worktree", "add", "-q", tree)
	beside := real(t, t.TempDir())
	// Only a part of the worktree is the workspace.
	ws, err := workspace.Local(filepath.Join(tree, "sub"), workspace.LocalOptions{Dirs: []string{beside}})
	if err != nil {
		t.Fatal(err)
	}
	s := &shot{TB: t, root: filepath.Join(tree, "sub"), state: filepath.Join(t.TempDir(), "files"), ws: ws, n: 1}
	s.opts = workspace.SnapshotOptions{Dir: s.state, At: func() int64 { return s.n }}
	s.open()
	defer func() { s.Close() }()
	put(t, filepath.Join(beside, "other"), "0\n", 0o644)
	first := s.prompt()
	s.command(func() {
		s.write("file", "agent\n")()
		put(t, filepath.Join(beside, "other"), "agent\n", 0o644)
		put(t, filepath.Join(beside, "new"), "agent\n", 0o644)
	})
	s.again()
	want := []string{"restore " + beside + "/other", "remove " + beside + "/new", "restore file"}
	got := said(s.plan(first))
	if diff := cmp.Diff(len(want), len(got)); diff != "" || !strings.Contains(strings.Join(got, "\n"), "remove "+beside+"/new") {
		t.Errorf("the plan says %q", got)
	}
	s.back(first)
	for path, want := range map[string]string{filepath.Join(beside, "other"): "0\n", filepath.Join(s.root, "file"): "0\n", filepath.Join(beside, "new"): ""} {
		if text, err := os.ReadFile(path); string(text) != want || err != nil && want != "" {
			t.Errorf("%s holds %q (%v)", path, text, err)
		}
	}
	if info, err := os.Stat(filepath.Join(s.state, "bytes")); err != nil || info.Size() != int64(len("0\n")+len("agent\n")) {
		t.Errorf("copies: %v %v", info, err)
	}
}

func TestCommitsAreSaidToStay(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	s.write("a", "0\n")()
	s.commit()
	first := s.prompt()
	s.command(func() {
		s.write("a", "1\n")()
		s.git("commit", "-q", "-a", "-m", "agent")
	})
	s.settle()
	second := s.prompt()
	s.command(s.write("a", "2\n"))
	if diff := cmp.Diff([]string{"restore a", "lost: " + workspace.LossCommits}, said(s.plan(first))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"restore a"}, said(s.plan(second))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatGitHasThrownAwayIsLost(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	s.write("a", "0\n")()
	s.write("b", "0 too\n")()
	s.commit()
	first := s.prompt()
	s.command(func() { s.write("a", "1\n")(); s.write("b", "1\n")() })
	objects, err := filepath.Glob(filepath.Join(s.root, ".git/objects/*/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range objects {
		if strings.Contains(name, "/57/3541ac9702dd3969c9bc859d2b91ec1f7e6e56") { // "0\n"
			os.Remove(name)
		}
	}
	if diff := cmp.Diff([]string{"restore b", "lost a: " + workspace.LossGone}, said(s.plan(first))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFolderThatIsNotTrustedIsCopied(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{NoGit: true})
	s.write("a", "0\n")()
	s.commit()
	first := s.prompt()
	s.command(s.write("a", "1\n"))
	s.back(first)
	if _, text, _ := strings.Cut(contents(t, s.root)["a"], " "); text != "0\n" {
		t.Errorf("a holds %q", text)
	}
	if info, err := os.Stat(filepath.Join(s.state, "bytes")); err != nil || info.Size() == 0 {
		t.Errorf("nothing was copied: %v, %v", info, err)
	}
}
