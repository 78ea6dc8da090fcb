package tool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"oneloop"
)

// admit lets Read show the file that holds an output of a command, although
// it lies outside of the workspace: what the model's own call printed is told
// to it anyway. It is that one file, whatever takes its name later.
func (f *Files) admit(path string) {
	if f == nil || path == "" {
		return
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	f.shared.mu.Lock()
	defer f.shared.mu.Unlock()
	f.shared.outputs[filepath.Clean(path)] = info
}

// Admit lets Read show what is in a folder outside of the workspace, such as
// what belongs to a skill that was loaded; links that lead out of it are not
// followed. Rules for Read count as for any file.
func (f *Files) Admit(dir string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(real) {
		return // there is nothing to be shown
	}
	f.shared.mu.Lock()
	defer f.shared.mu.Unlock()
	if !slices.Contains(f.shared.admitted, real) {
		f.shared.admitted = append(f.shared.admitted, real)
	}
}

// admittedPath is the real path of a file in a folder that was admitted; empty:
// it is in none.
func (f *Files) admittedPath(name string) string {
	f.shared.mu.Lock()
	dirs := f.shared.admitted
	f.shared.mu.Unlock()
	if len(dirs) == 0 || !filepath.IsAbs(name) {
		return ""
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return ""
	}
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, real); err == nil && filepath.IsLocal(rel) {
			return real
		}
	}
	return ""
}

// output gives the file that name was admitted as.
func (f *Files) output(name string) (path string, admitted fs.FileInfo) {
	path = filepath.Clean(name)
	f.shared.mu.Lock()
	defer f.shared.mu.Unlock()
	return path, f.shared.outputs[path]
}

// openOutput opens an admitted file, if it is still there.
func openOutput(path string, admitted fs.FileInfo) (fs.File, fs.FileInfo, error) {
	// Without waiting: what has taken its place may be a pipe.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(info, admitted)) { // a number may be used again
		err = &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// source opens the file that Read is to show.
func (f *Files) source(name string) (string, fs.File, fs.FileInfo, error) {
	if path, admitted := f.output(name); admitted != nil {
		file, info, err := openOutput(path, admitted)
		if err != nil {
			return "", nil, nil, f.explain(name, err)
		}
		return path, file, info, nil
	}
	if path := f.admittedPath(name); path != "" {
		if info, err := os.Lstat(path); err == nil {
			file, info, err := openOutput(path, info)
			if err != nil {
				return "", nil, nil, f.explain(name, err)
			}
			return path, file, info, nil
		}
	}
	path, err := f.path(name)
	if err != nil {
		return "", nil, nil, err
	}
	file, info, err := f.open(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			f.forget(path) // who is told so knows
		}
		return "", nil, nil, f.explain(name, err)
	}
	return path, file, info, nil
}

// readTouches tells what a call of Read would read, which of the outputs of
// the agent's own commands is nothing new.
func (f *Files) readTouches(call *oneloop.ToolUse) ([]oneloop.Touch, error) {
	var in readInput
	if decode(call.Input, &in) == nil {
		if _, admitted := f.output(in.FilePath); admitted != nil {
			return nil, nil
		}
		if path := f.admittedPath(in.FilePath); path != "" {
			return []oneloop.Touch{{Kind: oneloop.TouchRead, Name: path}}, nil
		}
	}
	return f.touches(oneloop.TouchRead)(call)
}
