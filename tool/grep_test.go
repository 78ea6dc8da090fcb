package tool_test

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"oneloop/tool"
	"oneloop/workspace"
)

func grep(t testing.TB, w workspace.Workspace, opts tool.GrepOptions, input map[string]any) string {
	t.Helper()
	return call(t, t.Context(), tool.Grep(w, opts), input, nil).Text()
}

// both are the two ways to search; a test that names them runs with each.
func both(t *testing.T, run func(t *testing.T, opts tool.GrepOptions)) {
	t.Run("here", func(t *testing.T) { run(t, tool.GrepOptions{Plain: true}) })
	t.Run("rg", func(t *testing.T) { ripgrep(t); run(t, tool.GrepOptions{}) })
}

type in = map[string]any

func TestGrepFindsLines(t *testing.T) {
	w := plant(t, "b.go=package b\n\nfunc B() {}\n// needle\nend\n", "a.go=package a\nneedle one\nx\ny\nz\nneedle two\r\nlast needle", "中文/文件.txt=找 needle 吧\n", "log.log=needle\n", ".gitignore=*.log\n",
		"bin=needle\x00\n", "wide="+utf16le("\ufeffa needle\nb\n"), "mark=\ufeffneedle\n", ".hidden/h.md=Needle\n", ".git/config=needle\n")
	both(t, func(t *testing.T, opts tool.GrepOptions) {
		for _, c := range []struct {
			input in
			want  string
		}{
			{in{"pattern": "needle"}, "b.go\na.go\n中文/文件.txt\nwide\nmark"},
			{in{"pattern": "needle", "output_mode": "count"}, "a.go:3\nb.go:1\nmark:1\nwide:1\n中文/文件.txt:1"},
			{in{"pattern": "needle", "output_mode": "content"}, "a.go\n2:needle one\n6:needle two\n7:last needle\n\nb.go\n4:// needle\n\nmark\n1:needle\n\nwide\n1:a needle\n\n中文/文件.txt\n1:找 needle 吧"},
			{in{"pattern": "needle", "output_mode": "content", "glob": "*.go", "-n": false}, "a.go\nneedle one\nneedle two\nlast needle\n\nb.go\n// needle"},
			{in{"pattern": "needle", "output_mode": "content", "glob": "*.go", "-C": 1}, "a.go\n1-package a\n2:needle one\n3-x\n--\n5-z\n6:needle two\n7:last needle\n\nb.go\n3-func B() {}\n4:// needle\n5-end"},
			{in{"pattern": "needle", "output_mode": "content", "path": "a.go", "-B": 2, "-A": 1}, "a.go\n1-package a\n2:needle one\n3-x\n4-y\n5-z\n6:needle two\n7:last needle"},
			{in{"pattern": "ne+dle|吧", "output_mode": "content", "path": "中文", "-o": true}, "中文/文件.txt\n1:needle\n1:吧"},
			{in{"pattern": "^needle", "output_mode": "content", "type": "go"}, "a.go\n2:needle one\n6:needle two"},
			{in{"pattern": "^needle$"}, "mark"},
			{in{"pattern": "two$", "output_mode": "content"}, "a.go\n6:needle two"},
			{in{"pattern": "needle", "-i": true, "glob": "**/*.md"}, ".hidden/h.md"},
			{in{"pattern": "needle", "glob": "中文/*.{txt,md}"}, "中文/文件.txt"},
			{in{"pattern": "needle", "glob": "*.{go,md}", "type": "go", "output_mode": "count"}, "a.go:3\nb.go:1"},
			{in{"pattern": "(?s)one.*z", "multiline": true, "output_mode": "content"}, "a.go\n2:needle one\n3:x\n4:y\n5:z"},
			{in{"pattern": `x\ny`, "multiline": true, "output_mode": "count"}, "a.go:1"},
			{in{"pattern": `x\ny`}, `[no match for x\ny; lines are searched one by one, set multiline to match across them]`},
			{in{"pattern": "needle", "output_mode": "content", "head_limit": 2, "offset": 1}, "a.go\n6:needle two\n7:last needle\n[4 more lines; go on with offset 3, or narrow the search]"},
			{in{"pattern": "needle", "head_limit": 1}, "b.go\n[4 more files; go on with offset 1, or narrow the search]"},
			{in{"pattern": "needle", "offset": 9}, "[offset 9 is behind the end]"},
			{in{"pattern": "func B() {"}, "[no match for func B() {]"},
			{in{"pattern": `B\(\) {`}, "b.go"},
			{in{"pattern": "-needle"}, "[no match for -needle]"},
			{in{"pattern": "--files"}, "[no match for --files]"},
			{in{"pattern": "needle", "path": "bin"}, "[the file is binary and was not searched]\n[no match for needle]"},
			{in{"pattern": "needle", "path": "log.log"}, "log.log"},
			{in{"pattern": "nothing", "glob": "*.go"}, "[no match for nothing in the files that glob and type leave]"},
		} {
			if got := grep(t, w, opts, c.input); got != c.want {
				t.Errorf("%v:\n%s\nwant\n%s", c.input, got, c.want)
			}
		}
	})
}

