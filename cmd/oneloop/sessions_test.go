//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"oneloop/looptest/script"
	"oneloop/session"
)

// log is the file of the only session of p.
func (p *product) log() string {
	p.t.Helper()
	found := p.logs()
	if len(found) != 1 {
		p.t.Fatalf("logs are %v", found)
	}
	return found[0]
}

// logs are the files of all sessions of p.
func (p *product) logs() []string {
	p.t.Helper()
	found, err := filepath.Glob(filepath.Join(p.home(), ".local/state/oneloop/sessions/*/*.jsonl"))
	if err != nil {
		p.t.Fatal(err)
	}
	return found
}

// killed runs the program until the file mark is in its folder, and kills it.
func (p *product) killed(args ...string) {
	p.t.Helper()
	cmd := exec.Command(p.bin, append([]string{"--permission-mode", "bypassPermissions"}, args...)...)
	cmd.Dir, cmd.Env = p.dir, p.env
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	defer cmd.Process.Kill() // of no effect but after a failure
	for deadline := time.Now().Add(time.Minute); !p.exists("mark"); {
		if time.Now().After(deadline) {
			p.t.Fatal("the command did not start")
		}
		time.Sleep(5 * time.Millisecond) // another process makes it
	}
	time.Sleep(400 * time.Millisecond) // what it printed is shown every now and then
	cmd.Process.Kill()
	cmd.Wait()
	if err := os.Remove(filepath.Join(p.dir, "mark")); err != nil {
		p.t.Fatal(err)
	}
}

func TestCaseHist01AKilledRunGoesOnAndKnowsWhatItDoesNotKnow(t *testing.T) {
	for _, sandbox := range []string{"ns", "none"} {
		if sandbox != "none" && runtime.GOOS != "linux" {
			continue
		}
		t.Run(sandbox, func(t *testing.T) {
			p := newProduct(t,
				script.Say(shell("t1", "echo half of it; touch mark; sleep 3"), shell("t2", "echo never")),
				say("went on"), say("and on"))
			p.killed("--sandbox", sandbox, "begin")
			if o := p.done("--sandbox", sandbox, "-c", "go on"); o.stdout != "went on\n" {
				t.Errorf("stdout is %q", o.stdout)
			}
			contains(t, p.result(2, "t1"), "Interrupted; outcome unknown", "half of it", "which began at 20")
			contains(t, p.result(2, "t2"), "before this call was run")
			p.done("--sandbox", sandbox, "-c", "and on")
			if n := strings.Count(string(p.request(3).Body), "half of it"); n != 2 { // the call and its answer
				t.Errorf("the answer is there %d times", n)
			}
			p.census()
		})
	}
}

func TestCaseHist12And07AKilledRunKnowsWhichCallsWereNoCalls(t *testing.T) {
	p := newProduct(t,
		script.Say(script.ToolPieces("t1", "Bash", `{"command":"echo x > q","timeo`), script.Tool("t2", "no_such_tool", "{}"), shell("t3", "touch mark; sleep 3")),
		say("went on"))
	p.killed("--sandbox", "none", "begin")
	p.done("--sandbox", "none", "-c", "go on")
	contains(t, p.result(2, "t1"), "did not arrive as a JSON object")
	lacks(t, p.result(2, "t1")+p.result(2, "t2"), "outcome unknown")
	contains(t, p.result(2, "t3"), "outcome unknown")
	if p.exists("q") {
		t.Error("a broken call was run")
	}
}

