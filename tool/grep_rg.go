package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"oneloop/workspace"
)

// ripgrep lets rg search. With an error nothing is known of the files, and
// the search is to be done otherwise: there is no rg, it does not take the
// expression, or said nothing for so long that it may wait for ever, as it does
// for an ignore file that is a pipe.
func ripgrep(ctx context.Context, ws workspace.Workspace, t *tree, q *query, silence time.Duration) (*finds, error) {
	f := &finds{}
	if t.file || q.Multiline {
		return f, errors.New("not for rg")
	}
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	out := &rgOutput{t: t, q: q, finds: f, stop: cancel, silence: silence}
	out.quiet = time.AfterFunc(silence, cancel)
	defer out.quiet.Stop()
	p, err := ws.Start(stop, workspace.Cmd{Argv: rgArgs(q), Dir: filepath.Join(t.base, filepath.FromSlash(t.start)), Output: out})
	if err != nil {
		return f, err
	}
	exit, err := p.Wait()
	switch {
	case f.full || ctx.Err() != nil:
	case err != nil:
		return f, err
	case exit.Code == 2 && len(f.files) > 0:
		f.note("some files could not be searched")
	case exit.Code != 0 && exit.Code != 1:
		return f, fmt.Errorf("rg: %s", bytes.TrimSpace(out.rest))
	}
	if q.OutputMode == modeFiles {
		f.times(t)
	}
	return f, nil
}

// rgArgs are the words of the command. Nothing of the model's begins one.
func rgArgs(q *query) []string {
	args := []string{"rg", "--no-config", "--no-messages", "--hidden", "--no-require-git", "--no-ignore-dot", "--no-ignore-global", "--color=never", "--crlf"}
	for _, name := range versioned {
		args = append(args, "--glob=!"+name)
	}
	if q.Fold {
		args = append(args, "--ignore-case")
	}
	for _, list := range []globs{q.names, q.kinds} {
		if names, ok := list.basenames(); ok {
			for _, n := range names {
				args = append(args, "--type-add=wanted:"+n)
			}
			args = append(args, "--type=wanted")
			break // types are either-or; the other list is checked here
		}
	}
	switch q.OutputMode {
	case modeFiles:
		args = append(args, "--files-with-matches", "--null")
	case modeCount:
		args = append(args, "--count", "--null", "--with-filename")
	default:
		args = append(args, "--json", fmt.Sprintf("--before-context=%d", q.Before), fmt.Sprintf("--after-context=%d", q.After))
	}
	return append(args, "--regexp="+q.Pattern, "--", "./")
}

// basenames are patterns for names alone that rg reads as we do.
func (g globs) basenames() ([]string, bool) {
	var out []string
	for _, one := range g {
		name, ok := strings.CutPrefix(one.String(), "**/")
		if !ok || strings.ContainsAny(name, "/{}\\[,!") || strings.Contains(name, "**") {
			return nil, false
		}
		out = append(out, name)
	}
	return out, len(out) > 0
}

// times finds out when the files changed.
func (f *finds) times(t *tree) {
	open := map[string]*folder{}
	for i := range f.files {
		at := path.Dir(f.files[i].name)
		dir, ok := open[at]
		if !ok {
			if len(open) == batch {
				for _, d := range open {
					if d != nil {
						d.close()
					}
				}
				clear(open)
			}
			dir, _ = openFolder(t.root, at)
			open[at] = dir
		}
		if dir != nil {
			f.files[i].at, _ = dir.changed(path.Base(f.files[i].name))
		}
	}
	for _, d := range open {
		if d != nil {
			d.close()
		}
	}
}

// rgOutput reads what rg prints, as it comes.
type rgOutput struct {
	t     *tree
	q     *query
	finds *finds
	stop  func()
	rest  []byte // not read yet; at the end, what rg has to say
	now   find   // the file whose lines come
	lost  bool   // they are not wanted

	silence time.Duration
	quiet   *time.Timer // ends rg after silence
}

