package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// worktreeNamed is how many files and commits are named of those that would be
// lost.
const worktreeNamed = 20

// WorktreeState says what would be lost with a worktree. Files that git is
// told to ignore are not looked at.
type WorktreeState struct {
	Changed []string // files that are modified, staged or new, as git status names them; the first 20
	Changes int      // how many there are
	Commits []string // commits that no other branch, no tag and no remote has: id and subject; the newest 20
	Ahead   int      // how many there are
	// Hidden are files that git was told not to look at (assume-unchanged,
	// skip-worktree), whose changes it does not see; the first 20.
	Hidden     []string
	Submodules []string // folders of submodules that are not empty, the first 20
	Doing      string   // what is under way: "merge", "rebase", "cherry-pick", "revert", "bisect", "am"; empty: nothing
	Broken     string   // why it cannot be known; empty: it is

	own string // the commit of its own branch; empty: there is none
}

// Clean reports whether nothing would be lost.
func (s WorktreeState) Clean() bool {
	return s.Changes == 0 && s.Ahead == 0 && len(s.Hidden) == 0 && len(s.Submodules) == 0 && s.Doing == "" && s.Broken == ""
}

// String names in one line what would be lost; empty: nothing.
func (s WorktreeState) String() string {
	var parts []string
	add := func(n int, one, many string, list []string) {
		if n == 0 {
			return
		}
		word := many
		if n == 1 {
			word = one
		}
		more := ""
		if shown := min(len(list), 3); shown > 0 {
			if more = strings.Join(list[:shown], ", "); n > shown {
				more += ", …"
			}
			more = " (" + more + ")"
		}
		parts = append(parts, fmt.Sprintf("%d %s%s", n, word, more))
	}
	if s.Broken != "" {
		parts = append(parts, "what is in it cannot be known: "+s.Broken)
	}
	if s.Doing != "" {
		parts = append(parts, "a "+s.Doing+" under way")
	}
	add(s.Changes, "file changed or new", "files changed or new", s.Changed)
	add(s.Ahead, "commit that is nowhere else", "commits that are nowhere else", s.Commits)
	add(len(s.Hidden), "file that git was told not to look at", "files that git was told not to look at", s.Hidden)
	add(len(s.Submodules), "submodule that is not empty", "submodules that are not empty", s.Submodules)
	return strings.Join(parts, "; ")
}

// State says what would be lost with a worktree. It may be used meanwhile.
func (t *Worktrees) State(ctx context.Context, name string) (WorktreeState, error) {
	if err := CheckWorktreeName(name); err != nil {
		return WorktreeState{}, err
	}
	w, err := t.find(ctx, name)
	var s WorktreeState
	if err == nil {
		s, err = t.stateOf(ctx, w)
	}
	if err != nil {
		return s, fmt.Errorf("look at the worktree %s: %w", name, err)
	}
	return s, nil
}

// State is [Worktrees.State] of this one.
func (h *HeldWorktree) State(ctx context.Context) (WorktreeState, error) {
	return h.t.State(ctx, h.Name)
}

func (t *Worktrees) stateOf(ctx context.Context, w Worktree) (s WorktreeState, err error) {
	if s.own, err = t.commit(ctx, "", "refs/heads/"+branchOf(w.Name)); err != nil {
		return s, err
	}
	_, gone := os.Lstat(w.Path)
	if s.Broken = w.Broken; gone == nil && s.Broken != "" {
		return s, nil
	}
	if gone != nil { // with its folder all that is not committed is gone already
		s.Broken = ""
		return s, t.ahead(ctx, "", w.Name, w.Head, &s)
	}
	if s.Doing, err = t.doing(ctx, w.Path); err != nil {
		return s, err
	}
	if err := t.changes(ctx, w.Path, &s); err != nil {
		return s, err
	}
	if err := t.index(ctx, w.Path, &s); err != nil {
		return s, err
	}
	return s, t.ahead(ctx, w.Path, w.Name, w.Head, &s)
}

// changes looks for what is not committed.
func (t *Worktrees) changes(ctx context.Context, dir string, s *WorktreeState) error {
	out, err := Git(ctx, t.git, GitCmd{
		Args: []string{"status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal"}, Dir: dir, Time: worktreeTime,
	})
	if err != nil && !errors.Is(err, ErrOutput) {
		return err
	}
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		if len(entry) < 4 {
			continue
		}
		if s.Changes++; len(s.Changed) < worktreeNamed {
			s.Changed = append(s.Changed, string(entry[3:]))
		}
	}
	return nil
}

// index looks for what git status does not tell of.
func (t *Worktrees) index(ctx context.Context, dir string, s *WorktreeState) error {
	out, err := Git(ctx, t.git, GitCmd{Args: []string{"ls-files", "-v", "-s", "-z"}, Dir: dir, Max: 256 << 20, Time: worktreeTime})
	if err != nil {
		return err
	}
	for entry := range bytes.SplitSeq(out, []byte{0}) {
		head, name, ok := bytes.Cut(entry, []byte{'\t'})
		tag, mode, both := bytes.Cut(head, []byte{' '})
		if !ok || !both || len(tag) != 1 {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(string(name)))
		switch {
		case bytes.HasPrefix(mode, []byte("160000 ")):
			if in, err := os.ReadDir(path); err == nil && len(in) > 0 && len(s.Submodules) < worktreeNamed {
				s.Submodules = append(s.Submodules, string(name))
			}
		case tag[0] == 'S' || tag[0] >= 'a' && tag[0] <= 'z':
			// With a sparse checkout the file is not there.
			if _, err := os.Lstat(path); err == nil && len(s.Hidden) < worktreeNamed {
				s.Hidden = append(s.Hidden, string(name))
			}
		}
	}
	return nil
}

