//go:build amd64 || arm64

package workspace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oneloop/looptest"
	"oneloop/workspace"
)

// until waits for what the system tells nobody about.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

func TestSandboxServerIsReachableFromLaterCommands(t *testing.T) {
	looptest.Census(t)
	w := sandbox(t, workspace.SandboxOptions{})
	serve := `echo hello > index.html; exec python3 -m http.server --bind 127.0.0.1 8123`
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed, so no server is started")
	}
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", serve}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { p.Wait(); close(done) }()
	out, exit := bash(t, w, 20*time.Second, `for i in $(seq 100); do if exec 3<>/dev/tcp/127.0.0.1/8123; then printf 'GET / HTTP/1.0\r\n\r\n' >&3; cat <&3; exit 0; fi 2>/dev/null; sleep 0.05; done; exit 1`)
	if exit.Code != 0 || !strings.Contains(out, "hello") {
		t.Errorf("%+v: %s", exit, out)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	<-done
}

func TestSandboxKeepsTemporaryFilesBetweenCommands(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	bash(t, w, 10*time.Second, "echo kept > /tmp/file; echo shared > /dev/shm/file")
	if out, _ := bash(t, w, 10*time.Second, "cat /tmp/file /dev/shm/file; echo $TMPDIR"); out != "kept\nshared\n/tmp\n" {
		t.Errorf("it reads %q", out)
	}
}

// TestSandboxEndsWithTheAgent kills an agent that has no chance to clear up.
func TestSandboxEndsWithTheAgent(t *testing.T) {
	inNamespaces(t, endsWithTheAgent)
	t.Run(workspace.BackendLL, func(t *testing.T) { endsWithTheAgent(t, workspace.BackendLL) })
}

func endsWithTheAgent(t *testing.T, backend string) {
	root, state := t.TempDir(), t.TempDir()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_JOB=sandbox", "BACKEND="+backend, "ROOT="+root, "STATE="+state)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	// Both processes of the command hold this pipe.
	r, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{held}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	held.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "up\n" {
		t.Fatalf("the agent's command says %q, %v", line, err)
	}
	if _, err := os.Lstat(filepath.Join(root, ".vscode")); err != nil && backend != workspace.BackendLL {
		t.Errorf("nothing stands in for the settings of an editor: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	r.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := r.Read(make([]byte, 1)); err != io.EOF {
		t.Fatalf("a process outlived the agent: %v", err)
	}
	// The next one clears up what that left, whichever it is.
	os.WriteFile(filepath.Join(root, ".envrc.mine"), nil, 0o600)
	switch backend {
	case workspace.BackendNS:
		w := sandboxAt(t, root, workspace.SandboxOptions{State: state, Backend: workspace.BackendLL})
		bash(t, w, 10*time.Second, "true")
	case workspace.BackendBwrap: // the next one has no sandbox
		if err := workspace.Sweep(state); err != nil {
			t.Error(err)
		}
	default:
		bash(t, sandboxAt(t, root, workspace.SandboxOptions{State: state}), 10*time.Second, "true")
	}
	left, err := os.ReadDir(root)
	if err != nil || len(left) != 1 || left[0].Name() != ".envrc.mine" {
		t.Errorf("left in the workspace: %v, %v", left, err)
	}
}

// jobs are what the test binary does under a name.
var jobs = map[string]func() error{"sandbox": sandboxJob, "nested": nestedJob, "limited": limitedJob}

// sandboxJob is the agent that is killed.
func sandboxJob() error {
	w, err := workspace.Sandboxed(os.Getenv("ROOT"), workspace.SandboxOptions{State: os.Getenv("STATE"), Backend: os.Getenv("BACKEND")})
	if err != nil {
		return err
	}
	held := os.NewFile(3, "held")
	p, err := w.Start(context.Background(), workspace.Cmd{
		Argv: []string{"bash", "-c", "trap '' TERM; setsid sleep 300 & echo up; wait"}, Output: os.Stdout, Fds: map[int]*os.File{5: held},
	})
	if err != nil {
		return err
	}
	held.Close()
	exit, err := p.Wait()
	return fmt.Errorf("it ended: %+v, %v", exit, err)
}

// TestSandboxInASandboxIsWeakerAndSaysSo opens workspaces where there can be
// no namespaces.
func TestSandboxInASandboxIsWeakerAndSaysSo(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{Backend: workspace.BackendLL})
	exe := filepath.Join(t.TempDir(), "oneloop") // ours may lie where only its owner gets
	if text, err := os.ReadFile("/proc/self/exe"); err != nil {
		t.Fatal(err)
	} else if err := os.WriteFile(exe, text, 0o755); err != nil {
		t.Fatal(err)
	}
	var out buffer
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{exe}, Env: []string{"WORKSPACE_TEST_JOB=nested"}, Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"any: ll, of ns: start sandbox:", "operation not permitted", "touch: exit 1, made: false",
		"ns: no sandbox works here, so nothing is run: ns: start sandbox:", "started: no sandbox works here",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, out.String())
		}
	}
}

