//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest"
	"oneloop/tool"
	"oneloop/workspace"
)

// yard is a workspace with commands in the background.
type yard struct {
	testing.TB
	ws    workspace.Workspace
	jobs  *tool.Jobs
	files *tool.Files
	box   oneloop.Toolbox
	spill string
	told  chan string
	calls int
}

// newYard takes care that nothing of what runs in the background is left.
func newYard(t testing.TB, ws workspace.Workspace, spill string, o tool.JobsOptions) *yard {
	t.Helper()
	y := &yard{TB: t, ws: ws, spill: spill, told: make(chan string, 100)}
	o.Tell = func(text string) { y.told <- text }
	y.jobs, y.files = tool.NewJobs(o), tool.NewFiles(ws, tool.FilesOptions{})
	t.Cleanup(func() {
		y.jobs.End()
		if err := y.files.Close(); err != nil {
			t.Error(err)
		}
	})
	bash := tool.Bash(ws, tool.BashOptions{SpillDir: spill, Files: y.files, Jobs: y.jobs})
	y.box.Tools = []oneloop.Tool{y.files.Watch(bash), y.files.Read(), y.files.Edit(), y.jobs.Stop(), y.jobs.Output()}
	return y
}

func localYard(t testing.TB, o tool.JobsOptions) *yard {
	t.Helper()
	return newYard(t, open(t, workspace.LocalOptions{}), t.TempDir(), o)
}

// ask answers one call, in a turn of its own.
func (y *yard) ask(name string, in fields) *oneloop.ToolResult {
	y.Helper()
	ctx, over := context.WithCancel(context.Background())
	defer over() // the end of the turn
	return y.during(ctx, name, in)
}

func (y *yard) during(ctx context.Context, name string, in fields) *oneloop.ToolResult {
	y.Helper()
	y.calls++
	msg := y.box.Run(ctx, []*oneloop.ToolUse{{ID: fmt.Sprint("t", y.calls), Name: name, Input: encode(y.TB, in)}}, func(oneloop.Event) {})
	return msg.Blocks[0].(*oneloop.ToolResult)
}

// background starts a command and returns its id and the file of its output.
func (y *yard) background(command string) (id, file string) {
	y.Helper()
	r := y.ask("Bash", fields{"command": command, "run_in_background": true})
	id, _, _ = strings.Cut(r.Text(), " ")
	file = regexp.MustCompile(`\S+background-\S+\.txt`).FindString(r.Text())
	if r.IsError || !strings.HasPrefix(id, "bash_") || file == "" {
		y.Fatalf("the answer is %q", r.Text())
	}
	return id, file
}

// heard waits for what the model is told next.
func (y *yard) heard() string {
	y.Helper()
	select {
	case text := <-y.told:
		return text
	case <-time.After(time.Minute):
		y.Fatal("nothing was told within a minute")
		return ""
	}
}

// shows waits until a file shows a text by Read.
func (y *yard) shows(file, want string) {
	y.Helper()
	var last string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if last = y.ask("Read", fields{"file_path": file}).Text(); strings.Contains(last, want) {
			return
		}
	}
	y.Fatalf("%s shows %q, and not %q within a minute", file, last, want)
}

func TestABackgroundCommandAnswersAtOnceAndIsReadAndStopped(t *testing.T) {
	looptest.Census(t)
	y := localYard(t, tool.JobsOptions{})
	id, file := y.background("trap 'echo asked to end; exit 0' TERM; echo first; sleep 300 & wait")
	y.shows(file, "first")
	if got := y.jobs.Running(); len(got) != 1 || !strings.HasPrefix(got[0], id+" (trap 'echo") {
		t.Errorf("there run %q", got)
	}
	r := y.ask("TaskStop", fields{"task_id": id})
	if r.IsError || !strings.Contains(r.Text(), id) || !strings.Contains(r.Text(), "stopped, with all it had started") || !strings.Contains(r.Text(), file) {
		t.Errorf("TaskStop says %q", r.Text())
	}
	y.shows(file, "asked to end")
	if got := y.jobs.Running(); got != nil {
		t.Errorf("there still run %q", got)
	}
	if r := y.ask("TaskStop", fields{"task_id": id}); r.IsError || !strings.Contains(r.Text(), "had ended before") {
		t.Errorf("a second TaskStop says %q", r.Text())
	}
	if len(y.told) > 0 {
		t.Errorf("what it stopped itself the model is told: %q", <-y.told)
	}
}