func (o *rgOutput) Write(p []byte) (int, error) {
	o.quiet.Reset(o.silence)
	o.rest = append(o.rest, p...)
	for {
		var n int
		switch o.q.OutputMode {
		case modeFiles:
			n = o.name(o.rest)
		case modeCount:
			n = o.count(o.rest)
		default:
			n = o.message(o.rest)
		}
		if n == 0 {
			return len(p), nil
		}
		o.rest = o.rest[n:]
	}
}

// full is the path of a file in the tree.
func (o *rgOutput) full(name string) string {
	return path.Join(o.t.start, strings.TrimPrefix(filepath.ToSlash(name), "./"))
}

func (o *rgOutput) add(one find) {
	if !o.finds.add(one) {
		o.stop()
	}
}

// name takes a name and a NUL.
func (o *rgOutput) name(p []byte) int {
	i := bytes.IndexByte(p, 0)
	if i < 0 {
		return 0
	}
	if full := o.full(string(p[:i])); o.q.wanted(o.t.below(full)) {
		o.add(find{hit: hit{name: full}})
	}
	return i + 1
}

// count takes a name, a NUL, a number and a line end.
func (o *rgOutput) count(p []byte) int {
	i := bytes.IndexByte(p, 0)
	j := bytes.IndexByte(p[max(i, 0):], '\n')
	if i < 0 || j < 0 {
		return 0
	}
	n, err := strconv.Atoi(string(stripped(p[i+1 : i+j]))) // --crlf is also for what it prints
	if full := o.full(string(p[:i])); err == nil && o.q.wanted(o.t.below(full)) {
		o.add(find{hit: hit{name: full}, count: n})
	}
	return i + j + 1
}

// rgText is how rg writes bytes.
type rgText struct {
	Text  *string `json:"text"`
	Bytes []byte  `json:"bytes"`
}

func (x rgText) String() string {
	if x.Text != nil {
		return *x.Text
	}
	return string(x.Bytes)
}

type rgMessage struct {
	Type string `json:"type"`
	Data struct {
		Path   rgText `json:"path"`
		Lines  rgText `json:"lines"`
		Number int    `json:"line_number"`
		Binary *int64 `json:"binary_offset"`
		Parts  []struct {
			Start int `json:"start"`
			End   int `json:"end"`
		} `json:"submatches"`
	} `json:"data"`
}

// message takes a line of JSON. What is none is left to be told.
func (o *rgOutput) message(p []byte) int {
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		return 0
	}
	var m rgMessage
	if err := json.Unmarshal(p[:i], &m); err != nil {
		return 0
	}
	switch m.Type {
	case "begin":
		full := o.full(m.Data.Path.String())
		o.now, o.lost = find{hit: hit{name: full}}, !o.q.wanted(o.t.below(full))
	case "match", "context":
		if !o.lost && len(o.now.lines) <= mostFound {
			o.take(m)
		}
	case "end":
		if !o.lost && m.Data.Binary == nil && len(o.now.lines) > 0 {
			o.add(o.now)
		}
		o.now = find{}
	}
	return i + 1
}

// take keeps a line. Bytes past the end of it are the line end.
func (o *rgOutput) take(m rgMessage) {
	text := []byte(strings.TrimSuffix(m.Data.Lines.String(), "\n"))
	if m.Data.Number == 1 {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
	}
	if m.Type == "context" {
		o.now.lines = append(o.now.lines, line{m.Data.Number, shorten(stripped(text), 0), true})
		return
	}
	o.now.count++
	if !o.q.Only {
		place := 0
		if len(m.Data.Parts) > 0 {
			place = m.Data.Parts[0].Start
		}
		o.now.lines = append(o.now.lines, line{m.Data.Number, shorten(stripped(text), place), false})
		return
	}
	for _, part := range m.Data.Parts {
		if part.Start < part.End && part.End <= len(text) {
			o.now.lines = append(o.now.lines, line{m.Data.Number, shorten(stripped(text[part.Start:part.End]), 0), false})
		}
	}
}
