//go:build amd64 || arm64

package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"oneloop/workspace"
)

// inEach runs a test in each backend.
func inEach(t *testing.T, test func(t *testing.T, backend string)) {
	inNamespaces(t, test)
	t.Run(workspace.BackendLL, func(t *testing.T) { test(t, workspace.BackendLL) })
}

func TestSandboxWorksInAFolderWhoseNameIsNoText(t *testing.T) {
	inEach(t, func(t *testing.T, backend string) {
		root := filepath.Join(t.TempDir(), "\xc4\xe3 :\n\xff")
		also := filepath.Join(t.TempDir(), "\xba\xc3")
		for _, dir := range []string{root, also, filepath.Join(root, "\xff")} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w := sandboxAt(t, root, workspace.SandboxOptions{Backend: backend, Dirs: []string{also}})
		out, exit := bash(t, w, 10*time.Second, "cd $'\\xff' && touch in ../in '"+also+"/in' && pwd")
		if exit.Code != 0 || out != root+"/\xff\n" {
			t.Errorf("%q, %+v", out, exit)
		}
		for _, dir := range []string{root, also, filepath.Join(root, "\xff")} {
			if _, err := os.Lstat(filepath.Join(dir, "in")); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestSandboxDoesWithoutACacheThatCannotBeMade(t *testing.T) {
	inEach(t, func(t *testing.T, backend string) {
		w := sandbox(t, workspace.SandboxOptions{Backend: backend, Cache: "/proc/cache", State: "/proc/state"})
		for range 2 {
			out, exit := bash(t, w, 10*time.Second, `mkdir -p "$XDG_CACHE_HOME" "$GOCACHE" && echo made`)
			if exit.Code != 0 || out != "made\n" {
				t.Errorf("%q, %+v", out, exit)
			}
		}
		if s := w.Status(); len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "/proc/cache") {
			t.Errorf("it says %q", s.Notes)
		}
	})
}

// closedFolder is a folder with a file in it and a mode that lets nobody write.
func closedFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), []byte("text\n"), 0o644), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	return dir
}

func needOrdinary(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere; the test runs again as an ordinary user")
	}
}

func TestSandboxWorksWhereTheUserCannotWrite(t *testing.T) {
	needOrdinary(t)
	inEach(t, func(t *testing.T, backend string) {
		for _, root := range []string{"/usr/share", closedFolder(t)} {
			w := sandboxAt(t, root, workspace.SandboxOptions{Backend: backend})
			for mode, w := range map[string]workspace.Workspace{"default": w, "plan": w.ReadOnly()} {
				out, exit := bash(t, w, 10*time.Second, "test -n \"$(ls)\" && touch \"$TMPDIR/mine\" && pwd; touch in 2>/dev/null || echo refused")
				if exit.Code != 0 || out != root+"\nrefused\n" {
					t.Errorf("%s, %s: %q, %+v", mode, root, out, exit)
				}
			}
		}
	})
}

func TestSandboxWorksWithAFolderTheUserCannotWrite(t *testing.T) {
	needOrdinary(t)
	inEach(t, func(t *testing.T, backend string) {
		closed := closedFolder(t)
		w := sandbox(t, workspace.SandboxOptions{Backend: backend, Dirs: []string{"/usr/share", closed}})
		out, exit := bash(t, w, 10*time.Second, "cat "+closed+"/file; touch in && ls; touch "+closed+"/in 2>/dev/null || echo refused")
		if exit.Code != 0 || out != "text\nin\nrefused\n" {
			t.Errorf("%q, %+v", out, exit)
		}
	})
}

