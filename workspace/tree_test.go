//go:build linux

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"oneloop/workspace"
)

// alive reports whether the process with the number in the file pid exists.
func alive(t *testing.T, w workspace.Workspace, name string) bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.Describe().Root, name))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return syscall.Kill(pid, 0) == nil
}

func TestWhatACommandLeavesIsEndedAndNamed(t *testing.T) {
	for _, c := range []struct{ name, command, left string }{
		{"in the background", `sleep 300 & echo $! > pid; echo started`, "sleep"},
		{"only standard error", `(echo started >&2; exec sleep 300) >/dev/null & echo $! > pid; sleep 0.1`, "sleep"},
		{"a server", `sh -c 'echo $$ > pid; echo started; exec sleep 300' & until [ -s pid ]; do sleep 0.01; done`, "sleep"},
		{"own session", `setsid sh -c 'echo $$ > pid; exec sleep 300' >/dev/null 2>&1 & echo started; until [ -s pid ]; do sleep 0.01; done`, "sleep"},
		{"double fork", `(setsid sh -c 'sleep 300 & echo $! > pid' &) ; echo started; until [ -s pid ]; do sleep 0.01; done`, "sleep"},
		{"job control", `set -m; sleep 300 & echo $! > pid; disown; echo started`, "sleep"},
		{"never stops talking", `yes started & echo $! > pid; sleep 0.05`, "yes"},
		{"deaf to TERM", `bash -c 'trap "" TERM; echo $$ > pid; echo started; while :; do sleep 1; done' & until [ -s pid ]; do sleep 0.01; done`, "bash"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t, workspace.LocalOptions{})
			out, exit := bash(t, w, 4*time.Second, c.command)
			if !strings.Contains(out, "started") {
				t.Errorf("output %.100q lacks what was printed before the shell exited", out)
			}
			if exit.Code != 0 || exit.Signal != "" {
				t.Errorf("exit %+v, want code 0", exit)
			}
			if len(exit.Left) == 0 || !strings.Contains(strings.Join(exit.Left, ", "), c.left+" (pid ") {
				t.Errorf("left %q, want %s named with its pid", exit.Left, c.left)
			}
			if alive(t, w, "pid") {
				t.Error("it still runs")
			}
		})
	}
}

func TestACommandThatLeavesNothingNamesNothing(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	for _, command := range []string{"true", "echo a | cat", "sleep 0.01 & wait", "(sleep 0.02 &)", "sh -c 'setsid sleep 0.02 &'"} {
		inTime(t, func() error {
			if _, exit := bash(t, w, 5*time.Second, command); len(exit.Left) > 0 {
				return fmt.Errorf("%q: left %q", command, exit.Left)
			}
			return nil
		})
	}
}

// inTime tries what a busy machine may be too slow for, and fails when it
// never comes right.
func inTime(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for range 5 {
		if err = try(); err == nil {
			return
		}
	}
	t.Error(err)
}

func TestTheStatusOfAFirstProcessIsNotTakenByAnother(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	stop := make(chan struct{})
	var reaping, commands sync.WaitGroup
	reaping.Go(func() { workspace.Reap(stop) })
	for range 4 {
		commands.Go(func() {
			for range 100 {
				p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"true"}})
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := p.Wait(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	commands.Wait()
	close(stop)
	reaping.Wait()
}

func TestTheEndOfAPipeIsReadAfterTheShellExited(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	inTime(t, func() error {
		out, exit := bash(t, w, 5*time.Second, `exec > >(sleep 0.03; cat) 2>&1; echo through a filter`)
		if out != "through a filter\n" || len(exit.Left) > 0 {
			return fmt.Errorf("got %q and left %q", out, exit.Left)
		}
		return nil
	})
}

func TestTheEndOfTheContextEndsTheTree(t *testing.T) {
	stop := errors.New("enough")
	for _, c := range []struct{ name, command string }{
		{"children", `echo $$ > pid; (sleep 300; echo late) & sh -c 'sleep 300'; echo never`},
		{"own session", `setsid sh -c 'echo $$ > pid; exec sleep 300' & sleep 300`},
		{"double fork", `(setsid sh -c 'sleep 300 & echo $! > pid' &) ; sleep 300`},
		{"deaf to TERM", `trap "" TERM; echo $$ > pid; while :; do sleep 0.05; done`},
		{"stopped", `sh -c 'echo $$ > pid; kill -STOP $$' & sleep 300`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := open(t, workspace.LocalOptions{})
			ctx, cancel := context.WithCancelCause(t.Context())
			var out buffer
			p, err := w.Start(ctx, workspace.Cmd{Argv: []string{"bash", "-c", "echo before; " + c.command}, Output: &out})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for !exists(filepath.Join(w.Describe().Root, "pid")) {
					time.Sleep(time.Millisecond)
				}
				cancel(stop)
			}()
			began := time.Now()
			exit, err := p.Wait()
			if !errors.Is(err, stop) {
				t.Errorf("error %v, want the cause of the context", err)
			}
			if time.Since(began) > 30*time.Second {
				t.Errorf("it took %v", time.Since(began))
			}
			if exit.Code == 0 || exit.Signal == "" || len(exit.Left) > 0 {
				t.Errorf("exit %+v, want a signal", exit)
			}
			if out.String() != "before\n" {
				t.Errorf("output %q", out.String())
			}
			if alive(t, w, "pid") {
				t.Error("it still runs")
			}
		})
	}
}