func nestedJob() error {
	out := filepath.Join(os.Getenv("TMPDIR"), "outside")
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	w, err := workspace.Sandboxed(".", workspace.SandboxOptions{})
	if err != nil {
		return err
	}
	defer w.Close()
	if err := w.Prepare(); err != nil {
		return err
	}
	s := w.Status()
	fmt.Printf("any: %s, of %s: %s\n", s.Backend, s.Failed[0].Backend, s.Failed[0].Why)
	p, err := w.Start(context.Background(), workspace.Cmd{Argv: []string{"touch", out + "/file"}})
	if err != nil {
		return err
	}
	exit, err := p.Wait()
	_, missing := os.Stat(out + "/file")
	fmt.Printf("touch: exit %d, made: %v\n", exit.Code, missing == nil)
	strict, err2 := workspace.Sandboxed(".", workspace.SandboxOptions{Backend: workspace.BackendNS})
	if err2 != nil {
		return err2
	}
	defer strict.Close()
	fmt.Println("ns:", strict.Prepare())
	_, started := strict.Start(context.Background(), workspace.Cmd{Argv: []string{"true"}})
	fmt.Println("started:", errors.Unwrap(started))
	return err
}

func TestSandboxThatIsKilledIsStartedAgainAndSaysSo(t *testing.T) {
	looptest.Census(t)
	w := sandbox(t, workspace.SandboxOptions{})
	bash(t, w, 10*time.Second, "echo lost > /tmp/file")
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"sleep", "300"}})
	if err != nil {
		t.Fatal(err)
	}
	w.KillHolder()
	if _, err := p.Wait(); err == nil || !strings.Contains(err.Error(), "sandbox") {
		t.Errorf("the command that ran in it ends with %v", err)
	}
	out, exit := bash(t, w, 10*time.Second, "cat /tmp/file")
	if exit.Code == 0 || len(exit.Notes) != 1 || !strings.Contains(exit.Notes[0], "started again") {
		t.Errorf("the next command: %+v %s", exit, out)
	}
	if _, exit := bash(t, w, 10*time.Second, "true"); len(exit.Notes) > 0 {
		t.Errorf("the one after it: %+v", exit)
	}
}

func TestSandboxOfAFolderThatWasReplacedIsStartedAgain(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	w := sandboxAt(t, root, workspace.SandboxOptions{})
	bash(t, w, 10*time.Second, "echo old > file")
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"true"}}); !errors.Is(err, workspace.ErrNoRoot) {
		t.Errorf("without a folder: %v", err)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, exit := bash(t, w, 10*time.Second, "ls -A | grep -v '^[.]'; echo new > file"); out != "" || exit.Code != 0 {
		t.Errorf("%+v: %q", exit, out)
	}
	if text, err := os.ReadFile(filepath.Join(root, "file")); string(text) != "new\n" {
		t.Errorf("it wrote %q, %v", text, err)
	}
}

