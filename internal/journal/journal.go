// Package journal keeps what several agents share, in files to which all of
// their processes write: a file of JSON lines that grows at its end. Who changes
// something locks the file, reads what others wrote since, decides, and writes
// its lines at once; what is shared is what comes out of all lines in their
// order, the same for everybody.
package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"oneloop/internal/disk"
)

// State is what comes out of the lines of a [Journal].
type State interface {
	// Apply takes the next line, valid JSON without its end. What it cannot use
	// it leaves: newer programs may write lines that this one does not know.
	// The line is valid until Apply returns.
	Apply(line []byte)
	// Reset forgets all lines: they come again, in a file that was rewritten.
	Reset()
}

// Journal is a file of JSON lines that several processes share. It is safe for
// concurrent use; its State is touched under its lock alone.
type Journal struct {
	path  string
	state State

	mu    sync.Mutex
	f     *os.File
	read  int64 // bytes of whole lines that the state has
	lines int   // that it was given, of this file
	bad   int   // lines that were no JSON: what a writer that was killed or a broken disk left
}

// New returns the journal in the file path, which need not be there yet, nor its
// folder.
func New(path string, s State) *Journal { return &Journal{path: path, state: s} }

// Path is where the file is.
func (j *Journal) Path() string { return j.path }

// View brings the state up to date and has look see it. It waits for no writer.
func (j *Journal) View(look func()) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.open(false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if j.f != nil {
		if err := j.current(); err != nil {
			return err
		}
		if err := j.catchUp(); err != nil {
			return err
		}
	}
	look()
	return nil
}

// Update brings the state up to date, has decide see it, and writes the lines that
// decide returns, each valid JSON in one line. Between the two nobody else writes.
// When it returns nil they survive a power cut and the state has them. With an
// error of decide nothing is written; with one of the disk nothing is kept.
func (j *Journal) Update(ctx context.Context, decide func() (lines [][]byte, err error)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.lock(ctx); err != nil {
		return fmt.Errorf("lock %s: %w", filepath.Base(j.path), err)
	}
	defer func() {
		if j.f != nil {
			disk.Unlock(j.f) // a file that cannot be unlocked is closed with the process
		}
	}()
	if err := j.settle(); err != nil {
		return err
	}
	lines, err := decide()
	if err != nil || len(lines) == 0 {
		return err
	}
	return j.write(lines)
}

// Lines is how many lines the file had when it was last read.
func (j *Journal) Lines() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lines
}

// Bad is how many of them could not be read.
func (j *Journal) Bad() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.bad
}

// Close closes the file. The journal can be used again.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.close()
}

func (j *Journal) close() error {
	if j.f == nil {
		return nil
	}
	err := j.f.Close()
	j.f = nil
	return err
}

// open opens the file, and makes it when that is wanted.
func (j *Journal) open(create bool) error {
	if j.f != nil {
		return nil
	}
	flag := os.O_RDWR
	if create {
		flag |= os.O_CREATE
	}
	f, err := os.OpenFile(j.path, flag, 0o600)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(j.path), 0o700); err != nil {
			return err
		}
		f, err = os.OpenFile(j.path, flag, 0o600)
	}
	j.begin() // it may be another file than the one before, or none any more
	if err != nil {
		return err
	}
	j.f = f
	return nil
}

// begin has all lines come again.
func (j *Journal) begin() {
	if j.read > 0 {
		j.read, j.lines, j.bad = 0, 0, 0
		j.state.Reset()
	}
}

// lock locks the file that is at the path now: the one that was opened may have
// been rewritten or removed since.
func (j *Journal) lock(ctx context.Context) error {
	for {
		if err := j.open(true); err != nil {
			return err
		}
		if err := disk.Lock(ctx, j.f); err != nil {
			return err
		}
		there, err := j.there()
		if err != nil {
			return errors.Join(err, disk.Unlock(j.f))
		}
		if there {
			return nil
		}
		if err := j.close(); err != nil {
			return err
		}
	}
}

