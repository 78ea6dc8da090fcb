package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"oneloop"
	"oneloop/internal/ignore"
	"oneloop/workspace"
)

// GlobOptions are the settings of [Glob].
type GlobOptions struct {
	Limit   int           // files in a result; 0: 100
	Timeout time.Duration // 0: 30 seconds
}

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
}

const globSchema = `{"type":"object","properties":{"pattern":{"type":"string","description":"e.g. src/**/*.{ts,tsx}"},"path":{"type":"string"}},"required":["pattern"],"additionalProperties":false}`

// collected is how many matches are kept at most before they are sorted.
const collected = 200_000

// Glob finds files by their path, the newest first, as relative paths of the
// workspace. "**" and "{a,b}" are understood; a pattern without a slash
// matches at any depth. Files that git ignores and what version control keeps
// are left out, other hidden files are not; links are not followed.
//
// Ignore files are .gitignore, also above the workspace up to where its
// repository begins, and .git/info/exclude; what a user ignores everywhere
// (core.excludesFile) is not read. Files that [workspace.Withhold] names are
// left out, and the result says how many. A folder that is named as the path is
// searched also when it is ignored. The workspace has to be on this machine.
func Glob(ws workspace.Workspace, opts GlobOptions) oneloop.Tool {
	if opts.Limit <= 0 {
		opts.Limit = 100
	}
	if opts.Timeout <= 0 {
		opts.Timeout = 30 * time.Second
	}
	return searching("Glob", "Find files by glob, newest first. Without a / the pattern matches at any depth. Skips what .gitignore names.", globSchema, ws,
		func(in globInput) string { return in.split(ws.Describe().Root).Path },
		func(ctx context.Context, in globInput) (*oneloop.ToolResult, error) {
			return runGlob(ctx, ws, opts, in)
		})
}

// searching makes a tool that only looks at what lies below a path, which
// where tells of a call.
func searching[In any](name, doc, schema string, ws workspace.Workspace, where func(In) string, run func(context.Context, In) (*oneloop.ToolResult, error)) oneloop.Tool {
	t := build(name, doc, json.RawMessage(schema), func(ctx context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event), in In) (*oneloop.ToolResult, error) {
		return run(ctx, in)
	})
	t.Parallel = true
	t.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
	t.Touches = func(call *oneloop.ToolUse) ([]oneloop.Touch, error) {
		var in In
		if err := decode(call.Input, &in); err != nil {
			return nil, err
		}
		tree, err := plant(ws, where(in))
		if err != nil {
			return nil, err
		}
		defer tree.close()
		return []oneloop.Touch{{Kind: oneloop.TouchRead, Name: tree.real}}, nil
	}
	return t
}

// split makes an absolute pattern a path and a pattern below it.
func (in globInput) split(root string) globInput {
	if !filepath.IsAbs(in.Pattern) || in.Path != "" && in.Path != root {
		return in
	}
	dir := in.Pattern
	if i := strings.IndexAny(dir, "*?[{\\"); i >= 0 {
		dir = dir[:i]
	}
	dir = dir[:strings.LastIndexByte(dir, '/')]
	return globInput{Pattern: in.Pattern[len(dir)+1:], Path: cmpOr(dir, "/")}
}

// globs are patterns of which one has to match.
type globs []ignore.Glob

// newGlobs reads a pattern with braces. One without a slash matches at any
// depth, and one that begins with a slash or ./ from where the search starts.
func newGlobs(pattern string) (globs, error) {
	list, err := ignore.Expand(pattern)
	if err != nil {
		return nil, err
	}
	var out globs
	for _, p := range list {
		if !strings.Contains(p, "/") && p != "**" {
			p = "**/" + p
		}
		g, err := ignore.NewGlob(strings.TrimPrefix(strings.TrimPrefix(p, "./"), "/"))
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	return out, nil
}

func (g globs) match(path string) bool {
	for i := range g {
		if g[i].Match(path) {
			return true
		}
	}
	return false
}

// prefix is a folder that holds all that can match.
func (g globs) prefix() string {
	if len(g) != 1 {
		return ""
	}
	return g[0].Prefix()
}

// hit is a file with its time, for sorting.
type hit struct {
	name string
	at   int64 // nanoseconds
}

func newest(a, b hit) int {
	return cmp.Or(cmp.Compare(b.at, a.at), strings.Compare(a.name, b.name))
}

var errSearchTime = errors.New("no end in time")

func runGlob(ctx context.Context, ws workspace.Workspace, opts GlobOptions, in globInput) (*oneloop.ToolResult, error) {
	in = in.split(ws.Describe().Root)
	patterns, err := newGlobs(in.Pattern)
	if err != nil {
		return nil, err
	}
	t, err := plant(ws, in.Path)
	if err != nil {
		return nil, err
	}
	defer t.close()
	t.withheld = workspace.Withheld(ctx)
	if t.file {
		return nil, fmt.Errorf("%s is a file; the path has to be a folder", in.Path)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, opts.Timeout, errSearchTime)
	defer cancel()
	found, notes := t.find(ctx, patterns)
	if cause := context.Cause(ctx); errors.Is(cause, errSearchTime) {
		notes = append(notes, fmt.Sprintf("incomplete: it was stopped after %v; give a path or a narrower pattern", opts.Timeout))
	} else if cause != nil {
		return nil, cause
	}
	if note := t.withheldNote(); note != "" {
		notes = append(notes, note)
	}
	return listed(t, found, opts.Limit, notes, fmt.Sprintf("no file matches %s", in.Pattern)), nil
}

// find returns the files that match, unsorted.
func (t *tree) find(ctx context.Context, patterns globs) ([]hit, []string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parts := make([][]hit, workers())
	t.narrow(patterns.prefix())
	notes := t.walk(ctx, func(worker int, dir *folder, files []entry) {
		for _, e := range files {
			if !patterns.match(t.below(e.path)) || t.withholds(e.path) {
				continue
			}
			if at, ok := dir.changed(e.name); ok {
				parts[worker] = append(parts[worker], hit{e.path, at})
			}
		}
		if len(parts[worker]) > collected/len(parts) {
			cancel()
		}
	})
	found := slices.Concat(parts...)
	if len(found) > collected/len(parts) && ctx.Err() != nil {
		notes = append(notes, fmt.Sprintf("incomplete: it was stopped after %s matches; give a path or a narrower pattern", grouped(int64(len(found)))))
	}
	return found, notes
}

// listed makes a result of files: the newest first, at most so many.
func listed(t *tree, found []hit, limit int, notes []string, none string) *oneloop.ToolResult {
	var b strings.Builder
	for _, h := range newestOf(found, limit) {
		b.WriteString(t.label(h.name) + "\n")
	}
	if len(found) == 0 {
		b.WriteString(none + "\n")
	}
	if limit < len(found) {
		notes = append(notes, fmt.Sprintf("%d of %s files are shown, the newest", limit, grouped(int64(len(found)))))
	}
	for _, n := range notes {
		b.WriteString("[" + n + "]\n")
	}
	return oneloop.TextResult(strings.TrimSuffix(b.String(), "\n"))
}

// newestOf are the newest files, in order. All of many need not be sorted for
// the few that are shown.
func newestOf(found []hit, limit int) []hit {
	if len(found) > limit {
		times := make([]int64, len(found))
		for i, h := range found {
			times[i] = h.at
		}
		slices.Sort(times)
		oldest := times[len(times)-limit]
		var kept []hit
		for _, h := range found {
			if h.at >= oldest {
				kept = append(kept, h)
			}
		}
		found = kept
	}
	slices.SortFunc(found, newest)
	return found[:min(limit, len(found))]
}
