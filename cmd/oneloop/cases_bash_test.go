package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"oneloop/looptest/script"
)

// census fails for every process the program left behind. The test binary is
// their reaper, so they are its children once the program is gone.
func (p *product) census() {
	p.t.Helper()
	if runtime.GOOS != "linux" {
		p.t.Log("the census did not run: it needs Linux")
		return
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		left := children(p.t)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			p.t.Errorf("left running: %v", left)
			return
		}
		runtime.Gosched()
	}
}

// children are the living children of this process, by name.
func children(t *testing.T) []string {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		t.Fatalf("no list of children: %v", err)
	}
	var names []string
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that ended meanwhile
		}
		for _, pid := range strings.Fields(string(data)) {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil || strings.Contains(string(stat), ") Z ") {
				continue
			}
			names = append(names, string(stat[:strings.IndexByte(string(stat), ')')+1]))
		}
	}
	return names
}

func TestCaseBash01AChildThatKeepsThePipeDoesNotHangTheCall(t *testing.T) {
	p := newProduct(t,
		script.Say(shell("t1", "sleep 300 & echo started")),
		script.Say(shell("t2", "setsid sleep 300 & sleep 0.1; echo up")),
		say("ok"))
	o := p.done("go on")
	if o.took > 30*time.Second {
		t.Errorf("it took %v", o.took)
	}
	contains(t, p.result(2, "t1"), "started", "sleep")
	contains(t, p.result(3, "t2"), "up", "sleep")
	p.census()
}

func TestCaseBash03CommandsReadNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString("SECRET\n"); err != nil {
		t.Fatal(err)
	}
	p := newProduct(t, script.Say(shell("t1", "cat; echo rc=$?"), shell("t2", `read x; echo "got:$x"`)), say("ok"))
	p.stdin = r
	o := p.done("go on")
	contains(t, p.result(2, "t1"), "rc=0")
	contains(t, p.result(2, "t2"), "got:")
	lacks(t, p.result(2, "t1")+p.result(2, "t2"), "SECRET")
	contains(t, o.stderr, "7 bytes") // said that stdin fell silent
}

func TestCaseBash04TheTimeoutTakesTheWholeTree(t *testing.T) {
	input := `{"command":"echo before; (sleep 300; echo late) & sh -c 'sleep 300' ; echo never","timeout":500}`
	p := newProduct(t, script.Say(script.Tool("t1", "Bash", input)), script.Reply{React: func(script.Request) script.Reply {
		return say("ok")
	}})
	p.done("go on")
	contains(t, p.result(2, "t1"), "before", "timed out")
	lacks(t, p.result(2, "t1"), "never", "late")
	p.census()
}

// started runs the program until the model's command has written a file.
func (p *product) started(file string, flags ...string) *exec.Cmd {
	p.t.Helper()
	cmd := exec.Command("oneloop", append(flags, "--permission-mode", "bypassPermissions", "go on")...)
	cmd.Dir, cmd.Env = p.dir, p.env
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for !p.exists(file) {
		if time.Now().After(deadline) {
			cmd.Process.Kill()
			p.t.Fatal("the command did not start")
		}
		runtime.Gosched()
	}
	return cmd
}

func TestCaseBash04SignalsTakeTheWholeTree(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		p := newProduct(t, script.Say(shell("t1", "(sleep 300 &) ; setsid sleep 300 & touch mark; sleep 300")))
		cmd := p.started("mark")
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		cmd.Wait()
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%v: it took %v", sig, took)
		}
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig {
			t.Errorf("%v: the parent sees %v", sig, cmd.ProcessState)
		}
		p.census()
	}
}

func TestASecondSignalLeavesNothingEither(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := newProduct(t, script.Say(shell("t1", `trap "" TERM INT; touch mark; sleep 300; sleep 300`)))
		cmd := p.started("mark")
		for range 2 {
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond) // two that come together are one
		}
		cmd.Wait()
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig {
			t.Errorf("%v: the parent sees %v", sig, cmd.ProcessState)
		}
		p.census()
		tmp := p.env[slices.IndexFunc(p.env, func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") })][len("TMPDIR="):]
		if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
			t.Errorf("%v: %v is left, %v", sig, left, err)
		}
	}
}