func TestSandboxStartsWhereMemoryIsClosedAndLeavesItClosed(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	w := sandbox(t, workspace.SandboxOptions{Backend: workspace.BackendNS})
	if out, exit := bash(t, w, 10*time.Second, "echo ran"); out != "ran\n" {
		t.Errorf("%+v: %s", exit, out)
	}
	if now, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); now != 0 || err != nil {
		t.Errorf("it is %d now, %v", now, err)
	}
}

func TestSandboxThatDoesNotWorkRunsNothing(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{Backend: "moon"})
	var failed *workspace.SandboxError
	if _, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"touch", "file"}}); !errors.As(err, &failed) {
		t.Errorf("Start gives %v", err)
	}
	if err := w.Prepare(); !errors.As(err, &failed) {
		t.Errorf("Prepare gives %v", err)
	}
	if _, err := os.Lstat(filepath.Join(w.Describe().Root, "file")); err == nil {
		t.Error("the command was run")
	}
	for _, wide := range []string{"/", "/tmp", "/var"} {
		if _, err := workspace.Sandboxed(wide, workspace.SandboxOptions{}); err == nil {
			t.Errorf("%s was taken as a workspace", wide)
		}
	}
}

func TestSandboxProtectsWhatIsThereAndWhatIsNot(t *testing.T) {
	inNamespaces(t, protectsWhatIsThereAndWhatIsNot)
}

func protectsWhatIsThereAndWhatIsNot(t *testing.T, backend string) {
	w := sandbox(t, workspace.SandboxOptions{Backend: backend, Protect: []string{"deep/er/rules"}})
	root := w.Describe().Root
	for name, text := range map[string]string{".vscode/settings.json": "mine", ".envrc": "mine"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{
		"echo x > .vscode/settings.json", "rm -r .vscode", "mv .vscode x", "echo x > .vscode/new", "echo x > .envrc", "rm .envrc", "ln -sf x .envrc",
		"mkdir .idea", "echo x > .mcp.json", "ln -s x .mcp.json", "rm .mcp.json", "echo x > deep/er/rules", "mv deep x", "mv deep/er x", "cp /bin/true .oneloop",
	} {
		if out, exit := bash(t, w, 10*time.Second, command); exit.Code == 0 {
			t.Errorf("%s: it succeeded: %s", command, out)
		}
	}
	if out, exit := bash(t, w, 10*time.Second, "cat .vscode/settings.json .envrc; echo x > deep/other; mkdir -p sub/.vscode"); exit.Code != 0 || out != "minemine" {
		t.Errorf("%+v: %s", exit, out)
	}
	for _, name := range []string{".idea", ".mcp.json", ".oneloop", "deep/er"} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			t.Errorf("%s was left", name)
		}
	}
}

func TestSandboxOfAWorktreeCommitsAndProtectsWhatIsShared(t *testing.T) {
	inNamespaces(t, ofAWorktreeCommitsAndProtectsWhatIsShared)
}

