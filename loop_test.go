package oneloop_test

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
)

// theLoop is the text of Run.
const theLoop = `func Run(ctx context.Context, m Model, tools Tools, t Transcript, emit func(Event)) error {
	for {
		req, err := t.Request(ctx)
		if err != nil {
			return err
		}
		msg, err := m.Generate(ctx, req, emit)
		if err != nil {
			return err
		}
		if err := t.Append(context.WithoutCancel(ctx), msg); err != nil {
			return err
		}
		if msg.Stop != StopToolUse {
			return nil
		}
		results := tools.Run(ctx, msg.ToolUses(), emit)
		if err := t.Append(context.WithoutCancel(ctx), results); err != nil {
			return err
		}
		if results.Stop == StopEndTurn {
			return nil
		}
	}
}`

func TestTheLoopNeverChanges(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "loop.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if f.Name.Name != "Run" {
			t.Errorf("loop.go holds %s: the loop stands there alone", f.Name.Name)
			continue
		}
		f.Doc = nil
		var b bytes.Buffer
		if err := format.Node(&b, fset, f); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(theLoop, b.String()); diff != "" {
			t.Errorf("the loop never changes; wrap something instead:\n%s", diff)
		}
		return
	}
	t.Fatal("there is no Run in loop.go")
}

// TestThereIsOneLoop looks for calls of Generate inside a loop. Package model
// sends the same request again, which is not another loop.
func TestThereIsOneLoop(t *testing.T) {
	found := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == "model" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n := generateInLoop(t, src)
		found += n
		if n > 0 && path != "loop.go" {
			t.Errorf("%s asks a model in a loop of its own; the loop is oneloop.Run", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found != 1 {
		t.Errorf("%d loops ask a model, want 1", found)
	}
	for src, want := range map[string]int{
		"package x\nfunc f() { for { m.Generate(ctx, r, e) } }":              1,
		"package x\nfunc f() { for range 2 { g(func() { m.Generate() }) } }": 1,
		"package x\nfunc f() { for m.Generate(ctx, r, e) {} }":               1,
		"package x\nfunc f() { m.Generate(ctx, r, e) }":                      0,
		"package x\nfunc f() { for range g(func() { m.Generate() }) {} }":    0,
	} {
		if got := generateInLoop(t, []byte(src)); got != want {
			t.Errorf("%q: found %d, want %d", src, got, want)
		}
	}
}

func generateInLoop(t *testing.T, src []byte) int {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[ast.Node]bool{}
	collect := func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			if s, ok := c.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Generate" {
				calls[c] = true
			}
		}
		return true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			ast.Inspect(n, collect)
		case *ast.RangeStmt:
			ast.Inspect(n.Body, collect) // what is ranged over is made once
		}
		return true
	})
	return len(calls)
}

// says is a model that gives these messages in order.
func says(messages ...*oneloop.Message) oneloop.ModelFunc {
	return func(context.Context, *oneloop.Request, func(oneloop.Event)) (*oneloop.Message, error) {
		if len(messages) == 0 {
			return nil, errors.New("nothing more to say")
		}
		m := messages[0]
		messages = messages[1:]
		return m, nil
	}
}

func calls(uses ...oneloop.Block) *oneloop.Message {
	return &oneloop.Message{Role: oneloop.Assistant, Blocks: uses, Stop: oneloop.StopToolUse}
}

func use(id, name, input string) *oneloop.ToolUse {
	return &oneloop.ToolUse{ID: id, Name: name, Input: []byte(input)}
}

func done(text string) *oneloop.Message {
	return &oneloop.Message{Role: oneloop.Assistant, Blocks: []oneloop.Block{&oneloop.Text{Text: text}}, Stop: oneloop.StopEndTurn}
}

func ignore(oneloop.Event) {}

// echo answers with its input.
var echo = oneloop.Tool{
	ToolDef: oneloop.ToolDef{Name: "echo"},
	Run: func(_ context.Context, call *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return oneloop.TextResult(string(call.Input)), nil
	},
}

func TestRunGoesRoundUntilTheModelStopsCalling(t *testing.T) {
	var h oneloop.History
	h.Append(t.Context(), oneloop.UserText("hi"))
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{echo}}
	m := says(calls(use("1", "echo", `{"a":1}`)), calls(use("2", "echo", `{"a":2}`)), done("ok"))
	if err := oneloop.Run(t.Context(), m, box, &h, ignore); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range h.Messages() {
		roles = append(roles, string(m.Role)+" "+string(m.Stop))
	}
	want := []string{"user ", "assistant tool_use", "user ", "assistant tool_use", "user ", "assistant end_turn"}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error(diff)
	}
}

func TestAToolCanEndTheTurn(t *testing.T) {
	var h oneloop.History
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{{
		ToolDef: oneloop.ToolDef{Name: "stop"},
		Run: func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			r := oneloop.TextResult("bye")
			r.EndTurn = true
			return r, nil
		},
	}, echo}}
	m := says(calls(use("1", "stop", `{}`), use("2", "echo", `{}`)), done("never asked"))
	if err := oneloop.Run(t.Context(), m, box, &h, ignore); err != nil {
		t.Fatal(err)
	}
	last := h.Last()
	if last.Stop != oneloop.StopEndTurn || len(last.Blocks) != 2 {
		t.Errorf("the last message is %+v", last)
	}
}

func TestTheMessageIsKeptBeforeItsToolsRun(t *testing.T) {
	var h oneloop.History
	look := echo
	look.Run = func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		if h.Last() == nil || len(h.Last().ToolUses()) != 1 {
			t.Errorf("while the tool runs, the last message is %+v", h.Last())
		}
		return nil, nil
	}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{look}}
	if err := oneloop.Run(t.Context(), says(calls(use("1", "echo", `{}`)), done("ok")), box, &h, ignore); err != nil {
		t.Fatal(err)
	}
}

func TestACancelledTurnKeepsItsResults(t *testing.T) {
	var h oneloop.History
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := echo
	stop.Run = func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		cancel(oneloop.ErrInterrupted)
		return oneloop.TextResult("half"), ctx.Err()
	}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{stop}}
	err := oneloop.Run(ctx, says(calls(use("1", "echo", `{}`), use("2", "echo", `{}`))), box, &h, ignore)
	if !errors.Is(err, oneloop.ErrInterrupted) {
		t.Errorf("Run gives %v, want the cause", err)
	}
	if last := h.Last(); last == nil || last.Role != oneloop.User || len(last.Blocks) != 2 {
		t.Errorf("the last message is %+v", last)
	}
}

func TestAnErrorOfTheModelEndsTheTurn(t *testing.T) {
	var h oneloop.History
	h.Append(t.Context(), oneloop.UserText("hi"))
	if err := oneloop.Run(t.Context(), says(), &oneloop.Toolbox{}, &h, ignore); err == nil {
		t.Error("no error")
	}
	if len(h.Messages()) != 1 {
		t.Errorf("%d messages are kept", len(h.Messages()))
	}
}
