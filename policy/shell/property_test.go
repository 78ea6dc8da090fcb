package shell_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"oneloop/policy/shell"
)

// simple are denied commands made of words alone, so that each word can be
// written in other ways.
var simple = [][]string{
	{"rm", "-rf", "/"},
	{"rm", "-r", "-f", "/etc"},
	{"rm", "--recursive", "/home/ada"},
	{"rm", "-fr", "../.."},
	{"rm", "-Rf", "--", "/usr"},
	{"mkfs.ext4", "/dev/sda1"},
	{"dd", "if=/dev/zero", "of=/dev/sda"},
	{"tee", "/dev/nvme0n1"},
	{"shutdown", "-h", "now"},
	{"reboot"},
	{"init", "6"},
	{"systemctl", "poweroff"},
	{"find", "/", "-delete"},
}

// quote writes a word in a way that bash reads as the same word.
func quote(t *rapid.T, w string) string {
	switch rapid.IntRange(0, 7).Draw(t, "quoting") {
	case 0:
		return "'" + w + "'"
	case 1:
		return `"` + w + `"`
	case 2:
		i := rapid.IntRange(0, len(w)).Draw(t, "cut")
		return w[:i] + `""` + w[i:]
	case 3:
		i := rapid.IntRange(0, len(w)).Draw(t, "cut")
		return w[:i] + "'" + w[i:] + "'"
	case 4:
		return `\` + w
	case 5:
		var b strings.Builder
		for _, c := range []byte(w) {
			fmt.Fprintf(&b, `\x%02x`, c)
		}
		return "$'" + b.String() + "'"
	case 6:
		return "$(echo " + w + ")"
	}
	return w
}

var single = []string{
	"sudo %s", "sudo -u bob -E -- %s", "env %s", "env -i A=1 B=2 %s", "command %s", "exec %s", "nohup %s", "nice -n 19 %s",
	"timeout -k 1 5m %s", "setsid -w %s", "busybox %s", "stdbuf -o0 -eL %s", "ionice -c2 -n7 %s", "time -p %s", "xargs -0 -n1 %s",
	"env A=1 %s", "flock -w 3 /tmp/lock %s", "doas %s", "chroot /mnt %s", "strace -f -o /dev/null %s", "builtin command %s",
	"%s >/dev/null 2>&1", "2>&1 %s", "%s </dev/null",
}

var around = []string{
	"( %s\n)", "{ %s\n}", "{ %s\n} &", "ls; %s", "ls && %s", "ls || %s", "ls | %s", "{ %s\n} | cat", "( %s\n) |& cat", "x=$(%s\n)",
	"echo \"$(%s\n)\"", "if true; then %s\nfi", "if %s\nthen :; fi", "if a; then :; else %s\nfi", "while %s\ndo :; done",
	"until a; do %s\ndone", "for i in 1 2; do %s\ndone", "case x in x) %s\n;; esac", "f() { %s\n}; f", "function g { %s\n}",
	"cat <(%s\n)", "echo ${x:-$(%s\n)}", "[[ -n $(%s\n) ]]", "coproc { %s\n}", "echo a\n%s\necho b", "true # no\n%s",
	"cat <<E\n$(%s\n)\nE\n", "%s # yes\n", "eval \"$(true)\"; %s", "trap 'true' EXIT; %s", "(( 1 )) && %s",
	"select x in a; do %s\ndone", "a=(1 $(%s\n))", "declare x=$(%s\n)", "echo $(( $(%s\n) ))",
}

// textual wrappers take the command as a text in single quotes.
var textual = []string{
	"sh -c %s", "bash -lc %s", "bash -o errexit -c %s", "/usr/bin/env bash -c %s", "eval %s", "trap %s EXIT", "su -c %s", "watch %s",
	"bash <<< %s", "echo %s | sh", "printf %%s %s | bash", "xargs sh -c %s", "find . -name x -exec sh -c %s \\;", "{ c=%s; eval \"$c\"\n}", "{ c=%s; sh -c \"$c\"\n}",
	"echo %s | sudo bash -s", "bash -c \"$(echo %s)\"", "sh -c 'eval \"$1\"' x %s",
}

func inSingle(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// wrap puts a command into something that runs it.
func wrap(t *rapid.T, c string, prefix bool) (string, bool) {
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	if kind <= 1 && !prefix {
		kind = 2
	}
	switch kind {
	case 0, 1:
		return strings.Replace(rapid.SampledFrom(single).Draw(t, "wrapper"), "%s", c, 1), true
	case 2, 3:
		return strings.Replace(rapid.SampledFrom(around).Draw(t, "around"), "%s", c, 1), false
	}
	f := strings.ReplaceAll(rapid.SampledFrom(textual).Draw(t, "text"), "%%", "%")
	i := strings.LastIndex(f, "%s")
	if strings.HasPrefix(f, "printf") {
		i = strings.Index(f, "%s |")
	}
	if strings.HasPrefix(f, "{ c=") || strings.HasPrefix(f, "bash <<<") {
		i = strings.Index(f, "%s")
	}
	return f[:i] + inSingle(c) + f[i+2:], false
}

func TestADeniedCommandIsDeniedHoweverItIsWrappedAndQuoted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom(simple).Draw(t, "command")
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = quote(t, w)
		}
		if rapid.Bool().Draw(t, "by path") && quoted[0] == words[0] {
			quoted[0] = "/usr/bin/" + words[0]
		}
		c := strings.Join(quoted, rapid.SampledFrom([]string{" ", "  ", "\t", " \\\n "}).Draw(t, "blank"))
		prefix := true // a word may be put before the command
		for range rapid.IntRange(0, 4).Draw(t, "layers") {
			c, prefix = wrap(t, c, prefix)
		}
		if v := shell.Judge(c, place); v.Tier != shell.Deny {
			t.Fatalf("%v: %s\n%+v", v.Tier, c, v)
		}
	})
}

func TestJudgingEndsSoonWhateverTheCommand(t *testing.T) {
	long := map[string]string{
		"many commands":      strings.Repeat("true && ", 5000) + "rm -rf /",
		"many lines":         strings.Repeat("echo a b c\n", 5000) + "rm -rf /",
		"many branches":      strings.Repeat("if a; then x=$x$RANDOM; fi\n", 60) + "rm -rf /",
		"many values":        strings.Repeat("x=1 || x=2; y=$x$x || y=3\n", 60) + "rm -rf /",
		"functions in turn":  doubling(40) + "rm -rf /",
		"loops in loops":     strings.Repeat("for x in a b; do ", 40) + "rm -rf /" + strings.Repeat("; done", 40),
		"braces":             "echo " + strings.Repeat("{a,b}", 40) + "; rm -rf /",
		"a sequence":         "echo {1..1000000000}; rm -rf /",
		"a long here-doc":    "cat > x <<'E'\n" + strings.Repeat("text ( ` $( ${ \" '\n", 50_000) + "E\nrm -rf /",
		"a long word":        "echo " + strings.Repeat("x", 1<<20) + "; rm -rf /",
		"growing text":       "x=ab; " + strings.Repeat("x=$x$x; ", 60) + "rm -rf /",
		"arithmetic":         "echo $((1" + strings.Repeat("+1", 20_000) + ")); rm -rf /",
		"nested commands":    strings.Repeat("rm $(printf %x$(find ", 20) + strings.Repeat(" | cat))", 20) + "; rm -rf /",
		"nested texts":       strings.Repeat("printf %x $(", 40) + strings.Repeat(")", 40) + "; rm -rf /",
		"a long pipeline":    "find . " + strings.Repeat("| cat ", 2000) + "| xargs rm -rf /",
		"texts within texts": "rm -rf /; " + nested(20),
	}
	for name, c := range long {
		began := time.Now()
		v := shell.Judge(c, place)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: %v", name, took)
		}
		if v.Tier == shell.Allow {
			t.Errorf("%s: %+v", name, v)
		}
		switch name {
		case "many commands", "many lines", "a long here-doc", "a long word", "braces", "a sequence", "many branches", "texts within texts":
			if v.Tier != shell.Deny {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
	deep := map[string]string{
		"parentheses": strings.Repeat("(", 1<<20),
		"subshells":   strings.Repeat("$(", 1<<20),
		"ifs":         strings.Repeat("if ", 1<<20),
		"braces":      strings.Repeat("{ ", 1<<20),
		"negations":   "[[ " + strings.Repeat("! ", 1<<20),
		"signs":       "echo $((" + strings.Repeat("- ", 1<<20),
		"parameters":  strings.Repeat("${a:-", 1<<20),
		"quotes":      strings.Repeat(`"$(`, 1<<20),
		"closed":      strings.Repeat("(", 1<<18) + "ls" + strings.Repeat(")", 1<<18),
	}
	for name, c := range deep {
		began := time.Now()
		v := shell.Judge(c, place)
		if v.Tier != shell.Ask || v.Rule != shell.RuleUnclear {
			t.Errorf("%s: %+v", name, v)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: %v", name, took)
		}
	}
}

// doubling defines functions each of which calls the one before twice.
func doubling(n int) string {
	var b strings.Builder
	b.WriteString("f0() { true; }\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "f%d() { f%d; f%d; }\n", i, i-1, i-1)
	}
	return b.String()
}

func nested(n int) string {
	c := "ls"
	for range n {
		c = "eval " + strings.ReplaceAll(c, " ", `\ `)
		if len(c) > 1<<16 {
			break
		}
	}
	return c
}

func TestTheVerdictNamesThePart(t *testing.T) {
	for command, part := range map[string]string{
		"ls -l && rm -rf / ; echo":           "rm -rf /",
		"cd / && rm -rf * && ls":             "rm -rf *",
		"if a; then sudo reboot; fi":         "sudo reboot",
		"sh -c 'ls; rm -rf /'":               "rm -rf /",
		"ls; curl x | sh; ls":                "curl x | sh",
		"git add .; git push -f origin main": "git push -f origin main",
		"echo x > /dev/sda":                  "echo x > /dev/sda",
	} {
		v := shell.Judge(command, place)
		if v.Part != part || v.Reason == nil || v.Rule == "" {
			t.Errorf("%s: %+v", command, v)
		}
	}
	v := shell.Judge("rm -rf / "+strings.Repeat("é\n\x1b", 1000), place)
	if len(v.Part) > 200 || strings.ContainsAny(v.Part, "\n\x1b") {
		t.Errorf("part of %d bytes: %q", len(v.Part), v.Part)
	}
}

func TestAPlaceThatIsNotKnownIsNoRoot(t *testing.T) {
	for command, tier := range map[string]shell.Tier{
		"rm -rf /": shell.Deny, "rm -rf ~": shell.Deny, "rm -rf ..": shell.Deny, "rm -rf ../..": shell.Deny, "rm -rf ~/*": shell.Deny,
		"cd / && rm -rf *": shell.Deny, "rm -rf .git": shell.Ask,
		"rm -rf build": shell.Allow, "rm -rf *": shell.Allow, "rm -rf ../x": shell.Allow, "rm -rf /tmp/x": shell.Allow, "rm -rf ~/.cache/x": shell.Allow,
	} {
		if v := shell.Judge(command, shell.Place{}); v.Tier != tier {
			t.Errorf("%s: %+v", command, v)
		}
	}
}

func TestTheWorkingFolderDecidesWhatAPathMeans(t *testing.T) {
	for _, c := range []struct {
		dir, home, command string
		tier               shell.Tier
	}{
		{"/", "/root", "rm -rf *", shell.Deny},
		{"/", "/root", "rm -rf tmp/x", shell.Allow},
		{"/root", "/root", "rm -rf *", shell.Deny},
		{"/root", "/root", "rm -rf .", shell.Deny},
		{"/root", "/root", "cd build && rm -rf *", shell.Allow},
		{"/root", "/root", "cd build; rm -rf *", shell.Deny}, // when there is no build
		{"/root/a", "/root", "rm -rf ../b", shell.Allow},
		{"/root/a", "/root", "rm -rf ../*", shell.Deny},
		{"/srv/x/y", "/root", "rm -rf /srv/x", shell.Deny},
		{"/srv/x/y", "/root", "rm -rf /srv/x/*", shell.Deny},
		{"/srv/x/y", "/root", "rm -rf /srv/x/z", shell.Allow},
		{"/srv/x/y", "/root", "rm -rf /srv/x/y", shell.Ask},
		{"/srv/x/y", "/root", "rm -rf .", shell.Ask},
		{"/tmp/a", "/", "rm -rf ~", shell.Deny},
	} {
		if v := shell.Judge(c.command, shell.Place{Dir: c.dir, Home: c.home}); v.Tier != c.tier {
			t.Errorf("%+v: %+v", c, v)
		}
	}
}

func TestTextOverSeveralLinesIsFollowed(t *testing.T) {
	for command, tier := range map[string]shell.Tier{
		"bash <<E\nrm -rf /\nE":                 shell.Deny,
		"bash <<'E'\nrm -rf /\nE":               shell.Deny,
		"sh <<-E\n\trm -rf /\n\tE":              shell.Deny,
		"x=/; bash <<E\nrm -rf $x\nE":           shell.Deny,
		"sudo sh <<E\nreboot\nE":                shell.Deny,
		"cat <<E | sh\nrm -rf /\nE":             shell.Deny,
		"bash -s <<E\nls\nE":                    shell.Allow,
		"cat > x.sh <<E\nrm -rf /\nE":           shell.Allow,
		"cat <<'E'\n$(rm -rf /)\nE":             shell.Allow,
		"cat <<E\n$(rm -rf /)\nE":               shell.Deny,
		"python3 <<'E'\nprint('rm -rf /')\nE":   shell.Allow,
		"cat <<'E' | python3\nprint(1)\nE":      shell.Allow,
		"rm \\\n -rf \\\n /":                    shell.Deny,
		"ls\nrm -rf /":                          shell.Deny,
		"ls\r\nrm -rf /\r\n":                    shell.Deny,
		"ls\nrm -rf /\nif":                      shell.Deny, // bash runs the lines before the fault
		"echo )\nrm -rf /":                      shell.Deny,
		"fi\n":                                  shell.Ask,
		"a\x00b":                                shell.Ask,
		"r\x00m -rf /":                          shell.Deny,
		"x='multi\nline rm -rf /'\necho \"$x\"": shell.Allow,
		"# rm -rf /\nls":                        shell.Allow,
		"":                                      shell.Allow,
		"\n\n":                                  shell.Allow,
		"while read d; do rm -rf \"$d\"; done <<E\n/\nE":    shell.Deny,
		"f() {\n  rm -rf \"$1\"\n}\nf build\nf dist":        shell.Allow,
		"for d in a b; do\n  (cd $d && rm -rf build)\ndone": shell.Allow,
	} {
		if v := shell.Judge(command, place); v.Tier != tier {
			t.Errorf("%q: %+v", command, v)
		}
	}
}

func FuzzJudge(f *testing.F) {
	for _, list := range []string{denied, asked, allowed} {
		for _, c := range lines(list) {
			f.Add(c)
		}
	}
	f.Fuzz(func(t *testing.T, command string) {
		v := shell.Judge(command, place)
		if (v.Tier == shell.Allow) != (v == shell.Verdict{}) || len(v.Part) > 200 {
			t.Errorf("%+v", v)
		}
		if w := shell.Judge(command, place); !cmp.Equal(w, v) {
			t.Errorf("two judgements differ: %+v, %+v", v, w)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	for name, c := range map[string]string{
		"short":  "go test ./... 2>&1 | tail -20",
		"script": strings.Repeat("for f in a b c; do if [ -f \"$f\" ]; then x=$(cat \"$f\"); echo \"$x\" >> out; fi; done\n", 20),
		"file":   "cat > main.go <<'E'\n" + strings.Repeat("package main // and so on\n", 10_000) + "E\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c)))
			for b.Loop() {
				shell.Judge(c, place)
			}
		})
	}
}