func TestCaseSess02DamageIsToldAndTheRestIsUsed(t *testing.T) {
	p := newProduct(t, script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		return say(fmt.Sprint("answer to ", r.Last().Text()))
	}})
	for i := range 6 {
		args := []string{fmt.Sprint("turn ", i+1, " of six")}
		if i > 0 {
			args = append(args, "-c")
		}
		p.done(args...)
	}
	path := p.log()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	at := func(text string) int {
		for i, l := range lines {
			if strings.Contains(l, `"k":"message"`) && strings.Contains(l, text) {
				return i
			}
		}
		t.Fatalf("no line has %q", text)
		return 0
	}
	second, third := at(`answer to turn 2`), at(`"turn 3 of six"`)
	replaced := func(i int, by string) string {
		return strings.Join(lines[:i], "") + by + strings.Join(lines[i+1:], "")
	}
	for _, c := range []struct {
		name, log string
		says      []string // about the damage
		lacks     string   // what cannot be there any more
	}{
		{"NULs", replaced(second, lines[second]+strings.Repeat("\x00", 400)+"\n"), []string{fmt.Sprint("line ", second+2), "it is no entry"}, ""},
		{"a line cut short", replaced(third, lines[third][:len(lines[third])-20]+"\n"), []string{fmt.Sprint("line ", third+1)}, "turn 3 of six"},
		{"two on one line", replaced(third, strings.TrimSuffix(lines[third], "\n")), []string{fmt.Sprint("line ", third+1), "2 entries"}, ""},
		{"an empty line", replaced(second, lines[second]+"\n"), []string{fmt.Sprint("line ", second+2), "empty"}, ""},
		{"CRLF", strings.ReplaceAll(string(whole), "\n", "\r\n"), nil, ""},
		{"a half line glued to the next", replaced(third, lines[third][:30]), []string{fmt.Sprint("line ", third+1)}, "turn 3 of six"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(c.log), 0o600); err != nil {
				t.Fatal(err)
			}
			o := p.done("-c", "go on after "+c.name)
			for _, s := range c.says {
				contains(t, o.stderr, s)
			}
			if c.says == nil && strings.Contains(o.stderr, "damage") {
				t.Errorf("damage is told: %s", o.stderr)
			}
			all := p.server.Requests()
			body := string(all[len(all)-1].Body)
			for i := 1; i <= 6; i++ {
				if text := fmt.Sprintf("turn %d of six", i); text != c.lacks {
					contains(t, body, text)
				}
			}
			contains(t, body, "go on after "+c.name)
			now, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(now, []byte(c.log)) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
}

func TestCaseSess03OfTwoWhoGoOnAtOnceOneIsTold(t *testing.T) {
	both := make(chan struct{})
	var arrived sync.Once
	p := newProduct(t, say("seed"), script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		if strings.Contains(r.Last().Text(), "slowly") {
			arrived.Do(func() { close(both) })
			return script.Reply{Wait: 2 * time.Second, Blocks: []script.Block{script.Text("ok " + r.Last().Text())}}
		}
		return say("ok " + r.Last().Text())
	}})
	p.done("begin")
	var one, two outcome
	var wg sync.WaitGroup
	wg.Go(func() { one = p.run("-c", "slowly ONE") })
	<-both
	two = p.run("-c", "at once TWO")
	wg.Wait()
	if one.code != 0 || two.code != 3 {
		t.Errorf("exit codes are %d and %d", one.code, two.code)
	}
	contains(t, two.stderr, "is open in another oneloop", "--fork")
	if forked := p.done("-c", "--fork", "in a fork"); forked.stdout != "ok in a fork\n" {
		t.Errorf("stdout is %q", forked.stdout)
	}
	p.done("-c", "after it")
}

func TestASessionThatAKilledProcessHadOpenIsFreeAtOnce(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "touch mark; sleep 3")), say("fine"))
	p.killed("--sandbox", "none", "begin")
	if o := p.done("--sandbox", "none", "-c", "go on"); o.took > 30*time.Second {
		t.Errorf("it took %v", o.took)
	}
}

// TestCaseSess05WithoutAHomeThatCanBeWritten needs an ordinary user: root
// writes anywhere.
func TestCaseSess05WithoutAHomeThatCanBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, home := range map[string]string{"no HOME": "", "a HOME that is not there": filepath.Join(t.TempDir(), "none"), "a HOME that is a file": file} {
		t.Run(name, func(t *testing.T) {
			p := newProduct(t, script.Say(shell("t1", "echo fine")), say("done"))
			for i, kv := range p.env {
				if strings.HasPrefix(kv, "HOME=") {
					p.env[i] = "HOME=" + home
				}
			}
			o := p.done("--sandbox", "none", "go")
			if n := strings.Count(o.stderr, "nothing is kept between runs"); n != 1 || o.stdout != "done\n" {
				t.Errorf("it is said %d times, stdout %q:\n%s", n, o.stdout, o.stderr)
			}
			contains(t, p.result(2, "t1"), "fine")
			if left, err := os.ReadDir(p.dir); err != nil || len(left) > 0 {
				t.Errorf("in the folder there is %v, %v", left, err)
			}
			if o := p.run("-c", "go on"); o.code != 3 {
				t.Errorf("exit code %d, %s", o.code, o.stderr)
			}
		})
	}
}