func TestTheEndOfABackgroundCommandIsTold(t *testing.T) {
	looptest.Census(t)
	y := localYard(t, tool.JobsOptions{})
	for _, c := range []struct{ command, want string }{
		{"echo done", "exit code 0; its output (5 bytes) is in "},
		{"exit 3", "exit code 3; it printed nothing"},
		{"kill -s KILL $$", "ended by signal SIGKILL; it printed nothing"},
		{"sleep 300 & echo left", "exit code 0; ended what it left running: sleep (pid "},
		{"no-such-program-at-all 2>/dev/null", "exit code 127"},
	} {
		id, _ := y.background(c.command)
		if got := y.heard(); !strings.Contains(got, c.want) || !strings.HasPrefix(got, "The background command "+id+" (") || strings.Contains(got, "\n") {
			t.Errorf("%q: it is told %q, want %q", c.command, got, c.want)
		}
	}
}

func TestABackgroundCommandHasTheTimeItWasGiven(t *testing.T) {
	looptest.Census(t)
	y := localYard(t, tool.JobsOptions{})
	r := y.ask("Bash", fields{"command": "sleep 300", "run_in_background": true, "timeout": 50})
	if r.IsError {
		t.Fatal(r.Text())
	}
	if got := y.heard(); !strings.Contains(got, "timeout of 50ms was reached") {
		t.Errorf("it is told %q", got)
	}
}

func TestTheEndOfATurnIsNotThatOfItsBackgroundCommands(t *testing.T) {
	looptest.Census(t)
	y := localYard(t, tool.JobsOptions{})
	ctx, interrupt := context.WithCancel(t.Context())
	r := y.during(ctx, "Bash", fields{"command": "mkfifo pipe; echo here; read -r x < pipe; echo got $x", "run_in_background": true})
	interrupt()
	_, file, _ := strings.Cut(r.Text(), "goes to ")
	file, _, _ = strings.Cut(file, ",")
	y.shows(file, "here")
	y.ask("Bash", fields{"command": "echo word > pipe"})
	if got := y.heard(); !strings.Contains(got, "exit code 0") {
		t.Errorf("it is told %q", got)
	}
	y.shows(file, "got word")
}

func TestEndEndsAllThatRunsInTheBackground(t *testing.T) {
	looptest.Census(t)
	y := localYard(t, tool.JobsOptions{})
	var files []string
	for range 3 {
		_, file := y.background("trap '' TERM; echo up; sleep 300 & sleep 300 & wait; wait")
		files = append(files, file)
	}
	for _, f := range files {
		y.shows(f, "up")
	}
	if names := y.jobs.End(); len(names) != 3 || !strings.HasPrefix(names[2], "bash_3 (") {
		t.Errorf("it ended %q", names)
	}
	if len(y.told) > 0 {
		t.Errorf("it is told %q", <-y.told)
	}
	if names := y.jobs.End(); names != nil {
		t.Errorf("a second time it ended %q", names)
	}
	y.background("true") // and there may be more
	y.heard()
}

func TestTheNumberOfBackgroundCommandsIsBounded(t *testing.T) {
	looptest.Census(t)
	y := localYard(t, tool.JobsOptions{Most: 2})
	child := newYard(t, y.ws, t.TempDir(), tool.JobsOptions{Within: y.jobs})
	first, _ := y.background("sleep 300")
	child.background("sleep 300")
	for want, in := range map[string]*yard{"yours are bash_1 (sleep 300)": y, "2 commands": child} {
		r := in.ask("Bash", fields{"command": "touch ran", "run_in_background": true})
		if !r.IsError || !strings.Contains(r.Text(), "the command was not run: 2 commands run in the background") || !strings.Contains(r.Text(), want) {
			t.Errorf("one too many is answered with %q", r.Text())
		}
	}
	if r := y.ask("Bash", fields{"command": "ls"}); strings.Contains(r.Text(), "ran") {
		t.Errorf("it was run: %q", r.Text())
	}
	y.ask("TaskStop", fields{"task_id": first})
	child.background("sleep 300")
}

func TestTheOutputOfABackgroundCommandIsBounded(t *testing.T) {
	looptest.Census(t)
	y := localYard(t, tool.JobsOptions{Cap: 1000})
	_, file := y.background("for i in $(seq 500); do echo line $i; done")
	if got := y.heard(); !strings.Contains(got, "it printed 4,392 bytes, of which the first 1,000 are in "+file) {
		t.Errorf("it is told %q", got)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), "line 1\n") || !strings.Contains(string(data), "no more than these 1,000 bytes are kept") || len(data) > 1100 {
		t.Errorf("%d bytes: %q", len(data), data)
	}
}

func TestABackgroundCommandIsNeverOneThatOnlyLooks(t *testing.T) {
	y := localYard(t, tool.JobsOptions{})
	bash := y.box.Tools[0]
	for in, want := range map[string]oneloop.Effect{
		`{"command":"ls"}`: oneloop.ReadOnly, `{"command":"ls","run_in_background":false}`: oneloop.ReadOnly,
		`{"command":"ls","run_in_background":true}`: oneloop.Once,
	} {
		call := &oneloop.ToolUse{Name: "Bash", Input: []byte(in)}
		if got := bash.Effect(call); got != want {
			t.Errorf("%s: the effect is %v", in, got)
		}
		if list, err := bash.Touches(call); err != nil || len(list) != 1 || list[0].Name != "ls" {
			t.Errorf("%s touches %v, %v", in, list, err)
		}
	}
}

