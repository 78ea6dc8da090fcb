package tool_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/tool"
	"oneloop/workspace"
)

// plant makes files below the root of a fresh workspace, each older than the
// one before.
func plant(t testing.TB, files ...string) *workspace.LocalWorkspace {
	t.Helper()
	w := open(t, workspace.LocalOptions{})
	for i, f := range files {
		name, text, _ := strings.Cut(f, "=")
		write(t, w, name, text, time.Hour*time.Duration(i))
	}
	return w
}

func write(t testing.TB, w workspace.Workspace, name, text string, age time.Duration) {
	t.Helper()
	full := filepath.Join(w.Describe().Root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1_800_000_000, 0).Add(-age)
	if err := os.Chtimes(full, at, at); err != nil {
		t.Fatal(err)
	}
}

func glob(t testing.TB, w workspace.Workspace, pattern, path string) string {
	t.Helper()
	return call(t, t.Context(), tool.Glob(w, tool.GlobOptions{}), map[string]any{"pattern": pattern, "path": path}, nil).Text()
}

func TestGlobFindsFilesTheNewestFirst(t *testing.T) {
	w := plant(t, "src/b.go", "src/a.go", "main.go", "src/deep/er/c.ts", "src/deep/d.tsx", "README.md", ".github/ci.yml", ".git/HEAD", "中文/文件 名.go")
	for _, c := range []struct{ pattern, path, want string }{
		{"**/*.go", "", "src/b.go\nsrc/a.go\nmain.go\n中文/文件 名.go"},
		{"*.go", "", "src/b.go\nsrc/a.go\nmain.go\n中文/文件 名.go"},
		{"./*.go", "", "main.go"},
		{"src/*.go", "", "src/b.go\nsrc/a.go"},
		{"src/**/*.{ts,tsx}", "", "src/deep/er/c.ts\nsrc/deep/d.tsx"},
		{"**/*", "src/deep", "src/deep/er/c.ts\nsrc/deep/d.tsx"},
		{"er/*", "src/deep", "src/deep/er/c.ts"},
		{"*", ".github", ".github/ci.yml"},
		{"**/ci.yml", "", ".github/ci.yml"},
		{"中文/*", "", "中文/文件 名.go"},
		{"中?/文*", "", "中文/文件 名.go"},
		{"HEAD", "", "no file matches HEAD"},
		{"nothing", "", "no file matches nothing"},
		{filepath.Join(w.Describe().Root, "src/*.go"), "", "src/b.go\nsrc/a.go"},
		{"*.go", filepath.Join(w.Describe().Root, "src"), "src/b.go\nsrc/a.go"},
	} {
		if got := glob(t, w, c.pattern, c.path); got != c.want {
			t.Errorf("%s in %q:\n%s\nwant\n%s", c.pattern, c.path, got, c.want)
		}
	}
}

func TestGlobLeavesOutWhatGitIgnores(t *testing.T) {
	w := plant(t, ".gitignore=*.log\n/build/\n!keep.log\nsub/x.txt", "a.log", "keep.log", "build/out.txt", "src/build/in.txt", "sub/x.txt", "sub/y.txt", "sub/.gitignore=y.txt\n!z.log", "sub/z.log", "sub/w.log",
		".git/info/exclude=local.txt\n", "local.txt", "inner/.git/HEAD", "inner/a.log", "inner/local.txt")
	want := []string{".gitignore", "keep.log", "src/build/in.txt", "sub/.gitignore", "sub/z.log", "inner/a.log", "inner/local.txt"}
	if got := glob(t, w, "**", ""); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if got := glob(t, w, "*", "build"); got != "build/out.txt" {
		t.Errorf("an ignored folder that is named: %s", got)
	}
	if got := glob(t, w, "*", "sub"); got != "sub/.gitignore\nsub/z.log" {
		t.Errorf("below an ignore file: %s", got)
	}
	if got := glob(t, w, "build/*.txt", ""); !strings.HasPrefix(got, "no file matches") {
		t.Errorf("the way by a pattern: %s", got)
	}
}

