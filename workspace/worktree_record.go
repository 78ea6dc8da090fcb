package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"oneloop/internal/disk"
)

// worktreeWait is how long somebody who only looks may hold the lock.
const worktreeWait = 300 * time.Millisecond

// What the record of a worktree says.
const (
	there    = "there"    // or nothing is known
	adding   = "adding"   // nobody has worked in it yet
	removing = "removing" // what is in it is not wanted any more
)

// doing is what is done with a worktree.
type doing struct {
	what   string
	branch string // the commit its branch is to be at to be removed; empty: it stays
	fresh  bool   // adding: the branch is made too
}

// record is the file of a name, locked. It lies where commands cannot write, or
// they could have a worktree of others removed.
type record struct {
	name string
	path string
	file *os.File
}

// hold takes the lock of a name. What somebody has left half done is finished
// first.
func (t *Worktrees) hold(ctx context.Context, name string) (*record, error) {
	rec, err := t.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := t.finish(ctx, rec); err != nil {
		rec.file.Close()
		return nil, fmt.Errorf("finish what was left half done: %w", err)
	}
	return rec, nil
}

func (t *Worktrees) lock(ctx context.Context, name string) (*record, error) {
	if err := os.MkdirAll(t.state, 0o700); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeoutCause(ctx, worktreeWait, ErrWorktreeUsed)
	defer cancel()
	for {
		rec := &record{name: name, path: filepath.Join(t.state, name)}
		var err error
		if rec.file, err = os.OpenFile(rec.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return nil, err
		}
		if err := disk.Lock(wait, rec.file); err != nil {
			rec.file.Close()
			if errors.Is(err, disk.ErrHeld) {
				err = ErrWorktreeUsed
			}
			return nil, err
		}
		// Who had it before may have removed the file.
		is, err := rec.file.Stat()
		if now, gone := os.Lstat(rec.path); err == nil && gone == nil && os.SameFile(is, now) {
			return rec, nil
		}
		rec.file.Close()
	}
}

// used reports whether a process holds the worktree.
func (t *Worktrees) used(name string) bool {
	f, err := os.OpenFile(filepath.Join(t.state, name), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(disk.TryLock(f), disk.ErrHeld)
}

// half reports whether a name is that of something half made or half removed.
func (t *Worktrees) half(name string) bool {
	f, err := os.OpenFile(filepath.Join(t.state, name), os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return (&record{file: f}).read().what != there
}

// read gives what is noted. What cannot be made out is taken for a worktree
// that is there: nothing is removed on a guess.
func (r *record) read() doing {
	text, err := io.ReadAll(io.NewSectionReader(r.file, 0, 1000))
	line, whole := strings.CutSuffix(string(text), "\n")
	words := strings.Split(line, " ")
	if err != nil || !whole || len(words) != 3 || words[0] != adding && words[0] != removing {
		return doing{what: there}
	}
	return doing{what: words[0], branch: strings.Trim(words[1], "-"), fresh: words[2] == "fresh"}
}

// write notes what is done before it is.
func (r *record) write(d doing) error {
	text := d.what + "\n"
	if d.what != there {
		branch, kind := d.branch, "kept"
		if branch == "" {
			branch = "-"
		}
		if d.fresh {
			kind = "fresh"
		}
		text = fmt.Sprintf("%s %s %s\n", d.what, branch, kind)
	}
	// Cut before it is written: a beginning is no record.
	err := r.file.Truncate(0)
	if err == nil {
		_, err = r.file.WriteAt([]byte(text), 0)
	}
	if err == nil {
		err = disk.Sync(r.file)
	}
	if err != nil {
		return fmt.Errorf("note in %s what is done: %w", r.path, err)
	}
	return nil
}

// release gives the lock back. What is not there needs no record.
func (t *Worktrees) release(rec *record) error {
	var err error
	if _, gone := os.Lstat(t.Path(rec.name)); errors.Is(gone, fs.ErrNotExist) && rec.read().what == there {
		err = os.Remove(rec.path)
	}
	return errors.Join(err, rec.file.Close())
}

// finish takes away what is half made or half removed.
func (t *Worktrees) finish(ctx context.Context, rec *record) error {
	d := rec.read()
	if d.what == there {
		return nil
	}
	if err := t.linked(rec.name); err != nil {
		return err
	}
	if err := t.clear(rec.name); err != nil {
		return err
	}
	if err := t.forget(ctx, rec.name); err != nil {
		return err
	}
	if d.branch != "" && (d.what == removing || d.fresh) {
		if err := t.unbranch(ctx, rec.name, d.branch); err != nil {
			return err
		}
	}
	return rec.write(doing{what: there})
}

// clear removes the folder of a worktree with all that is in it, and nothing
// to which links in it lead.
func (t *Worktrees) clear(name string) error {
	root, err := os.OpenRoot(filepath.Dir(t.Path(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	if err = root.RemoveAll(name); err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// Folders that nobody may write, as caches of modules have them.
	in, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	err = fs.WalkDir(in.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			info, bad := in.Lstat(path)
			if bad == nil && info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
				if bad = in.Chmod(path, 0o700); bad == nil && err != nil {
					return nil
				}
			}
		}
		return nil // what cannot be read cannot be removed either, which is told then
	})
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	return root.RemoveAll(name)
}

// forget has git forget a worktree whose folder is gone.
func (t *Worktrees) forget(ctx context.Context, name string) error {
	list, err := t.entries(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list, func(e worktreeEntry) bool { return e.Path == t.Path(name) }) {
		return nil
	}
	_, err = t.run(ctx, "", "worktree", "remove", "--force", "--force", t.Path(name))
	return err
}

// unbranch removes the branch of a worktree if it is still at that commit and
// checked out nowhere.
func (t *Worktrees) unbranch(ctx context.Context, name, at string) error {
	list, err := t.entries(ctx)
	if err != nil {
		return err
	}
	is, err := t.commit(ctx, "", "refs/heads/"+branchOf(name))
	if err != nil || is != at || slices.ContainsFunc(list, func(e worktreeEntry) bool { return e.Branch == branchOf(name) }) {
		return err
	}
	_, err = t.run(ctx, "", "update-ref", "-d", "refs/heads/"+branchOf(name), at)
	return err
}

// Prune finishes what was left half made or half removed by programs that were
// ended, and names it. What another process works on is left to it.
func (t *Worktrees) Prune(ctx context.Context) (names []string, err error) {
	in, err := os.ReadDir(t.state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for half-made worktrees: %w", err)
	}
	for _, e := range in {
		name := e.Name()
		if !e.Type().IsRegular() || CheckWorktreeName(name) != nil {
			continue
		}
		half := t.half(name)
		if _, gone := os.Lstat(t.Path(name)); !half && gone == nil {
			continue
		}
		rec, bad := t.hold(ctx, name)
		switch {
		case errors.Is(bad, ErrWorktreeUsed):
			continue
		case bad != nil:
			err = errors.Join(err, fmt.Errorf("worktree %s: %w", name, bad))
			continue
		}
		if half {
			names = append(names, name)
		}
		err = errors.Join(err, t.release(rec))
	}
	return names, err
}
