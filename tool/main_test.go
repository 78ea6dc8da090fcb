package tool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"oneloop"
	"oneloop/tool"
	"oneloop/workspace"
)

func TestMain(m *testing.M) {
	workspace.Helper()
	os.Exit(m.Run())
}

func open(t testing.TB, opts workspace.LocalOptions) *workspace.LocalWorkspace {
	t.Helper()
	w, err := workspace.Local(t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// call answers one call of the only tool in the box, as the loop would.
func call(t testing.TB, ctx context.Context, b oneloop.Tool, input any, emit func(oneloop.Event)) *oneloop.ToolResult {
	t.Helper()
	data, ok := input.(string)
	if !ok {
		j, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		data = string(j)
	}
	if emit == nil {
		emit = func(oneloop.Event) {}
	}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{b}}
	msg := box.Run(ctx, []*oneloop.ToolUse{{ID: "t1", Name: b.Name, Input: json.RawMessage(data)}}, emit)
	return msg.Blocks[0].(*oneloop.ToolResult)
}

// shell runs a command in a fresh workspace and gives the text of the result.
func shell(t testing.TB, command string) string {
	t.Helper()
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{SpillDir: t.TempDir()})
	r := call(t, t.Context(), b, map[string]any{"command": command}, nil)
	if r.IsError {
		t.Errorf("%q: the result is an error: %s", command, r.Text())
	}
	return r.Text()
}

// spillFile finds the file a result names.
func spillFile(t *testing.T, dir, text string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v, want one", files, err)
	}
	if !strings.Contains(text, files[0]) {
		t.Fatalf("the result does not name %s: %s", files[0], text[max(0, len(text)-500):])
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode().Perm())
	}
	if info.Size() > 64<<20 {
		t.Errorf("%d bytes, want at most 64 MiB", info.Size())
	}
	return files[0]
}

// events collects what a call emits.
type events struct {
	mu   sync.Mutex
	list []oneloop.Event
}

func (e *events) emit(x oneloop.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, x)
}

func (e *events) pieces() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, x := range e.list {
		if p, ok := x.(oneloop.ToolOutput); ok {
			out = append(out, p.Text)
		}
	}
	return out
}

// within fails the test when f takes longer than limit.
func within(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	began := time.Now()
	f()
	// A busy machine takes its time for anything; what hangs does so for minutes.
	if took := time.Since(began); took > max(limit, 30*time.Second) {
		t.Errorf("it took %v, more than %v", took, limit)
	}
}
