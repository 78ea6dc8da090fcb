//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"oneloop/looptest/script"
)

// terminal is the product in a conversation at a pseudo-terminal of 80×24.
type terminal struct {
	*product
	cmd    *exec.Cmd
	pty    *os.File // the terminal's side
	tty    *os.File // the program's side, kept open so that settings can be read at the end
	before unix.Termios

	mu   sync.Mutex
	all  []byte        // everything that was written
	seen []byte        // since the last thing that was looked for
	more chan struct{} // closed and replaced when something was written
	done chan error
}

// converse starts the program and waits until it can be talked to.
func (p *product) converse(args ...string) *terminal {
	p.t.Helper()
	c := p.sit(pty.Winsize{Rows: 24, Cols: 80}, "TERM=xterm-256color", args...)
	c.sees("Ctrl-D")
	return c
}

// sit starts the program at a terminal of this size and kind.
func (p *product) sit(size pty.Winsize, kind string, args ...string) *terminal {
	p.t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := pty.Setsize(ptmx, &size); err != nil {
		p.t.Fatal(err)
	}
	c := &terminal{product: p, pty: pollable(p.t, ptmx), tty: tty, more: make(chan struct{}), done: make(chan error, 1)}
	c.before = c.settings()
	c.cmd = exec.Command(p.bin, append([]string{"--permission-mode", "bypassPermissions"}, args...)...)
	c.cmd.Dir, c.cmd.Env = p.dir, append(p.env, kind)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(c.read)
	go func() { c.done <- c.cmd.Wait() }() // ended by the cleanup below
	p.t.Cleanup(func() {
		c.cmd.Process.Kill()
		tty.Close()
		c.pty.Close()
		wg.Wait()
	})
	return c
}

// pollable is f as a file that can be closed while it is read.
func pollable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}

func (c *terminal) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := c.pty.Read(buf)
		c.mu.Lock()
		c.seen = append(c.seen, buf[:n]...)
		c.all = append(c.all, buf[:n]...)
		close(c.more)
		c.more = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *terminal) settings() unix.Termios {
	c.t.Helper()
	s, err := unix.IoctlGetTermios(int(c.tty.Fd()), unix.TCGETS)
	if err != nil {
		c.t.Fatal(err)
	}
	return *s
}

func (c *terminal) types(s string) {
	c.t.Helper()
	if _, err := c.pty.WriteString(s); err != nil {
		c.t.Fatal(err)
	}
}