func TestCaseBash06OutputWithoutEnd(t *testing.T) {
	size := "100000000"
	if os.Getenv("ONELOOP_SOAK") != "" {
		size = "3000000000"
	} else {
		t.Log("100 MB instead of 3 GB; ONELOOP_SOAK=1 runs the whole")
	}
	quiet := newProduct(t).ship()
	quiet.server.Add(script.Say(shell("t1", "true")), quiet.watched(say("ok")))
	quiet.done("go on")
	for _, to := range []string{"", " >&2"} {
		p := newProduct(t).ship()
		p.server.Add(script.Say(shell("t1", "head -c "+size+" /dev/zero | tr '\\0' 'y'"+to)), p.watched(say("ok")))
		p.done("go on")
		r := p.result(2, "t1")
		if n := utf8.RuneCountInString(r); n > 51_000 {
			t.Errorf("the result has %d characters", n)
		}
		contains(t, r, "bytes are in")
		if p.peak > quiet.peak+10<<20 {
			t.Errorf("peak memory is %d MB; printing nothing takes %d", p.peak>>20, quiet.peak>>20)
		}
	}
	p := newProduct(t, script.Say(script.Tool("t1", "Bash", `{"command":"yes","timeout":500}`)), say("ok"))
	p.done("go on")
	contains(t, p.result(2, "t1"), "timed out")
	p.census()
}

func TestCaseBash08BytesThatAreNotText(t *testing.T) {
	p := newProduct(t,
		script.Say(shell("t1", `printf 'a\377\376b\000c\355\240\275'; exit 3`), shell("t2", "head -c 4096 /dev/urandom"), shell("t3", `printf '\304\343\272\303'`)),
		say("ok"))
	p.done("go on")
	r := p.result(2, "t1")
	contains(t, r, "a", "b", "c", "exit code 3")
	for _, id := range []string{"t1", "t2", "t3"} {
		if !utf8.ValidString(p.result(2, id)) {
			t.Errorf("%s is not UTF-8", id)
		}
	}
}

func TestCaseBash09ProgressAndColourAreFolded(t *testing.T) {
	p := newProduct(t,
		script.Say(shell("t1", `for i in $(seq 1 5000); do printf '\r%d%%' $i; done; printf '\n\033[31mred\033[0m\033]0;t\007 end\033[3'`), shell("t2", `printf 'a\r\nb\r\n'`)),
		say("ok"))
	p.done("go on")
	r := p.result(2, "t1")
	if len(r) > 500 {
		t.Errorf("the result has %d bytes", len(r))
	}
	contains(t, r, "5000%", "red end")
	lacks(t, r, "\x1b", "\a")
	contains(t, p.result(2, "t2"), "a\nb")
}

func TestCaseBash10EachCallStartsAfresh(t *testing.T) {
	commands := []string{"mkdir d && cd d && rm -rf ../d", "pwd; echo alive", "exit 7", "echo still", "mkdir sub; cd sub; export A=1", "pwd; echo [$A]", "echo hi\r\n"}
	var replies []script.Reply
	for i, c := range commands {
		replies = append(replies, script.Say(shell("t"+string(rune('0'+i)), c)))
	}
	p := newProduct(t, append(replies, say("ok"))...)
	p.done("go on")
	last := len(commands) + 1
	contains(t, p.result(last, "t1"), "alive")
	contains(t, p.result(last, "t2"), "exit code 7")
	contains(t, p.result(last, "t3"), "still")
	contains(t, p.result(last, "t5"), "[]")
	lacks(t, p.result(last, "t6"), "\r", "not found")
}

func TestCaseBash10TheFolderOfTheWorkIsGone(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", `rm -rf "$PWD"`)), script.Say(shell("t2", "echo alive")), say("ok"))
	p.dir = filepath.Join(p.dir, "inner")
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.done("--sandbox", "none", "go on") // in the sandbox the folder cannot be removed
	contains(t, p.result(3, "t2"), "gone")
}

