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
	cases := [][2]string{
		{"oneloop ses", "sessions"},
		{"oneloop --sand", "--sandbox"},
		{"oneloop --sandbox n", "ns none"},
		{"oneloop --sandbox = no", "none"},
		{"oneloop --sandbox =", "auto ns bwrap ll none"},
		{"oneloop --sandbox=no", "--sandbox=none"},
		{"oneloop --permission-mode acc", "acceptEdits"},
		{"oneloop --effort x", "xhigh"},
		{"oneloop --tools Bash,Re", "Bash,Read"},
		{"oneloop --model no-such", ""},
		{"oneloop sessions ", "list show rename rm export"},
		{"oneloop sessions show ", id},
		{"oneloop sessions list ", ""},
		{"oneloop fork " + id[:4], id},
		{"oneloop replay ", id},
		{"oneloop -r ", id},
		{"oneloop -r --fo", "--fork"},
		{"oneloop --resume=2", "--resume=" + id},
		{"oneloop -C / -r ", ""},
		{"oneloop completion ", "bash zsh fish"},
		{"oneloop policy test ", ""}, // files are bash's
		{"oneloop help ", "replay"},
		{"oneloop -C so", "some folder"},
		{"oneloop -p ses", ""},
		{"oneloop -- ses", ""},
		{"oneloop explain ses", ""},
		{"oneloop --bell --tra", "--trace"},
	}
	var lines, want []string
	for _, c := range cases {
		lines, want = append(lines, c[0]), append(want, c[0]+" → "+c[1])
	}
	got := p.completed(lines...)
	for i := range got {
		got[i] = lines[min(i, len(lines)-1)] + " → " + got[i]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
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
	t.Parallel()
	p := newProduct(t, say("ok"))
	p.done("a first task")
	id := idOf(p.log())
	c := p.shell()
	c.types("eval \"$(oneloop completion bash)\"; echo loaded-$((40+2))\r")
	c.sees("loaded-42")
	c.types("oneloop --sandb\t")
	c.sees("--sandbox ")
	c.types("\x15oneloop sessions sh\t\t")
	c.sees("show " + id)
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
