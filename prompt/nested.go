package prompt

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"oneloop"
	"oneloop/internal/unseen"
	"oneloop/workspace"
)

// Nested tells of instructions in folders below the one that is worked in, once
// the agent deals with a file there. It hands on where they are and not what
// they say: nobody has judged that, and the model reads it as it reads any file.
type Nested struct {
	Workspace workspace.Workspace
	Tell      func(text string) // has the model see it with its next request

	mu   sync.Mutex
	seen map[string]bool // folders
	told []string
}

// Told is what was told of, for a summary of the conversation to carry.
func (n *Nested) Told() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.told, "\n")
}

// Forget has all be told again, in another conversation.
func (n *Nested) Forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen, n.told = nil, nil
}

// Watch returns t such that its calls are looked at: those that succeed and
// touch a file by its path.
func (n *Nested) Watch(t oneloop.Tool) oneloop.Tool {
	run, touches := t.Run, t.Touches
	if touches == nil {
		return t
	}
	t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		result, err := run(ctx, call, emit)
		if err != nil || result == nil || result.IsError {
			return result, err
		}
		list, bad := touches(call)
		if bad != nil { // the call has run: it is none of ours
			return result, err
		}
		for _, touch := range list {
			if touch.Kind == oneloop.TouchRead || touch.Kind == oneloop.TouchWrite {
				n.touched(touch.Name)
			}
		}
		return result, err
	}
	return t
}

// touched tells of what instructs in the folders between the root and a file.
func (n *Nested) touched(name string) {
	root := n.Workspace.Describe().Root
	rel, err := filepath.Rel(root, name)
	if err != nil || !filepath.IsLocal(rel) {
		return
	}
	parts := strings.Split(filepath.ToSlash(filepath.Dir(rel)), "/")
	if parts[0] == "." || slices.ContainsFunc(parts, foreign) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	for i := range parts {
		dir := strings.Join(parts[:i+1], "/")
		if n.seen[dir] {
			continue
		}
		n.seen[dir] = true
		for _, file := range []string{"AGENTS.md", "CLAUDE.md"} {
			at := dir + "/" + file
			info, err := n.Workspace.Files().Stat(at)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if at != filepath.ToSlash(rel) {
				text := unseen.Line(fmt.Sprintf("%s instructs whoever works in %s: read it before you change anything there.", at, dir))
				n.told = append(n.told, text)
				n.Tell(text)
			}
			break
		}
	}
}

// foreign reports whether what is in a folder of this name was most likely
// written for somebody else.
func foreign(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" || name == "third_party" || name == "testdata"
}
