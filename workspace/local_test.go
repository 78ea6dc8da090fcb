package workspace_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
)

func TestWithoutHelperNoWorkspaceOpens(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_UNPREPARED=1")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "call workspace.Helper() first in main") {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestStandardInputIsEmptyAndThereIsNoTerminal(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	out, _ := bash(t, w, 5*time.Second, `cat; echo rc=$?; read x; echo "got:$x"; sh -c 'read y < /dev/tty' 2>/dev/null || echo no terminal`)
	if out != "rc=0\ngot:\nno terminal\n" {
		t.Errorf("got %q", out)
	}
}

func TestOutputIsBothStreamsInOrder(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	out, exit := bash(t, w, 5*time.Second, "echo 1; echo 2 >&2; echo 3; exit 7")
	if out != "1\n2\n3\n" || exit.Code != 7 {
		t.Errorf("got %q, %+v", out, exit)
	}
}

func TestASignalIsNamed(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	if _, exit := bash(t, w, 5*time.Second, "kill -SEGV $$"); exit.Signal != "SIGSEGV" || exit.Code != -1 {
		t.Errorf("got %+v", exit)
	}
}

func TestTheEnvironmentIsOursWithoutCredentials(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "marker-by-name")
	t.Setenv("OTHER", "url?key=marker-by-value&x")
	t.Setenv("SHORT", "shorty")
	t.Setenv("KEPT", "has shorty inside")
	t.Setenv("OLDPWD", "/elsewhere")
	w := open(t, workspace.LocalOptions{Secrets: []string{"marker-by-value", "shorty", ""}})
	out, _ := bash(t, w, 5*time.Second, "env")
	for _, gone := range []string{"marker-by-name", "marker-by-value", "SHORT=", "OLDPWD"} {
		if strings.Contains(out, gone) {
			t.Errorf("%s is in the environment", gone)
		}
	}
	for _, want := range []string{"KEPT=has shorty inside\n", "PWD=" + w.Describe().Root + "\n", "PATH="} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing from the environment", want)
		}
	}
}

func TestWhatACommandAddsToTheEnvironmentWins(t *testing.T) {
	w := open(t, workspace.LocalOptions{Env: []string{"PATH=" + os.Getenv("PATH"), "A=1", "B=2", "A=3"}})
	var out buffer
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"env"}, Env: []string{"B=4", "C=5", "C=6"}, Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, kv := range strings.Fields(out.String()) {
		if !strings.HasPrefix(kv, "PATH=") && !strings.HasPrefix(kv, "PWD=") {
			got = append(got, kv)
		}
	}
	slices.Sort(got)
	if want := "A=3 B=4 C=6"; strings.Join(got, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDescriptorsReachTheCommand(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	f, err := workspace.TextFile(strings.Repeat("x", 300_000) + "end")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out buffer
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "tail -c 4 <&9; for n in 3 4 5 6 7 8 9; do [ -e /dev/fd/$n ] && echo $n; done"}, Fds: map[int]*os.File{9: f}, Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if want := "xend9\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if _, err := f.Stat(); err != nil {
		t.Errorf("the caller's file was closed: %v", err)
	}
}

func TestAFolderThatIsGoneIsReplacedByTheRoot(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	var out buffer
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", `pwd; echo "$PWD"`}, Dir: "sub", Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	root := w.Describe().Root
	if err != nil || out.String() != root+"\n"+root+"\n" {
		t.Errorf("got %q, %v", out.String(), err)
	}
	if len(exit.Notes) != 1 || !strings.Contains(exit.Notes[0], "ran in the workspace root") {
		t.Errorf("notes %q", exit.Notes)
	}
}

func TestARootThatIsGoneIsAClearError(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	if _, exit := bash(t, w, 5*time.Second, `cd / && rm -rf "$OLDPWD"`); exit.Code != 0 {
		t.Fatalf("%+v", exit)
	}
	_, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "pwd"}})
	if !errors.Is(err, workspace.ErrNoRoot) {
		t.Errorf("error %v", err)
	}
	if err := os.Mkdir(w.Describe().Root, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, _ := bash(t, w, 5*time.Second, "echo back"); out != "back\n" {
		t.Errorf("got %q after the folder came back", out)
	}
}

func TestACommandMayNotStartOutside(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	for _, dir := range []string{"..", "a/../..", "/", filepath.Dir(w.Describe().Root)} {
		if _, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"pwd"}, Dir: dir}); err == nil || !strings.Contains(err.Error(), "outside the workspace") {
			t.Errorf("%s: error %v", dir, err)
		}
	}
}

