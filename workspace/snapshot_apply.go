package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Rewound is what going back has done.
type Rewound struct {
	Done   []FileChange
	Failed []FileLoss // what was not done after all
	Kept   string     // the folder with copies of what was replaced or removed; empty: there was nothing to keep
}

// Apply does those changes of a plan that which picks; nil means all. Nothing
// that has changed since the plan was made is touched. What is replaced or
// removed is copied first, unless git has it.
//
// It stops at the end of ctx; the error is then its cause, and Rewound says
// what was done.
func (s *Snapshots) Apply(ctx context.Context, p *Plan, which func(FileChange) bool) (done Rewound, err error) {
	s.stop()
	s.mu.Lock()
	defer s.tell()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return done, fmt.Errorf("go back with files: %w", err)
	}
	defer s.release()
	defer s.keep()
	b := &back{Snapshots: s, ctx: ctx, n: s.opts.At(), done: &done, kept: filepath.Join(s.opts.Dir, time.Now().Format("replaced-20060102-150405.000"))}
	var picked []FileChange
	for _, c := range p.Changes {
		if which == nil || which(c) {
			picked = append(picked, c)
		}
	}
	return done, b.all(picked)
}

// back is a going back at work.
type back struct {
	*Snapshots
	ctx      context.Context
	n        int64
	done     *Rewound
	kept     string
	contents map[string][]byte // of git, by the object's name
}

// all does the changes in an order in which each is possible: what is in the
// way is removed from the leaves, the rest is made from the root.
func (b *back) all(list []FileChange) error {
	for _, c := range slices.Backward(list) {
		if c.was.kind == kindAbsent || c.now.kind != kindAbsent && c.now.kind != c.was.kind {
			if err := b.step(c, b.remove); err != nil {
				return err
			}
		}
	}
	var files []FileChange
	for _, c := range list {
		if c.was.kind == kindDir {
			if err := b.step(c, b.folder); err != nil {
				return err
			}
		} else if c.was.kind != kindAbsent {
			files = append(files, c)
		}
	}
	for len(files) > 0 {
		n, err := b.fetch(files)
		if err != nil {
			return err
		}
		for _, c := range files[:n] {
			if err := b.step(c, b.file); err != nil {
				return err
			}
		}
		files = files[n:]
	}
	return b.modes(list)
}

// step does one thing about a path. Its failure is told and hinders no other.
func (b *back) step(c FileChange, do func(FileChange) error) error {
	if err := context.Cause(b.ctx); err != nil {
		return err
	}
	if slices.ContainsFunc(b.done.Failed, func(l FileLoss) bool { return l.Path == c.Path }) {
		return nil
	}
	err := do(c)
	if err == errHalf {
		return nil
	}
	if err != nil {
		b.done.Failed = append(b.done.Failed, FileLoss{c.Path, plainly(err).Error()})
		return nil
	}
	b.done.Done = append(b.done.Done, c)
	b.note(c)
	return nil
}

// errHalf says that there is more to do about a path.
var errHalf = errors.New("there is more to do")

// note takes the path as it is now.
func (b *back) note(c FileChange) {
	now := c.was
	st, err := b.lstat(c.key)
	if err != nil {
		st = stat{kind: kindAbsent}
	}
	now.stat, now.racy, now.unread = st, fresh20(st), false
	b.record(c.key, change{now, byTool, b.n})
}

// unchanged reports an error when a path is no longer as the plan saw it.
func (b *back) unchanged(c FileChange) error {
	st, err := b.lstat(c.key)
	if errors.Is(err, fs.ErrNotExist) {
		st, err = stat{kind: kindAbsent}, nil
	}
	if err != nil {
		return err
	}
	if !c.now.same(st) && !(c.now.kind == kindIgnored && st.kind != kindAbsent) {
		return errors.New(LossMoved)
	}
	return nil
}

// remove removes what is there, once there is a copy.
func (b *back) remove(c FileChange) error {
	if err := b.unchanged(c); err != nil {
		return err
	}
	if c.now.kind != kindAbsent {
		if err := b.copy(c); err != nil {
			return err
		}
		err := b.place("remove", c.key).in(func(dir *os.Root, base string) error { return dir.Remove(base) })
		if err != nil && c.now.kind == kindDir {
			return fmt.Errorf(LossHolds+"%w", plainly(err))
		}
		if err != nil {
			return err
		}
	}
	if c.was.kind != kindAbsent {
		return errHalf
	}
	return nil
}

// gone reports whether remove has made way.
func (c FileChange) gone() bool { return c.now.kind != kindAbsent && c.now.kind != c.was.kind }