// exists reports whether there is a file with something in it.
func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0
}

func TestTheTimeLimitEndsTheTree(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"sleep", "300"}, Limits: workspace.Limits{Time: 50 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); !errors.Is(err, workspace.ErrTime) {
		t.Errorf("error %v", err)
	}
}

func TestCommandsSideBySideEndOnlyTheirOwn(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	root := w.Describe().Root
	var long buffer
	// The long one holds a child, an orphan of its session, and one that left it.
	p, err := w.Start(t.Context(), workspace.Cmd{Output: &long, Argv: []string{"bash", "-c",
		`(sleep 301 & echo $! > orphan); setsid sh -c 'sleep 302 & echo $! > away'; sleep 303 & echo $! > child
		until [ -e stop ]; do sleep 0.01; done; kill -0 $(cat orphan) && kill -0 $(cat away) && kill -0 $(cat child) && echo all there`}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		exit, err := p.Wait()
		if err != nil || long.String() != "all there\n" || len(exit.Left) != 3 {
			t.Errorf("the long command: %q, %+v, %v", long.String(), exit, err)
		}
	})
	for _, name := range []string{"orphan", "away", "child"} {
		for !exists(filepath.Join(root, name)) {
			time.Sleep(time.Millisecond)
		}
	}
	var short sync.WaitGroup
	for range 4 {
		short.Go(func() {
			if _, exit := bash(t, w, 5*time.Second, "sleep 300 & (setsid true &); true"); len(exit.Left) != 1 {
				t.Errorf("a short command left %q, want its sleep", exit.Left)
			}
		})
	}
	short.Wait()
	if err := os.WriteFile(filepath.Join(root, "stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	for _, name := range []string{"orphan", "away", "child"} {
		if alive(t, w, name) {
			t.Errorf("%s still runs", name)
		}
	}
}

func TestOtherChildrenOfTheProgramAreLeftAlone(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	before := exec.Command("sleep", "300") // in a session of its own, from before
	before.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	group := exec.Command("sleep", "300") // in our session, started meanwhile
	group.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	short := exec.Command("sh", "-c", "exit 3") // a zombie when the command ends
	if err := before.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // two ticks of the kernel's clock, which tells before from after
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "sleep 300 & sleep 0.5"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(group.Start(), short.Start()); err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil || len(exit.Left) != 1 {
		t.Errorf("%+v, %v", exit, err)
	}
	for _, c := range []*exec.Cmd{before, group} {
		if c.Process.Signal(syscall.Signal(0)) != nil {
			t.Error("a child of the program was ended with the command")
		}
		c.Process.Kill()
		c.Wait()
	}
	var code *exec.ExitError
	if err := short.Wait(); !errors.As(err, &code) || code.ExitCode() != 3 {
		t.Errorf("the exit status of a child was taken: %v", err)
	}
}

func TestOrphansThatExitedVanishWhileTheCommandRuns(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	_, exit := bash(t, w, 5*time.Second, `setsid sh -c 'sleep 0.05 & echo $! > pid'; while kill -0 $(cat pid) 2>/dev/null; do sleep 0.02; done`)
	if exit.Code != 0 || len(exit.Left) > 0 {
		t.Errorf("%+v", exit)
	}
}

func TestNoZombieIsLeft(t *testing.T) {
	children := func() []string {
		data, err := os.ReadFile("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
		if err != nil {
			t.Skip("this kernel does not list children")
		}
		return strings.Fields(string(data))
	}
	before := children() // of tests that start programs without a workspace
	w := open(t, workspace.LocalOptions{})
	for range 5 {
		bash(t, w, 5*time.Second, "sleep 300 & (setsid sleep 301 &) ; (true &)")
	}
	if left := slices.DeleteFunc(children(), func(pid string) bool { return slices.Contains(before, pid) }); len(left) > 0 {
		t.Errorf("children are left: %s", left)
	}
}