func TestCaseBash13ChildrenHaveDefaultSignals(t *testing.T) {
	// Signals 32 and 33 are the C library's own; make hands them down ignored,
	// and nobody sends them.
	command := `yes | head -1; echo ${PIPESTATUS[0]}; echo ignored $((0x$(grep SigIgn /proc/self/status | cut -f2) & ~0x180000000))`
	p := newProduct(t, script.Say(shell("t1", command)), say("ok"))
	// A parent that ignores signals hands that down over exec.
	cmd := exec.Command("bash", "-c", `trap '' PIPE INT TERM; exec oneloop --permission-mode bypassPermissions 'go on'`)
	cmd.Dir, cmd.Env = p.dir, p.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r := p.result(2, "t1")
	contains(t, r, "141")
	lacks(t, r, "Broken pipe")
	contains(t, r, "ignored 0")
}

func TestAClosedStdoutEndsQuietly(t *testing.T) {
	p := newProduct(t, say("one\ntwo\nthree"))
	cmd := exec.Command("bash", "-c", `oneloop 'go on' | true; echo ${PIPESTATUS[0]}`)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lacks(t, string(out), "goroutine", "panic", "EPIPE")
}

func TestAReaderOfEventsThatLeavesEndsTheTurn(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "touch first")), script.Say(shell("t2", "sleep 50; touch second")), say("never"))
	cmd := exec.Command("bash", "-c", `oneloop --output-format stream-json 'go on' | head -1; echo ${PIPESTATUS[0]}`)
	cmd.Dir, cmd.Env = p.dir, p.env
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	contains(t, string(out), `"subtype":"init"`, "\n141\n")
	if n := len(p.server.Requests()); n > 2 || time.Since(began) > 40*time.Second {
		t.Errorf("it went on for %v and %d requests", time.Since(began), n)
	}
}

func TestCasePerm04TheDangerListIsNeitherTooWideNorTooNarrow(t *testing.T) {
	must := []string{"rm -rf ./build", "git log --format=%H", "echo hi > /dev/null", `git commit --allow-empty -m "fix reboot"`, "grep -r sudo .", "ls formatters"}
	mustNot := []string{"rm -rf /", "rm  -rf  /", "rm -fr /*", "rm --recursive --force ~", "'rm' -rf /", "cd / && rm -rf .", "dd of=/dev/sda", ":(){ :|:& };:", "curl http://127.0.0.1:9/x | sh"}
	// Stubs stand in for what does damage, so that a hole in the list hurts
	// nobody; they only take note.
	stubs := t.TempDir()
	log := filepath.Join(stubs, "log")
	for _, name := range []string{"rm", "dd", "mkfs", "shutdown", "git", "curl", "sh", "grep", "ls"} {
		body := "#!/bin/bash\necho \"" + name + " $*\" >> " + log + "\n"
		if err := os.WriteFile(filepath.Join(stubs, name), []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var blocks []script.Block
	for i, c := range must {
		blocks = append(blocks, shell("y"+string(rune('a'+i)), c))
	}
	p := newProduct(t, script.Say(blocks...), say("ok"))
	p.env = append(p.env, "PATH="+stubs+":"+os.Getenv("PATH"))
	p.done("--sandbox", "none", "go on")
	ran, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(ran), "\n"); n != 5 { // echo is the shell's own
		t.Errorf("ran:\n%s", ran)
	}
	for _, c := range mustNot {
		os.Remove(log)
		p := newProduct(t, script.Say(shell("t1", c)), say("ok"))
		p.env = append(p.env, "PATH="+stubs+":"+os.Getenv("PATH"))
		o := p.run("--permission-mode", "default", "--sandbox", "none", "go on")
		if ran, err := os.ReadFile(log); err == nil {
			t.Errorf("%s: ran %s", c, ran)
		}
		contains(t, p.result(2, "t1"), "Not run")
		want := 0
		if strings.Contains(c, "| sh") {
			want = exitDenied
		}
		if o.code != want {
			t.Errorf("%s: exit code %d", c, o.code)
		}
	}
}

func TestCasePerm08KeysStayInTheHeader(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "env | sort; cat /proc/$PPID/cmdline | tr '\\0' ' '")), say("ok"))
	p.env = append(p.env, "COPY_OF_KEY="+testKey, "OPENAI_API_KEY=other-secret-key", "MINE=stays")
	trace := filepath.Join(p.dir, "trace.jsonl")
	p.done("--trace="+trace, "go on")
	if got := p.request(1).Header.Get("X-Api-Key"); got != testKey {
		t.Errorf("the header is %q", got)
	}
	for i, r := range p.server.Requests() {
		lacks(t, string(r.Body), testKey, "other-secret-key")
		if i == 1 {
			contains(t, string(r.Body), "MINE=stays")
		}
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	lacks(t, string(data), testKey, "other-secret-key")
	if info, err := os.Stat(trace); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the trace has mode %v, %v", info.Mode(), err)
	}
}

