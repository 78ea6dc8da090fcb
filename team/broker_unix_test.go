//go:build unix

package team_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/team"
	"oneloop/tool"
	"oneloop/workspace"
)

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

func TestAPanicOfWhoIsToldOfASubtaskEndsThatSubtaskAlone(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	c.breaks = "/1"
	want(t, c.bash(t, `oneloop first; echo $?; oneloop second`), result{out: "1\n" + `/2 "second" ""` + "\n", err: "oneloop: the subtask broke down: oh\n"})
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
	theirs, _, release, err := c.Connect(t.Context(), c.emit, &c.clock)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for dir, why := range map[string]string{
		os.Args[0]:                         "is not in the workspace",
		filepath.Join(c.Root, "gone"):      "cannot be reached",
		".":                                "is not in the workspace",
		filepath.Join(c.Link, "oneloop"):   "is not in the workspace",
		filepath.Join(c.Root, "some.file"): "is no folder",
	} {
		if err := os.WriteFile(filepath.Join(c.Root, "some.file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		code, err := team.RunClient(t.Context(), int(theirs.Fd()), team.ClientOptions{Prompt: "x", Dir: dir, Stderr: &log})
		if code != 2 || err != nil || !strings.Contains(log.String(), why) {
			t.Errorf("in %s a client ended with %d, %v and %q, want 2 and %q", dir, code, err, &log, why)
		}
	}
	t.Chdir(c.Root)
	if code, err := team.RunClient(t.Context(), int(theirs.Fd()), team.ClientOptions{Prompt: "x", Dir: "."}); code != 0 || err != nil {
		t.Errorf("in a folder named from the current one: %d, %v", code, err)
	}
	want(t, c.bash(t, `mkdir -p a/b && ln -s a/b s && cd s && oneloop x`), result{out: "ok\n", err: "looking around\n"})
	real, err := filepath.EvalSymlinks(c.Root)
	if err != nil {
		t.Fatal(err)
	}
	if dir != filepath.Join(real, "a/b") || stdout != "pipe" {
		t.Errorf("the child was told folder %s and output %s", dir, stdout)
	}
	if runtime.GOOS == "linux" { // others take text only
		want(t, c.bash(t, `mkdir $'\xc4\xe3' && cd $'\xc4\xe3' && oneloop x`), result{out: "ok\n", err: "looking around\n"})
		if dir != filepath.Join(real, "\xc4\xe3") {
			t.Errorf("the child was told folder %q", dir)
		}
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

// settle waits until count is back at what it was.

// descriptors counts what this process has open.

func TestAttachKeepsWhatTheCommandHas(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	cmd := &workspace.Cmd{Env: []string{"PATH=/elsewhere", "A=b"}, Fds: map[int]*os.File{5: os.Stderr}}
	given := cmd.Fds
	release, err := c.Attach(t.Context(), nil, c.emit, cmd, new(tool.Clock))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	want := []string{"PATH=/elsewhere", "A=b", "PATH=" + c.Link + ":/elsewhere", "ONELOOP_AGENT_FD=19"}
	if diff := cmp.Diff(want, cmd.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if cmd.Fds[5] != os.Stderr || cmd.Fds[team.FD] == nil || len(given) != 1 {
		t.Errorf("descriptors %v, the given ones now %v", cmd.Fds, given)
	}
}

// call runs a command as the model would.

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

func TestTheLimitsBelowZeroMeanNone(t *testing.T) {
	for _, tree := range []*team.Tree{{MaxDepth: -1}, {MaxLive: -1}, {MaxTotal: -1}} {
		c := newCrew(t, team.Options{Run: echo, Tree: tree})
		if got := c.bash(t, `oneloop x`); got.code != 5 {
			t.Errorf("%+v: ended with %+v", strconv.Itoa(tree.MaxDepth), got)
		}
	}
}

func TestABrokerThatRunsNothingSaysSo(t *testing.T) {
	c := newCrew(t, team.Options{})
	want(t, c.bash(t, "oneloop x"), result{code: 1, err: "oneloop: the subtask failed: this program runs no subtasks: its team.Options have no Run\n"})
}

func TestACommandInTheBackgroundGetsNoSocket(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	cmd := &workspace.Cmd{Env: []string{"PATH=/elsewhere"}}
	release, err := c.Attach(t.Context(), nil, c.emit, cmd, nil)
	if err != nil || release != nil || len(cmd.Fds) != 0 {
		t.Fatalf("%v, a release %t, descriptors %v", err, release != nil, cmd.Fds)
	}
	want := []string{"PATH=/elsewhere", "PATH=" + c.Link + ":/elsewhere", "ONELOOP_AGENT_FD=unsupported"}
	if diff := cmp.Diff(want, cmd.Env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}
