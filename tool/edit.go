package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"oneloop"
	"oneloop/internal/text"
	"oneloop/workspace"
)

// editInput is one replacement, or several.
type editInput struct {
	FilePath   string        `json:"file_path"`
	OldString  *string       `json:"old_string,omitempty"`
	NewString  *string       `json:"new_string,omitempty"`
	ReplaceAll bool          `json:"replace_all,omitempty"`
	Edits      []replacement `json:"edits,omitempty"`
}

type replacement struct {
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

const editSchema = `{"type":"object","properties":{"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"},` +
	`"replace_all":{"type":"boolean"},"edits":{"type":"array","items":{"type":"object"},"description":"several: {old_string, new_string, replace_all}"}},` +
	`"required":["file_path"],"additionalProperties":false}`

// Edit is the tool that replaces text in a file: one piece, all like it, or
// several pieces one after the other, of which either all are replaced or
// none. The old text must stand exactly once unless all are meant.
//
// Text is compared in the file's own encoding and whatever the line ends are.
// What is not replaced keeps its bytes. A file need not have been read before:
// that the old text stands there once shows that the model knows what it
// replaces. To make a file, the old text is empty.
func (f *Files) Edit() oneloop.Tool {
	t := build("Edit", "Replace old_string, which must occur once in the file, or everywhere with replace_all. Line ends need not match. All edits are made, or none.",
		json.RawMessage(editSchema), f.edit)
	t.Touches = f.touches(oneloop.TouchWrite)
	return t
}

func (in editInput) list() ([]replacement, error) {
	switch {
	case len(in.Edits) > 0 && (in.OldString != nil || in.NewString != nil || in.ReplaceAll):
		return nil, errors.New("give either old_string and new_string, or edits")
	case len(in.Edits) > 0:
		return in.Edits, nil
	case in.OldString == nil || in.NewString == nil:
		return nil, errors.New("give old_string and new_string, or edits")
	}
	return []replacement{{*in.OldString, *in.NewString, in.ReplaceAll}}, nil
}

func (f *Files) edit(_ context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event), in editInput) (*oneloop.ToolResult, error) {
	edits, err := in.list()
	if err != nil {
		return nil, err
	}
	path, err := f.target(in.FilePath)
	if err != nil {
		return nil, err
	}
	defer f.shared.lock(path)()
	raw, was, err := f.load(path, mostEdit)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.gone(path); err != nil {
			return nil, err
		}
	}
	if errors.Is(err, fs.ErrNotExist) && len(edits) == 1 && edits[0].OldString == "" && edits[0].NewString != "" {
		return f.create(path, in.FilePath, edits[0].NewString)
	}
	if err != nil {
		return nil, f.cannotChange(in.FilePath, was, err)
	}
	if kind := isBinary(raw); kind != "" {
		return nil, fmt.Errorf("%s is %s and no text, nothing was changed. Use a program made for it", in.FilePath, kind)
	}
	refuse, note := f.changed(path, was, raw)
	if refuse != nil {
		return nil, refuse
	}
	first := text.New(raw, was.form)
	doc, places := first, 0
	var after edited
	for i, e := range edits {
		if i > 0 {
			doc = text.New(after.raw, doc.Form)
		}
		if after, err = apply(doc, e); err != nil {
			if i > 0 && e.OldString != "" && len(doc.Find(doc.Unify(e.OldString))) == 0 && len(first.Find(first.Unify(e.OldString))) > 0 {
				err = errors.New("old_string is in the file, but an edit before it in this call changes that text, and edits are made one after the other. Make one edit of them, or give old_string as it is after the others")
			}
			if note != "" {
				err = fmt.Errorf("%w. Mind that %s: read it again", err, note)
			}
			return nil, fmt.Errorf("%s%s: %w", nth(i, len(edits)), in.FilePath, err)
		}
		places += after.places
	}
	done, err := f.save(path, false, raw, was, after.raw, doc.Form)
	if err != nil {
		return nil, f.explain(in.FilePath, err)
	}
	said := fmt.Sprintf("Edited %s", in.FilePath)
	if places != 1 {
		said += fmt.Sprintf(", %d places", places)
	}
	var diff text.Diff
	if doc == first {
		diff = doc.Diff(after.changes, short)
	} else {
		diff = text.Compare(first.Text, text.New(after.raw, doc.Form).Text, short)
	}
	return f.report(path, said, diff, done, note), nil
}

// nth names an edit where there are several.
func nth(i, of int) string {
	if of == 1 {
		return ""
	}
	return fmt.Sprintf("edit %d of %d failed, so none was made. ", i+1, of)
}

func unless(no bool, s string) string {
	if no {
		return ""
	}
	return s
}

