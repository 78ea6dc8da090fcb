//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"oneloop/internal/tui"
)

// completed is what bash would offer for each of these lines, whose words are
// parted as bash parts them.
func (p *product) completed(lines ...string) (offers []string) {
	p.t.Helper()
	const script = `eval "$(oneloop completion bash)"
while IFS= read -r line; do
	IFS=' ' read -ra COMP_WORDS <<<"$line"
	[[ $line == *' ' ]] && COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]}-1))
	_oneloop oneloop
	echo "${COMPREPLY[*]}"
done`
	cmd := exec.Command("bash", "--norc", "--noprofile", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.env, strings.NewReader(strings.Join(lines, "\n")+"\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v: %s", err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func TestBashCompletesWhatTheProgramKnows(t *testing.T) {
	p := newProduct(t, say("ok"))
	p.done("a first task")
	id := idOf(p.log())
	if err := os.MkdirAll(filepath.Join(p.dir, "some folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	all := [][2]string{
		{"oneloop --sandbox n", "ns none"},
		{"oneloop --sandbox = no", "none"},
		{"oneloop --sandbox =", "auto ns bwrap ll none"},
		{"oneloop sessions show ", id},
		{"oneloop -r ", id},
		{"oneloop policy test ", ""}, // files are bash's
		{"oneloop -C so", "some folder"},
	}
	var lines, want []string
	for _, c := range all {
		lines, want = append(lines, c[0]), append(want, c[1])
	}
	if d := cmp.Diff(want, p.completed(lines...)); d != "" {
		t.Error(d)
	}
	for line, want := range map[string]string{
		"ses": "sessions", "--sand": "--sandbox", "--sandbox=no": "--sandbox=none", "--permission-mode acc": "acceptEdits", "--effort x": "xhigh",
		"--tools Bash,Re": "Bash,Read", "--model no-such": "", "sessions ": "list show rename rm export", "sessions list ": "", "fork " + id[:4]: id,
		"replay ": id, "-r --fo": "--fork", "--resume=2": "--resume=" + id, "-C / -r ": "", "completion ": "bash zsh fish", "policy test ": anyFile,
		"--image ": anyFile, "--add-dir ": anyFolder, "demo ": "s01 s02 s03 s04 s05 s06 s08", "--series s0": "s01 s02 s03 s04 s05 s06 s08", "help ": "demo doctor models completion policy sessions fork replay", "-p ses": "", "-- ses": "", "explain ses": "", "--bell --tra": "--trace",
	} {
		q := &program{env: p.env, opts: &options{dir: p.dir}, words: tui.Messages("en")}
		var got []string
		for _, c := range q.candidates(strings.Split(line, " ")) {
			got = append(got, c.word)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestEveryFlagAndCommandIsCompleted(t *testing.T) {
	p := newProduct(t)
	var flags, names []string
	flagSet(new(options)).VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
	for _, name := range reserved {
		if here(name) {
			names = append(names, name)
		}
	}
	got := p.completed("oneloop --", "oneloop ")
	if d := cmp.Diff(flags, strings.Fields(got[0])); d != "" {
		t.Error(d)
	}
	for _, name := range names {
		if !strings.Contains(" "+got[1]+" ", " "+name+" ") {
			t.Errorf("%s is not offered: %s", name, got[1])
		}
	}
	for _, c := range commandsHere {
		if !strings.Contains(" "+strings.Join(reserved, " ")+" ", " "+c.name+" ") {
			t.Errorf("%s is not reserved", c.name)
		}
	}
}

func TestTabInARealBashCompletes(t *testing.T) {
	p := newProduct(t, say("ok"))
	p.done("a first task")
	id := idOf(p.log())
	bin, err := exec.LookPath(p.bin)
	if err != nil {
		t.Fatal(err)
	}
	c := p.shell()
	c.types("eval \"$(oneloop completion bash)\"; echo loaded-$((40+2))\r")
	c.sees("loaded-42")
	c.types("oneloop --sandb\t")
	c.sees("--sandbox ")
	c.types("\x15oneloop sessions sh\t\t")
	c.sees("show " + id)
	c.types("\x15PATH=/usr/bin:/bin\r" + bin + " --perm\t") // it need not be on the PATH
	c.sees("--permission-mode ")
	c.types("\x15exit\r")
	c.ends()
}

func TestTheScriptsForOtherShellsCanBeRead(t *testing.T) {
	p := newProduct(t)
	for _, shell := range shells {
		t.Run(shell, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(file, []byte(p.run("completion", shell).stdout), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("NOT TRIED: there is no %s here to read its script", shell)
			}
			if out, err := exec.Command(shell, "-n", file).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	if o := p.run("completion", "tcsh"); o.code != exitUsage || !strings.Contains(o.stderr, "completion zsh") {
		t.Errorf("another shell: %d, %s", o.code, o.stderr)
	}
}
