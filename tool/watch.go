package tool

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"oneloop"
	"oneloop/internal/text"
)

// Watch returns t, whose calls may change files by themselves as commands do,
// such that what changes while a call runs counts as the agent's own doing: a
// formatter is nobody else. Only files that the agent knows are looked at.
func (f *Files) Watch(t oneloop.Tool) oneloop.Tool {
	run := t.Run
	t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		defer f.Watching()()
		return run(ctx, call, emit)
	}
	return t
}

// Watching is what [Files.Watch] does, for what is no tool: what changes until
// done is called counts as the agent's own doing. Hooks are run in between.
func (f *Files) Watching() (done func()) {
	before := f.untouched()
	return func() { f.adopt(before) }
}

// untouched are the known files that nobody has changed.
func (f *Files) untouched() []string {
	return slices.DeleteFunc(f.paths(), func(path string) bool {
		v, _, changed := f.look(path)
		return changed || v.info == nil
	})
}

// adopt takes note of what became of files that were untouched before.
func (f *Files) adopt(paths []string) {
	for _, path := range paths {
		v, raw, changed := f.look(path)
		k := f.knows(path)
		if _, err := f.ws.Files().Stat(path); errors.Is(err, fs.ErrNotExist) {
			f.forget(path)
			continue
		}
		if !changed || v.info == nil || k == nil {
			continue
		}
		f.shared.before(path, false, k.kept.share)
		if raw == nil {
			f.learn(path, &known{version: v, unseen: true})
			continue
		}
		f.learn(path, &known{version: v, kept: f.shared.shelf.put(raw), unseen: true})
	}
}

// racy is how long after a change another one may leave the time of the file
// as it is: as long as the clock of the coarsest file systems in use.
const racy = 50 * time.Millisecond

// look reports whether a known file has other content than the agent knows.
// Without an info there is no such file any more.
func (f *Files) look(path string) (v version, raw []byte, changed bool) {
	k := f.knows(path)
	if k == nil {
		return version{}, nil, false
	}
	info, err := f.ws.Files().Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return version{}, nil, false
	}
	if k.info != nil && os.SameFile(info, k.info) && info.Size() == k.info.Size() && info.ModTime().Equal(k.info.ModTime()) && k.looked.Sub(info.ModTime()) > racy {
		return k.version, nil, false
	}
	raw, v, err = f.load(path, mostWhole)
	if errors.Is(err, errTooLarge) && v.size <= mostEdit {
		v.sum, err = f.sum(path)
	}
	if err != nil {
		return version{}, nil, false
	}
	if v.sum == k.sum && v.size == k.size {
		f.mu.Lock()
		k.info, k.looked = v.info, v.looked
		f.mu.Unlock()
		return v, raw, false
	}
	return v, raw, true
}

// sum is the sum of a file that is too large to be read as a whole.
func (f *Files) sum(path string) (uint64, error) {
	file, _, err := f.open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	var h maphash.Hash
	h.SetSeed(f.shared.seed)
	if err := copyTo(&h, file, mostEdit); err != nil {
		return 0, err
	}
	return h.Sum64(), nil
}

// FileDiff is what became of one file.
type FileDiff struct {
	Path           string // from the root of the workspace when it lies there, else absolute
	Diff           string // unified, without the names; empty when the text is the same
	Added, Removed int    // lines
	Created        bool   // there was no such file
	Deleted        bool   // there is none now
	Cut            bool   // Diff does not show all
	Note           string // why there is no Diff of a file that changed
}

// Diff returns what became of every file that the agents of this session
// changed by Write, Edit or a tool in [Files.Watch], from before the first
// change until now, whoever else changed it too. Files that are again as they
// were are left out.
func (f *Files) Diff() []FileDiff {
	f.shared.mu.Lock()
	firsts := maps.Clone(f.shared.firsts)
	f.shared.mu.Unlock()
	var list []FileDiff
	for _, path := range slices.Sorted(maps.Keys(firsts)) {
		if d, ok := f.diff(path, firsts[path]); ok {
			list = append(list, d)
		}
	}
	return list
}

// whole bounds the diff of one file for people.
var whole = text.DiffOptions{Context: 3, Lines: 2000, Width: 500}

func (f *Files) diff(path string, was *first) (FileDiff, bool) {
	d := FileDiff{Path: f.show(path), Created: was.absent}
	raw, v, err := f.load(path, mostEdit)
	if errors.Is(err, fs.ErrNotExist) {
		d.Deleted, err = true, nil
	}
	if d.Created && d.Deleted {
		return d, false
	}
	var old []byte
	if err == nil && !was.absent {
		old, err = was.kept.get()
	}
	if err != nil {
		d.Note = fmt.Sprintf("what changed is not known: %v", err)
		return d, true
	}
	if string(old) == string(raw) && !d.Created && !d.Deleted {
		return d, false
	}
	diff := text.Compare(text.New(old, text.Detect(old)).Text, text.New(raw, v.form).Text, whole)
	d.Diff, d.Added, d.Removed, d.Cut = diff.Text, diff.Added, diff.Removed, diff.Cut
	if diff.Text == "" && len(old)+len(raw) > 0 {
		d.Note = "only line ends or the encoding differ"
	}
	return d, true
}