// current opens the file again when another one is at the path.
func (j *Journal) current() error {
	there, err := j.there()
	if err != nil || there {
		return err
	}
	if err := j.close(); err != nil {
		return err
	}
	if err := j.open(false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (j *Journal) there() (bool, error) {
	own, err := j.f.Stat()
	if err != nil {
		return false, err
	}
	at, err := os.Stat(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(own, at), err
}

// catchUp gives the state the lines it does not have.
func (j *Journal) catchUp() error {
	if j.f == nil {
		return nil
	}
	fi, err := j.f.Stat()
	if err != nil {
		return err
	}
	if fi.Size() < j.read { // somebody cut it
		j.begin()
	}
	for buf := make([]byte, min(fi.Size()-j.read, 64<<10)); j.read < fi.Size(); {
		n, err := j.f.ReadAt(buf[:min(int64(len(buf)), fi.Size()-j.read)], j.read)
		if n == 0 && errors.Is(err, io.EOF) {
			return nil // a writer took back what it could not write whole
		}
		if n == 0 {
			return fmt.Errorf("read %s: %w", filepath.Base(j.path), err)
		}
		whole := bytes.LastIndexByte(buf[:n], '\n') + 1
		if whole == 0 {
			if j.read+int64(n) == fi.Size() {
				return nil // what a writer has not finished, or never will
			}
			buf = make([]byte, 2*len(buf))
			continue
		}
		j.apply(buf[:whole])
		j.read += int64(whole)
	}
	return nil
}

func (j *Journal) apply(lines []byte) {
	for line := range bytes.SplitSeq(bytes.TrimSuffix(lines, []byte("\n")), []byte("\n")) {
		j.lines++
		if !json.Valid(line) {
			j.bad++
			continue
		}
		j.state.Apply(line)
	}
}

// settle brings the state up to date in a locked file. What a writer that was
// killed left at the end becomes a line of its own: it counts if it is whole.
func (j *Journal) settle() error {
	if err := j.catchUp(); err != nil {
		return err
	}
	fi, err := j.f.Stat()
	if err != nil || fi.Size() == j.read {
		return err
	}
	if _, err := j.f.WriteAt([]byte{'\n'}, fi.Size()); err != nil {
		return fmt.Errorf("end a torn line of %s: %w", filepath.Base(j.path), err)
	}
	return j.catchUp()
}

// write puts lines at the end of the file, which is locked and settled.
func (j *Journal) write(lines [][]byte) error {
	var b []byte
	for _, line := range lines {
		if bytes.ContainsAny(line, "\n") || !json.Valid(line) {
			return fmt.Errorf("write %s: this is not one line of JSON: %.100q", filepath.Base(j.path), line)
		}
		b = append(append(b, line...), '\n')
	}
	_, err := j.f.WriteAt(b, j.read)
	if err == nil {
		err = disk.Sync(j.f)
	}
	if err == nil && j.read == 0 {
		err = disk.SyncDir(filepath.Dir(j.path)) // the file may be new
	}
	if err != nil {
		// What was written in part must not count for those who read it later.
		return fmt.Errorf("write %s: %w", filepath.Base(j.path), errors.Join(err, j.f.Truncate(j.read)))
	}
	j.apply(b)
	j.read += int64(len(b))
	return nil
}

// Rewrite replaces the file by one of the lines that decide returns, of which
// the same state has to come out. Whoever has the file open reads the new one
// next. When it fails the file is as it was. On Windows, where a file that is
// open cannot be replaced, it does nothing.
func (j *Journal) Rewrite(ctx context.Context, decide func() (lines [][]byte, err error)) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.lock(ctx); err != nil {
		return fmt.Errorf("lock %s: %w", filepath.Base(j.path), err)
	}
	defer func() {
		if j.f != nil {
			disk.Unlock(j.f)
		}
	}()
	if err := j.settle(); err != nil {
		return err
	}
	lines, err := decide()
	if err != nil || lines == nil {
		return err
	}
	next := j.path + ".new" // under the lock there is one
	f, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = func() error {
		if len(lines) > 0 {
			if _, err := f.Write(append(bytes.Join(lines, []byte("\n")), '\n')); err != nil {
				return err
			}
		}
		if err := disk.Sync(f); err != nil {
			return err
		}
		return f.Close()
	}()
	if err == nil {
		err = os.Rename(next, j.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("rewrite %s: %w", filepath.Base(j.path), err), f.Close(), os.Remove(next))
	}
	j.begin()
	if err := j.close(); err != nil { // the lock goes with it
		return err
	}
	return disk.SyncDir(filepath.Dir(j.path))
}
