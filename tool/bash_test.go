//go:build unix

package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"oneloop"
	"oneloop/tool"
	"oneloop/workspace"
)

func TestAResultSaysWhatWasPrintedAndHowItEnded(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"echo hi", "hi"},
		{"true", "(no output)"},
		{"echo; echo", "(no output)"},
		{"false", "(no output)\n[exit code 1]"},
		{"echo a; echo b >&2; exit 7", "a\nb\n[exit code 7]"},
		{"echo x; kill -SEGV $$", "x\n[ended by signal SIGSEGV]"},
		{"exit 137", "(no output)\n[exit code 137, which stands for SIGKILL]"},
		{"  printf '  indented\\n\\n'", "  indented"},
		{"no-such-program", "bash: line 1: no-such-program: command not found\n[exit code 127]"},
		{"echo hi\r\n", "hi"},
		{"if true; then\r\n  echo there\r\nfi\r", "there"},
		{"cat <<E\r\nx\r\nE\r\n", "x"},
		{`cat; echo rc=$?; read x; echo "got:$x"`, "rc=0\ngot:"},
		{`yes | head -1; echo ${PIPESTATUS[0]}`, "y\n141"},
		{`printf 'a\r\nb\r\n'`, "a\nb"},
	} {
		within(t, 5*time.Second, func() {
			if got := shell(t, c.command); got != c.want {
				t.Errorf("%q: got %q, want %q", c.command, got, c.want)
			}
		})
	}
}

func TestThereIsNoTerminal(t *testing.T) {
	for _, command := range []string{`sh -c 'read x < /dev/tty; echo got:$x'; true`, `stty -echo < /dev/tty`} {
		if got := shell(t, command); !strings.Contains(got, "/dev/tty") || strings.Contains(got, "got:x") {
			t.Errorf("%q: got %q", command, got)
		}
	}
}

func TestCallsDoNotShareState(t *testing.T) {
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{})
	run := func(command string) string {
		return call(t, t.Context(), b, map[string]any{"command": command}, nil).Text()
	}
	root := run("pwd")
	run("mkdir sub; mkdir d && cd d && rm -rf ../d")
	if got := run("pwd; echo alive"); got != root+"\nalive" {
		t.Errorf("after the folder was removed: %q", got)
	}
	if got := run("exit 7"); got != "(no output)\n[exit code 7]" {
		t.Errorf("exit: %q", got)
	}
	run("cd sub; export A=1")
	if got := run("pwd; echo [$A]"); got != root+"\n[]" {
		t.Errorf("state was kept: %q", got)
	}
}

func TestTheWorkspaceVanishing(t *testing.T) {
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{})
	call(t, t.Context(), b, map[string]any{"command": `r=$PWD; cd / && rm -rf "$r"`}, nil)
	r := call(t, t.Context(), b, map[string]any{"command": "pwd"}, nil)
	if !r.IsError || !strings.Contains(r.Text(), "not run") || !strings.Contains(r.Text(), "gone") {
		t.Errorf("got %q", r.Text())
	}
}

func TestWithoutBashTheModelIsTold(t *testing.T) {
	b := tool.Bash(open(t, workspace.LocalOptions{Env: []string{"PATH=" + t.TempDir()}}), tool.BashOptions{})
	r := call(t, t.Context(), b, map[string]any{"command": "pwd"}, nil)
	if !r.IsError || !strings.Contains(r.Text(), "no bash was found") {
		t.Errorf("got %q", r.Text())
	}
}

func TestWhatIsLeftIsNamed(t *testing.T) {
	within(t, 3*time.Second, func() {
		got := shell(t, "sleep 300 & echo started $!")
		var pid int
		if _, err := fmt.Sscanf(got, "started %d", &pid); err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("started %d\n[ended what it left running: sleep (pid %d)]", pid, pid); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if syscall.Kill(pid, 0) == nil {
			t.Error("it still runs")
		}
	})
}

func TestTimeoutEndsTheTreeAndSaysSo(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	b := tool.Bash(w, tool.BashOptions{})
	within(t, 4*time.Second, func() {
		r := call(t, t.Context(), b, map[string]any{"timeout": 400,
			"command": `echo before; (sleep 300; echo late) & echo $! > pid; sh -c 'sleep 300' ; echo never`}, nil)
		for _, want := range []string{"timed out after 400ms", "may have changed things", "Output so far:\nbefore", "600000 ms"} {
			if !strings.Contains(r.Text(), want) {
				t.Errorf("%q is missing in %q", want, r.Text())
			}
		}
		if !r.IsError || strings.Contains(r.Text(), "never") || strings.Contains(r.Text(), "signal") {
			t.Errorf("got %v %q", r.IsError, r.Text())
		}
	})
	if data, err := os.ReadFile(filepath.Join(w.Describe().Root, "pid")); err != nil || ended(t, string(data)) != nil {
		t.Errorf("%v, %v", err, ended(t, string(data)))
	}
}