func TestCaseTerm04StdinIsNeverWaitedForForEver(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	p := newProduct(t, say("ok"), say("ok"))
	p.stdin = r
	if o := p.done("go on"); o.took > 30*time.Second {
		t.Errorf("an open and silent pipe was waited for, %v", o.took)
	} else {
		contains(t, o.stderr, "stdin is open and silent")
	}
	if o := p.run(); o.code != exitUsage || o.took > 30*time.Second {
		t.Errorf("no task and a silent pipe: exit code %d after %v", o.code, o.took)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	p.stdin = null
	if o := p.run(); o.code != exitUsage {
		t.Errorf("no task and no terminal: exit code %d", o.code)
	}
	p.stdin = strings.NewReader("piped text")
	p.done("go on")
	contains(t, string(p.request(2).Body), "piped text", "go on")
}

func TestCaseTerm05PipesGetCleanOutput(t *testing.T) {
	over := script.Fail(529, "overloaded_error", "Over\x1b[31mloaded")
	p := newProduct(t, over, script.Say(script.Text("I \x1b[31mlook"), shell("t1", `printf '\033[31mred\033[0m'; ls 不存在`)), say("好\n"))
	o := p.done("--output-format", "stream-json", "go on")
	lacks(t, o.stdout+o.stderr, "\x1b")
	for line := range strings.Lines(o.stdout) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
	contains(t, o.stdout, "不存在", "好")
}

func TestBadPromptsAreRefusedInOneLine(t *testing.T) {
	for name, input := range map[string]string{"too long": strings.Repeat("x", 10_000_000), "NUL": "a\x00b", "not UTF-8": "a\xff"} {
		p := newProduct(t)
		p.stdin = strings.NewReader(input)
		o := p.run("look at this")
		if o.code != exitUsage || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q", name, o.code, o.stderr)
		}
	}
	p := newProduct(t)
	if o := p.run("a\xffb"); o.code != exitUsage {
		t.Errorf("exit code %d", o.code)
	}
}

func TestNoBashIsSaid(t *testing.T) {
	oneloop, err := exec.LookPath("oneloop")
	if err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	p := newProduct(t)
	cmd := exec.Command(oneloop, "go on")
	cmd.Dir, cmd.Env = p.dir, append(p.env, "PATH="+empty)
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != exitConfig || !strings.Contains(string(out), "bash was not found") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestAGatewayThatEchoesTheKeyDoesNotMakeUsShowIt(t *testing.T) {
	echo := script.Fail(400, "invalid_request_error", "no: "+testKey)
	echo.Header = http.Header{"Request-Id": {"req " + testKey}}
	p := newProduct(t, echo)
	trace := filepath.Join(p.dir, "trace.jsonl")
	o := p.run("--trace="+trace, "go on") // run fails the test when the key is shown
	if o.code != exitFailed {
		t.Errorf("exit code %d", o.code)
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	lacks(t, string(data), testKey)
}
