//go:build unix

package team_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"oneloop"
	"oneloop/team"
)

func TestTheEnvironmentForgesNothing(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo, Tree: &team.Tree{MaxTotal: 3}})
	for _, script := range []string{
		`ONELOOP_DEPTH=0 ONELOOP_AGENT=/ ANTHROPIC_API_KEY=mine ANTHROPIC_BASE_URL=http://127.0.0.1:1 oneloop x`,
		`env -i "$(command -v oneloop)" x`,
		`env -u ONELOOP_AGENT_FD oneloop x`,
	} {
		if strings.HasPrefix(script, "env") && runtime.GOOS != "linux" {
			t.Logf("not run on %s, where a socket cannot be told by its name: %s", runtime.GOOS, script)
			continue
		}
		if got := c.bash(t, script); got.code != 0 || !strings.HasSuffix(got.out, "\"x\" \"\"\n") {
			t.Errorf("%s: ended with %+v, want a child's answer", script, got)
		}
	}
}

func TestADescriptorThatLeadsNowhereIsSaidAndNeverAFreshAgent(t *testing.T) {
	c := newCrew(t, team.Options{Run: func(context.Context, team.Task, func(oneloop.Event)) (string, error) {
		return "", errors.New("a child ran")
	}})
	for script, why := range map[string]string{
		`oneloop x 19>&-`:                        "names descriptor 19, which is closed",
		`oneloop x 19</dev/null`:                 "names descriptor 19, which is no socket of an agent",
		`ONELOOP_AGENT_FD=1 oneloop x`:           "names descriptor 1, which is no socket of an agent",
		`ONELOOP_AGENT_FD=999 oneloop x`:         "names descriptor 999, which is closed",
		`ONELOOP_AGENT_FD= oneloop x`:            "ONELOOP_AGENT_FD names no descriptor",
		`ONELOOP_AGENT_FD=-1 oneloop x`:          "ONELOOP_AGENT_FD names no descriptor",
		`ONELOOP_AGENT_FD=unsupported oneloop x`: "ONELOOP_AGENT_FD names no descriptor",
	} {
		got := c.bash(t, script)
		if got.code != 3 || got.out != "" || !strings.Contains(got.err, why) || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%s: ended with %+v, want 3 and one line with %q", script, got, why)
		}
	}
}

func TestAClientThatOutlivesItsCommandIsToldSo(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	cmd, release := c.client(t, "late")
	theirs, err := syscall.Dup(int(cmd.ExtraFiles[team.FD-3].Fd()))
	if err != nil {
		t.Fatal(err)
	}
	release()
	cmd.ExtraFiles[team.FD-3] = os.NewFile(uintptr(theirs), "kept")
	defer cmd.ExtraFiles[team.FD-3].Close()
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 3 || strings.Count(string(out), "\n") != 1 {
		t.Errorf("ended with %d and %q, want 3 and one line", cmd.ProcessState.ExitCode(), out)
	}
}