func TestGlobObeysTheIgnoreFilesAboveTheWorkspace(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{".gitignore": "never", "repo/.git/HEAD": "", "repo/.gitignore": "*.log\n/mid/ws/x.txt\n", "repo/mid/.gitignore": "y.txt", "repo/mid/ws/a.log": "", "repo/mid/ws/x.txt": "", "repo/mid/ws/y.txt": "", "repo/mid/ws/never": ""} {
		full := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workspace.Local(filepath.Join(top, "repo/mid/ws"), workspace.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := glob(t, w, "**", ""); got != "never" {
		t.Errorf("got %q", got)
	}
}

func TestGlobStaysInTheWorkspace(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := plant(t, "in.go", "real/b.go")
	root := w.Describe().Root
	for link, to := range map[string]string{"out": outside, "out.go": filepath.Join(outside, "secret.go"), "up": "..", "loop": ".", "inside": "real"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if got := glob(t, w, "**", ""); got != "in.go\nreal/b.go" {
		t.Errorf("links were followed: %s", got)
	}
	if got := glob(t, w, "*", "inside"); got != "real/b.go" {
		t.Errorf("a link inside that is named: %s", got)
	}
	for _, path := range []string{"out", "up", "..", outside, "/", "inside/../.."} {
		if got := glob(t, w, "**", path); strings.Contains(got, "secret") || !strings.Contains(got, "outside") && !strings.Contains(got, "escape") {
			t.Errorf("path %s: %s", path, got)
		}
	}
	if got := glob(t, w, "../**", ""); !strings.HasPrefix(got, "no file matches") {
		t.Errorf("a pattern that leads up: %s", got)
	}
	if got := glob(t, w, "out/**", ""); !strings.HasPrefix(got, "no file matches") {
		t.Errorf("a pattern through a link: %s", got)
	}
}

func TestALargeFolderIsListedWhole(t *testing.T) {
	const files = 1500 // more than the kernel tells at once, and than one worker takes
	w := plant(t, "sub/.gitignore=*.o")
	root := w.Describe().Root
	var want []string
	for i := range files {
		name := fmt.Sprintf("sub/a file with a long name %04d.%s", i, []string{"o", "go", "c"}[i%3])
		if err := os.WriteFile(filepath.Join(root, name), []byte("here"), 0o600); err != nil {
			t.Fatal(err)
		}
		if i%3 > 0 {
			want = append(want, name)
		}
	}
	if err := os.Symlink("nowhere", filepath.Join(root, "sub/link.go")); err != nil {
		t.Fatal(err)
	}
	g := tool.Glob(w, tool.GlobOptions{Limit: 2 * files})
	got := strings.Split(call(t, t.Context(), g, map[string]any{"pattern": "**/*.{o,go,c}"}, nil).Text(), "\n")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	s := tool.Grep(w, tool.GrepOptions{Plain: true, Cap: 1 << 20})
	found := call(t, t.Context(), s, map[string]any{"pattern": "here", "output_mode": "count", "head_limit": 2 * files}, nil).Text()
	if n := strings.Count(found, ":1"); n != len(want) {
		t.Errorf("%d files were searched of %d", n, len(want))
	}
}

func TestGlobSaysWhatItLeftOut(t *testing.T) {
	var files []string
	for i := range 30 {
		files = append(files, fmt.Sprintf("f%02d", i))
	}
	w := plant(t, files...)
	r := call(t, t.Context(), tool.Glob(w, tool.GlobOptions{Limit: 3}), map[string]any{"pattern": "*"}, nil)
	if want := "f00\nf01\nf02\n[3 of 30 files are shown, the newest]"; r.Text() != want {
		t.Errorf("got %q", r.Text())
	}
	for input, want := range map[string]string{`{"pattern":"["}`: "[ without its ]", `{"pattern":"{a"}`: "{ without its }", `{"pattern":"*","path":"nowhere"}`: "there is no nowhere", `{"pattern":"*","path":"f00"}`: "is a file"} {
		if r := call(t, t.Context(), tool.Glob(w, tool.GlobOptions{}), input, nil); !r.IsError || !strings.Contains(r.Text(), want) {
			t.Errorf("%s: %s", input, r.Text())
		}
	}
}

func TestOddNamesStayOnALineOfTheirOwn(t *testing.T) {
	w := plant(t, "a\nb", "-n", "sp ace", "q\"uote", "\xff", "中\u202e文", "é")
	want := "\"a\\nb\"\n-n\nsp ace\nq\"uote\n\"\\xff\"\n\"中\\u202e文\"\né"
	if got := glob(t, w, "*", ""); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestASearchTellsWhatItReads(t *testing.T) {
	w := plant(t, "src/a.go")
	root := w.Describe().Root
	if err := os.Symlink("src", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{`{"pattern":"*"}`: root, `{"pattern":"*","path":"link"}`: filepath.Join(root, "src"), `{"pattern":"` + root + `/src/*"}`: filepath.Join(root, "src")} {
		touches, err := tool.Glob(w, tool.GlobOptions{}).Touches(&oneloop.ToolUse{Input: []byte(input)})
		if err != nil || len(touches) != 1 || touches[0] != (oneloop.Touch{Kind: oneloop.TouchRead, Name: want}) {
			t.Errorf("%s: %v, %v", input, touches, err)
		}
	}
	if touches, err := tool.Glob(w, tool.GlobOptions{}).Touches(&oneloop.ToolUse{Input: []byte(`{"pattern":"*","path":"/etc"}`)}); err == nil {
		t.Errorf("/etc: %v", touches)
	}
}

// ripgrep gives the path of rg, or skips the test, or the benchmark, aloud.
func ripgrep(t testing.TB) string {
	t.Helper()
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("LOUD: there is no rg, so nothing was compared with it; install ripgrep, as make test does when root")
	}
	return rg
}

func TestGlobFindsWhatRipgrepFinds(t *testing.T) {
	rg := ripgrep(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	n := 15
	if os.Getenv("ONELOOP_SOAK") != "" {
		n = 300
	}
	for range n {
		w := open(t, workspace.LocalOptions{})
		forest(t, r, w)
		cmd := exec.Command(rg, "--no-config", "--files", "--null", "--hidden", "--no-require-git", "--no-ignore-dot", "--no-ignore-global", "--glob=!.git", "./")
		cmd.Dir = w.Describe().Root
		out, err := cmd.Output()
		if err != nil && cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("rg: %v", err)
		}
		var want []string
		for p := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
			if p != "" {
				want = append(want, label(strings.TrimPrefix(p, "./")))
			}
		}
		var got []string
		res := call(t, t.Context(), tool.Glob(w, tool.GlobOptions{Limit: 1 << 20}), map[string]any{"pattern": "**"}, nil).Text()
		if !strings.HasPrefix(res, "no file matches") {
			got = strings.Split(res, "\n")
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("got\n%q\nrg\n%q\nrules\n%s", got, want, rules(w))
		}
	}
}

// rules are the ignore files of a tree, for messages.
func rules(w workspace.Workspace) string {
	var b strings.Builder
	filepath.WalkDir(w.Describe().Root, func(name string, d fs.DirEntry, err error) error {
		if d.Name() == ".gitignore" || d.Name() == "exclude" {
			data, _ := os.ReadFile(name)
			fmt.Fprintf(&b, "%q: %q\n", name, data)
		}
		return nil
	})
	return b.String()
}

// label is a name as results show it.
func label(name string) string {
	if strings.ContainsAny(name, "\n\t") || strings.ToValidUTF8(name, "") != name {
		return fmt.Sprintf("%q", name)
	}
	return name
}

var (
	oddNames = []string{"a", "b", "c", "src", "build", "x.go", "y.go", "z.log", "-n", "--", "sp ace", "中文", "文件.go", "new\nline", ".hidden", "[x]", "{a,b}", "é", "#x", "!y", "a'b\"c", "$HOME", "\xfe.go"}
	oddLines = []string{"*.log", "/build/", "build", "!x.go", "*.go", "src/*", "!src/b", "**/c", "a/**", "中*", "#x", `\#x`, "b/", "!z.log", ".hidden", "-n", "*", "!*/", "!*.go", "[a-c]", `\!y`}
)

// forest plants a random tree: folders, files with random lines, ignore
// files, a repository inside, links.
func forest(t testing.TB, r *rand.Rand, w workspace.Workspace) {
	t.Helper()
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	root := w.Describe().Root
	dirs := []string{""}
	for range r.IntN(12) {
		// Below a folder with a line end in its name, rg overlooks patterns.
		if name := pick(oddNames); !strings.Contains(name, "\n") {
			dirs = append(dirs, filepath.Join(pick(dirs), name))
		}
	}
	for _, d := range dirs {
		if err := os.MkdirAll(filepath.Join(root, d), 0o700); err != nil {
			continue // a file has the name
		}
		if r.IntN(2) == 0 {
			var lines []string
			for range 1 + r.IntN(4) {
				lines = append(lines, pick(oddLines))
			}
			write(t, w, filepath.Join(d, ".gitignore"), strings.Join(lines, pick([]string{"\n", "\r\n"})), 0)
		}
		if r.IntN(8) == 0 {
			write(t, w, filepath.Join(d, ".git/info/exclude"), pick(oddLines)+"\n", 0)
		}
		for range r.IntN(6) {
			name := filepath.Join(d, pick(oddNames))
			if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
				continue
			}
			if r.IntN(12) == 0 {
				os.Symlink(pick(oddNames), filepath.Join(root, name))
				continue
			}
			write(t, w, name, content(r), 0)
		}
	}
}

var oddText = []string{"func main() {", "}", "", "needle", "a needle here", "NEEDLE", "中文 needle 文本", "needle needle", "  indented needle", "x := a.b(c)", "tab\tneedle", "caf\xe9 needle", "foo(bar)", "日本語", strings.Repeat("long ", 50) + "needle"}

// content makes lines: with either end, with a mark, as UTF-16, binary.
func content(r *rand.Rand) string {
	var lines []string
	for range r.IntN(12) {
		lines = append(lines, oddText[r.IntN(len(oddText))])
	}
	text := strings.Join(lines, "\n")
	if r.IntN(2) == 0 && text != "" {
		text += "\n"
	}
	if text == "" {
		return text // of a file that is a mark and nothing else, rg finds a line
	}
	switch r.IntN(10) {
	case 0:
		return strings.ReplaceAll(text, "\n", "\r\n")
	case 1:
		return "\ufeff" + text
	case 2:
		return text + "\x00" + text
	case 3:
		return utf16le("\ufeff" + strings.ToValidUTF8(text, "?"))
	}
	return text
}
