package tool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"oneloop"
	"oneloop/workspace"
)

// GrepOptions are the settings of [Grep].
type GrepOptions struct {
	Timeout time.Duration // 0: 1 minute
	Cap     int           // characters in a result; 0: 30,000
	Plain   bool          // search without rg also when there is one
}

type grepInput struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path,omitempty"`
	Glob       string `json:"glob,omitempty"`
	Type       string `json:"type,omitempty"`
	OutputMode string `json:"output_mode,omitempty"`
	After      int    `json:"-A,omitempty"`
	Before     int    `json:"-B,omitempty"`
	Context    int    `json:"-C,omitempty"`
	Numbers    *bool  `json:"-n,omitempty"`
	Fold       bool   `json:"-i,omitempty"`
	Only       bool   `json:"-o,omitempty"`
	Multiline  bool   `json:"multiline,omitempty"`
	HeadLimit  int    `json:"head_limit,omitempty"`
	Offset     int    `json:"offset,omitempty"`
}

const grepSchema = `{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"},"glob":{"type":"string"},"type":{"type":"string","description":"e.g. go, py"},` +
	`"output_mode":{"enum":["files_with_matches","content","count"]},"-A":{"type":"integer"},"-B":{"type":"integer"},"-C":{"type":"integer"},"-n":{"type":"boolean"},"-i":{"type":"boolean"},"-o":{"type":"boolean"},` +
	`"multiline":{"type":"boolean"},"head_limit":{"type":"integer"},"offset":{"type":"integer"}},"required":["pattern"],"additionalProperties":false}`

const (
	modeFiles   = "files_with_matches"
	modeContent = "content"
	modeCount   = "count"

	headLimit  = 250     // lines or files of a result, unless the call says otherwise
	mostFound  = 100_000 // that are kept before they are sorted
	mostBytes  = 16 << 20
	mostShown  = 500 // bytes of a line that are shown
	mostAround = 100 // lines of context on a side
)

// Grep searches the text of files for a regular expression, line by line, or
// across lines when multiline is set (then "." is any character). Modes are
// files_with_matches, the default, the newest first; content, by path, with
// line numbers unless -n is false; and count, the lines that match.
//
// Which files are searched is as for [Glob]. Binary ones are not: those with a
// NUL, unless they begin with a mark of UTF-16. glob and type leave out what
// does not match. Names and text are shown as they are; a line that is long,
// and a result that is, are cut and say so.
//
// Files that [workspace.Withhold] names are not searched, and the result says
// how many they were; then there is no rg.
//
// When there is an rg outside of the workspace it does the search, run as any
// command of the workspace is and without its configuration, except for a
// single file and across lines. The rest is searched here, and so is
// everything where there is no rg. Expressions are those of Go, which rg
// understands alike but for this: \w, \d, \s and \b mean ASCII in Go and all of
// Unicode in rg; a brace that begins no repetition is text, as in Go; what only
// rg knows, such as \u{4e2d} or [a-z&&[^x]], works only where rg is. Files
// in other encodings than UTF-8 and UTF-16 are searched byte by byte. Without
// rg, files of more than 32 MiB are passed over, and the result says so.
func Grep(ws workspace.Workspace, opts GrepOptions) oneloop.Tool {
	if opts.Timeout <= 0 {
		opts.Timeout = time.Minute
	}
	if opts.Cap <= 0 {
		opts.Cap = 30_000
	}
	return searching("Grep", "Search files for a regular expression. Skips binary files and what .gitignore names.", grepSchema, ws,
		func(in grepInput) string { return in.Path },
		func(ctx context.Context, in grepInput) (*oneloop.ToolResult, error) {
			return runGrep(ctx, ws, opts, in)
		})
}

// query is what is searched for.
type query struct {
	grepInput
	re      *regexp.Regexp // nil: Go does not know the expression
	why     error          // then
	literal []byte         // every match is this, and this is a match
	need    []byte         // every match holds this; empty: unknown
	names   globs          // by glob; nil: all
	kinds   globs          // by type; nil: all
}

func newQuery(in grepInput) (*query, error) {
	q := &query{grepInput: in}
	switch q.OutputMode {
	case "":
		q.OutputMode = modeFiles
	case modeFiles, modeContent, modeCount:
	default:
		return nil, fmt.Errorf("there is no output_mode %q. Use %s, %s or %s.", in.OutputMode, modeFiles, modeContent, modeCount)
	}
	for _, n := range []*int{&q.Before, &q.After} {
		if *n = min(max(*n, q.Context, 0), mostAround); q.Only || q.OutputMode != modeContent {
			*n = 0
		}
	}
	if q.HeadLimit <= 0 {
		q.HeadLimit = headLimit
	}
	q.Offset = max(q.Offset, 0)
	var err error
	if in.Glob != "" {
		if q.names, err = newGlobs(in.Glob); err != nil {
			return nil, err
		}
	}
	if in.Type != "" {
		if q.kinds, err = kindGlobs(in.Type); err != nil {
			return nil, err
		}
	}
	q.compile()
	return q, nil
}

