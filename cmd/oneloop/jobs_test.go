//go:build unix

package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"syscall"
	"testing"
	"time"

	"oneloop/looptest/script"
)

// behind is a call that runs a command in the background.
func behind(id, command string) script.Block {
	return script.Tool(id, "Bash", fmt.Sprintf(`{"command":%q,"run_in_background":true}`, command))
}

// stubborn are two processes that have to be killed.
const stubborn = `trap "" TERM INT HUP; setsid sleep 300 & echo up; touch mark; sleep 300; sleep 300`

func TestCaseSub04BackgroundCommandsEndWithTheProgram(t *testing.T) {
	for _, c := range []struct {
		name    string
		sandbox string
		signals []syscall.Signal
	}{
		{"Ctrl-C twice", "auto", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}},
		{"Ctrl-C twice, without a sandbox", "none", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}},
		{"SIGTERM", "auto", []syscall.Signal{syscall.SIGTERM}},
		{"SIGTERM, without a sandbox", "none", []syscall.Signal{syscall.SIGTERM}},
		{"SIGHUP", "auto", []syscall.Signal{syscall.SIGHUP}},
		{"SIGKILL", "ns", []syscall.Signal{syscall.SIGKILL}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.sandbox != "none" && runtime.GOOS != "linux" {
				t.Skip("there is no sandbox on this system")
			}
			p := newProduct(t, script.Say(behind("t1", stubborn)), script.Say(shell("t2", "sleep 300")))
			cmd := exec.Command(p.bin, "--permission-mode", "bypassPermissions", "--sandbox", c.sandbox, "go on")
			cmd.Dir, cmd.Env = p.dir, p.env
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill() // of no effect but after a failure
			for deadline := time.Now().Add(time.Minute); !p.exists("mark"); {
				if time.Now().After(deadline) {
					t.Fatal("the command did not start")
				}
				time.Sleep(5 * time.Millisecond) // another process makes it
			}
			for _, s := range c.signals {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond) // two that come together are one
			}
			cmd.Wait()
			p.census()
		})
	}
}

func TestCaseSub04BackgroundCommandsEndWithTheTask(t *testing.T) {
	for _, sandbox := range []string{"auto", "none"} {
		if sandbox != "none" && runtime.GOOS != "linux" {
			continue
		}
		p := newProduct(t, script.Say(behind("t1", stubborn)), script.Say(shell("t2", "while ! [ -e mark ]; do sleep 0.02; done")), say("done"))
		o := p.done("--sandbox", sandbox, "go on")
		if o.stdout != "done\n" {
			t.Errorf("stdout is %q", o.stdout)
		}
		contains(t, o.stderr, "ended what still ran in the background: bash_1 (")
		p.census()
	}
}

func TestWhatABackgroundCommandMadeAtTheEndIsTold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is a sandbox on Linux only")
	}
	p := newProduct(t,
		script.Say(behind("t1", "git init -q sub; trap 'mkdir -p in; echo x > in/.envrc; echo x > sub/.git/hooks/pre-push; chmod +x sub/.git/hooks/pre-push; exit' TERM; touch mark; while true; do sleep 0.05; done")),
		script.Say(shell("t2", "while ! [ -e mark ]; do sleep 0.02; done")), say("done"))
	o := p.done("go on")
	contains(t, o.stderr, "bash_1 (git init", "): new while this command ran: in/.envrc", "hooks/pre-push of the repository", "ended what still ran")
	p.census()
}

func TestCaseSub06WhatABackgroundCommandLeavesIsNamed(t *testing.T) {
	p := newProduct(t,
		script.Say(behind("t1", "nohup sleep 300 >/dev/null 2>&1 & echo pid $!")),
		script.Say(shell("t2", "sleep 2")),
		say("done"))
	p.done("go on")
	told := p.request(3).Last().Text()
	contains(t, told, "The background command bash_1 (", "exit code 0; ended what it left running: sleep (pid ")
	p.census()
}

func TestTheOutputOfABackgroundCommandIsReadByTheReadTool(t *testing.T) {
	file := regexp.MustCompile(`\S+background-\S+\.txt`)
	p := newProduct(t,
		script.Say(behind("t1", "echo one line; oneloop 'a subtask'; echo code $?; touch mark; sleep 300")),
		script.Say(shell("t2", "while ! [ -e mark ]; do sleep 0.02; done; sleep 0.2")),
		script.Reply{React: func(r script.Request) script.Reply {
			started, _ := r.Result("t1")
			return script.Say(script.Tool("t3", "Read", fmt.Sprintf(`{"file_path":%q}`, file.FindString(started.FullText()))))
		}},
		say("done"))
	// Nobody could be asked: the gate has to let it pass by itself.
	o := p.done("--permission-mode", "default", "go on")
	contains(t, p.result(4, "t3"), "one line", "a command in the background has none", "code 3")
	lacks(t, o.stderr, "denied")
}

func TestAFullDiskEndsNoBackgroundCommand(t *testing.T) {
	p := newProduct(t,
		script.Say(behind("t1", "head -c 300000 /dev/zero | tr '\\0' y; echo; touch mark")),
		script.Say(shell("t2", "while ! [ -e mark ]; do sleep 0.02; done; sleep 2")),
		say("done")).small(64)
	o := p.done("go on")
	contains(t, o.stderr, "exit code 0; it printed 300,001 bytes, of which ", "lacks some: ")
	if !p.exists("mark") {
		t.Error("the command did not go on")
	}
}

func TestACommandInTheBackgroundComesBeforeASubtask(t *testing.T) {
	p := newProduct(t, script.Say(behind("t1", "true")), script.Say(shell("t2", `oneloop "the subtask"`)), say("done"))
	p.server.Route("the subtask", say("from the subtask"))
	o := p.done("--sandbox", "none", "go on")
	if o.stdout != "done\n" {
		t.Errorf("stdout is %q", o.stdout)
	}
	lacks(t, o.stderr, "make a folder", "not found")
}