func TestWhereThereAreNoBackgroundCommandsNoneIsOfferedOrRun(t *testing.T) {
	bash := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{SpillDir: t.TempDir()})
	if strings.Contains(string(bash.Schema), "background") {
		t.Errorf("the schema is %s", bash.Schema)
	}
	if r := call(t, t.Context(), bash, fields{"command": "echo hi", "run_in_background": true}, nil); !r.IsError || !strings.Contains(r.Text(), "without run_in_background") {
		t.Errorf("it says %q", r.Text())
	}
	if r := call(t, t.Context(), bash, fields{"command": "echo hi", "run_in_background": false}, nil); r.Text() != "hi" {
		t.Errorf("it says %q", r.Text())
	}
}

func TestACommandThatDoesNotExistIsNamedByTaskStop(t *testing.T) {
	y := localYard(t, tool.JobsOptions{})
	if r := y.ask("TaskStop", fields{"task_id": "bash_9"}); !r.IsError || !strings.Contains(r.Text(), `no background command "bash_9"; none runs`) {
		t.Errorf("it says %q", r.Text())
	}
}

func TestABackgroundCommandThatCannotStartTakesNoPlace(t *testing.T) {
	y := localYard(t, tool.JobsOptions{Most: 1})
	if err := os.RemoveAll(y.ws.Describe().Root); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := y.ask("Bash", fields{"command": "echo hi", "run_in_background": true})
		if !r.IsError || !strings.Contains(r.Text(), "the workspace folder is gone") {
			t.Errorf("it says %q", r.Text())
		}
	}
	if left, err := filepath.Glob(filepath.Join(y.spill, "*")); len(left) != 0 || err != nil {
		t.Errorf("files %v, %v are left", left, err)
	}
}

func TestWhatIsAttachedToABackgroundCommandIsReleasedAtItsEnd(t *testing.T) {
	looptest.Census(t)
	released := make(chan struct{})
	told := make(chan string, 1)
	jobs := tool.NewJobs(tool.JobsOptions{Tell: func(text string) { told <- text }})
	bash := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{SpillDir: t.TempDir(), Jobs: jobs,
		Attach: func(_ context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event), cmd *workspace.Cmd, clock *tool.Clock) (func(), error) {
			if clock != nil {
				t.Error("it has a clock")
			}
			cmd.Env = append(cmd.Env, "WORD=attached")
			return func() { close(released) }, nil
		}})
	r := call(t, t.Context(), bash, fields{"command": "echo $WORD; sleep 300", "run_in_background": true}, nil)
	select {
	case <-released:
		t.Fatalf("it is released while the command runs: %q", r.Text())
	default:
	}
	jobs.End()
	<-released
}

func TestReadShowsTheOutputsOfCommandsAndNothingInTheirPlace(t *testing.T) {
	y := localYard(t, tool.JobsOptions{})
	r := y.ask("Bash", fields{"command": "seq 100000"})
	_, long, ok := strings.Cut(r.Text(), "the whole output is in ")
	if !ok {
		t.Fatalf("the result is %q", r.Text()[max(0, len(r.Text())-200):])
	}
	long = strings.TrimSuffix(long, "]")
	read := fields{"file_path": long, "offset": 70000, "limit": 1}
	if r := y.ask("Read", read); r.IsError || !strings.Contains(r.Text(), "70000") {
		t.Errorf("Read says %q", r.Text())
	}
	call := &oneloop.ToolUse{Name: "Read", Input: encode(t, read)}
	if list, err := y.box.Tools[1].Touches(call); err != nil || list != nil {
		t.Errorf("reading it touches %v, %v", list, err)
	}
	if r := y.ask("Edit", fields{"file_path": long, "old_string": "70000\n", "new_string": "x\n"}); !r.IsError || !strings.Contains(r.Text(), "outside the workspace") {
		t.Errorf("Edit says %q", r.Text())
	}
	if r := y.ask("Read", fields{"file_path": filepath.Join(filepath.Dir(long), "other.txt")}); !r.IsError || !strings.Contains(r.Text(), "outside the workspace") {
		t.Errorf("Read of a file beside it says %q", r.Text())
	}

	// What takes its name is another file.
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, put := range map[string]func() error{
		"a link":  func() error { return os.Symlink(secret, long) },
		"a file":  func() error { return os.Link(secret, long) },
		"a pipe":  func() error { return syscall.Mkfifo(long, 0o600) },
		"nothing": func() error { return nil },
	} {
		if err := os.Remove(long); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if r := y.ask("Read", fields{"file_path": long}); !r.IsError || strings.Contains(r.Text(), "secret") {
			t.Errorf("%s in its place: Read says %q", what, r.Text())
		}
	}
}