// TestSandboxKeepsAFolderShutThatACommandCouldOpen has folders in which no
// stand-in can be made, while their owner could change that.
func TestSandboxKeepsAFolderShutThatACommandCouldOpen(t *testing.T) {
	needOrdinary(t)
	inNamespaces(t, func(t *testing.T, backend string) {
		root, git := t.TempDir(), ""
		if git = filepath.Join(root, ".git"); os.MkdirAll(filepath.Join(git, "info"), 0o755) != nil || os.Mkdir(filepath.Join(git, "modules"), 0) != nil || os.Chmod(git, 0o555) != nil {
			t.Fatal("no folders")
		}
		t.Cleanup(func() { os.Chmod(git, 0o755); os.Chmod(filepath.Join(git, "modules"), 0o755) })
		closed := closedFolder(t)
		inner := filepath.Join(closed, "inner")
		if err := errors.Join(os.Chmod(closed, 0o755), os.Mkdir(inner, 0o755), os.Chmod(closed, 0o555)); err != nil {
			t.Fatal(err)
		}
		w := sandboxAt(t, root, workspace.SandboxOptions{Backend: backend, Dirs: []string{closed, inner}})
		out, exit := bash(t, w, 10*time.Second, `touch in "`+inner+`/in" && echo in; chmod 755 .git .git/modules "`+closed+`"; mkdir .git/hooks .git/modules/x; touch .git/info/attributes; mv .git gone; touch "`+closed+`/.envrc"`)
		if first, _, _ := strings.Cut(out, "\n"); first != "in" || exit.Code == 0 {
			t.Errorf("%q, %+v", out, exit)
		}
		for _, path := range []string{"hooks", "modules/x", "info/attributes"} {
			if _, err := os.Lstat(filepath.Join(git, path)); err == nil {
				t.Errorf("there is %s", path)
			}
		}
		for _, path := range []string{git, closed} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o555 {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
		if _, err := os.Lstat(filepath.Join(closed, ".envrc")); err == nil {
			t.Error("there is .envrc")
		}
	})
}

// TestSandboxWorksForRootInAFolderOfAnotherUser is for root, which has the
// rights of everybody inside.
func TestSandboxWorksForRootInAFolderOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is for root")
	}
	inEach(t, func(t *testing.T, backend string) {
		root := t.TempDir()
		if err := os.Chown(root, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		w := sandboxAt(t, root, workspace.SandboxOptions{Backend: backend})
		out, exit := bash(t, w, 10*time.Second, `pwd; touch in 2>/dev/null || echo refused`)
		if exit.Code != 0 || out != root+"\nrefused\n" {
			t.Errorf("%q, %+v", out, exit)
		}
	})
}

func TestSandboxThatIsAbandonedLeavesNothing(t *testing.T) {
	inEach(t, func(t *testing.T, backend string) {
		tmp, root, state := t.TempDir(), t.TempDir(), t.TempDir()
		t.Setenv("TMPDIR", tmp)
		if err := os.MkdirAll(filepath.Join(root, ".git", "modules", "one"), 0o755); err != nil {
			t.Fatal(err)
		}
		before := tree(t, root)
		w := sandboxAt(t, root, workspace.SandboxOptions{Backend: backend, State: state})
		r, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "trap '' TERM; echo up >&3; while :; do sleep 1; done"}, Fds: map[int]*os.File{3: out}})
		out.Close()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		if backend != workspace.BackendLL && slices.Equal(tree(t, root), before) {
			t.Error("nothing stands in for anything")
		}
		w.Abandon()
		if after := tree(t, root); !slices.Equal(after, before) {
			t.Errorf("left are %q", after)
		}
		left, err := filepath.Glob(filepath.Join(tmp, "*"))
		lists, err2 := filepath.Glob(filepath.Join(state, "*.list"))
		if len(left)+len(lists) > 0 || err != nil || err2 != nil {
			t.Errorf("left are %q, %q, %v, %v", left, lists, err, err2)
		}
		if _, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"true"}}); err == nil {
			t.Error("a command is started")
		}
		if backend == workspace.BackendLL {
			syscall.Kill(p.Pid(), syscall.SIGKILL) // a command in a fence is ended by who started it
		}
		p.Wait()
		if after := tree(t, root); !slices.Equal(after, before) {
			t.Errorf("after the command there are %q", after)
		}
	})
}
