package tui

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"oneloop"
)

var named = &oneloop.Reason{Code: "named", Text: "a rule names it"}

func of(what string, why *oneloop.Reason) *oneloop.Reason {
	return &oneloop.Reason{Code: "of", Text: "%s: %s", Args: []*oneloop.Reason{{Text: what}, why}}
}

func saidNo(what string) *oneloop.Reason {
	return &oneloop.Reason{Code: "said-no", Text: "%s: the user said no", Args: []*oneloop.Reason{{Text: what}}}
}

// reasons are the codes that package policy makes reasons of, with their
// English texts.
func reasons(t *testing.T) map[string]string {
	t.Helper()
	files, _ := filepath.Glob("../../policy/*.go")
	more, _ := filepath.Glob("../../policy/shell/*.go")
	found := map[string]string{}
	for _, name := range append(files, more...) {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			fun, _ := call.Fun.(*ast.Ident)
			if s, is := call.Fun.(*ast.SelectorExpr); is {
				fun = s.Sel
			}
			if fun == nil || fun.Name != "Because" || strings.HasSuffix(name, "_test.go") {
				return true
			}
			code, text := literal(t, name, call.Args[0]), literal(t, name, call.Args[1])
			if verbs := strings.Count(text, "%"); verbs != len(call.Args)-2 || verbs != strings.Count(text, "%s") {
				t.Errorf("%s: %q is about %d things", name, text, len(call.Args)-2)
			}
			if other, had := found[code]; had && other != text {
				t.Errorf("%s is %q, and %q", code, text, other)
			}
			found[code] = text
			return true
		})
	}
	if len(found) < 100 {
		t.Fatalf("only %d reasons were found", len(found))
	}
	return found
}

func literal(t *testing.T, file string, e ast.Expr) string {
	t.Helper()
	if l, is := e.(*ast.BasicLit); is {
		if s, err := strconv.Unquote(l.Value); err == nil {
			return s
		}
	}
	t.Errorf("%s: a code or a text of a reason is not written out", file)
	return ""
}

func TestEveryReasonHasWordsInEveryLanguage(t *testing.T) {
	english := reasons(t)
	for _, r := range reasonsZH {
		text, known := english[r[0]]
		if !known {
			t.Errorf("nothing is said by the code %s", r[0])
		}
		delete(english, r[0])
		args := []any{"<1>", "<2>", "<3>"}[:strings.Count(text, "%s")]
		said := fmt.Sprintf(r[1], args...)
		for _, a := range args {
			if strings.Count(said, a.(string)) != 1 {
				t.Errorf("%s is %q in Chinese, of %q", r[0], r[1], text)
			}
		}
		if strings.Contains(said, "%!") || said == text {
			t.Errorf("%s is said as %q", r[0], said)
		}
	}
	for code, text := range english {
		t.Errorf("%s (%q) has no words in Chinese", code, text)
	}
}

func TestReasonsAreSaidInTheLanguageOfTheUser(t *testing.T) {
	other := &oneloop.Reason{Code: "of a later program", Text: "something else: %s", Args: []*oneloop.Reason{named}}
	for _, c := range []struct {
		why    *oneloop.Reason
		en, zh string
	}{
		{of("echo 'x: y'", named), "echo 'x: y': a rule names it", "echo 'x: y'：有规则提到它"},
		{saidNo("a: b.go"), "a: b.go: the user said no", "a: b.go：用户没有同意"},
		{other, "something else: a rule names it", "something else: 有规则提到它"},
		{nil, "only words", "only words"},
	} {
		if got := english.Reason("only words", c.why); got != c.en {
			t.Errorf("it is %q, want %q", got, c.en)
		}
		if got := chinese.Reason("only words", c.why); got != c.zh {
			t.Errorf("in Chinese it is %q, want %q", got, c.zh)
		}
	}
	if got := chinese.Item("runs at PreToolUse Bash: ./check.sh"); got != "运行于 PreToolUse Bash: ./check.sh" {
		t.Error(got)
	}
}
