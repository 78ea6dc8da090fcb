package archtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "oneloop"

// What a package reaches by these.
var (
	byWire      = []string{".", "model/catalog", "internal/rawjson", "internal/sse", "internal/wire", "internal/unseen"}
	byWorkspace = []string{"workspace", "workspace/confine", "internal/atomicfile", "internal/disk", "internal/gitsafe", "internal/guard", "internal/ignore", "internal/system", "internal/unseen"}
	byTool      = append([]string{".", "tool", "policy/shell", "internal/rawjson", "internal/schema", "internal/text", "internal/webpage"}, byWorkspace...)
)

// mayImport says which packages of ours a package may reach, directly or
// through others. One that is not listed falls under the general rules alone.
var mayImport = map[string][]string{
	".":                 {},
	"model/catalog":     {},
	"budget":            {".", "model/catalog"},
	"model":             {".", "model/catalog", "budget"},
	"model/anthropic":   byWire,
	"model/openai":      byWire,
	"model/gemini":      byWire,
	"model/ollama":      byWire,
	"workspace":         byWorkspace,
	"workspace/confine": {},
	"policy/shell":      {"internal/gitsafe", "internal/system", "internal/unseen"},
	"tool":              byTool,
	"policy":            append([]string{".", "policy/shell"}, byWorkspace...),
	"prompt":            append([]string{"internal/disk", "internal/mask"}, byTool...),
	"session":           append([]string{".", "internal/disk", "internal/rawjson"}, byWorkspace...),
	"team":              append([]string{"session", "internal/disk", "budget", "model/catalog"}, byTool...),
	"team/board":        append([]string{"internal/disk", "internal/journal", "internal/watch"}, byTool...),
	"team/schedule":     append([]string{"internal/disk", "internal/journal", "internal/watch"}, byTool...),
	"team/crew":         append([]string{"team/mail", "internal/alive", "internal/disk", "internal/journal", "internal/watch"}, byTool...),
	"team/mail":         {".", "internal/disk", "internal/journal", "internal/unseen", "internal/watch"},
	"trace":             append([]string{".", "session", "internal/disk", "internal/rawjson", "budget", "model/catalog", "internal/mask"}, byWorkspace...),
	"internal/alive":    {"internal/disk"},
	"internal/disk":     {},
	"internal/gitsafe":  {},
	"internal/guard":    {"internal/unseen"},
	"internal/ignore":   {},
	"internal/journal":  {"internal/disk"},
	"internal/mask":     {},
	"internal/schema":   {},
	"internal/sse":      {},
	"internal/rawjson":  {},
	"internal/wire":     {".", "internal/rawjson", "internal/sse", "internal/unseen"},
	"internal/text":     {"internal/unseen"},
	"internal/webpage":  {"internal/text", "internal/unseen"},
	"internal/system":   {},
	"internal/unseen":   {},
	"internal/watch":    {},
	"looptest/script":   {},
	"looptest/wires":    {"looptest/script"},
}

// providers speak one wire each. Only cmd and the examples choose one.
var providers = []string{"model/anthropic", "model/openai", "model/gemini", "model/ollama"}

// choosers may import a provider.
var choosers = []string{"cmd/", "examples/", "bench"}

// apart do not import one another.
var apart = []string{"session", "policy", "prompt"}

// testOnly are modules that only tests are to link.
var testOnly = []string{"go.yaml.in/yaml/v3", "github.com/google/jsonschema-go", "pgregory.net/rapid", "github.com/google/go-cmp"}

// nameless are package names that say nothing.
var nameless = []string{"util", "utils", "common", "core", "manager", "service", "helpers", "misc"}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath, Dir, Name, Doc string
	Standard                   bool
	GoFiles, CgoFiles          []string
	IgnoredGoFiles             []string
	Deps, Imports              []string
}

// list returns the packages of this module by path below it ("." is the root)
// and every package they depend on by import path.
func list(t *testing.T) (ours map[string]pkg, all map[string]pkg) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	ours, all = map[string]pkg{}, map[string]pkg{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return ours, all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all[p.ImportPath] = p
		if path, ok := below(p.ImportPath); ok && !p.Standard {
			ours[path] = p
		}
	}
}