func TestGrepRefusesWhatItCannotDo(t *testing.T) {
	w := plant(t, "a=x")
	both(t, func(t *testing.T, opts tool.GrepOptions) {
		for _, c := range []struct {
			input in
			want  string
		}{
			{in{"pattern": "("}, "no regular expression"},
			{in{"pattern": "(?<!x)y"}, "(?<!…), is not supported: the syntax is that of RE2"},
			{in{"pattern": "x", "type": "nope"}, `there is no type "nope"`},
			{in{"pattern": "x", "output_mode": "lines"}, "output_mode"},
			{in{"pattern": "x", "path": "/etc"}, "outside the workspace"},
			{in{"pattern": "x", "path": "nowhere"}, "nowhere"},
			{in{"pattern": "x", "glob": "{a"}, "{ without its }"},
		} {
			r := call(t, t.Context(), tool.Grep(w, opts), c.input, nil)
			if !r.IsError || !strings.Contains(r.Text(), c.want) {
				t.Errorf("%v: %s", c.input, r.Text())
			}
		}
	})
}

func TestLongLinesAndResultsAreCut(t *testing.T) {
	w := plant(t, "long="+strings.Repeat("中", 1000)+"needle"+strings.Repeat("b", 90_000), "many="+strings.Repeat("needle in a line\n", 5000))
	both(t, func(t *testing.T, opts tool.GrepOptions) {
		got := grep(t, w, opts, in{"pattern": "needle", "output_mode": "content", "glob": "long"})
		if len(got) > 700 || !strings.Contains(got, "needlebb") || !strings.HasPrefix(got, "long\n1:[28") || !strings.HasSuffix(got, " bytes]") {
			t.Errorf("%d bytes: %s", len(got), got)
		}
		opts.Cap = 2000
		got = grep(t, w, opts, in{"pattern": "needle", "output_mode": "content", "glob": "many", "head_limit": 4000})
		if len(got) > 2200 || !strings.Contains(got, "more lines; go on with offset") {
			t.Errorf("%d bytes: %s", len(got), got[max(0, len(got)-200):])
		}
	})
}

func TestAFileThatIsTooLargeIsPassedOverAloud(t *testing.T) {
	w := plant(t, "small=needle", "large=")
	if err := os.Truncate(w.Describe().Root+"/large", 5<<30); err != nil {
		t.Fatal(err)
	}
	within(t, 20*time.Second, func() {
		if got := grep(t, w, tool.GrepOptions{Plain: true}, in{"pattern": "needle"}); got != "small\n[1 files of more than 33,554,432 bytes were not searched]" {
			t.Errorf("got %s", got)
		}
		if got := grep(t, w, tool.GrepOptions{}, in{"pattern": "needle", "path": "large"}); !strings.Contains(got, "was not searched; use grep in Bash") {
			t.Errorf("got %s", got)
		}
	})
}

func TestGrepFindsTheSameWithRipgrepAndWithout(t *testing.T) {
	ripgrep(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	n := 10
	if os.Getenv("ONELOOP_SOAK") != "" {
		n = 200
	}
	pick := func(list ...any) any { return list[r.IntN(len(list))] }
	for range n {
		w := open(t, workspace.LocalOptions{})
		forest(t, r, w)
		for range 8 {
			input := in{"pattern": pick("needle", "^needle", "needle$", "n.e+dle", "^$", "^", "[a-z]+", "中文", "foo\\(", "x := a", "(a|the) needle", "^\\s*needle", "caf", "line|long", "-n", "[[:alnum:]]"),
				"output_mode": pick("files_with_matches", "content", "count"), "head_limit": 100_000}
			if p := input["pattern"]; p == "^" || p == "^$" {
				input["output_mode"] = "content" // else rg lists some binary files too
			}
			if r.IntN(3) == 0 {
				input["-i"] = true
			}
			switch r.IntN(4) {
			case 0:
				input["-C"] = r.IntN(3)
			case 1:
				input["-o"] = true
			}
			switch r.IntN(5) {
			case 0:
				input["glob"] = pick("*.go", "**/*.{go,log}", "src/**", "!*.go", "a/*", "[a-c]*", "?.go", "中*")
			case 1:
				input["type"] = pick("go", "md", "py")
			case 2:
				input["path"] = pick("a", "src", "b", "build", "中文")
			}
			const cap = 10_000_000
			rg := grep(t, w, tool.GrepOptions{Cap: cap}, input)
			here := grep(t, w, tool.GrepOptions{Cap: cap, Plain: true}, input)
			if rg != here {
				t.Fatalf("%v:\nrg\n%s\nhere\n%s\nrules\n%s", input, rg, here, rules(w))
			}
		}
	}
}
