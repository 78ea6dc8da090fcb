package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"oneloop/looptest/script"
)

func TestACommandCannotReadTheKeyFromTheProgramThatRunsIt(t *testing.T) {
	p := newProduct(t,
		script.Reply{Blocks: []script.Block{script.Tool("toolu_1", "Bash", `{"command":"tr '\\0' '\\n' </proc/$PPID/environ; id -u"}`)}},
		script.Reply{Blocks: []script.Block{script.Text("done")}},
	).ship()
	// Root reads everything: the program runs as somebody else.
	open := t.TempDir()
	for d := open; d != os.TempDir() && len(d) > 1; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(p.bin)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(open, "oneloop")
	if err := os.WriteFile(bin, data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "--sandbox", "none", "--permission-mode", "bypassPermissions", "-p", "look")
	cmd.Dir, cmd.Env = open, append(p.env, "HOME="+open, "TMPDIR="+open)
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}}
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if out, err := cmd.Output(); err != nil || string(out) != "done\n" {
		t.Fatalf("%q, %v\n%s", out, err, stderr.String())
	}
	sent := string(p.server.Requests()[1].Body)
	if strings.Contains(sent, testKey) || !strings.Contains(sent, "Permission denied") {
		t.Errorf("the command read the environment:\n%s", sent)
	}
}