// operations are what can be under way, by what git keeps of it.
var operations = [][2]string{
	{"MERGE_HEAD", "merge"}, {"rebase-merge", "rebase"}, {"rebase-apply/applying", "am"}, {"rebase-apply", "rebase"},
	{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"sequencer", "cherry-pick"}, {"BISECT_LOG", "bisect"},
}

func (t *Worktrees) doing(ctx context.Context, dir string) (string, error) {
	own, err := t.run(ctx, dir, "rev-parse", "--path-format=absolute", "--git-dir")
	if err != nil {
		return "", err
	}
	for _, o := range operations {
		if _, err := os.Lstat(filepath.Join(own, filepath.FromSlash(o[0]))); err == nil {
			return o[1], nil
		}
	}
	return "", nil
}

// ahead looks for commits of the worktree that no branch but its own, no tag
// and no remote has. Dir is empty when its folder is gone.
func (t *Worktrees) ahead(ctx context.Context, dir, name, head string, s *WorktreeState) error {
	var from []string
	for _, id := range []string{s.own, head} {
		if id == "" {
			continue
		}
		if id, err := t.commit(ctx, "", id); err != nil {
			return err
		} else if id != "" && !slices.Contains(from, id) {
			from = append(from, id)
		}
	}
	if dir != "" {
		from = append(from, "--glob=refs/worktree/*") // they go with it
	}
	if len(from) == 0 {
		return nil
	}
	from = append(from, "--not", "--exclude="+branchOf(name), "--branches", "--tags", "--remotes", "--")
	out, err := t.run(ctx, dir, append([]string{"rev-list", "--count"}, from...)...)
	if err != nil {
		return err
	}
	if s.Ahead, err = strconv.Atoi(out); err != nil || s.Ahead == 0 {
		return err
	}
	out, err = t.run(ctx, dir, append([]string{"log", "--format=%h %s", "-n", strconv.Itoa(worktreeNamed)}, from...)...)
	s.Commits = strings.Split(out, "\n")
	return err
}

// WorktreeRemoveOptions are the options of [Worktrees.Remove].
type WorktreeRemoveOptions struct {
	Discard bool // what would be lost is not wanted
}

// RemovedWorktree says what was done.
type RemovedWorktree struct {
	Branch string // that was removed; empty: there is none, or it was kept
	Head   string // the commit that it was at: "git branch NAME COMMIT" brings it back
}

// WorktreeLossError says that a worktree is not removed, because something
// would be lost.
type WorktreeLossError struct {
	Name, Path string
	State      WorktreeState
}

func (e *WorktreeLossError) Error() string {
	return fmt.Sprintf("the worktree %s is kept, for this would be lost: %s", e.Name, e.State)
}

// WorktreeLockedError says that git was told to keep a worktree.
type WorktreeLockedError struct{ Path, Reason string }

func (e *WorktreeLockedError) Error() string {
	return fmt.Sprintf("the worktree is locked (%s); \"git worktree unlock %s\" ends that", e.Reason, e.Path)
}

// Remove removes a worktree, and its branch wt/NAME unless that has commits of
// its own. It is refused with a [*WorktreeLossError] when something would be
// lost, unless that is not wanted: then the branch goes too. What somebody works in
// is [ErrWorktreeUsed], and what git was told to keep a
// [*WorktreeLockedError], in any case.
func (t *Worktrees) Remove(ctx context.Context, name string, opts WorktreeRemoveOptions) (RemovedWorktree, error) {
	if err := CheckWorktreeName(name); err != nil {
		return RemovedWorktree{}, err
	}
	h, err := t.take(ctx, name)
	if err != nil {
		return RemovedWorktree{}, fmt.Errorf("remove the worktree %s: %w", name, err)
	}
	done, err := h.Remove(ctx, opts)
	if err != nil {
		h.Release()
	}
	return done, err
}

// Remove is [Worktrees.Remove] for the one that holds it. It is released then,
// but not after an error.
func (h *HeldWorktree) Remove(ctx context.Context, opts WorktreeRemoveOptions) (RemovedWorktree, error) {
	fail := func(err error) (RemovedWorktree, error) {
		return RemovedWorktree{}, fmt.Errorf("remove the worktree %s: %w", h.Name, err)
	}
	w, err := h.t.find(ctx, h.Name)
	if err != nil {
		return fail(err)
	}
	if w.Locked != "" {
		return fail(&WorktreeLockedError{w.Path, w.Locked})
	}
	s, err := h.t.stateOf(ctx, w)
	if err != nil && opts.Discard && context.Cause(ctx) == nil {
		s, err = WorktreeState{Broken: err.Error(), own: s.own}, nil
	}
	if err != nil {
		return fail(err)
	}
	if !s.Clean() && !opts.Discard {
		return RemovedWorktree{}, &WorktreeLossError{w.Name, w.Path, s}
	}
	if err := h.rec.write(doing{what: removing, branch: s.own}); err != nil {
		return fail(err)
	}
	// Half removed helps nobody.
	last := context.WithoutCancel(ctx)
	if err := h.t.finish(last, h.rec); err != nil {
		return fail(err)
	}
	done := RemovedWorktree{Head: s.own}
	if is, err := h.t.commit(last, "", "refs/heads/"+branchOf(h.Name)); err != nil {
		return fail(err)
	} else if is == "" && s.own != "" {
		done.Branch = branchOf(h.Name)
	}
	return done, h.Release()
}
