package shell_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"oneloop/internal/gitsafe"
	"oneloop/policy/shell"

	"pgregory.net/rapid"
)

var here = shell.Place{Dir: "/home/ada/app", Home: "/home/ada"}

func TestOptionsThatAreNotListedAreNotReadOnly(t *testing.T) {
	for _, c := range []struct {
		command string
		want    bool
	}{
		{"ls -laR --color=auto src", true}, {"ls --color auto", true}, {"ls --colour=auto", false}, {"ls --col=auto", false}, {"ls -%", false},
		{"head -5 f", true}, {"head -n5 f", true}, {"head -n -5 f", true}, {"head -5x f", false}, {"head -n", false}, {"head --lines", false},
		{"tail -f log", false}, {"tail -n +3 f", true}, {"cat -", true}, {"cat -- -x", true}, {"cat -x", false}, {"cat f -x", false},
		{"grep -rn x", true}, {"grep -R x .", false}, {"grep -f pats x", false}, {"grep -e -f x", true}, {"grep -ef x", true}, {"grep -ie x f", true},
		{"rg x", true}, {"rg --pre=evil x", false}, {"rg -z x", false}, {"rg -f x", false}, {"rg --files src", true}, {"rg -uu x", true}, {"rg -L x", false},
		{"diff -u a b", true}, {"diff -l a b", false}, {"diff -r a b", false}, {"diff -r --no-dereference a b", true},
		{"find . -name x -o -size +1k", true}, {"find . -exec x", false}, {"find . -newerXY x", false}, {"find -L . -name x", false}, {"find . -name", false}, {"find . -fls x", false},
		{"sed -n 5p f", true}, {"sed -n '1,5p;$p' f", true}, {"sed -n '1,5p;w x' f", false}, {"sed -ne 5p f", false}, {"sed -ni 5p f", false}, {"sed 5p f", false}, {"sed -n f", false},
		{"git log -5 --format=%H", true}, {"git log --format='%G?'", false}, {"git log --pretty=%GK", false}, {"git log --show-signature", false}, {"git log --output=x", false},
		{"git log --pretty=oneline", true}, {"git log --pretty", true}, {"git log --pretty=x", false}, {"git show --format=x", false}, {"git log --format 'tformat:%h'", true}, {"git log --pretty=format:%G?", false},
		{"git diff --submodule", true}, {"git diff --submodule=diff", false}, {"git log --submodule=short", true}, {"git diff --ignore-submodules=none", false}, {"git status --ignore-submodules", true}, {"git status --ignore-submodules=untracked", false},
		{"git show --diff-merges=remerge", false}, {"git log -p --diff-merges r", false}, {"git log --remerge-diff", false}, {"git show --diff-merges=first-parent", true}, {"git log -m -p", true}, {"git status -v", false}, {"git status --verbose", false},
		{"git diff --ext-diff", false}, {"git show --textconv", false}, {"git log --alternate-refs", false}, {"git ls-files --recurse-submodules", false},
		{"git branch", true}, {"git branch -v", true}, {"git branch x", false}, {"git branch -l 'x*'", true}, {"git branch -d x", false}, {"git branch --edit-description", false},
		{"git -c x=y log", false}, {"git --git-dir=x log", false}, {"git", false}, {"git status -uno", true}, {"git diff --no-index a b", false}, {"git rev-parse --abbrev-ref HEAD", true},
		{"git blame --contents x f", false}, {"git ls-files -X x", false}, {"git ls-files -co --exclude-standard", true}, {"git fetch", false},
		{"pwd x", false}, {"uname -a", true}, {"uname x", false}, {"id -u", true}, {"whoami", true}, {"which -a go", true}, {"seq 1 5", true},
		{"cd src", true}, {"cd", false}, {"cd -", false}, {"cd src && ls", false}, {"cd src && pwd", true}, {"(cd src; echo x); cat f", false}, {"pushd src", false},
		{"true --x", true}, {"echo -e 'a\\nb'", true}, {"echo ~", false}, {"echo a=~", false}, {"echo HEAD~1", true}, {"echo {a,b}", false}, {"echo stash@{0}", true}, {"echo {1..3}", false}, {"ls *", false}, {"ls f?", false}, {"ls [a]", false},
		{"(ls)", true}, {"{ ls; }", true}, {"if ls; then pwd; else true; fi", true}, {"time ls", true}, {"! ls", true}, {"while ls; do pwd; done", false}, {"for f in a; do ls; done", false},
		{"case x in x) ls;; esac", false}, {"ls &", false}, {"ls |& head", true}, {"coproc ls", false}, {"x=1 ls", false}, {"x=1", false}, {"export x=1", false},
		{"ls < f", true}, {"ls < /dev/tcp/h/1", false}, {"ls < $x", false}, {"ls <> f", false}, {"ls 2>&1", true}, {"ls 3>&1", false}, {"ls >&-", false}, {"ls > /dev/null", true}, {"ls &> /dev/null", true},
		{"ls > /dev/nullx", false}, {"cat <<< x", false}, {"cat << E\nx\nE", false}, {"ls 'a\rb'", false}, {"echo \u202e", false}, {"echo \u3164", false}, {"echo 'é 漢'", true},
		{"", true}, {" # x", true}, {"evil", false}, {"./ls", false}, {"/bin/ls", false}, {"'ls'", true}, {`l\s`, true}, {"$'ls'", false}, {`$"ls"`, false},
	} {
		a := shell.Analyse(c.command, here)
		if a.ReadOnly() != c.want {
			t.Errorf("%q: read-only is %v (%s)", c.command, a.ReadOnly(), a.Changes)
		}
		if !a.ReadOnly() && a.Source() != "" {
			t.Errorf("%q has a source: %q", c.command, a.Source())
		}
	}
}