func ended(t *testing.T, pid string) error {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatal(err)
	}
	if syscall.Kill(n, 0) == nil {
		return fmt.Errorf("process %d still runs", n)
	}
	return nil
}

func TestTheTimeoutOfACallIsBounded(t *testing.T) {
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{Timeout: 50 * time.Millisecond, MaxTimeout: 200 * time.Millisecond})
	for input, want := range map[string]string{
		`{"command":"sleep 300"}`:                               "timed out after 50ms",
		`{"command":"sleep 300","timeout":-1}`:                  "timed out after 50ms",
		`{"command":"sleep 300","timeout":999999}`:              "timed out after 200ms",
		`{"command":"sleep 300","timeout":9000000000000000000}`: "timed out after 200ms",
		`{"command":"sleep 300","timeout":1e2}`:                 "timed out after 100ms",
		`{"command":"sleep 300","timeout":100.5}`:               "refused",
		`{"command":"sleep 300","timeout":"9"}`:                 "refused",
	} {
		if got := call(t, t.Context(), b, input, nil).Text(); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", input, got, want)
		}
	}
}

func TestInterruptedIsNotTimedOutAndNotUnstarted(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	b := tool.Bash(w, tool.BashOptions{})
	ctx, cancel := context.WithCancelCause(t.Context())
	mark := filepath.Join(w.Describe().Root, "mark")
	go func() {
		for {
			if _, err := os.Stat(mark); err == nil {
				cancel(oneloop.ErrInterrupted)
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	r := call(t, ctx, b, map[string]any{"command": "echo some; echo s > mark; sleep 300"}, nil)
	if !r.IsError || !strings.HasPrefix(r.Text(), "interrupted while it ran") || !strings.HasSuffix(r.Text(), "Output so far:\nsome") {
		t.Errorf("interrupted: %q", r.Text())
	}
	r = call(t, ctx, b, map[string]any{"command": "touch never"}, nil)
	if !strings.HasPrefix(r.Text(), "not started") {
		t.Errorf("not started: %q", r.Text())
	}
}

func TestAnAttachmentCompletesTheCommand(t *testing.T) {
	var released bool
	attach := func(_ context.Context, call *oneloop.ToolUse, emit func(oneloop.Event), cmd *workspace.Cmd, clock *tool.Clock) (func(), error) {
		f, err := workspace.TextFile("through a descriptor")
		cmd.Env = append(cmd.Env, "EXTRA="+call.ID)
		cmd.Fds = map[int]*os.File{9: f}
		clock.Stop() // as while a subtask runs: the limit of 50 ms does not hold
		time.AfterFunc(300*time.Millisecond, clock.Start)
		return func() { released = true; f.Close() }, err
	}
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{Timeout: 50 * time.Millisecond, Attach: attach})
	long := strings.Repeat("#", 200_000) + "\n"
	got := call(t, t.Context(), b, map[string]any{"command": long + "cat <&9; echo; echo $EXTRA; sleep 0.15; echo still; sleep 300"}, nil).Text()
	if !strings.HasSuffix(got, "Output so far:\nthrough a descriptor\nt1\nstill") || !strings.Contains(got, "timed out") {
		t.Errorf("got %q", got)
	}
	if !released {
		t.Error("it was not released")
	}
}

func TestAnAttachmentThatFailsRunsNothing(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	b := tool.Bash(w, tool.BashOptions{Attach: func(context.Context, *oneloop.ToolUse, func(oneloop.Event), *workspace.Cmd, *tool.Clock) (func(), error) {
		return nil, errors.New("no more agents")
	}})
	r := call(t, t.Context(), b, map[string]any{"command": "touch f"}, nil)
	if !r.IsError || r.Text() != "the command was not run: no more agents" {
		t.Errorf("got %q", r.Text())
	}
	if _, err := w.Files().Stat("f"); !errors.Is(err, os.ErrNotExist) {
		t.Error("it was run")
	}
}

func TestALongCommandRunsAsAShortOne(t *testing.T) {
	const body = "echo \"$0 $#\"; [ -e /dev/fd/9 ] && echo open; cat; cat <<'E'\nhere\nE\nno-such; exit 5"
	pad := ": " + strings.Repeat("长", 100_000) + "\n"
	short, long := shell(t, ": x\n"+body), shell(t, pad+body)
	if short != long || !strings.HasPrefix(short, "bash 0\nhere\nbash: line ") {
		t.Errorf("short %q, long %q", short, long)
	}
}

func TestACommandWithNULIsNotRun(t *testing.T) {
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{})
	r := call(t, t.Context(), b, map[string]any{"command": "echo a\x00b"}, nil)
	if !r.IsError || !strings.Contains(r.Text(), "NUL") {
		t.Errorf("got %q", r.Text())
	}
}

func TestBytesThatAreNoText(t *testing.T) {
	got := shell(t, `printf 'a\377\376b\000c\355\240\275'`)
	if want := "a\ufffd\ufffdbc\ufffd\ufffd\ufffd\n[bytes that are not valid UTF-8 are shown as \ufffd]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := shell(t, `printf '\304\343\272\303'; exit 3`); !strings.Contains(got, "[exit code 3]") || !utf8.ValidString(got) {
		t.Errorf("GBK: %q", got)
	}
	if got := shell(t, `head -c 4096 /dev/urandom`); !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\x07") {
		t.Errorf("noise: %q", got)
	}
}

