package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"oneloop"
	"oneloop/internal/text"
)

type writeInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

const writeSchema = `{"type":"object","properties":{"file_path":{"type":"string"},"content":{"type":"string"}},"required":["file_path","content"],"additionalProperties":false}`

// Write is the tool that makes a file, with the folders above it, or replaces
// all of its text. A new file is UTF-8 and holds exactly what it is given. An
// old one keeps its byte order mark, encoding and line ends (where these are
// mixed, each line that stays keeps its own) and the newline at its end. It
// must have been read, edited or written before; see [FilesOptions].
func (f *Files) Write() oneloop.Tool {
	t := build("Write", "Make a file, or replace all of one that you have read. Prefer Edit for changes.",
		json.RawMessage(writeSchema), f.write)
	t.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.Idempotent }
	t.Touches = f.touches(oneloop.TouchWrite)
	return t
}

func (f *Files) write(_ context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event), in writeInput) (*oneloop.ToolResult, error) {
	path, err := f.target(in.FilePath)
	if err != nil {
		return nil, err
	}
	defer f.shared.lock(path)()
	old, was, err := f.load(path, mostEdit)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.gone(path); err != nil {
			return nil, err
		}
		return f.create(path, in.FilePath, in.Content)
	}
	if err != nil {
		return nil, f.cannotChange(in.FilePath, was, err)
	}
	if kind := isBinary(old); kind != "" {
		return nil, fmt.Errorf("%s is %s and no text, nothing was changed. Remove it first if text is to take its place", in.FilePath, kind)
	}
	if f.knows(path) == nil && len(old) > 0 && !f.opts.Overwrite {
		return nil, fmt.Errorf("%s exists (%s bytes) and you have not read it, so nothing was changed. Read it first, or use another name", in.FilePath, grouped(was.size))
	}
	refuse, note := f.changed(path, was, old)
	if refuse != nil {
		return nil, refuse
	}
	doc := text.New(old, was.form)
	content := in.Content
	if n := len(doc.Text); n > 0 && doc.Text[n-1] == '\n' && content != "" && !strings.HasSuffix(content, "\n") && !strings.HasSuffix(content, "\r") {
		content += "\n"
		note = strings.TrimPrefix(note+"; the newline at the end was kept", "; ")
	}
	raw, err := doc.Rewrite(content)
	if err != nil {
		return nil, unmappable(err)
	}
	done, err := f.save(path, false, old, was, raw, was.form)
	if err != nil {
		return nil, f.explain(in.FilePath, err)
	}
	diff := text.Compare(doc.Text, text.New(raw, was.form).Text, short)
	return f.report(path, "Wrote "+in.FilePath, diff, done, note), nil
}

// create makes a file that is not there.
func (f *Files) create(path, name, content string) (*oneloop.ToolResult, error) {
	if err := f.ws.Files().MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, f.explain(name, err)
	}
	raw := []byte(content)
	if _, err := f.save(path, true, nil, version{}, raw, text.Detect(raw)); err != nil {
		return nil, f.explain(name, err)
	}
	lines := len(text.Lines(content))
	unit := "lines"
	if lines == 1 {
		unit = "line"
	}
	r := oneloop.TextResult(fmt.Sprintf("Created %s, %d %s", name, lines, unit))
	d := text.Compare(nil, text.New(raw, text.Detect(raw)).Text, short)
	r.Details = FileDiff{Path: f.show(path), Diff: d.Text, Added: d.Added, Cut: d.Cut, Created: true}
	return r, nil
}