func TestWhatIsReadOnlyIsWrittenAnew(t *testing.T) {
	git := "GIT_ALLOW_PROTOCOL='' GIT_NO_LAZY_FETCH=1 git --no-pager --no-optional-locks"
	for _, s := range gitsafe.Settings {
		word := s[0] + "=" + s[1]
		if strings.ContainsAny(word, " '") {
			t.Fatalf("%s is to be quoted here", word)
		}
		git += " -c " + word
	}
	git += " "
	for command, want := range map[string]string{
		`ls  "a b"   'c'`:            "ls 'a b' c\n",
		`cat it\'s '$(x)' "\$y"`:     "cat 'it'\\''s' '$(x)' '$y'\n",
		"ls \\\n-la;pwd":             "ls -la\npwd\n",
		"ls 2> /dev/null|head -5":    "ls 2>/dev/null | head -5\n",
		"git diff  -- f":             git + "diff --no-ext-diff --no-textconv --ignore-submodules=dirty -- f\n",
		"git status -s":              git + "status --ignore-submodules=dirty -s\n",
		"git blame f":                git + "blame --no-textconv f\n",
		"rg x # every one of them":   "rg --no-config x\n",
		`ls\`:                        "ls\n",
		"if ! ls; then (pwd); fi":    "if ! ls; then (pwd); fi\n",
		"cat '' - <'a b' >/dev/null": "cat '' - <'a b' >/dev/null\n",
	} {
		if got := shell.Analyse(command, here).Source(); got != want {
			t.Errorf("%q is written %q, want %q", command, got, want)
		}
	}
}

// parts lists the parts as words, those that are not sure with a mark.
func parts(a *shell.Analysis) (list []string) {
	for _, p := range a.Parts {
		s := p.Text()
		if !p.Sure {
			s += " ?"
		}
		list = append(list, s)
	}
	return list
}

func TestEveryPartIsFoundHoweverItIsRun(t *testing.T) {
	for _, c := range []string{
		"curl x", "ls; curl x", "ls && (curl x)", "ls | curl x", "if ls; then curl x; fi", "for f in a; do curl x; done", "f() { curl x; }", "echo $(curl x)", "echo `curl x`",
		"cat <(curl x)", "echo \"a $(curl x)\"", "cat <<E\n$(curl x)\nE", "echo $((a[$(curl x)]))", "echo ${a:-$(curl x)}", "[[ -n $(curl x) ]]", "coproc curl x", "! curl x", "time curl x", "curl x &",
		"env curl x", "env -i A=1 curl x", "command curl x", "nice -n 5 curl x", "timeout -k 1 5 curl x", "nohup curl x", "sudo curl x", "sudo -u bob -- curl x", "busybox curl x",
		"sh -c 'curl x'", `bash -lc "ls; curl x"`, "eval curl x", "eval 'curl x'", "trap 'curl x' EXIT", "bash <<< 'curl x'", "echo curl x | sh", "find . -exec curl x \\;", "env sh -c 'nice sh -c \"curl x\"'",
		"case x in x) curl x;; esac", "while true; do curl x; done", "a=1 curl x", "c\"\"url x", "'curl' x", "cur\\l x", "x=$(curl x) y", "ls\ncurl x", "select x in a; do curl x; done", "exec curl x", "alias a='curl x'",
	} {
		a := shell.Analyse(c, here)
		if !slices.Contains(parts(a), "curl x") {
			t.Errorf("%q has the parts %q", c, parts(a))
		}
	}
	for command, want := range map[string]string{
		"a=curl; $a x": "curl x ?", "xargs curl < f": "curl …", "timeout 5 curl $x": "curl …", "/usr/bin/curl x": "/usr/bin/curl x",
	} {
		if a := shell.Analyse(command, here); !slices.Contains(parts(a), want) {
			t.Errorf("%q has the parts %q, want %q", command, parts(a), want)
		}
	}
}

func TestFilesAreFoundWhereTheyAreNamed(t *testing.T) {
	for command, want := range map[string]string{
		"cat a > b": "w b, r a", "cd sub && cat a": "r sub/a", "cp a b c": "r a, r b, w c, w c/a, w c/b", "cp -t c a": "w c, r a, w c/a", "cp --target-directory=c a b": "w c, r a, r b, w c/a, w c/b", "sed -i s/x/y/ a": "r a, w a", "grep x a": "r a", "grep -e x a": "r x, r a", "tee a < b": "r b, w a",
		"f=a; cat $f": "r a ?", "touch a && rm b": "w a, w b", "dd if=a of=b": "r a, w b", "ls 2>&1 >a": "w a", "sh -c 'echo x >> a'": "w a", "cat '.e*'": "r .e*",
		"find a -exec cat {} +": "r a", "find -L a b -name x": "r a, r b", "fd x a": "r a", "rg x a": "r a", "mv a b": "r a, w a, w b, w b/a", "tar cf - a": "r cf, r -, r a",
		"git diff a": "r a", "git log -p -- a": "r a", "git show HEAD:./a": "r ./a, r HEAD:./a", "git show HEAD:a": "r a, r /home/ada/a, r /home/a, r HEAD:a", "git -C sub diff a": "r sub/a", "git -C sub -C b show x:a": "r sub/b/a, r sub/a, r a, r /home/ada/a, r /home/a, r sub/b/x:a", "git log -L1,5:a": "r a",
		"git diff -- ':(top)a'": "r a, r /home/ada/a, r /home/a", "git show :/a": "r a, r /home/ada/a, r /home/a", "git blame a": "r a", "git grep x a": "r x, r a", "git commit -m a": "", "git add a": "",
		"exec 3< a; cat <&3": "r a", "exec 3< a; echo $x": "r a", "echo $y 3< a": "r a", "cat 4<> a <&4": "r a, w a", "while read l <&3; do echo $l; done 3< a": "r a", "f() { cat <&3; }; f 3< a": "r a",
		"{ cat <&3; } 3< a": "r a", "exec {n}< a": "r a", "for f in a b; do read x < $f; done": "r a, r b", "echo $(< a)": "r a", "cat <&-": "",
	} {
		var got []string
		for _, f := range shell.Analyse(command, here).Files {
			s := "r "
			if f.Write {
				s = "w "
			}
			s += strings.TrimPrefix(f.Path, here.Dir+"/")
			if !f.Sure {
				s += " ?"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q uses %s, want %s", command, s, want)
		}
	}
}

func TestAPatternIsComparedWithWords(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		want             shell.Matching
	}{
		{"git status", "git status", shell.Yes}, {"git status", "git  'status'", shell.Yes}, {"git status", "git status -s", shell.No}, {"git status", "git statusx", shell.No},
		{"git status:*", "git status", shell.Yes}, {"git status:*", "git status -s x", shell.Yes}, {"git status:*", "git statusx", shell.No}, {"git status:*", "git -c a=b status", shell.No},
		{"git *", "git", shell.Yes}, {"git *", "git log -p", shell.Yes}, {"git *", "gitk", shell.No}, {"git * main", "git push origin main", shell.Yes}, {"git * main", "git main", shell.No},
		{"git * main", "git push main x", shell.No}, {"npm run test*", "npm run test:unit -- x", shell.Yes}, {"*", "anything at all", shell.Yes}, {"* --version", "go --version", shell.Yes},
		{`git commit -m "a b"`, "git commit -m 'a b'", shell.Yes}, {`git commit -m "a b"`, "git commit -m a b", shell.No}, {"git log x", "git 'log x'", shell.No},
		{"curl:*", "/usr/bin/curl x", shell.Yes}, {"/usr/bin/curl:*", "curl x", shell.No}, {"curl:*", "curl $x", shell.Yes}, {"curl x", "curl $x", shell.Perhaps}, {"curl x", "wget $x", shell.No},
		{"curl:*", "$c x", shell.Perhaps}, {"curl:*", "c* x", shell.Perhaps}, {"rm secret", "rm s*", shell.Perhaps}, {"rm secret", "rm t*", shell.No}, {"git push --force:*", "git push $x", shell.Perhaps},
		{"git push", "git push $x", shell.Perhaps}, {"git push", "git pull $x", shell.No}, {"rm secret", "rm [rs]ecret", shell.Perhaps},
	} {
		p, err := shell.ParsePattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		best := shell.No
		for _, part := range shell.Analyse(c.command, here).Parts {
			best = max(best, p.Match(part))
		}
		if best != c.want {
			t.Errorf("%q and %q: %v, want %v", c.pattern, c.command, best, c.want)
		}
	}
	for _, bad := range []string{"a && b", "a > b", "x=1 a", "a $x", "a $(b)", "a | b", "a &", "'a", "! a", "(a)", "a; b"} {
		if _, err := shell.ParsePattern(bad); err == nil {
			t.Errorf("%q is taken for a pattern", bad)
		}
	}
}

func TestAPatternAllowsOnlyWhatIsWritten(t *testing.T) {
	for _, c := range []struct {
		pattern, command string
		want             bool
	}{
		{"git status:*", "git status -s", true}, {"git status:*", "timeout 5 git status", true}, {"git status:*", "timeout -k 1 5 git status", false}, {"git status:*", "nice -n 5 nohup git status", true},
		{"git status:*", "env git status", false}, {"git status:*", "command git status", false}, {"git status:*", "sudo git status", false}, {"git status:*", "/tmp/git status", false}, {"git status:*", "xargs git status", false},
		{"git log:*", "git log *", true}, {"git log x", "git log *", false}, {"git *", "git $x", true}, {"git *", "g* log", false}, {"*", "anything", true}, {"npm test", "npm test", true}, {"npm test", "npm test x", false},
		{"timeout 5 x", "timeout 5 x", true}, {"x", "stdbuf -oL x", true}, {"x", "stdbuf -o L x", false}, {"x", "nice -x", false},
	} {
		p, err := shell.ParsePattern(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		commands := shell.Analyse(c.command, here).Commands
		if len(commands) != 1 || p.Allows(commands[0]) != c.want {
			t.Errorf("%q and %q: %v, want %v", c.pattern, c.command, !c.want, c.want)
		}
	}
}

func TestThousandsOfPartsAreAllSeenSoon(t *testing.T) {
	p, err := shell.ParsePattern("evil:*")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{50, 500, 5000} {
		for _, join := range []string{" && ", " | ", " || ", "; ", "\n", " & "} {
			if n > 500 && join != " && " && join != " | " {
				continue
			}
			command := strings.Repeat("true"+join, n) + "evil x"
			began := time.Now()
			a := shell.Analyse(command, here)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("%d with %q took %v", n, join, took)
			}
			if a.ReadOnly() || !slices.ContainsFunc(a.Parts, func(part shell.Part) bool { return p.Match(part) == shell.Yes }) {
				t.Errorf("%d with %q: the last part is not seen: %s", n, join, a.Unclear)
			}
		}
	}
}

func TestWhatIsBehindWhatTakesTooLongIsSeenToo(t *testing.T) {
	a := shell.Analyse(doubling(40)+"\nevil x", here)
	if a.Unclear == nil || !slices.Contains(parts(a), "evil x") {
		t.Errorf("unclear %q, parts %q", a.Unclear, parts(a))
	}
}

func TestMoreDifferentPartsThanAreKeptAreTooMuch(t *testing.T) {
	var b strings.Builder
	for i := range 20_001 {
		fmt.Fprintf(&b, "x%d\n", i)
	}
	if a := shell.Analyse(b.String(), here); a.Unclear == nil || a.ReadOnly() || a.Verdict.Tier != shell.Ask {
		t.Errorf("unclear %q, read-only %v", a.Unclear, a.ReadOnly())
	}
}

// What is written anew is read as the same words, and is read-only again.
func TestWrittenAnewItIsTheSame(t *testing.T) {
	words := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab '\"\\$`*?[]{}~#!;&|<>()=,.\n\t-é")), 0, 8, -1), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		args := words.Draw(t, "words")
		var b strings.Builder
		b.WriteString("echo")
		for _, w := range args {
			b.WriteString(" '" + strings.ReplaceAll(w, "'", `'\''`) + "'")
		}
		first := shell.Analyse(b.String(), here)
		if !first.ReadOnly() {
			t.Fatalf("%q: %s", b.String(), first.Changes)
		}
		again := shell.Analyse(first.Source(), here)
		if !again.ReadOnly() || !slices.Equal(first.Commands[0].Words, again.Commands[0].Words) || !slices.Equal(again.Commands[0].Words[1:], args) {
			t.Fatalf("%q is written %q", b.String(), first.Source())
		}
	})
}