func TestProgressAndColourAreResolved(t *testing.T) {
	got := shell(t, `for i in $(seq 1 5000); do printf '\r%d%%' $i; done; printf '\n\033[31mred\033[0m\033]0;t\007 end\033[3'`)
	if got != "5000%\nred end" {
		t.Errorf("got %q", got)
	}
}

func TestLongOutputKeepsBothEndsAndTheWholeInAFile(t *testing.T) {
	dir := t.TempDir()
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{SpillDir: dir})
	r := call(t, t.Context(), b, map[string]any{"command": "seq 1 20000; exit 2"}, nil)
	text := r.Text()
	if n := utf8.RuneCountInString(text); n > 50_500 || n < 48_000 {
		t.Errorf("%d characters", n)
	}
	var want strings.Builder
	for i := range 20000 {
		fmt.Fprintln(&want, i+1)
	}
	for _, s := range []string{"\n[output truncated here: 108,894 bytes in all, only the beginning and the end are shown]\n", "\n20000\n[exit code 2]\n[the whole output is in "} {
		if !strings.Contains(text, s) {
			t.Errorf("%q is missing", s)
		}
	}
	if !strings.HasPrefix(text, "1\n2\n3\n") {
		t.Errorf("it begins with %.20q", text)
	}
	data, err := os.ReadFile(spillFile(t, dir, text))
	if err != nil || string(data) != want.String() {
		t.Errorf("the file has %d bytes, want %d (%v)", len(data), want.Len(), err)
	}
}

func TestHugeOutputKeepsTheFirstAndLastHalf(t *testing.T) {
	dir := t.TempDir()
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{SpillDir: dir})
	r := call(t, t.Context(), b, map[string]any{"command": "echo first; head -c 100000000 /dev/zero | tr '\\0' y; echo; echo last"}, nil)
	text := r.Text()
	if n := utf8.RuneCountInString(text); n > 50_500 || !strings.HasPrefix(text, "first\ny") || !strings.Contains(text, "y\nlast\n[") {
		t.Errorf("%d characters: %.20q … %q", n, text, text[len(text)-300:])
	}
	if !strings.Contains(text, "100,000,012 bytes in all") || !strings.Contains(text, "32,891,404 bytes between them are lost") {
		t.Errorf("it does not say what is missing: %q", text[len(text)-300:])
	}
	f, err := os.Open(spillFile(t, dir, text))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	lost := strings.Index(string(data), "\n[32,891,404 bytes are missing here]\n")
	if !strings.HasPrefix(string(data), "first\nyyy") || !strings.HasSuffix(string(data), "yyy\nlast\n") || lost != 32<<20-128 {
		t.Errorf("the file is not the first and the last half; the mark is at %d", lost)
	}
}

func TestMemoryDoesNotGrowWithTheOutput(t *testing.T) {
	peak := func() int64 {
		data, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Skip("this system does not tell the peak of memory")
		}
		_, rest, _ := strings.Cut(string(data), "VmHWM:")
		kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return kb
	}
	dir := t.TempDir()
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{SpillDir: dir})
	call(t, t.Context(), b, map[string]any{"command": "true"}, nil)
	before := peak()
	call(t, t.Context(), b, map[string]any{"command": "head -c 300000000 /dev/zero | tr '\\0' y"}, nil)
	if grown := peak() - before; grown > 10<<10 {
		t.Errorf("peak memory grew by %d kB", grown)
	}
}