// TestCaseSess06ADiskThatIsFullForAWhile lets the log grow to a limit only,
// and takes the limit away in the middle of the run.
func TestCaseSess06ADiskThatIsFullForAWhile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not run: limits of another process are set on Linux only")
	}
	long := strings.Repeat("long words ", 2000)
	var p *product
	p = newProduct(t,
		script.Say(script.Text(long), shell("t1", "echo one")),
		script.Reply{React: func(script.Request) script.Reply {
			p.unlimited()
			return script.Say(shell("t2", "echo two"))
		}},
		say("done"), say("again"))
	p.small(16)
	o := p.done("--sandbox", "none", "go")
	contains(t, o.stderr, "the conversation cannot be kept at the moment", "the conversation is kept again")
	if n := strings.Count(o.stderr, "cannot be kept at the moment"); n != 1 || o.stdout != "done\n" {
		t.Errorf("it is said %d times, stdout %q", n, o.stdout)
	}
	p.done("--sandbox", "none", "-c", "go on")
	contains(t, string(p.request(4).Body), "long words long words", "echo one", "echo two", `"done"`)
}

// TestWhatAFullDiskDidNotTakeIsToldAtTheEnd lets the log grow to a limit only.
func TestWhatAFullDiskDidNotTakeIsToldAtTheEnd(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("not run: limits of another process are set on Linux only")
	}
	p := newProduct(t, script.Say(script.Text(strings.Repeat("long words ", 2000)), shell("t1", "echo one")), say("done"))
	p.small(16)
	o := p.run("--sandbox", "none", "go")
	contains(t, o.stderr, "the conversation cannot be kept at the moment", "entries of the conversation are lost")
	if o.code != 0 || o.stdout != "done\n" {
		t.Errorf("exit code %d, stdout %q", o.code, o.stdout)
	}
}

// TestAnOpenSessionIsNotToBeChanged has a session renamed and removed that is
// open: a copy of it would not help.
func TestAnOpenSessionIsNotToBeChanged(t *testing.T) {
	p := newProduct(t, say("ok"))
	p.done("begin")
	open, _, err := session.OpenLog(p.log(), session.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for _, args := range [][]string{{"sessions", "rm", open.ID()}, {"sessions", "rename", open.ID(), "x"}} {
		o := p.run(args...)
		contains(t, o.stderr, "is open in another oneloop")
		if o.code == 0 || strings.Contains(o.stderr, "--fork") {
			t.Errorf("%v: exit code %d, %s", args, o.code, o.stderr)
		}
	}
}

// TestATornEndIsToldAsWhatItIs cuts the log where a killed writer would.
func TestATornEndIsToldAsWhatItIs(t *testing.T) {
	p := newProduct(t, script.Reply{Repeat: true, Blocks: []script.Block{script.Text("ok")}})
	p.done("begin")
	if err := os.Truncate(p.log(), fileSize(t, p.log())-5); err != nil {
		t.Fatal(err)
	}
	o := p.done("-c", "go on")
	contains(t, o.stderr, "cut off", "nothing that was acted on is lost")
	if strings.Contains(o.stderr, "damaged") {
		t.Errorf("it is told as damage: %s", o.stderr)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// unlimited lets the program that runs write files of any size.
func (p *product) unlimited() {
	p.t.Helper()
	if err := setFileLimit(int(p.pid.Load())); err != nil {
		p.t.Error(err)
	}
}

func TestNobodyReadsWhatIsShownOfASession(t *testing.T) {
	p := newProduct(t, say("ok"))
	p.done("a task")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	var said strings.Builder
	cmd := exec.Command(p.bin, "sessions", "show", idOf(p.log()))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, w, &said
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitPipe || said.Len() > 0 {
		t.Errorf("it ended with %v, saying %q", err, &said)
	}
}