// folder makes a folder, or gives it its mode, which comes last.
func (b *back) folder(c FileChange) error {
	if c.now.kind == kindDir {
		if err := b.unchanged(c); err != nil {
			return err
		}
		return b.place("chmod", c.key).in(func(dir *os.Root, base string) error { return dir.Chmod(base, permissions(c.was.mode|0o700)) })
	}
	return b.place("mkdir", c.key).in(func(dir *os.Root, base string) error { return dir.Mkdir(base, 0o777) })
}

// file gives a file or a link what it was.
func (b *back) file(c FileChange) error {
	if !c.gone() {
		if err := b.unchanged(c); err != nil {
			return err
		}
	}
	if c.was.kind == kindLink {
		return b.link(c)
	}
	data, err := b.contentOf(c)
	if err != nil {
		return err
	}
	there := c.now.kind == kindFile
	if there {
		if err := b.copy(c); err != nil {
			return err
		}
	}
	p := b.place("restore", c.key)
	return p.in(func(dir *os.Root, base string) error {
		if !there {
			if err := createWhole(dir, base, data, permissions(c.was.mode)); err != nil {
				return err
			}
			return dir.Chmod(base, permissions(c.was.mode))
		}
		if b.sameContent(c.now, c.was) {
			return dir.Chmod(base, permissions(c.was.mode))
		}
		if c.now.mode&0o200 == 0 {
			if err := dir.Chmod(base, permissions(c.now.mode|0o200)); err != nil {
				return err
			}
		}
		if _, err := replaceOld(dir, filepath.Dir(b.path(c.key)), base, data); err != nil {
			return err
		}
		return dir.Chmod(base, permissions(c.was.mode))
	})
}

func (b *back) link(c FileChange) error {
	return b.place("link", c.key).in(func(dir *os.Root, base string) error {
		if c.now.kind == kindLink {
			if err := dir.Remove(base); err != nil {
				return err
			}
		}
		return dir.Symlink(c.was.to, base)
	})
}

// modes gives folders their modes, the deepest first: one that may not be
// written would be in the way of the rest.
func (b *back) modes(list []FileChange) error {
	for _, c := range slices.Backward(list) {
		if c.was.kind != kindDir || slices.ContainsFunc(b.done.Failed, func(l FileLoss) bool { return l.Path == c.Path }) {
			continue
		}
		err := b.place("chmod", c.key).in(func(dir *os.Root, base string) error { return dir.Chmod(base, permissions(c.was.mode)) })
		if err != nil {
			b.done.Failed = append(b.done.Failed, FileLoss{c.Path, plainly(err).Error()})
		}
		b.note(c)
	}
	return nil
}

// fetchAtOnce is how much is held of git's, in bytes.
const fetchAtOnce = 32 << 20

// fetch gets what git has of the first of these files, and says of how many.
func (b *back) fetch(files []FileChange) (n int, err error) {
	b.contents = map[string][]byte{}
	names, sizes := map[string][]string{}, map[string]int64{}
	var total int64
	for _, c := range files {
		if total > 0 && total+c.was.size > fetchAtOnce {
			break
		}
		n++
		if c.was.git != "" {
			names[c.was.repo] = append(names[c.was.repo], c.was.git)
			sizes[c.was.repo] += c.was.size
			total += c.was.size
		}
	}
	for top, list := range names {
		got, err := b.objects(b.ctx, top, list, sizes[top])
		if err != nil && context.Cause(b.ctx) != nil {
			return 0, context.Cause(b.ctx)
		}
		for name, data := range got {
			b.contents[name] = data
		}
	}
	return n, nil
}

// contentOf is what a file was.
func (b *back) contentOf(c FileChange) ([]byte, error) {
	if c.was.has {
		return b.store.get(c.was.sum)
	}
	data, ok := b.contents[c.was.git]
	if !ok || c.was.git == "" {
		return nil, errors.New("git did not give it")
	}
	return data, nil
}

// copy keeps what a file is now where the user finds it.
func (b *back) copy(c FileChange) error {
	if c.now.kind != kindFile || !c.now.has {
		return nil
	}
	data, err := b.store.get(c.now.sum)
	if err != nil {
		return err
	}
	root, err := b.replaced()
	if err != nil {
		return fmt.Errorf("keep a copy of what it is now: %w", plainly(err))
	}
	defer root.Close()
	rel := strings.TrimPrefix(filepath.Clean(filepath.FromSlash(c.key)), filepath.VolumeName(filepath.FromSlash(c.key))+string(filepath.Separator))
	err = root.MkdirAll(filepath.Dir(rel), 0o700)
	if err == nil {
		err = root.WriteFile(rel, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep a copy of what it is now: %w", plainly(err))
	}
	return nil
}

// replaced is the folder of copies.
func (b *back) replaced() (*os.Root, error) {
	if err := os.MkdirAll(b.kept, 0o700); err != nil {
		return nil, err
	}
	b.done.Kept = b.kept
	return os.OpenRoot(b.kept)
}