var sequences = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// sees waits until these texts were written since the last thing that was seen.
func (c *terminal) sees(texts ...string) {
	c.t.Helper()
	deadline := time.After(time.Minute)
	for {
		c.mu.Lock()
		plain := sequences.ReplaceAllString(string(c.seen), "")
		more := c.more
		missing := slices.IndexFunc(texts, func(text string) bool { return !strings.Contains(plain, text) })
		if missing < 0 {
			c.seen = nil
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		select {
		case <-more:
		case <-deadline:
			c.t.Fatalf("%q never came, but\n%s", texts[missing], plain)
		}
	}
}

// ends waits for the program's end and looks at what it leaves.
func (c *terminal) ends() syscall.WaitStatus {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(time.Minute):
		c.t.Fatal("the program did not end")
	}
	if after := c.settings(); after != c.before {
		c.t.Errorf("the terminal is left with other settings: %+v, before %+v", after, c.before)
	}
	c.census()
	return c.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// modes waits for the program to turn off the modes of the terminal it uses.
func (c *terminal) modes() {
	c.t.Helper()
	deadline := time.After(time.Minute)
	for {
		c.mu.Lock()
		all, more := string(c.all), c.more
		c.mu.Unlock()
		if on, off := strings.LastIndex(all, "\x1b[?2004h"), strings.LastIndex(all, "\x1b[?2004l"); on >= 0 && off > on {
			return
		}
		select {
		case <-more:
		case <-deadline:
			c.t.Errorf("bracketed paste is left on in %q", all)
			return
		}
	}
}

// requested waits for the n-th request.
func (c *terminal) requested(n int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	if err := c.server.Wait(ctx, n); err != nil {
		c.t.Fatalf("there is no request %d: %v", n, err)
	}
}

func TestCaseHist04AConversationGoesOnAfterEmptyReplies(t *testing.T) {
	p := newProduct(t, script.Say(), script.Say(script.Text("")), script.Say(script.Text("\n \n")), script.Say(shell("t1", "true")), script.Say(shell("t2", "false")), say("ok"))
	c := p.converse()
	for i, prompt := range []string{"one", "two", "three", "four"} {
		c.types(prompt + "\r")
		c.requested(i + 1)
		c.sees("tokens: ")
	}
	contains(t, p.result(6, "t2"), "exit code 1")
	c.types("\x04")
	c.ends()
}

func TestCaseHist09StoppedWhileArgumentsStream(t *testing.T) {
	half := script.Say(script.Text("I will look"), script.Open(script.ToolPieces("t1", "Bash", `{"command":"echo hi > p.t`)))
	half.Pauses = []script.Pause{{After: 8, For: script.Forever}}
	p := newProduct(t, half, say("next is done"))
	c := p.converse()
	c.types("go on\r")
	c.sees("I will look")
	began := time.Now()
	c.types("\x03")
	c.sees("stopped")
	if took := time.Since(began); took > time.Second {
		t.Errorf("Ctrl-C took %v", took)
	}
	c.types("next\r")
	c.sees("next is done")
	contains(t, string(p.request(2).Body), "I will look", "next")
	if p.exists("p.t") || p.exists("p.txt") {
		t.Error("an unfinished call was run")
	}
	c.types("exit\r")
	c.ends()
}

func TestCaseHist13AnInterruptedCommandIsNotSaidToHaveNotRun(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "echo s > mark; sleep 60"), shell("t2", "echo never")), say("ok then"))
	c := p.converse()
	c.types("go on\r")
	deadline := time.Now().Add(20 * time.Second)
	for !p.exists("mark") && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond) // another process makes it
	}
	c.types("\x03")
	c.sees("stopped")
	c.types("next\r")
	c.sees("ok then")
	contains(t, p.result(2, "t1"), "interrupted", "may have changed")
	lacks(t, p.result(2, "t1"), "not run", "did not run")
	contains(t, p.result(2, "t2"), "not started")
	c.types("\x04")
	c.ends()
}

func TestCaseStrm04ASilentStreamIsStoppedAtOnce(t *testing.T) {
	p := newProduct(t, script.Reply{Wait: script.Forever}, say("here again"))
	c := p.converse()
	c.types("go on\r")
	c.requested(1)
	began := time.Now()
	c.types("\x1b")
	c.sees("stopped")
	if took := time.Since(began); took > time.Second {
		t.Errorf("Esc took %v", took)
	}
	c.types("again\r")
	c.sees("here again")
	c.types("\x04")
	c.ends()
}

func TestCaseBash12CommandsHaveNoTerminal(t *testing.T) {
	p := newProduct(t, script.Say(shell("t1", "sh -c 'read x < /dev/tty; echo got:$x'"), shell("t2", "sh -c 'stty -echo < /dev/tty; echo rc=$?'"), shell("t3", "sleep 0.5; touch mark")), say("all done"), say("second done"))
	c := p.converse()
	raw := c.settings()
	c.types("go on\r")
	c.requested(1)
	c.types("typed meanwhile")
	c.requested(2)
	if took := p.request(2).At.Sub(p.request(1).At); took > 30*time.Second {
		t.Errorf("the commands took %v", took)
	}
	c.sees("all done")
	lacks(t, p.result(2, "t1"), "got:typed")
	lacks(t, p.result(2, "t2"), "rc=0")
	if after := c.settings(); after != raw {
		t.Error("a command changed the terminal's settings")
	}
	c.types("\r")
	c.sees("second done")
	contains(t, string(p.request(3).Body), "typed meanwhile")
	c.types("\x04")
	c.ends()
}

