package tool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
	}
	return f.touches(oneloop.TouchRead)(call)
}
