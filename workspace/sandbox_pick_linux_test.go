//go:build amd64 || arm64

package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oneloop/workspace"
	"oneloop/workspace/confine"
)

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }

// opened is a sandbox of which an earlier program left that ns and bwrap do
// not work, once edit has changed what it left.
func opened(t *testing.T, opts workspace.SandboxOptions, edit func(file string) error) *workspace.SandboxWorkspace {
	t.Helper()
	w := unopened(t, opts, edit)
	w.Prepare()
	return w
}

func unopened(t *testing.T, opts workspace.SandboxOptions, edit func(file string) error) *workspace.SandboxWorkspace {
	t.Helper()
	opts.Memory = filepath.Join(t.TempDir(), "memory")
	file := sandbox(t, opts).Remember(workspace.BackendNS, workspace.BackendBwrap)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("it left %v, %v", info, err)
	}
	if edit != nil {
		if err := edit(file); err != nil {
			t.Fatal(err)
		}
	}
	return sandbox(t, opts)
}

func TestSandboxThatFailedBeforeIsNotTriedAgain(t *testing.T) {
	w := opened(t, workspace.SandboxOptions{}, nil)
	s := w.Status()
	if s.Backend != workspace.BackendLL || len(s.Failed) != 2 || !s.Failed[0].Earlier || !s.Failed[1].Earlier || s.Failed[0].Why != "operation not permitted" {
		t.Errorf("it says %+v", s)
	}
}

func TestSandboxBelievesNoForeignMemory(t *testing.T) {
	rewrite := func(old, new string) func(string) error {
		return func(file string) error {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			changed := strings.Replace(string(text), old, new, 1)
			if changed == string(text) {
				return errors.New("it is as it was")
			}
			return os.WriteFile(file, []byte(changed), 0o600)
		}
	}
	for name, edit := range map[string]func(file string) error{
		"another system":        rewrite(`"System":"`, `"System":"x`),
		"an unknown backend":    rewrite(`"bwrap"`, `"ll"`),
		"no JSON":               rewrite(`{`, ``),
		"others may write it":   func(file string) error { return os.Chmod(file, 0o620) },
		"it has a second name":  func(file string) error { return os.Link(file, file+"2") },
		"it is a symbolic link": func(file string) error { return errors.Join(os.Rename(file, file+"2"), os.Symlink(file+"2", file)) },
		"it is a pipe":          func(file string) error { return errors.Join(os.Remove(file), mkfifo(file)) },
	} {
		t.Run(name, func(t *testing.T) {
			if s := opened(t, workspace.SandboxOptions{}, edit).Status(); s.Backend != workspace.BackendNS || len(s.Failed) > 0 {
				t.Errorf("it says %+v", s)
			}
		})
	}
	t.Run("commands can write it", func(t *testing.T) {
		memory := t.TempDir()
		if file := sandbox(t, workspace.SandboxOptions{Dirs: []string{filepath.Dir(memory)}, Memory: memory}).Remember(workspace.BackendNS); file != "" {
			t.Errorf("it is kept in %s", file)
		}
	})
}

// TestSandboxIsTriedAnewWhenWhatIsLeftFails has a folder that is gone and no
// place for temporary files, so that nothing works.
func TestSandboxIsTriedAnewWhenWhatIsLeftFails(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(gone, 0o755); err != nil {
		t.Fatal(err)
	}
	w := unopened(t, workspace.SandboxOptions{Dirs: []string{gone}}, nil)
	t.Setenv("TMPDIR", "/proc/none")
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	w.Prepare()
	s := w.Status()
	if s.Backend != "" || len(s.Failed) != 3 {
		t.Fatalf("it says %+v", s)
	}
	for _, f := range s.Failed {
		if f.Earlier {
			t.Errorf("%s was not tried: %+v", f.Backend, f)
		}
	}
	var none *workspace.SandboxError
	if _, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"true"}}); !errors.As(err, &none) {
		t.Errorf("a command: %v", err)
	}
}

func TestSandboxNamedByTheUserIsTriedWhateverIsRemembered(t *testing.T) {
	if s := opened(t, workspace.SandboxOptions{Backend: workspace.BackendNS}, nil).Status(); s.Backend != workspace.BackendNS {
		t.Errorf("it says %+v", s)
	}
}

func TestSandboxesAreTriedOneByOneAndMemoryIsRenewed(t *testing.T) {
	memory := t.TempDir()
	file := sandbox(t, workspace.SandboxOptions{Memory: memory}).Remember(workspace.BackendNS)
	trials, err := workspace.TrySandbox(t.TempDir(), workspace.SandboxOptions{Memory: memory, Env: []string{"PATH=/nowhere", "HOME=/nowhere"}})
	if err != nil || len(trials) != 3 {
		t.Fatalf("%+v, %v", trials, err)
	}
	if ns, bwrap, ll := trials[0], trials[1], trials[2]; !ns.Works || bwrap.Works || !strings.Contains(bwrap.Why, "no bwrap on PATH") ||
		!strings.Contains(bwrap.Mend, "install bubblewrap") || !ll.Works || len(ll.Weaker) == 0 {
		t.Errorf("%+v", trials)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("what was remembered is still there")
	}
}

func TestWhatHelpsAgainstAForbiddenSandboxIsSaid(t *testing.T) {
	forbidden := fmt.Errorf("start sandbox: %w", &os.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: syscall.EPERM})
	for _, c := range []struct {
		backend  string
		err      error
		settings map[string]string
		want     string
	}{
		{"ns", forbidden, map[string]string{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"}, "apparmor_parser"},
		{"bwrap", syscall.EACCES, map[string]string{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1"}, "/usr/bin/bwrap"},
		{"ns", forbidden, map[string]string{"/proc/sys/kernel/unprivileged_userns_clone": "0"}, "kernel.unprivileged_userns_clone=1"},
		{"ns", syscall.ENOSPC, map[string]string{"/proc/sys/user/max_user_namespaces": "0"}, "user.max_user_namespaces"},
		{"ns", forbidden, map[string]string{"/proc/self/status": "Name:\tx\nSeccomp:\t2\n"}, "--security-opt"},
		{"ns", fmt.Errorf("mount_setattr: %w", syscall.ENOSYS), nil, "5.12"},
		{"ns", &confine.FileError{Err: forbidden}, nil, ""},
		{"ll", errors.New("the kernel's Landlock has version 0"), nil, ""},
	} {
		if got := workspace.Mend(c.backend, c.err, c.settings); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s, %v: %q", c.backend, c.err, got)
		}
	}
}

func TestSandboxOfBubblewrapIsTakenWhereOthersMayNotMakeNamespaces(t *testing.T) {
	needBwrap(t)
	memory := t.TempDir()
	sandbox(t, workspace.SandboxOptions{Memory: memory}).Remember(workspace.BackendNS)
	w := sandbox(t, workspace.SandboxOptions{Memory: memory})
	if out, exit := bash(t, w, 30*time.Second, "echo in"); out != "in\n" || exit.Code != 0 {
		t.Errorf("%q, %+v", out, exit)
	}
	if s := w.Status(); s.Backend != workspace.BackendBwrap || len(s.Failed) != 1 || len(s.Weaker) == 0 || s.Network != "off" {
		t.Errorf("it says %+v", s)
	}
}