// edited is a file after a replacement.
type edited struct {
	raw     []byte
	places  int // that were changed
	changes []text.Change
}

// apply makes one replacement.
func apply(doc *text.Doc, e replacement) (edited, error) {
	old, now := doc.Unify(e.OldString), doc.Unify(e.NewString)
	switch {
	case e.OldString == e.NewString:
		return edited{}, errors.New("old_string and new_string are the same, there is nothing to change")
	case old == now:
		return edited{}, errors.New("old_string and new_string differ in line ends only, and those of the file are kept. Use a command to convert them")
	case old == "" && len(doc.Text) > 0:
		return edited{}, errors.New("old_string is empty, but the file is not; nothing was changed. To add text, give the line it goes next to and repeat that in new_string; to replace everything use Write")
	}
	at := doc.Find(old)
	switch {
	case old == "":
		at = []int{0}
	case len(at) == 0:
		return edited{}, errors.New(missing(doc, old, now))
	case len(at) > 1 && !e.ReplaceAll:
		return edited{}, fmt.Errorf("old_string occurs %d times (%s), nothing was changed. Add lines around it so that it occurs once, or set replace_all", len(at), lineList(doc, at))
	}
	changes := text.Replace(at, old, now)
	raw, err := doc.Splice(changes)
	if err != nil {
		return edited{}, unmappable(err)
	}
	return edited{raw, len(at), changes}, nil
}

func unmappable(err error) error {
	return fmt.Errorf("%w, in which the file is written; nothing was changed. Use characters it has, or convert the file first (iconv -t UTF-8)", err)
}

// lineList names the lines of some places.
func lineList(doc *text.Doc, at []int) string {
	const most = 10
	var b strings.Builder
	b.WriteString("lines ")
	line, from := 1, 0
	for i, p := range at {
		if i == most {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		line += strings.Count(string(doc.Text[from:p]), "\n")
		from = p
		fmt.Fprint(&b, line)
	}
	return b.String()
}

// missing says, for the model, what comes nearest to text that is not there.
func missing(doc *text.Doc, old, now string) string {
	const said = "old_string was not found, nothing was changed. "
	if len(strings.TrimSpace(now)) >= 8 {
		if at := doc.Find(now); len(at) == 1 {
			return said + fmt.Sprintf("new_string is there already, in line %d", doc.Line(at[0]))
		}
	}
	near, ok := text.Nearest(doc.Text, old)
	if !ok {
		return said + fmt.Sprintf("Nothing in its %d lines is like it. Read the file again", doc.Line(len(doc.Text)))
	}
	why := ""
	if near.Why != "" {
		why = " (" + near.Why + ")"
	}
	return said + fmt.Sprintf("The nearest is at line %d%s:\n%sGive the text exactly as Read shows it, without line numbers", near.Line, why, excerpt(near))
}

// excerpt shows a place as Read would, in short.
func excerpt(near text.Near) string {
	const lines, width = 12, 300
	var b strings.Builder
	for i, l := range text.Lines(near.Text) {
		if i == lines {
			b.WriteString("…\n")
			break
		}
		l, whole := text.Cut(strings.TrimSuffix(l, "\n"), width)
		fmt.Fprintf(&b, "%d\t%s%s\n", near.Line+i, l, unless(whole, "…"))
	}
	return b.String()
}

// short bounds the diff that a model sees of its own change.
var short = text.DiffOptions{Context: 2, Lines: 60, Width: 200}

// cutDiff is the text of a short diff, which says when it is not all.
func cutDiff(d text.Diff) string {
	if !d.Cut {
		return d.Text
	}
	return d.Text + fmt.Sprintf("[not all is shown: %d lines added, %d removed]\n", d.Added, d.Removed)
}

// report is the answer after a change.
func (f *Files) report(path, said string, d text.Diff, done workspace.Replaced, note string) *oneloop.ToolResult {
	said += "\n" + cutDiff(d)
	if done.InPlace {
		said += "[written in place: " + done.Why + "]\n"
	}
	if note != "" {
		said += "[" + note + "]\n"
	}
	r := oneloop.TextResult(strings.TrimSuffix(said, "\n"))
	r.Details = FileDiff{Path: f.show(path), Diff: d.Text, Added: d.Added, Removed: d.Removed, Cut: d.Cut}
	return r
}

// cannotChange says why a file was not even read.
func (f *Files) cannotChange(name string, v version, err error) error {
	if errors.Is(err, errTooLarge) {
		return fmt.Errorf("%s has %s bytes, more than the %s that Edit and Write can change. Use a command, e.g. sed -i", name, grouped(v.size), grouped(mostEdit))
	}
	return f.explain(name, err)
}