func TestProgressLongerThanTheWindowNeedsNoFile(t *testing.T) {
	dir := t.TempDir()
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{SpillDir: dir})
	r := call(t, t.Context(), b, map[string]any{"command": `seq -f '%040.0f' 1 20000 | tr '\n' '\r'; echo done`}, nil)
	if r.Text() != "done" {
		t.Errorf("got %.200q", r.Text())
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestAFolderThatTakesNoFileLosesOnlyTheRest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{SpillDir: filepath.Join(file, "none")})
	text := call(t, t.Context(), b, map[string]any{"command": "seq 1 200000"}, nil).Text()
	if !strings.HasPrefix(text, "1\n2\n") || !strings.Contains(text, "\n200000\n") || !strings.Contains(text, "what is not shown is lost") {
		t.Errorf("got %.20q … %q", text, text[len(text)-300:])
	}
}

func TestTheFolderOfLongOutputsIsMadeWithTheFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "late")
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{SpillDir: dir})
	call(t, t.Context(), b, map[string]any{"command": "echo short"}, nil)
	if _, err := os.Stat(dir); err == nil {
		t.Error("it was made for a short output")
	}
	call(t, t.Context(), b, map[string]any{"command": "seq 1 200000"}, nil)
	if files, err := os.ReadDir(dir); err != nil || len(files) == 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestWatchersSeePiecesWhileItRuns(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	b := tool.Bash(w, tool.BashOptions{Timeout: 10 * time.Second})
	var seen events
	// The command goes on only once its first piece was seen.
	r := call(t, t.Context(), b, map[string]any{"command": `printf '\033[1mone\033[0m\n'; until [ -e seen ]; do sleep 0.01; done; echo two`}, func(e oneloop.Event) {
		seen.emit(e)
		if p, ok := e.(oneloop.ToolOutput); ok && p.Text == "one\n" && p.ID == "t1" {
			f, err := w.Files().Create("seen", 0o600)
			if err != nil {
				t.Error(err)
				return
			}
			f.Close()
		}
	})
	if r.IsError || r.Text() != "one\ntwo" {
		t.Errorf("got %q", r.Text())
	}
	n := len(seen.list)
	if _, ok := seen.list[n-1].(oneloop.ToolEnd); !ok {
		t.Errorf("the last event is %T", seen.list[n-1])
	}
}

func TestBashTellsItsCommandUnderAnyName(t *testing.T) {
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{})
	b.Name = "terminal"
	want := []oneloop.Touch{{Kind: oneloop.TouchCommand, Name: "ls"}}
	if got, err := b.Touches(&oneloop.ToolUse{Input: []byte(`{"command":"ls"}`)}); !slices.Equal(got, want) || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestATimeoutMayHaveAPoint(t *testing.T) {
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{})
	input := `{"command":"echo ran","timeout":30000.0}`
	if r := call(t, t.Context(), b, input, nil); r.IsError || r.Text() != "ran" {
		t.Errorf("answered %q", r.Text())
	}
	if touches, err := b.Touches(&oneloop.ToolUse{Name: "Bash", Input: json.RawMessage(input)}); err != nil || len(touches) != 1 || touches[0].Name != "echo ran" {
		t.Errorf("whoever judges it is told %v, %v", touches, err)
	}
	if r := call(t, t.Context(), b, `{"command":"echo ran","timeout":"soon"}`, nil); r.Text() != "the input of Bash was refused: timeout: want an integer, got a string. The call was not run." {
		t.Errorf("answered %q", r.Text())
	}
}

func TestAFaultOfThoseWhoWatchLeavesTheCommandAlone(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	b := tool.Bash(w, tool.BashOptions{Timeout: 30 * time.Second})
	r := call(t, t.Context(), b, map[string]any{"command": "echo one; until [ -e seen ]; do sleep 0.01; done; echo two; sleep 0.2; echo three"}, func(e oneloop.Event) {
		if _, ok := e.(oneloop.ToolOutput); ok {
			f, err := w.Files().Create("seen", 0o600) // and a second time there is one
			if err != nil {
				t.Error(err)
				return
			}
			f.Close()
			panic("the screen is broken")
		}
	})
	if want := "one\ntwo\nthree\n[internal error: what it printed could not be shown while it ran: the screen is broken]"; r.IsError || r.Text() != want {
		t.Errorf("got %q", r.Text())
	}
}