func encode(t testing.TB, in any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// broken is a workspace whose commands cannot be waited for.
type broken struct{ workspace.Workspace }

type brokenProcess struct{ workspace.Process }

func (w broken) Start(ctx context.Context, cmd workspace.Cmd) (workspace.Process, error) {
	p, err := w.Workspace.Start(ctx, cmd)
	return brokenProcess{p}, err
}

func (p brokenProcess) Wait() (workspace.Exit, error) {
	p.Process.Wait()
	panic("the workspace is broken")
}

func TestAFaultOfTheWorkspaceEndsOnlyTheCommandItIsAbout(t *testing.T) {
	y := newYard(t, broken{open(t, workspace.LocalOptions{})}, t.TempDir(), tool.JobsOptions{})
	y.ask("Bash", fields{"command": "echo said", "run_in_background": true})
	if got := <-y.told; !strings.Contains(got, "internal error: the workspace is broken") || !strings.Contains(got, "5 bytes") {
		t.Errorf("told is %q", got)
	}
	if left := y.jobs.Running(); len(left) > 0 {
		t.Errorf("%v counts as running", left)
	}
}

// TestOutputIsToldWhileACommandRuns asks for it before, during and after.
func TestOutputIsToldWhileACommandRuns(t *testing.T) {
	y := localYard(t, tool.JobsOptions{})
	y.box.Aliases = tool.Aliases()
	if got := y.ask("TaskOutput", fields{}).Text(); got != "No command was started in the background." {
		t.Errorf("before: %q", got)
	}
	dir := t.TempDir()
	goOn := filepath.Join(dir, "go")
	if err := syscall.Mkfifo(goOn, 0o600); err != nil {
		t.Fatal(err)
	}
	id, file := y.background("printf 'one\\rtwo\\n\\033[31mred\\033[0m\\n'; touch " + dir + "/ready; read x < " + goOn + "; seq 3000; exit 3")
	for _, err := os.Stat(filepath.Join(dir, "ready")); err != nil; _, err = os.Stat(filepath.Join(dir, "ready")) {
		time.Sleep(time.Millisecond)
	}
	got := y.ask("check_background", fields{"task_id": id}).Text()
	if !strings.HasPrefix(got, id+" (printf") || !strings.Contains(got, "runs for ") || !strings.Contains(got, file) || !strings.HasSuffix(got, "\ntwo\nred\n") {
		t.Errorf("while it runs: %q", got)
	}
	if err := os.WriteFile(goOn, []byte("go\n"), 0o600); err != nil { // when it reads
		t.Fatal(err)
	}
	<-y.told
	got = y.ask("TaskOutput", fields{"task_id": id}).Text()
	if !strings.Contains(got, "exit code 3") || strings.Contains(got, "\nred\n") || !strings.HasSuffix(got, "\n2999\n3000\n") || len(got) > 4500 {
		t.Errorf("afterwards, %d bytes: %.300q", len(got), got)
	}
	if got := y.ask("TaskOutput", fields{}).Text(); strings.Count(got, "\n") != 0 || !strings.HasPrefix(got, id+" ") {
		t.Errorf("all of them: %q", got)
	}
	if r := y.ask("TaskOutput", fields{"task_id": "bash_9"}); !r.IsError || !strings.Contains(r.Text(), "none runs") {
		t.Errorf("one that there is not: %q", r.Text())
	}
	silent, _ := y.background("exec sleep 60")
	if got := y.ask("TaskOutput", fields{"task_id": silent}).Text(); !strings.HasSuffix(got, "It printed nothing so far.") {
		t.Errorf("one that is silent: %q", got)
	}
}

// TestALessonsBackgroundCommandIsUnderstood has timeouts in seconds.
func TestALessonsBackgroundCommandIsUnderstood(t *testing.T) {
	y := localYard(t, tool.JobsOptions{})
	y.box.Aliases = tool.Aliases()
	if r := y.ask("background_run", fields{"command": "sleep 60", "timeout": 0.05}); r.IsError {
		t.Fatal(r.Text())
	}
	if told := <-y.told; !strings.Contains(told, "timeout of 50ms was reached") {
		t.Error(told)
	}
	for _, timeout := range []any{"soon", -1, 1e12} {
		if r := y.ask("background_run", fields{"command": "true", "timeout": timeout}); !r.IsError || !strings.Contains(r.Text(), "seconds") {
			t.Errorf("%v: %q", timeout, r.Text())
		}
	}
}
