//go:build unix

package team_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/team"
	"oneloop/tool"
	"oneloop/workspace"
)

// The test program is also the client: a link named oneloop leads to it.
func TestMain(m *testing.M) {
	workspace.Helper()
	if filepath.Base(os.Args[0]) == "oneloop" {
		os.Exit(client())
	}
	// A program built with -race waits a second before it exits, else.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

// client is what a main does that finds itself inside a command. Exit code 42
// means that it would have become an agent of its own.
func client() int {
	fd, ok := team.Inherited(os.Environ())
	if !ok {
		return 42
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	prompt := strings.Join(os.Args[1:], " ")
	if name, ok := strings.CutPrefix(prompt, "@"); ok {
		data, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		prompt = string(data)
	}
	wait, _ := time.ParseDuration(os.Getenv("CLIENT_WAIT"))
	code, err := team.RunClient(ctx, fd, team.ClientOptions{
		Prompt: prompt, Stdin: os.Stdin, Wait: wait, Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "oneloop:", err)
	}
	return code
}

// crew is a broker with what a test watches.
type crew struct {
	*team.Broker
	clock fakeClock

	mu     sync.Mutex
	events []oneloop.Event
}

func newCrew(t *testing.T, o team.Options) *crew {
	t.Helper()
	link, cleanup, err := team.Link(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cleanup(); err != nil {
			t.Error(err)
		}
	})
	if o.Root == "" {
		o.Root = t.TempDir()
	}
	o.Link = link
	return &crew{Broker: team.NewBroker(o)}
}

func (c *crew) emit(e oneloop.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
}

type fakeClock struct {
	mu      sync.Mutex
	stopped int
	stops   int
}

func (c *fakeClock) Stop()  { c.mu.Lock(); c.stopped++; c.stops++; c.mu.Unlock() }
func (c *fakeClock) Start() { c.mu.Lock(); c.stopped--; c.mu.Unlock() }
func (c *fakeClock) now() (stopped, stops int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopped, c.stops
}

// result is how a command ended.
type result struct {
	out, err string
	code     int
}

// bash runs a script as a command of the agent.
func (c *crew) bash(t testing.TB, script string, env ...string) result {
	t.Helper()
	return shell(t, t.Context(), c.Broker, c.emit, &c.clock, script, env...)
}

func shell(t testing.TB, ctx context.Context, b *team.Broker, emit func(oneloop.Event), clock *fakeClock, script string, env ...string) result {
	t.Helper()
	cmd, release := command(t, ctx, b, emit, clock, "bash", "-c", script)
	defer release()
	cmd.Env = append(cmd.Env, env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Errorf("run %s: %v", script, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// command prepares a process that has a line to b.
func command(t testing.TB, ctx context.Context, b *team.Broker, emit func(oneloop.Event), clock *fakeClock, argv ...string) (*exec.Cmd, func()) {
	t.Helper()
	theirs, env, release, err := b.Connect(ctx, emit, clock)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = b.Root
	cmd.Env = append(os.Environ(), env...)
	cmd.ExtraFiles = make([]*os.File, team.FD-3+1)
	cmd.ExtraFiles[team.FD-3] = theirs
	return cmd, release
}

// client prepares the client itself, without a shell around it.
func (c *crew) client(t testing.TB, args ...string) (*exec.Cmd, func()) {
	t.Helper()
	argv := append([]string{filepath.Join(c.Link, "oneloop")}, args...)
	return command(t, t.Context(), c.Broker, c.emit, &c.clock, argv...)
}

// echo is a child that repeats its task.
func echo(_ context.Context, t team.Task, _ func(oneloop.Event)) (string, error) {
	return fmt.Sprintf("%s %q %q", t.Agent, t.Prompt, t.Input), nil
}

func want(t testing.TB, got, want result) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("the command ended otherwise (-want +got):\n%s", diff)
	}
}

// long ends a wait that would otherwise be for ever.
func long(t testing.TB) <-chan time.Time {
	return time.After(30 * time.Second)
}

func TestTheAnswerOfASubtaskIsWhatTheClientPrints(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	want(t, c.bash(t, `oneloop "say 你好"`), result{out: `/1 "say 你好" ""` + "\n"})
	want(t, c.bash(t, `oneloop again; echo $?`), result{out: `/2 "again" ""` + "\n0\n"})
}

func TestTwentyClientsAtOnceGetTheirOwnAnswers(t *testing.T) {
	const n = 20
	var here sync.WaitGroup // all children run before one ends
	here.Add(n)
	c := newCrew(t, team.Options{
		Tree: &team.Tree{MaxLive: n},
		Run: func(ctx context.Context, task team.Task, _ func(oneloop.Event)) (string, error) {
			here.Done()
			here.Wait()
			// Larger than a frame and than a pipe, so that answers could mix.
			return strings.Repeat("<"+task.Prompt+":"+string(task.Input)+">", 40_000), nil
		},
	})
	got := c.bash(t, `for i in $(seq 20); do (echo in$i | oneloop task $i > out.$i; echo $? > code.$i) & done; wait`)
	want(t, got, result{})
	for i := 1; i <= n; i++ {
		out, err := os.ReadFile(filepath.Join(c.Root, fmt.Sprint("out.", i)))
		if err != nil {
			t.Fatal(err)
		}
		if answer := strings.Repeat(fmt.Sprintf("<task %d:in%d\n>", i, i), 40_000) + "\n"; string(out) != answer {
			t.Errorf("client %d got %d bytes that are not its answer, beginning with %.40q", i, len(out), out)
		}
		if code, _ := os.ReadFile(filepath.Join(c.Root, fmt.Sprint("code.", i))); string(code) != "0\n" {
			t.Errorf("client %d ended with %q", i, code)
		}
	}
	if stopped, stops := c.clock.now(); stopped != 0 || stops != n {
		t.Errorf("the clock was stopped %d times for %d children, and is %d times stopped at the end", stops, n, stopped)
	}
}

func TestAKilledClientEndsItsChildAndNoOther(t *testing.T) {
	started, ended := make(chan string, 2), make(chan error, 1)
	goOn := make(chan struct{})
	c := newCrew(t, team.Options{Run: func(ctx context.Context, task team.Task, _ func(oneloop.Event)) (string, error) {
		started <- task.Prompt
		if task.Prompt == "other" {
			<-goOn
			return "fine", ctx.Err()
		}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", ctx.Err()
	}})
	other, release := c.client(t, "other")
	defer release()
	var out bytes.Buffer
	other.Stdout = &out
	victim, release := c.client(t, "victim")
	defer release()
	for _, cmd := range []*exec.Cmd{other, victim} {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-started
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait() // killed
	select {
	case err := <-ended:
		if !errors.Is(err, oneloop.ErrInterrupted) {
			t.Errorf("the child's context ended with %v", err)
		}
	case <-long(t):
		t.Fatal("the child runs on though its client was killed")
	}
	close(goOn)
	if err := other.Wait(); err != nil || out.String() != "fine\n" {
		t.Errorf("the other client ended with %v and printed %q", err, &out)
	}
}

func TestTheClockOfTheCommandStandsStillWhileAChildRuns(t *testing.T) {
	var c *crew
	var during int
	c = newCrew(t, team.Options{Run: func(context.Context, team.Task, func(oneloop.Event)) (string, error) {
		during, _ = c.clock.now()
		return "ok", nil
	}})
	c.bash(t, `true`)
	if _, stops := c.clock.now(); stops != 0 {
		t.Errorf("a command without a subtask stopped its clock %d times", stops)
	}
	c.bash(t, `oneloop "" </dev/null; cd /; oneloop outside`)
	if _, stops := c.clock.now(); stops != 0 {
		t.Errorf("subtasks that were not taken stopped the clock %d times", stops)
	}
	var idle fakeClock
	_, _, release, err := c.Connect(t.Context(), c.emit, &idle)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	want(t, c.bash(t, `oneloop work`), result{out: "ok\n"})
	stopped, stops := c.clock.now()
	if during != 1 || stopped != 0 || stops != 1 {
		t.Errorf("stopped %d times during the child, %d after it, %d in all; want 1, 0, 1", during, stopped, stops)
	}
	if _, stops := idle.now(); stops != 0 {
		t.Error("the clock of another command was stopped")
	}
}

// nest runs a child whose only work is a command with a subtask of its own.
func nest(t *testing.T, script string) team.Run {
	return func(ctx context.Context, task team.Task, emit func(oneloop.Event)) (string, error) {
		emit(oneloop.Notice{Text: "in " + task.Agent})
		r := shell(t, ctx, task.Broker, emit, new(fakeClock), script)
		return fmt.Sprintf("%s(%s%s)%d", task.Agent, r.out, r.err, r.code), nil
	}
}

func TestRecursionGoesDeeperAndStopsAtTheLimit(t *testing.T) {
	const refusal = "oneloop: the subtask was refused: the limit on depth is reached: 3 of 3; do this work yourself, without a subtask\n"
	c := newCrew(t, team.Options{Run: nest(t, `oneloop deeper`)})
	want(t, c.bash(t, `oneloop deeper`), result{
		out: "/1(/1/1(/1/1/1(" + refusal + ")5\n)0\n)0\n",
	})
	var got []string
	for _, e := range c.events {
		env := oneloop.NewEnvelope(1, time.Time{}, "s", e)
		switch e := env.Data.(type) {
		case oneloop.ChildStart:
			got = append(got, env.Agent+" starts "+e.Agent)
		case oneloop.ChildEnd:
			got = append(got, env.Agent+" ends "+e.Agent+e.Error)
		case oneloop.Notice:
			got = append(got, env.Agent+": "+e.Text)
		}
	}
	wantEvents := []string{
		"/ starts /1", "/1: in /1",
		"/1 starts /1/1", "/1/1: in /1/1",
		"/1/1 starts /1/1/1", "/1/1/1: in /1/1/1",
		"/1/1/1: a subtask was refused: the limit on depth is reached: 3 of 3",
		"/1/1 ends /1/1/1", "/1 ends /1/1", "/ ends /1",
	}
	if diff := cmp.Diff(wantEvents, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestAChildOfEveryChildEndsAtTheLimits(t *testing.T) {
	var mu sync.Mutex
	children := 0
	run := nest(t, `for i in 1 2 3; do oneloop more & done; wait`)
	c := newCrew(t, team.Options{Run: func(ctx context.Context, task team.Task, emit func(oneloop.Event)) (string, error) {
		mu.Lock()
		children++
		mu.Unlock()
		return run(ctx, task, emit)
	}, Tree: &team.Tree{MaxTotal: 12}})
	got := c.bash(t, `oneloop more`)
	if got.code != 0 || !strings.Contains(got.out, "the limit on agents is reached") {
		t.Errorf("the command ended with %+v", got)
	}
	if children > 12 {
		t.Errorf("%d children ran, the limit is 12", children)
	}
}

func TestTheNumberOfChildrenInAllIsBounded(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo, Tree: &team.Tree{MaxTotal: 2}})
	c.bash(t, `oneloop ""`) // no child, so it does not count
	got := c.bash(t, `for i in 1 2 3; do oneloop $i; echo "code $?"; done`)
	want(t, got, result{
		out: "/1 \"1\" \"\"\ncode 0\n/2 \"2\" \"\"\ncode 0\ncode 5\n",
		err: "oneloop: the subtask was refused: the limit on agents is reached: 2 of 2 in all; do this work yourself, without a subtask\n",
	})
	want(t, c.bash(t, `oneloop 4 2>&1 >/dev/null | wc -l`), result{out: "1\n"}) // another command, the same tree
}

func TestTheNumberOfChildrenAtOnceIsBounded(t *testing.T) {
	busy, goOn := make(chan struct{}), make(chan struct{})
	c := newCrew(t, team.Options{Tree: &team.Tree{MaxLive: 1}, Run: func(_ context.Context, task team.Task, _ func(oneloop.Event)) (string, error) {
		if task.Prompt == "busy" {
			close(busy)
			<-goOn
		}
		return "done", nil
	}})
	first, release := c.client(t, "busy")
	defer release()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	<-busy
	want(t, c.bash(t, `oneloop second`), result{
		err:  "oneloop: the subtask was refused: the limit on agents is reached: 1 of 1 at once; wait until a running subtask has ended, then try again\n",
		code: 5,
	})
	close(goOn)
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
	want(t, c.bash(t, `oneloop third && oneloop fourth`), result{out: "done\ndone\n"})
}

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

func TestEveryEndOfAChildHasACodeAndAText(t *testing.T) {
	ends := map[string]error{
		"limit":     &oneloop.LimitError{What: "turns", Limit: "3", Used: "3"},
		"refused":   &oneloop.RefusedError{},
		"truncated": &oneloop.TruncatedError{Stop: oneloop.StopMaxTokens},
		"auth":      &oneloop.APIError{Class: oneloop.ErrAuth},
		"network":   &oneloop.APIError{Class: oneloop.ErrNetwork, Message: "connection\nreset"},
		"stopped":   oneloop.ErrInterrupted,
	}
	c := newCrew(t, team.Options{Run: func(_ context.Context, task team.Task, _ func(oneloop.Event)) (string, error) {
		switch task.Prompt {
		case "panic":
			panic("oh")
		case "empty":
			return " \n", nil
		case "partial":
			return "so far", ends["truncated"]
		}
		return "", ends[task.Prompt]
	}})
	for prompt, w := range map[string]result{
		"limit":     {code: 5, err: "oneloop: the subtask failed: the limit on turns is reached: 3 of 3\n"},
		"refused":   {code: 6, err: "oneloop: the subtask failed: the model refused\n"},
		"truncated": {code: 6, err: "oneloop: the subtask failed: the reply was cut at the model's output limit\n"},
		"auth":      {code: 3, err: "oneloop: the subtask failed: the credentials were refused\n"},
		"network":   {code: 1, err: "oneloop: the subtask failed: the API could not be reached: connection reset\n"},
		"stopped":   {code: 130, err: "oneloop: the subtask failed: interrupted\n"},
		"panic":     {code: 1, err: "oneloop: the subtask failed: the child agent broke down: oh\n"},
		"empty":     {code: 1, out: "", err: "oneloop: the subtask failed: it ended without an answer\n"},
		"partial":   {code: 6, out: "so far\n", err: "oneloop: the subtask failed: the reply was cut at the model's output limit (what it said before that went to standard output)\n"},
	} {
		t.Run(prompt, func(t *testing.T) { want(t, c.bash(t, "oneloop "+prompt), w) })
	}

	starts, stops := 0, 0
	for _, e := range c.events {
		switch e.(type) {
		case oneloop.ChildStart:
			starts++
		case oneloop.ChildEnd:
			stops++
		}
	}
	if starts != 9 || stops != 9 {
		t.Errorf("%d children started and %d ended, want 9 each", starts, stops)
	}
}

func TestTheExitCodeOfAnErrorIsWhatTheOptionSays(t *testing.T) {
	denied := errors.New("1 call was denied")
	c := newCrew(t, team.Options{
		Run:  func(context.Context, team.Task, func(oneloop.Event)) (string, error) { return "half", denied },
		Exit: func(err error) int { return map[bool]int{true: 4, false: 1}[errors.Is(err, denied)] },
	})
	if got := c.bash(t, `oneloop x`); got.code != 4 || got.out != "half\n" {
		t.Errorf("ended with %+v", got)
	}
}

func TestTheFolderOfASubtaskLiesInTheWorkspace(t *testing.T) {
	var dir, stdout string
	c := newCrew(t, team.Options{Run: func(_ context.Context, task team.Task, _ func(oneloop.Event)) (string, error) {
		dir, stdout = task.Dir, task.Stdout
		fmt.Fprintln(task.Log, "looking around")
		return "ok", nil
	}})
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(c.Root, "out")); err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"cd " + outside, "cd out", "cd ..", "cd /"} {
		got := c.bash(t, script+" && oneloop x")
		if got.code != 2 || !strings.Contains(got.err, "is not in the workspace") {
			t.Errorf("%s: ended with %+v", script, got)
		}
	}
	want(t, c.bash(t, `mkdir -p a/b && ln -s a/b s && cd s && oneloop x`), result{out: "ok\n", err: "looking around\n"})
	real, err := filepath.EvalSymlinks(c.Root)
	if err != nil {
		t.Fatal(err)
	}
	if dir != filepath.Join(real, "a/b") || stdout != "pipe" {
		t.Errorf("the child was told folder %s and output %s", dir, stdout)
	}
	c.bash(t, `oneloop x > file`)
	if stdout != "file" {
		t.Errorf("the child was told output %s, want file", stdout)
	}
	c.bash(t, `oneloop x > /dev/null`)
	if stdout != "null" {
		t.Errorf("the child was told output %s, want null", stdout)
	}
}

func TestTheEndOfACommandEndsItsChildrenAndLeavesNothing(t *testing.T) {
	started := make(chan struct{}, 3)
	c := newCrew(t, team.Options{Run: func(ctx context.Context, _ team.Task, _ func(oneloop.Event)) (string, error) {
		started <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	}})
	c.bash(t, `true`)
	routines, fds := runtime.NumGoroutine(), descriptors(t)

	theirs, _, release, err := c.Connect(t.Context(), c.emit, &c.clock)
	if err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			code, err := team.RunClient(t.Context(), int(theirs.Fd()), team.ClientOptions{Prompt: "x", Dir: c.Root})
			if err == nil && code != 130 || err != nil && code != 1 { // told, or cut off
				t.Errorf("a client ended with %d, %v", code, err)
			}
		})
		<-started
	}
	release()
	release() // twice does nothing
	clients.Wait()
	if stopped, stops := c.clock.now(); stopped != 0 || stops != 3 {
		t.Errorf("the clock is %d times stopped after %d children", stopped, stops)
	}
	settle(t, "goroutines", routines, runtime.NumGoroutine)
	settle(t, "descriptors", fds, func() int { return descriptors(t) })
}

