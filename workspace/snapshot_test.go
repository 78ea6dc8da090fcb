package workspace_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"oneloop/workspace"
)

// shot is a workspace with snapshots, in which an agent and somebody else
// work.
type shot struct {
	testing.TB
	root, state string
	ws          workspace.Workspace
	*workspace.Snapshots
	opts workspace.SnapshotOptions
	n    int64 // the prompt
}

func newShot(t testing.TB, opts workspace.SnapshotOptions) *shot {
	t.Helper()
	return shotIn(t, real(t, t.TempDir()), opts)
}

func shotIn(t testing.TB, root string, opts workspace.SnapshotOptions) *shot {
	t.Helper()
	s := &shot{TB: t, root: root, state: filepath.Join(t.TempDir(), "files"), opts: opts, n: 1}
	var err error
	if s.ws, err = workspace.Local(root, workspace.LocalOptions{}); err != nil {
		t.Fatal(err)
	}
	s.opts.Dir, s.opts.At = s.state, func() int64 { return s.n }
	s.open()
	t.Cleanup(func() { s.Close() })
	return s
}

func (s *shot) open() {
	s.Helper()
	var err error
	if s.Snapshots, err = workspace.NewSnapshots(s.ws, s.opts); err != nil {
		s.Fatal(err)
	}
}

// again is another process that goes on with the same session.
func (s *shot) again() {
	s.Helper()
	if err := s.Close(); err != nil {
		s.Fatal(err)
	}
	s.open()
}

// prompt begins the next turn, the one before being over.
func (s *shot) prompt() int64 {
	s.n += 10
	return s.n
}

// command is what a command does to files.
func (s *shot) command(do func()) {
	after := s.Before(s.Context())
	do()
	after()
}

// tool is what a tool on files does to one.
func (s *shot) tool(name string, do func()) {
	after := s.Before(s.Context(), filepath.Join(s.root, name))
	do()
	after()
}