func ofAWorktreeCommitsAndProtectsWhatIsShared(t *testing.T, backend string) {
	base := t.TempDir()
	setup := exec.Command("bash", "-c", "git init -q main && cd main && git config user.name a && git config user.email b && git commit -q --allow-empty -m one && "+
		"git worktree add -q ../tree && mkdir ../liar && cp ../tree/.git ../liar/.git")
	setup.Dir, setup.Env = base, append(os.Environ(), "HOME="+base)
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + base, "GIT_CONFIG_NOSYSTEM=1"}
	w := sandboxAt(t, filepath.Join(base, "tree"), workspace.SandboxOptions{Backend: backend, Env: env, Show: []string{base}})
	if out, exit := bash(t, w, 10*time.Second, "echo x > file && git add file && git commit -q -m two && git log --oneline | wc -l && git status --porcelain"); exit.Code != 0 || out != "2\n" {
		t.Errorf("%+v: %s", exit, out)
	}
	if out, exit := bash(t, w.ReadOnly(), 10*time.Second, "git commit -q --allow-empty -m three || git log --oneline | wc -l"); exit.Code != 0 || !strings.HasSuffix(out, "\n2\n") {
		t.Errorf("read-only: %+v: %s", exit, out)
	}
	shared := filepath.Join(base, "main", ".git")
	for _, command := range []string{
		"git config core.pager evil", "echo x > ../main/.git/hooks/pre-commit", "echo x >> ../main/.git/config", "echo ../evil > ../main/.git/worktrees/tree/commondir",
		"echo x > ../main/.git/config.worktree", "echo x > ../main/.git/worktrees/tree/config.worktree", "echo x > ../main/file", "echo gitdir: x > .git",
	} {
		if out, exit := bash(t, w, 10*time.Second, command); exit.Code == 0 {
			t.Errorf("%s: it succeeded: %s", command, out)
		}
	}
	for _, name := range []string{"commondir", "config.worktree", "worktrees/tree/config.worktree"} {
		if _, err := os.Lstat(filepath.Join(shared, name)); err == nil {
			t.Errorf("%s was left", name)
		}
	}
	liar := sandboxAt(t, filepath.Join(base, "liar"), workspace.SandboxOptions{Backend: backend, Env: env, Show: []string{base}})
	if out, exit := bash(t, liar, 10*time.Second, "echo x > ../main/.git/new"); exit.Code == 0 {
		t.Errorf("a folder that only says it is a worktree writes the repository: %s", out)
	}
}

func TestSandboxCanBeReadOnly(t *testing.T) { inNamespaces(t, canBeReadOnly) }

func canBeReadOnly(t *testing.T, backend string) {
	w := sandbox(t, workspace.SandboxOptions{Backend: backend, Dirs: []string{t.TempDir()}})
	bash(t, w, 10*time.Second, "echo text > file; mkdir sub")
	out, _ := bash(t, w.ReadOnly(), 10*time.Second, "cat file; echo x > file; echo x > new; rm file; echo x > sub/new; echo x > "+w.Describe().Dirs[0]+"/new; echo x > /tmp/new && cat /tmp/new; ls -A")
	if strings.Count(out, "Read-only file system") != 5 || !strings.HasPrefix(out, "text\n") || !strings.HasSuffix(out, "x\nfile\nsub\n") {
		t.Errorf("it prints %s", out)
	}
	if out, exit := bash(t, w, 10*time.Second, "cat file; echo new > file"); exit.Code != 0 || out != "text\n" {
		t.Errorf("the other one: %+v %s", exit, out)
	}
}

func TestSandboxStandInsAreSharedByCommandsAndPrograms(t *testing.T) {
	root, state := t.TempDir(), t.TempDir()
	one, two := sandboxAt(t, root, workspace.SandboxOptions{State: state}), sandboxAt(t, root, workspace.SandboxOptions{State: state})
	ready := filepath.Join(root, "ready")
	p, err := one.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "touch ready; until [ -e go ]; do sleep 0.01; done; mkdir .vscode && echo made; echo end"}, Output: &buffer{}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the first command", func() bool { _, err := os.Lstat(ready); return err == nil })
	for _, w := range []workspace.Workspace{one, two} {
		bash(t, w, 10*time.Second, "true")
		if _, err := os.Lstat(filepath.Join(root, ".vscode")); err != nil {
			t.Error("a command that ended took away what one that runs needs")
		}
	}
	if err := os.WriteFile(filepath.Join(root, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 0 {
		t.Errorf("%+v, %v", exit, err)
	}
	if info, err := os.Lstat(filepath.Join(root, ".vscode")); err == nil {
		t.Errorf("left: %v", info.Mode())
	}
}

func TestSandboxHoldsWhereTemporaryFilesLieInTheWorkspace(t *testing.T) {
	root := t.TempDir()
	t.Setenv("TMPDIR", root)
	w := sandboxAt(t, root, workspace.SandboxOptions{})
	if err := w.Prepare(); err != nil || len(w.Status().Failed) > 0 {
		t.Errorf("%v, %+v", err, w.Status())
	}
	if out, exit := bash(t, w, 10*time.Second, "echo x > file && cat file"); exit.Code != 0 || out != "x\n" {
		t.Errorf("%+v: %s", exit, out)
	}
}
