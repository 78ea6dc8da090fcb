//go:build amd64 || arm64

package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"oneloop/workspace"
)

// everydayCommand is one entry of testdata/everyday.md.
type everydayCommand struct {
	name, command, says string
	needs               []string
}

func everydayCommands(t *testing.T) (list []everydayCommand) {
	t.Helper()
	dir := "testdata"
	if d := os.Getenv("WORKSPACE_TEST_SOURCE"); d != "" {
		dir = d
	}
	text, err := os.ReadFile(filepath.Join(dir, "everyday.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		head, rest, _ := strings.Cut(part, "```bash\n")
		command, _, closed := strings.Cut(rest, "\n```")
		e := everydayCommand{command: command}
		for i, line := range strings.Split(strings.TrimSpace(head), "\n") {
			needs, isNeeds := strings.CutPrefix(line, "needs: ")
			says, isSays := strings.CutPrefix(line, "says: ")
			switch {
			case i == 0:
				e.name = line
			case isNeeds:
				e.needs = strings.Fields(needs)
			case isSays:
				e.says = says
			default:
				t.Fatalf("%s: what is %q?", e.name, line)
			}
		}
		if !closed || e.needs == nil {
			t.Fatalf("%s is not complete", e.name)
		}
		list = append(list, e)
	}
	if len(list) < 45 {
		t.Fatalf("there are %d commands", len(list))
	}
	return list
}

// project is what everyday commands find.
var project = map[string]string{
	"go.mod":            "module hello\n\ngo 1.21\n",
	"main.go":           "package main\n\nfunc main() { println(word(1)) }\n\nfunc word(n int) string { return \"hello\" }\n",
	"word_test.go":      "package main\n\nimport \"testing\"\n\nfunc TestWord(t *testing.T) {\n\tif word(1) != \"hello\" {\n\t\tt.Fatal()\n\t}\n}\n",
	"bad.txt":           "package x\nfunc  f( ) {}\n",
	"Makefile":          "all: one two\none two:\n\t@echo made $@ > $@.out\nclean:\n\t@cat one.out two.out; rm one.out two.out\n",
	"main.c":            "#include <stdio.h>\nint main(void) { puts(\"from c\"); return 0; }\n",
	"data.json":         `{"items":[{"name":"one"},{"name":"two"}]}`,
	"data.csv":          "a,1\nb,2\na,3\n",
	"notes.txt":         "one\ntwo\n",
	"package.json":      `{"name":"hello","version":"1.0.0","scripts":{"hello":"echo from a script","test":"node -e 0"}}`,
	"index.js":          "module.exports = n => n * 21\n",
	"app.py":            "import csv, sys\nprint(sum(int(r[1]) for r in csv.reader(open(sys.argv[1]))))\n",
	"crate/Cargo.toml":  "[package]\nname = \"crate\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n",
	"crate/src/main.rs": "fn main() { println!(\"from rust\"); }\n",
	".gitignore":        "/hello\n/c\n/r\n__pycache__\nCargo.lock\n",
}

// begin makes the project in a fresh folder.
func begin(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	for name, text := range project {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "-c", "git init -q -b main && git add -A && git commit -qm first && cat > .git/hooks/pre-commit && chmod 755 .git/hooks/pre-commit")
	cmd.Stdin = strings.NewReader("#!/bin/sh\nif git diff --cached --name-only | grep -q '^wrong'; then echo the hook says no; exit 1; fi\n")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), person...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// person is whoever commits, always at the same time, and with no settings.
var person = []string{
	"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x",
	"GIT_AUTHOR_DATE=2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2024-01-01T00:00:00Z", "GOTELEMETRY=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "GOPROXY=off", "GONOSUMDB=*",
}

func TestSandboxRunsEverydayCommandsAsOutside(t *testing.T) {
	env := workspace.Scrub(append(os.Environ(), person...), nil)
	plainRoot, root := begin(t), begin(t)
	opts := workspace.SandboxOptions{Env: env, Cache: filepath.Join(t.TempDir(), "cache")}
	plain, err := workspace.Local(plainRoot, workspace.LocalOptions{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	w := sandboxAt(t, root, opts)
	times := regexp.MustCompile(`\b\d+\.\d+s\b`)
	run := func(w workspace.Workspace, root, command string) string {
		out, exit := bash(t, w, 60*time.Second, command)
		return times.ReplaceAllString(strings.ReplaceAll(out, root, "ROOT"), "TIME") + fmt.Sprintf("exit %d%s", exit.Code, exit.Signal)
	}
	ran, missing := 0, map[string]bool{}
	for _, e := range everydayCommands(t) {
		ready := true
		for _, program := range e.needs {
			if !works(program) {
				missing[program], ready = true, false
			}
		}
		if !ready {
			t.Logf("NOT RUN: %s, which needs %s", e.name, strings.Join(e.needs, ", "))
			continue
		}
		ran++
		began := time.Now()
		outside := make(chan string, 1)
		go func() { // beside the other: both wait as much as they compute
			defer close(outside)
			if e.says == "" {
				outside <- run(plain, plainRoot, e.command)
			}
		}()
		inside := run(w, root, e.command)
		want := <-outside
		if e.says != "" {
			if !regexp.MustCompile(e.says).MatchString(inside) || strings.HasSuffix(inside, "exit 0") {
				t.Errorf("%s: inside it says\n%s\nwant %s, and a failure", e.name, inside, e.says)
			}
			continue
		}
		if d := cmp.Diff(want, inside); d != "" {
			t.Errorf("%s is not the same inside (+):\n%s", e.name, d)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Logf("%s took %v", e.name, took)
		}
	}
	t.Logf("%d everyday commands ran", ran)
	for program := range missing {
		t.Logf("LOUD: %s is not here, so what needs it was not run", program)
	}
	if ran < 30 {
		t.Errorf("only %d of the everyday commands could be run", ran)
	}
}

// works reports whether a program is there and is more than a name.
func works(program string) bool {
	if program == "go" {
		return exec.Command("go", "version").Run() == nil
	}
	if _, err := exec.LookPath(program); err != nil {
		return exec.Command("bash", "-c", "type -t "+program).Run() == nil
	}
	switch program {
	case "cargo", "rustc", "node", "npm", "python3":
		return exec.Command(program, "--version").Run() == nil
	}
	return true
}