func TestCaseTerm03APasteIsOneMessage(t *testing.T) {
	lines := strings.TrimSuffix(strings.Repeat("第 1 行 mixed 文字，tab\there\r\n", 500), "\r\n")
	want := strings.ReplaceAll(lines, "\r\n", "\n")
	for name, write := range map[string]func(c *terminal){
		"one write":        func(c *terminal) { c.types("\x1b[200~" + lines + "\x1b[201~") },
		"a split end mark": func(c *terminal) { c.types("\x1b[200~" + lines + "\x1b[20"); c.types("1~") },
		"bytes": func(c *terminal) {
			for _, b := range []byte("\x1b[200~" + lines + "\x1b[201~") {
				c.types(string([]byte{b}))
			}
		},
		"pieces": func(c *terminal) {
			for _, l := range strings.SplitAfter("\x1b[200~"+lines+"\x1b[201~", "1") {
				c.types(l)
			}
		},
	} {
		p := newProduct(t, say("got it"))
		c := p.converse()
		write(c)
		c.sees("文字") // some of it is shown
		c.types("\r")
		c.sees("got it")
		if got := p.request(1).Messages[0].Text(); got != want {
			t.Errorf("%s: %d bytes were sent, want %d", name, len(got), len(want))
		}
		c.types("\x04")
		c.ends()
	}
}

func TestCaseTerm03ABurstWithoutMarksIsNotManyMessages(t *testing.T) {
	p := newProduct(t, say("got it"))
	c := p.converse()
	c.types("line one\rline two\rline three")
	c.sees("line three")
	c.types("\r")
	c.sees("got it")
	if got := p.request(1).Messages[0].Text(); got != "line one\nline two\nline three" {
		t.Errorf("sent was %q", got)
	}
	c.types("\x04")
	c.ends()
}

func TestCaseTerm07TheTerminalIsGivenBack(t *testing.T) {
	for name, leave := range map[string]func(c *terminal){
		"q": func(c *terminal) { c.types("q\r") }, "exit": func(c *terminal) { c.types("exit\r") }, "Ctrl-D": func(c *terminal) { c.types("\x04") },
		"Ctrl-C twice": func(c *terminal) { c.types("\x03"); c.sees("again"); c.types("\x03") },
	} {
		c := newProduct(t).converse()
		leave(c)
		if ws := c.ends(); !ws.Exited() || ws.ExitStatus() != 0 {
			t.Errorf("%s: it ended with %v", name, ws)
		}
		c.modes()
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		for _, busy := range []bool{false, true} {
			p := newProduct(t, script.Reply{Wait: script.Forever})
			c := p.converse()
			if busy {
				c.types("go on\r")
				c.requested(1)
			}
			if err := c.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if ws := c.ends(); !ws.Signaled() || ws.Signal() != sig {
				t.Errorf("%v: the parent sees %v", sig, ws)
			}
			c.modes()
		}
	}
}

func TestAPromptIsRecalledInTheNextConversation(t *testing.T) {
	over := script.Fail(400, "invalid_request_error", "no")
	p := newProduct(t, over, say("second time"), say("third time"))
	c := p.converse()
	c.types("a long thought\r")
	c.sees("invalid_request_error")
	c.types("\x1b[A\r") // what failed is not lost
	c.sees("second time")
	c.types("\x04")
	c.ends()
	c = p.converse()
	c.types("\x1b[A\r")
	c.sees("third time")
	contains(t, p.request(3).Messages[0].Text(), "a long thought")
	c.types("\x04")
	c.ends()
	kept := filepath.Join(p.home(), ".local/state/oneloop/prompts")
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", kept, info, err)
	}
}

func TestCommandsOfAConversation(t *testing.T) {
	p := newProduct(t, say("one done"), say("two done"))
	c := p.converse()
	c.types("/fork\r")
	c.sees("nothing was said yet that a fork could go on with")
	c.types("/resume\r")
	c.sees("no session of ")
	c.types("/rename\r")
	c.sees("/rename NAME gives")
	c.types("!\r")
	c.sees("!COMMAND runs a command of your own")
	c.types("/help\r")
	c.sees("/clear")
	c.types("/cost\r")
	c.sees("nothing was used")
	c.types("/nothing\r")
	c.sees("/nothing")
	c.types("first words\r")
	c.sees("one done")
	c.types("/clear\r")
	c.sees("new conversation")
	c.types("second words\r")
	c.sees("two done")
	lacks(t, string(p.request(2).Body), "first words")
	c.types("/cost\r")
	c.sees("2 requests")
	c.types("\x04")
	c.ends()
}

