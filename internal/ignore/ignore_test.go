package ignore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"oneloop/internal/ignore"
)

// git tells which of the paths it ignores by each of the lists, one
// repository for all.
func gitIgnores(t *testing.T, dir string, list string, paths []string) []bool {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "-c", "core.excludesFile=/dev/null", "check-ignore", "-z", "--stdin", "--no-index", "--verbose", "--non-matching")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("git check-ignore: %v", err)
	}
	fields := bytes.Split(bytes.TrimSuffix(out, []byte{0}), []byte{0})
	if len(fields) != 4*len(paths) {
		t.Fatalf("git tells %d fields of %d paths", len(fields), len(paths))
	}
	ignored := make([]bool, len(paths))
	for i := range paths {
		p := fields[4*i+2]
		ignored[i] = len(p) > 0 && p[0] != '!'
	}
	return ignored
}

// ours walks down to a path as a walker does.
func ours(l *ignore.List, path string) bool {
	parts := strings.Split(path, "/")
	for i := range parts {
		if l.Match(strings.Join(parts[:i+1], "/"), i < len(parts)-1) == ignore.Ignored {
			return true
		}
	}
	return false
}

func repo(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("LOUD: there is no git, so the patterns were not compared with it")
	}
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v %s", err, out)
	}
	return dir
}