func below(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func TestPackagesImportOnlyWhatTheDesignAllows(t *testing.T) {
	ours, all := list(t)
	for _, breach := range breaches(ours, all) {
		t.Error(breach)
	}
	if len(ours) < 10 || ours["."].Name != "oneloop" {
		t.Errorf("go list found %v only", slices.Sorted(maps.Keys(ours)))
	}
}

func breaches(ours, all map[string]pkg) []string {
	var found []string
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		p := ours[path]
		allowed, listed := mayImport[path]
		for _, dep := range p.Deps {
			d, isOurs := below(dep)
			switch {
			case all[dep].Standard:
			case !isOurs && (path == "." || path == "model/catalog" || path == "looptest/script"):
				say("%s imports %s: it is for the standard library only", path, dep)
			case slices.ContainsFunc(testOnly, func(module string) bool { return strings.HasPrefix(dep, module+"/") || dep == module }):
				say("%s reaches %s: it is for tests, which every start would pay for", path, dep)
			case !isOurs:
			case listed && !slices.Contains(allowed, d):
				say("%s reaches %s, the table does not allow it", path, d)
			case strings.HasPrefix(d, "cmd/"):
				say("%s reaches %s: nothing imports a command", path, d)
			case slices.Contains(providers, d) && !chooses(path):
				say("%s reaches %s: only a command chooses a provider", path, d)
			case slices.Contains(apart, path) && slices.Contains(apart, d):
				say("%s reaches %s: these two do not know each other", path, d)
			case strings.HasPrefix(d, "looptest"):
				if !chooses(path) && !strings.HasPrefix(path, "looptest") {
					say("%s reaches %s: it is for tests and the demo", path, d)
				}
			}
		}
		if slices.Contains(p.Deps, "testing") && path != "looptest" && !strings.HasPrefix(path, "looptest/") {
			say("%s reaches testing: it belongs into tests", path)
		}
		if path == "looptest/script" && slices.Contains(p.Deps, "testing") {
			say("%s reaches testing: the demo uses it", path)
		}
		if slices.Contains(nameless, p.Name) {
			say("%s: the name %q says nothing", path, p.Name)
		}
		if p.Doc == "" && len(p.GoFiles) > 0 {
			say("%s has no package comment", path)
		}
	}
	return found
}

func chooses(path string) bool {
	return slices.ContainsFunc(choosers, func(c string) bool { return strings.HasPrefix(path, c) })
}

func TestTheRulesOfImportsAreNoticedWhenBroken(t *testing.T) {
	std := map[string]pkg{"fmt": {Standard: true}, "testing": {Standard: true}}
	for _, c := range []struct {
		path string
		pkg  pkg
		want string
	}{
		{".", pkg{Doc: "x", Deps: []string{"example.com/heavy"}}, "standard library only"},
		{".", pkg{Doc: "x", Deps: []string{"oneloop/budget"}}, "does not allow"},
		{"session", pkg{Doc: "x", Deps: []string{"oneloop/policy"}}, "does not allow"},
		{"team", pkg{Doc: "x", Deps: []string{"oneloop/model/anthropic"}}, "does not allow"},
		{"model/gemini", pkg{Doc: "x", Deps: []string{"oneloop/model/openai"}}, "does not allow"},
		{"mcp", pkg{Doc: "x", Deps: []string{"oneloop/model/anthropic"}}, "chooses a provider"},
		{"mcp", pkg{Doc: "x", Deps: []string{"oneloop/cmd/oneloop"}}, "nothing imports a command"},
		{"mcp", pkg{Doc: "x", Deps: []string{"oneloop/looptest/script"}}, "for tests"},
		{"tool", pkg{Doc: "x", Deps: []string{"github.com/google/jsonschema-go/jsonschema"}}, "every start would pay"},
		{"mcp", pkg{Doc: "x", Deps: []string{"testing"}}, "belongs into tests"},
		{"looptest/script", pkg{Doc: "x", Deps: []string{"testing"}}, "the demo uses it"},
		{"mcp", pkg{Doc: "x", Name: "util"}, "says nothing"},
		{"mcp", pkg{GoFiles: []string{"mcp.go"}}, "no package comment"},
		{"cmd/oneloop", pkg{Doc: "x", Deps: []string{"fmt", "oneloop", "oneloop/model/anthropic"}}, ""},
		{"mcp", pkg{Doc: "x", Deps: []string{"fmt", "oneloop", "oneloop/session", "example.com/heavy"}}, ""},
	} {
		got := strings.Join(breaches(map[string]pkg{c.path: c.pkg}, std), "; ")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s with %+v: %q, want %q", c.path, c.pkg, got, c.want)
		}
	}
}