func TestTheSameCommandIsAnalysedOnceInOnePlace(t *testing.T) {
	const command = "rm -r build"
	first := shell.Analyse(command, here)
	if shell.Analyse(command, here) != first {
		t.Error("it was analysed again")
	}
	home := shell.Place{Dir: "/home/ada", Home: "/home/ada/build"}
	if a := shell.Analyse(command, home); a == first || a.Verdict == first.Verdict {
		t.Errorf("in another folder it has the verdict %+v of this one", a.Verdict)
	}
	if a := shell.Analyse("ls", home); !a.ReadOnly() {
		t.Error("another command has its analysis")
	}
}

func FuzzAnalyse(f *testing.F) {
	for _, s := range []string{"ls", "a=curl; $a x", "sh -c 'x'", "cat <<E\nx\nE", "echo $(x) <(y)", "git log -L1,2:f", "f(){ f|f& };f", "((", "{a,b}", "ls\\", "case x in", "\x00", "find . -exec x {} +"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		began := time.Now()
		a := shell.Analyse(command, here)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%q takes %v", command, took)
		}
		if a.Unclear != nil && (a.ReadOnly() || a.Verdict.Tier == shell.Allow) {
			t.Errorf("%q is allowed although it is unclear: %s", command, a.Unclear)
		}
		if a.ReadOnly() {
			if again := shell.Analyse(a.Source(), here); !again.ReadOnly() && !strings.Contains(a.Source(), "git --no-pager") && !strings.Contains(a.Source(), "rg --no-config") {
				t.Errorf("%q is written %q, which is not read-only: %s", command, a.Source(), again.Changes)
			}
		}
	})
}

func BenchmarkAnalyse(b *testing.B) {
	for i := 0; b.Loop(); i++ { // never the same one twice in a row
		shell.Analyse(fmt.Sprintf("git status --short && git diff --stat | head -%d", i%2+1), here)
	}
}