func (s *shot) write(name, text string) func() {
	return func() {
		s.Helper()
		path := filepath.Join(s.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *shot) remove(name string) func() {
	return func() {
		s.Helper()
		if err := os.RemoveAll(filepath.Join(s.root, name)); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *shot) git(args ...string) {
	s.Helper()
	p, err := s.ws.Start(s.Context(), workspace.Cmd{Argv: append([]string{"git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"}, args...)})
	if err != nil {
		s.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		s.Fatalf("git %s: %v %v", args, exit, err)
	}
}

func (s *shot) commit() {
	s.Helper()
	s.git("init", "-q")
	s.git("add", "-A")
	s.git("commit", "-q", "-m", "all")
}

// contents is what there is: the content and mode of each path.
func contents(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += " " + string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " -> " + to
		}
		all[rel] = what
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (s *shot) plan(to int64) *workspace.Plan {
	s.Helper()
	p, err := s.Plan(s.Context(), to)
	if err != nil {
		s.Fatal(err)
	}
	return p
}

// back goes back to before a prompt with everything.
func (s *shot) back(to int64) (*workspace.Plan, workspace.Rewound) {
	s.Helper()
	p := s.plan(to)
	done, err := s.Apply(s.Context(), p, nil)
	if err != nil {
		s.Fatal(err)
	}
	if len(done.Failed) > 0 {
		s.Errorf("failed: %v", done.Failed)
	}
	return p, done
}

// said is a plan in a line for each path.
func said(p *workspace.Plan) []string {
	var list []string
	for _, c := range p.Changes {
		text := c.Act + " " + c.Path
		if c.Yours {
			text += " (yours)"
		}
		list = append(list, text)
	}
	for _, l := range p.Lost {
		list = append(list, strings.TrimSpace("lost "+l.Path)+": "+l.Why)
	}
	for _, l := range p.Left {
		list = append(list, "left "+l)
	}
	return list
}

func TestWhatCommandsAndToolsChangedComesBack(t *testing.T) {
	for _, repo := range []bool{true, false} {
		name := "without a repository"
		if repo {
			name = "in a repository"
		}
		t.Run(name, func(t *testing.T) {
			if repo && runtime.GOOS == "windows" {
				t.Skip("NOT TRIED: git's own line ends")
			}
			s := newShot(t, workspace.SnapshotOptions{})
			s.write("clean.go", "package clean\n")()
			s.write("dir/a.txt", "a\n")()
			s.write("dir/b.txt", "b\n")()
			s.write("目录/文件.txt", "中文\n")()
			s.write("run.sh", "#!/bin/sh\n")()
			s.write("gone.txt", "gone\n")()
			s.write("closed/file", "closed\n")()
			if err := os.Chmod(filepath.Join(s.root, "closed"), 0o500); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(filepath.Join(s.root, "closed"), 0o700) })
			s.write(".gitignore", "ignored/\n*.log\n")()
			if err := os.Symlink("clean.go", filepath.Join(s.root, "link")); err != nil {
				t.Fatal(err)
			}
			if runtime.GOOS == "linux" {
				s.write("\xff\xfe\x01.bin", "no UTF-8")()
			}
			if repo {
				s.commit()
				s.write("forced.log", "git has it all the same\n")()
				s.git("add", "-f", "forced.log")
			}
			s.write("dirty.txt", "untracked\n")()
			s.write("dir/a.txt", "a, changed by the user\n")()
			s.write("ignored/big", "not kept")()
			want := contents(t, s.root)

			first := s.prompt()
			s.tool("clean.go", s.write("clean.go", "package changed\n"))
			s.tool("new/deep/file.go", s.write("new/deep/file.go", "package deep\n"))
			s.command(func() {
				s.write("dirty.txt", "overwritten\n")()
				s.write("dir/a.txt", "overwritten\n")()
				s.remove("dir/b.txt")()
				s.remove("gone.txt")()
				os.Chmod(filepath.Join(s.root, "closed"), 0o700)
				s.remove("closed")()
				if repo {
					s.remove("forced.log")()
				}
				s.write("made/by/command", "made")()
				s.write("目录/文件.txt", "英文\n")()
				os.Chmod(filepath.Join(s.root, "run.sh"), 0o755)
				os.Remove(filepath.Join(s.root, "link"))
				os.Symlink("elsewhere", filepath.Join(s.root, "link"))
				os.Rename(filepath.Join(s.root, "\xff\xfe\x01.bin"), filepath.Join(s.root, "renamed"))
			})
			s.Rest()
			s.again()
			second := s.prompt()
			middle := contents(t, s.root)
			s.command(func() {
				s.remove("dir")()
				s.write("dir", "a file where a folder was\n")()
				s.remove("dirty.txt")()
				s.write("dirty.txt/x", "a folder where a file was\n")()
				s.tool("made/by/command", s.write("made/by/command", "again"))
			})

			if p, _ := s.back(second); len(p.Lost) > 0 || len(p.Left) > 0 {
				t.Errorf("the plan says %q", said(p))
			}
			if diff := cmp.Diff(middle, contents(t, s.root)); diff != "" {
				t.Errorf("before the second prompt (-was +is):\n%s", diff)
			}
			if p, _ := s.back(first); len(p.Lost) > 0 || len(p.Left) > 0 {
				t.Errorf("the plan says %q", said(p))
			}
			if diff := cmp.Diff(want, contents(t, s.root)); diff != "" {
				t.Errorf("before the first prompt (-was +is):\n%s", diff)
			}
		})
	}
}

func TestWhatSomebodyElseChangedIsNotTakenBackUnasked(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	for _, name := range []string{"ours", "theirs", "both", "after", "later"} {
		s.write(name, "0\n")()
	}
	first := s.prompt()
	s.command(func() {
		s.write("ours", "agent\n")()
		s.write("both", "agent\n")()
		s.write("after", "agent\n")()
		s.write("made", "agent\n")()
	})
	s.Rest()
	s.settle()
	s.write("theirs", "user\n")()
	s.write("both", "user\n")()
	s.write("later", "user\n")()
	s.write("mine", "user\n")()
	second := s.prompt()
	s.command(func() {
		s.write("both", "agent again\n")()
		s.write("later", "agent\n")()
	})
	s.Rest()
	s.settle()
	s.write("after", "user\n")()
	s.write("made", "user\n")()

	got := said(s.plan(first))
	want := []string{
		"restore after (yours)", "restore both (yours)", "restore later", "remove made (yours)", "restore ours", "left mine", "left theirs",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("back to the first prompt (-want +got):\n%s", diff)
	}
	p := s.plan(first)
	done, err := s.Apply(t.Context(), p, func(c workspace.FileChange) bool { return !c.Yours })
	if err != nil || len(done.Failed) > 0 || len(done.Done) != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	now := contents(t, s.root)
	for name, want := range map[string]string{"ours": "0\n", "later": "user\n", "theirs": "user\n", "both": "agent again\n", "after": "user\n", "made": "user\n", "mine": "user\n"} {
		if _, text, _ := strings.Cut(now[name], " "); text != want {
			t.Errorf("%s holds %q, want %q", name, text, want)
		}
	}
	done, err = s.Apply(t.Context(), s.plan(first), nil)
	if err != nil || len(done.Failed) > 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	for name, want := range map[string]string{"after": "user\n", "made": "user\n", "both": "agent again\n"} {
		if got, err := os.ReadFile(filepath.Join(done.Kept, name)); err != nil || string(got) != want {
			t.Errorf("the copy of %s holds %q (%v), want %q", name, got, err, want)
		}
	}
	_ = second
}

// settle waits until what Rest began is done.
func (s *shot) settle() {
	s.Helper()
	s.again()
}

func TestWhatCannotComeBackIsToldBefore(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{File: 1000, Total: 2500})
	s.write("a", strings.Repeat("a", 900))()
	s.write("b", strings.Repeat("b", 900))()
	s.write("c", strings.Repeat("c", 900))()
	s.write("large", strings.Repeat("x", 1001))()
	s.write(".gitignore", "*.log\nhidden/\n")()
	s.write("x.log", "log")()
	s.write("hidden/secret", "secret")()
	first := s.prompt()
	s.command(func() {
		for _, name := range []string{"a", "b", "c", "large", "x.log"} {
			s.write(name, "changed")()
		}
		s.write(".gitignore", "nothing\n")()
	})
	want := []string{
		"restore .gitignore", "restore a", "restore b",
		"lost c: no copy was kept, since the copies have reached 0 MB",
		"lost hidden: an ignore file named it, so no copy was kept",
		"lost hidden/secret: an ignore file named it, so no copy was kept",
		"lost large: it is too large to be copied: more than 0 MB",
		"lost x.log: an ignore file named it, so no copy was kept",
	}
	if diff := cmp.Diff(want, said(s.plan(first))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.back(first)
	if got := contents(t, s.root)["hidden/secret"]; !strings.HasSuffix(got, " secret") {
		t.Errorf("the file that was ignored is now %q", got)
	}
}

func TestATreeThatIsTooLargeIsSaidToBeUncovered(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{Files: 3})
	for i := range 5 {
		s.write(fmt.Sprint("f", i), "0")()
	}
	first := s.prompt()
	s.tool("f0", s.write("f0", "tool"))
	s.command(s.write("f1", "command"))
	want := []string{"restore f0", "lost: what commands changed: there are more files than 3"}
	if diff := cmp.Diff(want, said(s.plan(first))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGitIsNotCopied(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TRIED: git's own line ends")
	}
	s := newShot(t, workspace.SnapshotOptions{})
	for i := range 20 {
		s.write(fmt.Sprint("dir/f", i), strings.Repeat(fmt.Sprint(i), 1000))()
	}
	s.commit()
	want := contents(t, s.root)
	first := s.prompt()
	s.command(s.remove("dir"))
	s.Rest()
	s.settle()
	if info, err := os.Stat(filepath.Join(s.state, "bytes")); err != nil || info.Size() != 0 {
		t.Errorf("copies: %v, %v; git has all of it", info, err)
	}
	s.back(first)
	if diff := cmp.Diff(want, contents(t, s.root)); diff != "" {
		t.Errorf("(-was +is):\n%s", diff)
	}
}

func TestWhatACrashLeftOpenIsAskedAbout(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	s.write("a", "0")()
	first := s.prompt()
	s.Before(t.Context()) // and it never ends
	s.write("a", "1")()
	list := filepath.Join(s.state, "list.jsonl")
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(list, append(text, `{"k":"","n":1,"by":"tool","p":"a","is":`...), 0o600)
	s.open() // the other one is as good as dead
	s.prompt()
	for range 2 {
		if diff := cmp.Diff([]string{"restore a (yours)"}, said(s.plan(first))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		s.again()
	}
}

func TestDamageLosesOneFileAndMakesTheRestBeAsked(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	for _, name := range []string{"a", "b", "c"} {
		s.write(name, "0\n")()
	}
	first := s.prompt()
	s.command(func() {
		for _, name := range []string{"a", "b", "c"} {
			s.write(name, "1\n")()
		}
	})
	s.Close()
	list := filepath.Join(s.state, "list.jsonl")
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(string(text), `"by":"base","p":"b"`, `"by":"base","p":"\x00`, 1)
	if err := os.WriteFile(list, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	s.open()
	want := []string{"restore a (yours)", "restore c (yours)", "lost b: " + workspace.LossDamaged}
	if diff := cmp.Diff(want, said(s.plan(first))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATurnWhoseEndNobodyToldIsTheAgents(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	s.write("a", "0\n")()
	s.write(".gitignore", "ignored/\n")()
	s.write("ignored/x", "0\n")()
	first := s.prompt()
	s.command(s.write("a", "1\n"))
	second := s.prompt()
	s.command(func() {
		s.write("b", "1\n")()
		s.write("ignored/y", "1\n")() // is no change of what is known
	})
	for to, want := range map[int64][]string{first: {"restore a", "remove b"}, second: {"remove b"}} {
		if diff := cmp.Diff(want, said(s.plan(to))); diff != "" {
			t.Errorf("back to %d (-want +got):\n%s", to, diff)
		}
	}
}

func TestReadingTurnsCostNothing(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	s.prompt()
	s.Sent()
	s.Coming(s.n)
	s.Rest()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.state); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
}

func TestCopiesAreTheUsersOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TRIED: modes")
	}
	s := newShot(t, workspace.SnapshotOptions{})
	s.write("a", "0")()
	s.prompt()
	s.command(s.write("a", "1"))
	for _, name := range []string{"", "bytes", "list.jsonl"} {
		if info, err := os.Stat(filepath.Join(s.state, name)); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%q: %v %v", name, info, err)
		}
	}
}

func TestWhatChangesWhileAPlanIsLookedAtStays(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	for _, name := range []string{"a", "b", "gone"} {
		s.write(name, "0\n")()
	}
	first := s.prompt()
	s.command(func() {
		s.write("a", "agent\n")()
		s.write("b", "agent\n")()
		s.write("made", "agent\n")()
		s.remove("gone")()
	})
	p := s.plan(first)
	s.write("a", "user\n")()
	s.write("made", "user\n")()
	s.write("gone", "user\n")()
	done, err := s.Apply(t.Context(), p, nil)
	if err != nil || len(done.Done) != 1 || len(done.Failed) != 3 || done.Failed[0].Why != workspace.LossMoved {
		t.Errorf("%+v, %v", done, err)
	}
	now := contents(t, s.root)
	for name, want := range map[string]string{"a": "user\n", "made": "user\n", "gone": "user\n", "b": "0\n"} {
		if _, text, _ := strings.Cut(now[name], " "); text != want {
			t.Errorf("%s holds %q, want %q", name, text, want)
		}
	}
}

func TestWhatACommandInTheBackgroundMayHaveChangedIsAskedAbout(t *testing.T) {
	busy := false
	s := newShot(t, workspace.SnapshotOptions{Busy: func() bool { return busy }})
	s.write("a", "0\n")()
	s.write("b", "0\n")()
	first := s.prompt()
	s.command(func() { busy = true })
	s.Rest()
	s.settle()
	s.write("a", "somebody\n")()
	s.prompt()
	s.command(func() {})
	busy = false
	s.settle()
	s.write("b", "somebody\n")()
	s.prompt()
	s.tool("c", s.write("c", "agent\n")) // opens what is kept
	s.Late()
	s.settle()
	if diff := cmp.Diff([]string{"restore a (yours)", "restore b (yours)", "remove c"}, said(s.plan(first))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatAHookChangesIsTheAgents(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	s.write("a", "0\n")()
	first := s.prompt()
	s.tool("a", s.write("a", "agent\n"))
	s.write("a", "formatted\n")()
	s.Again()
	s.tool("a", s.write("a", "agent again\n"))
	if diff := cmp.Diff([]string{"restore a"}, said(s.plan(first))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.back(first)
	if _, text, _ := strings.Cut(contents(t, s.root)["a"], " "); text != "0\n" {
		t.Errorf("a holds %q", text)
	}
}

func TestWhatIsChangedBesideTheModelsAnswerIsToldApart(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	s.write("a", "0\n")()
	s.write("b", "0\n")()
	first := s.prompt()
	s.command(s.write("a", "agent\n"))
	s.Sent()
	s.looked("a", "tool")
	s.write("a", "user\n")()
	s.write("b", "user\n")()
	s.Coming(s.n)
	s.looked("b", "user")
	s.command(s.write("c", "agent\n"))
	if diff := cmp.Diff([]string{"restore a (yours)", "remove c", "left b"}, said(s.plan(first))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// looked waits until it is known who has changed a file.
func (s *shot) looked(name, by string) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // another goroutine looks
		list, err := os.ReadFile(filepath.Join(s.state, "list.jsonl"))
		if err != nil {
			s.Fatal(err)
		}
		if strings.Contains(string(list), `"by":"`+by+`","p":"`+name+`"`) {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("nobody looked at %s:\n%s", name, list)
		}
	}
}

func TestWhatWasBeforeTheAccountIsSaidToBeLost(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{Since: 11})
	s.write("a", "0\n")()
	first := s.prompt()
	second := s.prompt()
	s.command(s.write("a", "1\n"))
	s.settle()
	if diff := cmp.Diff([]string{"restore a", "lost: " + workspace.LossEarlier}, said(s.plan(first))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"restore a"}, said(s.plan(second))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsKnownOfAnotherFolderIsNotUsed(t *testing.T) {
	s := newShot(t, workspace.SnapshotOptions{})
	s.write("a", "0\n")()
	first := s.prompt()
	s.command(s.write("a", "1\n"))
	s.Close()
	other := shotIn(t, real(t, t.TempDir()), workspace.SnapshotOptions{})
	other.write("a", "another\n")()
	other.opts.Dir = s.state
	other.again()
	other.n = s.n
	if got := said(other.plan(first)); len(got) > 0 {
		t.Errorf("the plan says %q", got)
	}
}

func TestAFullDiskIsToldAndHoldsNothingUp(t *testing.T) {
	var told []error
	s := newShot(t, workspace.SnapshotOptions{Trouble: func(err error) { told = append(told, err) }})
	put(t, s.state, "no folder", 0o600)
	s.write("a", "0\n")()
	s.prompt()
	s.command(s.write("a", "1\n"))
	s.command(s.write("a", "2\n"))
	if len(told) != 1 {
		t.Errorf("told %v", told)
	}
	if p, err := s.Plan(t.Context(), s.n); err == nil {
		t.Errorf("the plan is %v", said(p))
	}
}