// settle waits until count is back at what it was.
func settle(t *testing.T, what string, before int, count func() int) {
	t.Helper()
	for end := long(t); count() > before; {
		select {
		case <-end:
			t.Fatalf("%d %s, %d before", count(), what, before)
		default:
			runtime.Gosched()
		}
	}
}

// descriptors counts what this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip("no /dev/fd to count descriptors in:", err)
	}
	return len(list)
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

func TestNonsenseOnTheLineDisturbsNobody(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	theirs, _, release, err := c.Connect(t.Context(), c.emit, &c.clock)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	fd := int(theirs.Fd())
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fds := descriptors(t)

	packet := []byte(team.Greeting + "1")
	send := func(data []byte, fds ...int) {
		t.Helper()
		var rights []byte
		if len(fds) > 0 {
			rights = syscall.UnixRights(fds...)
		}
		if err := syscall.Sendmsg(fd, data, rights, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	send(packet)
	send([]byte("hello"), int(null.Fd()))
	send(packet, int(null.Fd()))
	send(packet, slices.Repeat([]int{int(null.Fd())}, 40)...)
	for _, frames := range []string{
		"", "garbage that is no frame at all", "t\x00\x00\x00\x02{}", "t\x00\x00\x00\x01{", "p\xff\xff\xff\xff",
		"q\x00\x00\x00\x00", "e\x00\x00\x00\x00", "t\x00\x00\x00\x0b{\"dir\":\"a\"}p\x00\x00\x00\x01xe\x00\x00\x00\x00",
	} {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		send(packet, pair[1])
		syscall.Close(pair[1])
		f := os.NewFile(uintptr(pair[0]), "stream")
		if _, err := f.WriteString(frames); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Shutdown(pair[0], syscall.SHUT_WR); err != nil {
			t.Fatal(err)
		}
		if said, err := io.ReadAll(f); err != nil && !errors.Is(err, syscall.ECONNRESET) || !bytes.HasPrefix(said, []byte("h\x00\x00\x00\x011")) {
			t.Errorf("after %q the agent said %q, %v", frames, said, err)
		}
		f.Close()
	}
	var out strings.Builder
	code, err := team.RunClient(t.Context(), fd, team.ClientOptions{Prompt: "still there?", Dir: c.Root, Stdout: &out})
	if code != 0 || err != nil || out.String() != "/1 \"still there?\" \"\"\n" {
		t.Errorf("a client after that got %q, %d, %v", &out, code, err)
	}
	settle(t, "descriptors", fds, func() int { return descriptors(t) })
}

func TestAClientOfAnotherVersionIsToldSo(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	theirs, _, release, err := c.Connect(t.Context(), c.emit, &c.clock)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Sendmsg(int(theirs.Fd()), []byte(team.Greeting+"2"), syscall.UnixRights(pair[1]), nil, 0); err != nil {
		t.Fatal(err)
	}
	syscall.Close(pair[1])
	f := os.NewFile(uintptr(pair[0]), "stream")
	defer f.Close()
	said, err := io.ReadAll(f)
	if err != nil || !bytes.Contains(said, []byte("different versions")) || !bytes.HasSuffix(said, []byte("x\x00\x00\x00\x013")) {
		t.Errorf("the agent said %q, %v", said, err)
	}
}

// call runs a command as the model would.
func (c *crew) call(t *testing.T, o tool.BashOptions, command string) *oneloop.ToolResult {
	t.Helper()
	ws, err := workspace.Local(c.Root, workspace.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.Attach = c.Attach
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{tool.Bash(ws, o)}}
	msg := box.Run(t.Context(), []*oneloop.ToolUse{{ID: "c1", Name: "Bash", Input: input}}, c.emit)
	return msg.Blocks[0].(*oneloop.ToolResult)
}

func TestAModelThatCallsBashGetsAChildsAnswer(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	r := c.call(t, tool.BashOptions{}, "echo before; cat | oneloop 'look here' <<< extra; echo after")
	if r.IsError || r.Text() != "before\n/1 \"look here\" \"extra\\n\"\nafter" {
		t.Errorf("the result is %q, error %v", r.Text(), r.IsError)
	}
	r = c.call(t, tool.BashOptions{}, "# "+strings.Repeat("long ", 100_000)+"\noneloop x")
	if r.Text() != `/2 "x" ""` {
		t.Errorf("after a command in a file: %q", r.Text())
	}
	r = c.call(t, tool.BashOptions{}, "oneloop x 19>&-")
	if !strings.Contains(r.Text(), "descriptor 19, which is closed") || !strings.Contains(r.Text(), "[exit code 3]") {
		t.Errorf("without the descriptor: %q", r.Text())
	}
}

func TestAChildMayTakeLongerThanItsCommand(t *testing.T) {
	t.Parallel()                  // it waits for the real clock
	const limit = 2 * time.Second // enough for a client to start on a busy machine
	c := newCrew(t, team.Options{Run: func(ctx context.Context, task team.Task, _ func(oneloop.Event)) (string, error) {
		select {
		case <-time.After(limit + 100*time.Millisecond):
			return "slow but done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}})
	r := c.call(t, tool.BashOptions{Timeout: limit}, "oneloop x")
	if r.IsError || r.Text() != "slow but done" {
		t.Errorf("the result is %q, error %v", r.Text(), r.IsError)
	}
}

func TestAClientLeftInTheBackgroundEndsWithItsCommand(t *testing.T) {
	started := make(chan struct{})
	ended := make(chan error, 1)
	c := newCrew(t, team.Options{Run: func(ctx context.Context, _ team.Task, _ func(oneloop.Event)) (string, error) {
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", ctx.Err()
	}})
	go func() { <-started; os.WriteFile(filepath.Join(c.Root, "started"), nil, 0o600) }()
	r := c.call(t, tool.BashOptions{}, "oneloop x & until [ -e started ]; do read -t 0.01 <> <(:); done")
	if r.IsError || !strings.Contains(r.Text(), "ended what it left running: oneloop") {
		t.Errorf("the result is %q, error %v", r.Text(), r.IsError)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, oneloop.ErrInterrupted) {
			t.Errorf("the child's context ended with %v", err)
		}
	default:
		t.Error("the command has its result while the child still runs")
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

func TestTheLimitsBelowZeroMeanNone(t *testing.T) {
	for _, tree := range []*team.Tree{{MaxDepth: -1}, {MaxLive: -1}, {MaxTotal: -1}} {
		c := newCrew(t, team.Options{Run: echo, Tree: tree})
		if got := c.bash(t, `oneloop x`); got.code != 5 {
			t.Errorf("%+v: ended with %+v", strconv.Itoa(tree.MaxDepth), got)
		}
	}
}