func TestAPromptOfFiveMegabytesArrivesWhole(t *testing.T) {
	c := newCrew(t, team.Options{Run: func(_ context.Context, task team.Task, _ func(oneloop.Event)) (string, error) {
		return fmt.Sprintf("%x %x", sha256.Sum256([]byte(task.Prompt)), sha256.Sum256(task.Input)), nil
	}})
	prompt := strings.Repeat("一行 of a long prompt\n", 5<<20/23)
	if err := os.WriteFile(filepath.Join(c.Root, "p"), []byte(prompt), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(prompt)))
	want(t, c.bash(t, `cat p | oneloop @p`), result{out: sum + " " + sum + "\n"})

	large := filepath.Join(c.Root, "large")
	if err := os.WriteFile(large, make([]byte, team.MaxTask+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{`oneloop @large`, `cat large | oneloop x`, `oneloop x < large`} {
		got := c.bash(t, script)
		if got.code != 2 || got.out != "" || !strings.Contains(got.err, "over 16 MiB") {
			t.Errorf("%s: ended with %+v, want 2 and the limit", script, got)
		}
	}
}

func TestPipedInputIsAddedAndASilentPipeIsNotWaitedFor(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	want(t, c.bash(t, `printf 'a\nb' | oneloop p`), result{out: `/1 "p" "a\nb"` + "\n"})
	want(t, c.bash(t, `oneloop p </dev/null`), result{out: `/2 "p" ""` + "\n"})
	want(t, c.bash(t, `echo only | oneloop`), result{out: `/3 "" "only\n"` + "\n"})
	want(t, c.bash(t, `oneloop p <&-`), result{out: `/4 "p" ""` + "\n"})
	want(t, c.bash(t, `oneloop p <<< here`), result{out: `/5 "p" "here\n"` + "\n"})

	// The writer of the pipe lives until the client has its answer.
	got := c.bash(t, `mkfifo f; exec 3<>f; oneloop p <f`, "CLIENT_WAIT=20ms")
	want(t, got, result{
		out: `/6 "p" ""` + "\n",
		err: "oneloop: nothing came on standard input for 20ms; going on without it\n",
	})

	got = c.bash(t, `oneloop "  " </dev/null`)
	if got.code != 2 || !strings.Contains(got.err, "the prompt is empty") {
		t.Errorf("an empty prompt ended with %+v", got)
	}
}

func TestARefusalIsHeardWhileInputIsWaitedFor(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo, Tree: &team.Tree{MaxDepth: -1}})
	want(t, c.bash(t, `mkfifo f; exec 3<>f; oneloop p <f`, "CLIENT_WAIT=20ms"), result{
		err:  "oneloop: the subtask was refused: the limit on depth is reached: 0 of 0; do this work yourself, without a subtask\n",
		code: 5,
	})
	want(t, c.bash(t, `echo late | oneloop`), result{
		err:  "oneloop: the subtask was refused: the limit on depth is reached: 0 of 0; do this work yourself, without a subtask\n",
		code: 5,
	})
}

func TestARowOfClientsWaitsForEachOther(t *testing.T) {
	t.Parallel() // it waits for the real clock
	c := newCrew(t, team.Options{Run: func(ctx context.Context, task team.Task, _ func(oneloop.Event)) (string, error) {
		if task.Prompt == "first" {
			// The others would have run out of patience by then.
			select {
			case <-time.After(1500 * time.Millisecond):
			case <-ctx.Done():
			}
		}
		return task.Prompt + "(" + strings.TrimSpace(string(task.Input)) + ")", nil
	}})
	got := c.bash(t, `oneloop first | oneloop second | oneloop third`, "CLIENT_WAIT=1s")
	want(t, got, result{out: "third(second(first()))\n"})
}

func TestAClientThatIsCancelledSaysSoAndEndsItsChild(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	c := newCrew(t, team.Options{Run: func(ctx context.Context, _ team.Task, _ func(oneloop.Event)) (string, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return "", ctx.Err()
	}})
	theirs, _, release, err := c.Connect(t.Context(), c.emit, &c.clock)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-started; cancel(oneloop.ErrInterrupted) }()
	code, err := team.RunClient(ctx, int(theirs.Fd()), team.ClientOptions{Prompt: "x", Dir: c.Root})
	if code != 130 || !errors.Is(err, oneloop.ErrInterrupted) {
		t.Errorf("ended with %d, %v", code, err)
	}
	<-ended

	// Also while it waits for its input.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel = context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(oneloop.ErrInterrupted) })
	code, err = team.RunClient(ctx, int(theirs.Fd()), team.ClientOptions{Stdin: r, Dir: c.Root})
	if code != 130 || !errors.Is(err, oneloop.ErrInterrupted) {
		t.Errorf("without input it ended with %d, %v", code, err)
	}
}

func TestTheLinkIsPrivateAndLeadsToThisProgram(t *testing.T) {
	path, cleanup, err := team.Link(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the link: %v, %v", info.Mode(), err)
	}
	to, err := os.Stat(filepath.Join(path, "oneloop"))
	self, _ := os.Executable()
	me, err2 := os.Stat(self)
	if err != nil || err2 != nil || !os.SameFile(to, me) {
		t.Errorf("the link leads elsewhere: %v, %v", err, err2)
	}
	if err := cleanup(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