func TestAProgramThatIsGoneIsLookedForAgain(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := os.WriteFile(filepath.Join(dir, "which-one"), []byte("#!/bin/sh\necho "+dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := open(t, workspace.LocalOptions{Env: []string{"PATH=" + first + ":" + second + ":/usr/bin:/bin"}})
	ran := func(env ...string) string {
		t.Helper()
		var out strings.Builder
		p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"which-one"}, Env: env, Output: &out})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out.String())
	}
	if got := ran(); got != first {
		t.Errorf("it ran the one in %s, want %s", got, first)
	}
	if got := ran("PATH=" + second + ":/usr/bin:/bin"); got != second {
		t.Errorf("with another PATH it ran the one in %s, want %s", got, second)
	}
	if ran() != first || os.Remove(filepath.Join(first, "which-one")) != nil {
		t.Fatal("it is not there")
	}
	if got := ran(); got != second {
		t.Errorf("with the first gone it ran the one in %s, want %s", got, second)
	}
}

func TestProgramsInTheWorkspaceAreNotFoundOnPath(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	for _, f := range []string{filepath.Join(root, "bash"), filepath.Join(root, "tool")} {
		if err := os.WriteFile(f, []byte("#!/bin/sh\necho fooled\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(elsewhere, "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	path := strings.Join([]string{root, ".", "", link, "/usr/bin", "/bin"}, string(filepath.ListSeparator))
	w, err := workspace.Local(root, workspace.LocalOptions{Env: []string{"PATH=" + path}})
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := bash(t, w, 5*time.Second, "echo real"); out != "real\n" {
		t.Errorf("got %q", out)
	}
	if _, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"tool"}}); !errors.Is(err, workspace.ErrNoProgram) {
		t.Errorf("error %v", err)
	}
	none, err := workspace.Local(root, workspace.LocalOptions{Env: []string{"PATH=" + root}})
	if err != nil {
		t.Fatal(err)
	}
	if none.Describe().Shell != "" {
		t.Errorf("shell %q", none.Describe().Shell)
	}
	wide, err := workspace.Local("/", workspace.LocalOptions{Env: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	if wide.Describe().Shell == "" {
		t.Error("a workspace as wide as / finds no bash")
	}
}

func TestAnEndedContextStartsNothing(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	cancel(stop)
	if _, err := w.Start(ctx, workspace.Cmd{Argv: []string{"touch", "f"}}); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestOutputThatFailsDoesNotHoldTheCommand(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	full := errors.New("full")
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "head -c 1000000 /dev/zero; exit 3"}, Output: failing{full}})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); !errors.Is(err, full) || exit.Code != 3 {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestFilesStayBelowTheRoot(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	root, outside := w.Describe().Root, t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	files := w.Files()
	for _, name := range []string{"out/secret", "../" + filepath.Base(outside) + "/secret", filepath.Join(outside, "secret"), "/etc/passwd"} {
		if f, err := files.Open(name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
	if err := files.Rename("out/secret", "taken"); err == nil {
		t.Error("a file outside was renamed")
	}
}

func TestFilesDoWhatToolsNeed(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	root, files := w.Describe().Root, w.Files()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(files.MkdirAll("a/b", 0o755))
	f, err := files.Create("a/b/.new", 0o600)
	check(err)
	_, err = io.WriteString(f, "text")
	check(errors.Join(err, f.Close()))
	if _, err := files.Create("a/b/.new", 0o600); !errors.Is(err, os.ErrExist) {
		t.Errorf("an existing file was created: %v", err)
	}
	check(files.Rename("a/b/.new", filepath.Join(root, "a/file")))
	check(files.Chmod("a/file", 0o640))
	info, err := files.Stat("a/file")
	check(err)
	if info.Size() != 4 || info.Mode().Perm() != 0o640 {
		t.Errorf("size %d, mode %v", info.Size(), info.Mode())
	}
	list, err := files.ReadDir(".")
	check(err)
	if len(list) != 1 || list[0].Name() != "a" {
		t.Errorf("listed %v", list)
	}
	r, err := files.Open("a/file")
	check(err)
	defer r.Close()
	if data, err := io.ReadAll(r); err != nil || string(data) != "text" {
		t.Errorf("read %q, %v", data, err)
	}
	check(files.Remove("a/b"))
	if _, err := files.Lstat("a/b"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed and still there: %v", err)
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("no room") }

func TestAnOutputThatPanicsFailsAndTheCommandIsRunToItsEnd(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "yes | head -c 300000; exit 3"}, Output: panicking{}})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); exit.Code != 3 || err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("%+v, %v", exit, err)
	}
}