var handWritten = []string{
	"*.log", "!a.log\n*.log", "*.log\n!a.log", "/a", "a/", "a/b", "a/*", "**/b", "a/**", "a/**/c", "**", "**/", "*/", "/*", "/**", "!/a\n/*", "a**c", "a/b**", "**b/c",
	"#x", `\#x`, `\!x`, "x ", `x\ `, "  x", "x\t", "[ab]", "[!ab]", "[^ab]", "[a-c]x", "[]x]", "[x", "a[/]b", "[a/]b", `[\]]`, "[[:alpha:]]x", "[[:nope:]]", "[a-]", "[-a]",
	`a\`, `\a`, `\*`, "?", "a?c", "中文", "中*", "??", "[中]", "\xff", "a\r\nb\r\n", "\ufeffa\nb", "", "\n\n", "!", "/", "//a", "./a", "a//b", "a/./b", "*.", ".*", "a.b/*.log", "*a*b*c*",
	"a/**\n!a/b", "/a/*\n!/a/b\n/a/b/*\n!/a/b/c", "b/\n!b/c", `a\/b`, "a/**b", "**/**/b", "**/a/**", "a/**/**/c", "***", "a/***", "*[a", "{a,b}", "a b", "x\\\\ ", "[z-a]", "[a\\-c]", "[[]", "[!]a]", "b/**/",
}

var names = []string{"a", "b", "c", "x", "ab", "abc", "a.log", "a.b", "#x", "!x", "x ", " x", "中文", "中", "[x", "]", "-", "*", "\\", "\xff", "a\\", "{a,b}", "a b", "xx"}

func somePaths(r *rand.Rand, n int) []string {
	var out []string
	for range n {
		var parts []string
		for range 1 + r.IntN(4) {
			parts = append(parts, names[r.IntN(len(names))])
		}
		p := strings.Join(parts, "/")
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

func compare(t *testing.T, dir, list string, paths []string) {
	t.Helper()
	l := ignore.Parse([]byte(list))
	for i, want := range gitIgnores(t, dir, list, paths) {
		if got := ours(l, paths[i]); got != want {
			t.Errorf("list %q, path %q: ignored %v, git says %v", list, paths[i], got, want)
		}
	}
}

func TestPatternsMeanWhatTheyMeanToGit(t *testing.T) {
	dir := repo(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, list := range handWritten {
		compare(t, dir, list, somePaths(r, 300))
	}
}

// odd are patterns that are not compared. Whether "**" begins a part is found
// out by git 2.39 by comparing the address of the pattern with that of the
// path; and "**\/" needs a folder where "**/" needs none.
var odd = regexp.MustCompile(`([^/\n!]|[^\n]!)\*\*+(\\?/|\n|$)|\*\*\\/`)

func TestRandomPatternsMeanWhatTheyMeanToGit(t *testing.T) {
	dir := repo(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	n := 150
	if os.Getenv("ONELOOP_SOAK") != "" {
		n = 5000
	}
	pieces := []string{"a", "b", "c", "x", "/", "/", "*", "*", "**", "**/", "/**", "?", "[ab]", "[!a]", "[a-c]", "\\", "\\*", "!", "#", " ", ".log", "中", "[", "]", "-", "{a,b}", "[[:alpha:]]", "\xff"}
	for range n {
		var lines []string
		for range 1 + r.IntN(4) {
			var b strings.Builder
			if r.IntN(4) == 0 {
				b.WriteString("!")
			}
			for range 1 + r.IntN(5) {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			lines = append(lines, b.String())
		}
		list := strings.Join(lines, "\n")
		if odd.MatchString(list) {
			continue
		}
		compare(t, dir, list, somePaths(r, 200))
		if t.Failed() {
			return
		}
	}
}

func TestAGlobMatchesCharactersAndPartsOfPaths(t *testing.T) {
	for _, c := range []struct {
		pattern, yes, no string
	}{
		{"**/*.go", "a.go b/c.go", "a.goo go a/b"},
		{"src/**/*.ts", "src/a.ts src/b/c/d.ts", "a.ts srcs/a.ts x/src/a.ts"},
		{"*.go", "a.go .go", "b/a.go"},
		{"?文", "中文", "文 中中文"},
		{"[一-龥]x", "中x", "ax"},
		{"a/**", "a/b a/b/c", "a b"},
		{"**/a/**/b", "a/b x/a/y/z/b a/a/b", "b a/c"},
		{"a*b*c", "abc axbxc abcbc", "ab abcd"},
		{"**", "a a/b", ""},
		{"a/b", "a/b", "a/b/c b"},
	} {
		g, err := ignore.NewGlob(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for p := range strings.FieldsSeq(c.yes) {
			if !g.Match(p) {
				t.Errorf("%s does not match %s", c.pattern, p)
			}
		}
		for p := range strings.FieldsSeq(c.no) {
			if g.Match(p) {
				t.Errorf("%s matches %s", c.pattern, p)
			}
		}
	}
	for _, bad := range []string{"[a", `a\`, "a/[b/c", ""} {
		if _, err := ignore.NewGlob(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestThePlainBeginningOfAPatternIsFound(t *testing.T) {
	for pattern, want := range map[string]string{"**/*.go": "", "src/**/*.ts": "src", "a/b/c*.go": "a/b", "a/b": "a", "a": "", "*.go": "", "a/[b]/c": "a", "a/**": "a"} {
		g, err := ignore.NewGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Prefix(); got != want {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}

func TestBracesStandForAlternatives(t *testing.T) {
	for pattern, want := range map[string]string{
		"*.{ts,tsx}": "*.ts *.tsx", "{a,b}/{c,d}": "a/c a/d b/c b/d", "{a,{b,c}d}e": "ae bde cde", "{a}": "a", "a{,b}": "a ab", `\{a,b}`: `\{a,b}`, "[{]a,b}": "[{]a,b}", "a}": "a}", "plain": "plain",
	} {
		got, err := ignore.Expand(pattern)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v, want %s", pattern, got, err, want)
		}
	}
	for _, bad := range []string{"{a,b", "{a,{b}", strings.Repeat("{a,b}", 30)} {
		if got, err := ignore.Expand(bad); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

func TestAPatternThatTriesEverythingIsMatchedInLittleTime(t *testing.T) {
	began := time.Now()
	for _, p := range []string{strings.Repeat("*a", 200) + "b", strings.Repeat("**/a/", 200) + "b", strings.Repeat("**/*a*/", 100) + "b"} {
		g, err := ignore.NewGlob(p)
		if err != nil {
			t.Fatal(err)
		}
		if g.Match(strings.Repeat("a", 2000)) || g.Match(strings.TrimSuffix(strings.Repeat("a/", 2000), "/")) {
			t.Errorf("%.20s matches", p)
		}
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}

func FuzzGlob(f *testing.F) {
	for _, p := range handWritten {
		f.Add(p, "a/b.log")
	}
	f.Fuzz(func(t *testing.T, list, path string) {
		if path == "" || strings.HasPrefix(path, "/") {
			return
		}
		ignore.Parse([]byte(list)).Match(path, len(path)%2 == 0)
		expanded, err := ignore.Expand(list)
		if err != nil {
			return
		}
		for _, p := range expanded {
			if g, err := ignore.NewGlob(p); err == nil {
				g.Match(path)
				if pre := g.Prefix(); g.Match(path) && pre != "" && !strings.HasPrefix(path, pre+"/") {
					t.Fatalf("%q matches %q outside of %q", p, path, pre)
				}
			}
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	l := ignore.Parse([]byte("*.log\n*.o\nnode_modules/\n/build\n/dist/\n.DS_Store\n*.py[cod]\n**/target/\ndocs/_build/\n*~\n"))
	for b.Loop() {
		l.Match("src/some/where/deep/file.go", false)
	}
}

func ExampleExpand() {
	fmt.Println(ignore.Expand("src/**/*.{ts,tsx}"))
	// Output: [src/**/*.ts src/**/*.tsx] <nil>
}