// heavy packages make tables before main, which cost every start of the
// program and are needed by few.
var heavy = []string{"golang.org/x/net/html", "golang.org/x/net/html/charset", "golang.org/x/text/encoding/htmlindex", "golang.org/x/text/encoding/charmap", "golang.org/x/text/language"}

func TestTheProgramStartsWithoutTablesThatFewNeed(t *testing.T) {
	ours, _ := list(t)
	for _, dep := range ours["cmd/oneloop"].Deps {
		if slices.Contains(heavy, dep) {
			t.Errorf("cmd/oneloop reaches %s", dep)
		}
	}
	if len(ours["cmd/oneloop"].Deps) < 100 {
		t.Errorf("cmd/oneloop needs %d packages only", len(ours["cmd/oneloop"].Deps))
	}
}

// TestNothingRunsBeforeMain also covers files for other systems.
func TestNothingRunsBeforeMain(t *testing.T) {
	ours, _ := list(t)
	for path, p := range ours {
		// go test repeats a result from its cache unless what the test read
		// has changed; reading the folders makes it see new files.
		if _, err := os.ReadDir(p.Dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if hasInit(t, src) {
				t.Errorf("%s/%s has a func init: work is started by explicit calls in main", path, name)
			}
			for _, v := range compiledEarly(t, src) {
				t.Errorf("%s/%s compiles a pattern for %s before main: put it into a sync.OnceValue", path, name, v)
			}
		}
	}
	if !hasInit(t, []byte("package x\nfunc init() {}\n")) || hasInit(t, []byte("package x\n// func init() is not here\ntype t int\nfunc (t) init() {}\n")) {
		t.Error("a func init is not told from others")
	}
}

func hasInit(t *testing.T, src []byte) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			return true
		}
	}
	return false
}

// compiledEarly names the variables of a file whose pattern or template is
// compiled when the program starts, whether or not it is ever used. What
// stands in a function that is only kept is not run.
func compiledEarly(t *testing.T, src []byte) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for _, x := range v.Values {
				if compiles(x) {
					found = append(found, v.Names[0].Name)
				}
			}
		}
	}
	return found
}

// compiles reports whether running x compiles a pattern or template.
func compiles(x ast.Node) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if f, ok := c.Fun.(*ast.FuncLit); ok && compiles(f.Body) {
				found = true // the function is called at once
			}
			if s, ok := c.Fun.(*ast.SelectorExpr); ok {
				of, ok := s.X.(*ast.Ident)
				found = found || ok && of.Name == "regexp" && strings.Contains(s.Sel.Name, "Compile") || ok && of.Name == "template"
			}
		}
		_, kept := n.(*ast.FuncLit)
		return !kept
	})
	return found
}

func TestPatternsCompiledBeforeMainAreNoticed(t *testing.T) {
	for src, want := range map[string]int{
		"var x = regexp.MustCompile(`a`)":                                                  1,
		"var (\n a = 1\n x, y = regexp.MustCompile(`a`), regexp.MustCompile(`b`)\n)":       2,
		"var x = map[string]*regexp.Regexp{`a`: regexp.MustCompilePOSIX(`a`)}":             1,
		"var x = func() *regexp.Regexp { return regexp.MustCompile(`a`) }()":               1,
		"var x = template.Must(template.New(`a`).Parse(`b`))":                              1,
		"var x = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`a`) })": 0,
		"func f() { var x = regexp.MustCompile(`a`); _ = x }":                              0,
		"var x = regexp.QuoteMeta(`a`)":                                                    0,
	} {
		if got := compiledEarly(t, []byte("package x\n"+src+"\n")); len(got) != want {
			t.Errorf("%s: found %v, want %d", src, got, want)
		}
	}
}
