//go:build unix

package team_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
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
	breaks string // who is told of the end of this subtask panics
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
	if end, is := e.(oneloop.ChildEnd); is && end.Agent == c.breaks {
		panic("oh")
	}
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

func nest(t *testing.T, script string) team.Run {
	return func(ctx context.Context, task team.Task, emit func(oneloop.Event)) (string, error) {
		emit(oneloop.Notice{Text: "in " + task.Agent})
		r := shell(t, ctx, task.Broker, emit, new(fakeClock), script)
		return fmt.Sprintf("%s(%s%s)%d", task.Agent, r.out, r.err, r.code), nil
	}
}

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

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip("no /dev/fd to count descriptors in:", err)
	}
	return len(list)
}

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
