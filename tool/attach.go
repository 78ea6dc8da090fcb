package tool

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"oneloop"
	"oneloop/workspace"
)

// mostListed is how many names of a folder are shown.
const mostListed = 200

// Attach is Read for what a person names in their own words: it shows a folder
// too, by the names in it. It is offered to no model; rules for Read hold for
// it, and a file that it has shown counts as read.
func (f *Files) Attach() oneloop.Tool {
	t := f.Read()
	read := t.Run
	t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		r, err := read(ctx, call, emit)
		if !errors.Is(err, errFolder) {
			return r, err
		}
		var in readInput
		if err := decode(call.Input, &in); err != nil {
			return nil, err
		}
		return f.listing(ctx, in.FilePath)
	}
	return t
}

// listing shows the names in a folder, those of folders with a slash behind.
// Files that rules withhold are not named.
func (f *Files) listing(ctx context.Context, name string) (*oneloop.ToolResult, error) {
	dir, err := f.path(name)
	if err != nil {
		return nil, err
	}
	list, err := f.ws.Files().ReadDir(dir)
	if err != nil {
		return nil, f.explain(name, err)
	}
	withheld := workspace.Withheld(ctx)
	var names []string
	for _, e := range list {
		if withheld != nil && withheld(filepath.Join(dir, e.Name())) {
			continue
		}
		n := strings.ToValidUTF8(e.Name(), "\ufffd")
		if strings.ContainsFunc(n, unicode.IsControl) {
			n = strconv.Quote(n) // one name is one line
		}
		if e.IsDir() {
			n += "/"
		}
		names = append(names, n)
	}
	if len(names) == 0 {
		return oneloop.TextResult(fmt.Sprintf("[%s is an empty folder]", name)), nil
	}
	more := ""
	if n := len(names) - mostListed; n > 0 {
		more = fmt.Sprintf("\n[%d of %d names; Glob finds more]", mostListed, len(names))
		names = names[:mostListed]
	}
	return oneloop.TextResult(strings.Join(names, "\n") + more), nil
}
