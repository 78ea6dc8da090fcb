//go:build amd64 || arm64

// Package ordinary_test runs the tests of the sandbox once more, as an ordinary
// user. It is a package of its own so that it runs beside them: it waits as
// much as it computes.
package ordinary_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "oneloop/looptest" // what is tested: when it changes, this test has to run again
	_ "oneloop/workspace"
)

func TestSandboxAsAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the tests of package workspace run as an ordinary user already")
	}
	const nobody = 65534
	home, err := os.MkdirTemp("", "oneloop-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"attack.c", "everyday.md"} { // in a folder that others may not enter
		if err := os.WriteFile(filepath.Join(home, name), read(t, "../testdata/"+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-test.run=^TestSandbox", "-test.v", "-test.timeout=18m"}
	if !soak() {
		t.Log("NOT RUN as an ordinary user without ONELOOP_SOAK=1: the everyday commands, and the race detector")
		args = append(args, "-test.skip=^TestSandboxRunsEverydayCommandsAsOutside$")
	}
	cmd := exec.Command(build(t, home), args...)
	cmd.Dir = home
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + home, "WORKSPACE_TEST_SOURCE=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if passed := strings.Count(string(out), "\n--- PASS: TestSandbox"); err != nil || passed < 15 {
		t.Errorf("%v, %d tests passed:\n%s", err, passed, out)
	}
	if testing.Verbose() {
		t.Logf("%s", out)
	}
}

func soak() bool { return os.Getenv("ONELOOP_SOAK") != "" }

// build makes the tests of package workspace. All their files are read here, for
// only so the go command knows that a result it has kept depends on them.
func build(t *testing.T, home string) string {
	t.Helper()
	sources, err := filepath.Glob("../*_test.go")
	if more, err2 := filepath.Glob("../testdata/*"); err == nil && err2 == nil {
		sources = append(sources, more...)
	}
	if err != nil || len(sources) < 20 {
		t.Fatalf("%d files of tests: %v", len(sources), err)
	}
	for _, name := range sources {
		read(t, name)
	}
	program := filepath.Join(home, "workspace.test")
	args := []string{"test", "-c", "-ldflags=-s -w", "-o", program}
	if soak() { // the same code has run under it beside this
		args = append(args, detector...)
	}
	if out, err := exec.Command("go", append(args, "oneloop/workspace")...).CombinedOutput(); err != nil {
		t.Fatalf("build the tests: %v\n%s", err, out)
	}
	return program
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