// wanted reports whether a file is to be searched, by its path from where the
// search starts.
func (q *query) wanted(name string) bool {
	return (q.names == nil || q.names.match(name)) && (q.kinds == nil || q.kinds.match(name))
}

func runGrep(ctx context.Context, ws workspace.Workspace, opts GrepOptions, in grepInput) (*oneloop.ToolResult, error) {
	q, err := newQuery(in)
	if err != nil {
		return nil, err
	}
	t, err := plant(ws, in.Path)
	if err != nil {
		return nil, err
	}
	defer t.close()
	t.withheld = workspace.Withheld(ctx)
	if !t.file && q.names != nil {
		t.narrow(q.names.prefix())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, opts.Timeout, errSearchTime)
	defer cancel()
	f, err := search(ctx, ws, t, q, opts)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSearchTime):
		f.note("incomplete: it was stopped after %v; give a path, a glob or a type", opts.Timeout)
	case cause != nil:
		return nil, cause
	case err != nil:
		return nil, err
	}
	return f.result(t, q, opts.Cap), nil
}

// search lets rg do it where it can.
func search(ctx context.Context, ws workspace.Workspace, t *tree, q *query, opts GrepOptions) (*finds, error) {
	// Where files are withheld, rg is not to read them: whether something is
	// found in them would tell what is there.
	if t.withheld == nil && (q.re == nil || !opts.Plain && !t.file && !q.Multiline) {
		silence := opts.Timeout
		if q.re != nil { // it can be searched for here
			silence /= 6
		}
		f, err := ripgrep(ctx, ws, t, q, silence)
		if err == nil || ctx.Err() != nil {
			return f, nil
		}
	}
	if q.re == nil {
		return &finds{}, fmt.Errorf("the pattern is no regular expression: %w. A backslash makes a special character text.", q.why)
	}
	f := scanTree(ctx, t, q)
	if note := t.withheldNote(); note != "" {
		f.note("%s", note)
	}
	return f, nil
}

// result makes text of what was found.
func (f *finds) result(t *tree, q *query, limit int) *oneloop.ToolResult {
	if len(f.files) == 0 {
		f.note("no match for %s%s", q.Pattern, hint(q))
		return oneloop.TextResult(f.tail())
	}
	if q.OutputMode == modeFiles {
		slices.SortFunc(f.files, func(a, b *find) int { return newest(a.hit, b.hit) })
	} else {
		slices.SortFunc(f.files, func(a, b *find) int { return strings.Compare(a.name, b.name) })
	}
	p := paper{skip: q.Offset, room: q.HeadLimit, limit: limit}
	for _, file := range f.files {
		switch q.OutputMode {
		case modeFiles:
			p.line("", t.label(file.name))
		case modeCount:
			p.line("", fmt.Sprintf("%s:%d", t.label(file.name), file.count))
		default:
			p.lines(t.label(file.name), q, file.lines)
		}
	}
	if p.left > 0 {
		what := "lines"
		if q.OutputMode != modeContent {
			what = "files"
		}
		f.note("%s more %s; go on with offset %d, or narrow the search", grouped(int64(p.left)), what, q.Offset+p.shown)
	}
	if p.shown == 0 {
		f.note("offset %d is behind the end", q.Offset)
	}
	return oneloop.TextResult(strings.TrimSuffix(p.b.String()+f.tail(), "\n"))
}

// hint says why there may be no match.
func hint(q *query) string {
	switch {
	case !q.Multiline && strings.Contains(q.Pattern, `\n`):
		return "; lines are searched one by one, set multiline to match across them"
	case q.names != nil || q.kinds != nil:
		return " in the files that glob and type leave"
	}
	return ""
}

// paper is a result while it is written.
type paper struct {
	b     strings.Builder
	skip  int // lines that are still to be passed over
	room  int // lines that still fit
	limit int // characters
	full  bool
	shown int
	left  int // lines that found no place
}

// line writes one line, below a head that is written if it was not. It
// reports whether it did.
func (p *paper) line(head, text string) bool {
	switch {
	case p.skip > 0:
		p.skip--
		return false
	case p.full || p.room == 0 || p.b.Len()+len(head)+len(text) > p.limit:
		p.full = true
		p.left++
		return false
	}
	if head != "" {
		p.b.WriteString(head + "\n")
	}
	p.b.WriteString(text + "\n")
	p.room--
	p.shown++
	return true
}

// lines writes those of one file below its name.
func (p *paper) lines(name string, q *query, list []line) {
	head := name
	if p.b.Len() > 0 {
		head = "\n" + name
	}
	last := 0
	for _, l := range list {
		mark := ":"
		if l.around {
			mark = "-"
		}
		text := l.text
		if q.Numbers == nil || *q.Numbers {
			text = fmt.Sprintf("%d%s%s", l.n, mark, l.text)
		}
		if head == "" && q.Before+q.After > 0 && l.n > last+1 {
			text = "--\n" + text
		}
		if p.line(head, text) {
			head, last = "", l.n
		}
	}
}

// note adds something to be said of the search.
func (f *finds) note(format string, args ...any) {
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
}

func (f *finds) tail() string {
	var b strings.Builder
	for _, n := range f.notes {
		b.WriteString("[" + n + "]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