func TestAConversationInChinese(t *testing.T) {
	p := newProduct(t, script.Say(script.Text("看看"), shell("t1", "seq 20")), say("好了"), say("又好了"), script.Fail(400, "invalid_request_error", "no"), script.Reply{Wait: script.Forever}, say("末尾"))
	p.env = append(p.env, "LANG=zh_CN.UTF-8", "LC_ALL=", "LC_MESSAGES=", "ONELOOP_LANG=")
	c := p.converse()
	for _, step := range [][2]string{
		{"/help\r", "按 Esc 则立即送达"}, {"/cost\r", "还没有任何用量"}, {"/mode\r", "从下一次调用起生效"}, {"/没有\r", "没有 /没有 这个命令"}, {"/clear 全部\r", "后面不能有别的内容"},
		{"数一数\r", "请求 2 次"}, {"再数\r", "启动以来 $"}, {"还数\r", "输入的内容没有丢"}, {"等着\r", "> 等着"},
		{"排队👨‍👩‍👧‍👦，e\u0301\r", "等待中 1：排队👨‍👩‍👧‍👦，e\u0301"}, {"\x1b", "末尾"},
	} {
		c.types(step[0])
		c.sees(step[1])
	}
	c.mu.Lock()
	all := sequences.ReplaceAllString(string(c.all), "")
	c.mu.Unlock()
	contains(t, all, "…… 还有 14 行", "出错：", "已停止")
	lacks(t, all, "more line", "session", "tokens", "stopped", "kept")
	c.types("\x04")
	c.ends()
}

func TestOnlyOneLineWithOneWordBehindASlashIsACommand(t *testing.T) {
	texts := []string{"/clear\nthe second line of a paste", "/etc/hosts what is this", "// a comment", " /clear"}
	replies := []script.Reply{}
	for i := range texts {
		replies = append(replies, say(fmt.Sprint("heard ", i)))
	}
	p := newProduct(t, replies...)
	c := p.converse()
	for _, said := range []string{"/clear the folder", "/clear\tall"} {
		c.types(said + "\r")
		c.sees("in front sends the line to the model")
	}
	for i, text := range texts {
		c.types("\x1b[200~" + text + "\x1b[201~")
		c.sees(text[strings.LastIndexByte(text, '\n')+1:])
		c.types("\r")
		c.sees(fmt.Sprint("heard ", i))
		m := p.request(i + 1).Messages
		if got := m[len(m)-1].Text(); got != text || len(m) != 2*i+1 {
			t.Errorf("sent was %q behind %d messages, want %q", got, len(m)-1, text)
		}
	}
	c.types("\x1b[200~/clear\r\n\x1b[201~") // a line copied with its end
	c.sees("/clear")
	c.types("\r")
	c.sees("new conversation")
	c.types("\x04")
	c.ends()
}

func TestNoColourWhereNoneIsWanted(t *testing.T) {
	p := newProduct(t, say("plain answer"))
	p.env = append(p.env, "NO_COLOR=1")
	c := p.converse()
	c.types("go on\r")
	c.sees("plain answer")
	c.types("\x04")
	c.ends()
	c.mu.Lock()
	defer c.mu.Unlock()
	if colours := regexp.MustCompile(`\x1b\[\d*m`).FindAll(c.all, -1); colours != nil {
		t.Errorf("colours in %q", c.all)
	}
}

func TestNamedPipesAreRefusedAndNotWaitedFor(t *testing.T) {
	p := newProduct(t)
	if err := syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if o := p.run("--image", "pipe", "what is this?"); o.code != exitUsage || !strings.Contains(o.stderr, "pipe") {
		t.Errorf("an image: exit code %d, %s", o.code, o.stderr)
	}
	if o := p.run("--trace=pipe", "go on"); o.code != exitConfig || !strings.Contains(o.stderr, "pipe") {
		t.Errorf("a trace: exit code %d, %s", o.code, o.stderr)
	}
}
