package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// worktreeFolder is where the worktrees lie in the main checkout.
const worktreeFolder = ".oneloop/worktrees"

// worktreeTime is how long git may take to write all files of one.
const worktreeTime = 10 * time.Minute

var (
	// ErrNoRepository says that a folder is in no git repository.
	ErrNoRepository = errors.New("there is no git repository")
	// ErrNoCheckout says that a repository has no main checkout to make
	// worktrees in: it is a bare one.
	ErrNoCheckout = errors.New("the repository is a bare one, without a main checkout to keep worktrees in; make one with \"git worktree add PATH\" and work there")
	// ErrNoCommit says that there is nothing yet that a worktree could hold.
	ErrNoCommit = errors.New("the repository has no commit yet; a worktree begins at one")
	// ErrNoWorktree says that there is no worktree of that name.
	ErrNoWorktree = errors.New("there is no such worktree")
	// ErrWorktreeExists says that there is one, or something in its place.
	ErrWorktreeExists = errors.New("it is there already")
	// ErrWorktreeUsed says that another process works in it.
	ErrWorktreeUsed = errors.New("another process works in this worktree")
)

// BranchUsedError says that the branch of a worktree is checked out elsewhere.
type BranchUsedError struct{ Branch, Path string }

func (e *BranchUsedError) Error() string {
	return fmt.Sprintf("the branch %s is checked out in %s", e.Branch, e.Path)
}

// WorktreeOptions are the options of [OpenWorktrees].
type WorktreeOptions struct {
	Env []string // as in [LocalOptions]
	// State is the state folder of the user's, in which it is kept who works in
	// which worktree and what is half done; see [ProjectDir]. Commands must
	// not write there, or they could have the worktrees of others removed. It
	// must be given.
	State string
}

// Worktrees are the worktrees of one repository that agents work in. They lie in
// .oneloop/worktrees of the main checkout, each on a branch wt/NAME. Git is
// run as [Git] does it: no hook, no filter and no other program that the
// repository names. So large files of git-lfs stay the pointers that the
// repository holds, and submodules are empty folders. [Worktree.Notes] says so.
//
// The folder must be one that the user has said to trust.
//
// What is half made or half removed, because the program was ended, is told by a
// file for each name, which also is the lock on it: whoever gets that first
// finishes what was begun. Nothing else is needed: that it is there says git.
type Worktrees struct {
	main  string // real path of the main checkout
	git   *LocalWorkspace
	state string
}

// Worktree is one of them.
type Worktree struct {
	Name   string
	Path   string
	Branch string // that is checked out; empty: none is
	Head   string // the commit; empty: there is none yet
	Used   bool   // a process works in it, which may be this one
	Locked string // why git is told to keep it ("git worktree lock"); empty: it is not
	// Broken says why it cannot be worked in; empty: it can.
	Broken string
	Notes  []string // of a new one: what is not as one may expect
}

// ProjectDir is the folder in which it is kept what agents share that work in the
// repository whose main checkout is main, by its real path.
func ProjectDir(state, main string) string {
	sum := sha256.Sum256([]byte(main))
	return filepath.Join(state, "projects", fmt.Sprintf("%s-%x", strings.Trim(filepath.Base(main), `/\`), sum[:8]))
}

// OpenWorktrees gives the worktrees of the repository that dir is in. Nothing
// is changed yet.
func OpenWorktrees(ctx context.Context, dir string, opts WorktreeOptions) (*Worktrees, error) {
	fail := func(err error) (*Worktrees, error) { return nil, fmt.Errorf("open the worktrees of %s: %w", dir, err) }
	if opts.State == "" {
		return fail(errors.New("there is no state folder to keep it in who works in which"))
	}
	w, err := Local(dir, LocalOptions{Env: opts.Env})
	if err != nil {
		return fail(err)
	}
	t := &Worktrees{git: w}
	if t.main, err = t.checkout(ctx); err != nil {
		return fail(err)
	}
	// Programs in dir stay out of the question where that is another checkout.
	if t.git, err = Local(t.main, LocalOptions{Env: opts.Env, Dirs: []string{dir}}); err != nil {
		return fail(err)
	}
	t.state = filepath.Join(ProjectDir(opts.State, t.main), "worktrees")
	return t, nil
}

// Main is the real path of the main checkout.
func (t *Worktrees) Main() string { return t.main }

// Path is where the worktree of that name is, or would be.
func (t *Worktrees) Path(name string) string {
	return filepath.Join(t.main, filepath.FromSlash(worktreeFolder), name)
}

// checkout finds the main checkout.
func (t *Worktrees) checkout(ctx context.Context) (string, error) {
	list, err := t.entries(ctx)
	var failed *GitError
	switch {
	case errors.As(err, &failed) && strings.Contains(failed.Stderr, "not a git repository"):
		return "", ErrNoRepository
	case errors.As(err, &failed) && strings.Contains(failed.Stderr, "safe.bareRepository"):
		return "", ErrNoCheckout
	case err != nil:
		return "", err
	case len(list) == 0 || list[0].bare:
		return "", ErrNoCheckout
	}
	path := list[0].Path
	if _, err := os.Lstat(filepath.Join(path, ".git")); err != nil {
		// Where the git folder lies elsewhere, as that of a submodule does, git
		// names that.
		out, err := t.run(ctx, "", "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel")
		if err != nil {
			return "", err
		}
		lines := strings.Split(out, "\n")
		if len(lines) != 3 || lines[0] != lines[1] {
			return "", ErrNoCheckout
		}
		path = lines[2]
	}
	return filepath.EvalSymlinks(path)
}

// run runs git and gives what it printed without the end of the line.
func (t *Worktrees) run(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := Git(ctx, t.git, GitCmd{Args: args, Dir: dir, Time: worktreeTime})
	return strings.TrimSuffix(strings.ReplaceAll(string(out), "\r\n", "\n"), "\n"), err
}

// entry is a worktree as git lists it.
type worktreeEntry struct {
	Worktree
	bare     bool
	prunable string
}

// entries are the worktrees that git knows, the main checkout first.
func (t *Worktrees) entries(ctx context.Context) ([]worktreeEntry, error) {
	end := "\x00"
	out, err := Git(ctx, t.git, GitCmd{Args: []string{"worktree", "list", "--porcelain", "-z"}})
	var failed *GitError
	if errors.As(err, &failed) && failed.Code == 129 { // git before 2.36
		end = "\n"
		out, err = Git(ctx, t.git, GitCmd{Args: []string{"worktree", "list", "--porcelain"}})
	}
	if err != nil {
		return nil, err
	}
	var list []worktreeEntry
	for _, text := range strings.Split(string(out), end+end) {
		if text = strings.TrimSuffix(text, end); text == "" {
			continue
		}
		var e worktreeEntry
		for _, line := range strings.Split(text, end) {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				e.Path = filepath.Clean(filepath.FromSlash(value))
			case "HEAD":
				if strings.Trim(value, "0") != "" {
					e.Head = value
				}
			case "branch":
				e.Branch = strings.TrimPrefix(value, "refs/heads/")
			case "bare":
				e.bare = true
			case "locked":
				e.Locked = value
				if value == "" {
					e.Locked = "no reason is given"
				}
			case "prunable":
				e.prunable = value
				if value == "" {
					e.prunable = "its folder is gone"
				}
			}
		}
		list = append(list, e)
	}
	return list, nil
}

// List gives the worktrees in .oneloop/worktrees, by name. Those that are half
// made or half removed are left out: see [Worktrees.Prune].
func (t *Worktrees) List(ctx context.Context) ([]Worktree, error) {
	list, err := t.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	return slices.DeleteFunc(list, func(w Worktree) bool { return t.half(w.Name) }), nil
}

func (t *Worktrees) list(ctx context.Context) ([]Worktree, error) {
	all, err := t.entries(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]Worktree{}
	for _, e := range all[min(1, len(all)):] {
		name := filepath.Base(e.Path)
		if e.Path != t.Path(name) || CheckWorktreeName(name) != nil {
			continue
		}
		e.Name = name
		if e.Broken = t.broken(name); e.Broken == "" {
			e.Broken = e.prunable
		}
		known[name] = e.Worktree
	}
	in, err := os.ReadDir(filepath.Join(t.main, filepath.FromSlash(worktreeFolder)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, d := range in {
		if _, ok := known[d.Name()]; !ok && d.IsDir() && CheckWorktreeName(d.Name()) == nil {
			known[d.Name()] = Worktree{Name: d.Name(), Path: t.Path(d.Name()), Broken: "git does not know of it"}
		}
	}
	var list []Worktree
	for name, w := range known {
		w.Used = t.used(name)
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b Worktree) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// broken says why there is no worktree in the folder of that name.
func (t *Worktrees) broken(name string) string {
	info, err := os.Lstat(t.Path(name))
	switch {
	case err != nil:
		return "its folder is gone"
	case !info.IsDir():
		return "its folder is none"
	}
	if t.linked(name) != nil {
		return "its folder is reached by a symbolic link"
	}
	if _, err := os.Lstat(filepath.Join(t.Path(name), ".git")); err != nil {
		return "its .git is gone"
	}
	return ""
}

// find gives one of the list.
func (t *Worktrees) find(ctx context.Context, name string) (Worktree, error) {
	list, err := t.list(ctx)
	if err != nil {
		return Worktree{}, err
	}
	i := slices.IndexFunc(list, func(w Worktree) bool { return w.Name == name })
	if i < 0 {
		return Worktree{}, ErrNoWorktree
	}
	return list[i], nil
}

// CheckWorktreeName says why a worktree cannot have that name: it is 1 to 40 of
// a-z, 0-9 and -, the first of which is no -. So two names never differ in case
// alone, and none leads elsewhere.
func CheckWorktreeName(name string) error {
	ok := name != "" && len(name) <= 40 && name[0] != '-'
	for i := range len(name) {
		c := name[i]
		ok = ok && (c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z')
	}
	if !ok {
		return fmt.Errorf("%q cannot be the name of a worktree: it takes up to 40 of a-z, 0-9 and -, and does not begin with -", name)
	}
	device := strings.TrimRight(name, "0123456789")
	if slices.Contains([]string{"con", "prn", "aux", "nul"}, name) || len(name) == 4 && (device == "com" || device == "lpt") {
		return fmt.Errorf("%q cannot be the name of a worktree: to Windows it is a device", name)
	}
	return nil
}

// linked says which part of the way to a worktree is not a plain folder: with a
// link there it would lie elsewhere than it seems. What is not there is fine.
func (t *Worktrees) linked(name string) error {
	path := t.main
	for _, part := range append(strings.Split(worktreeFolder, "/"), name) {
		path = filepath.Join(path, part)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			return fmt.Errorf("%s is no folder but a %s: worktrees are kept in plain folders of the main checkout only", path, kindOf(info.Mode()))
		}
	}
	return nil
}

func kindOf(mode fs.FileMode) string {
	if mode&fs.ModeSymlink != 0 {
		return "symbolic link"
	}
	return "file"
}

// place makes the folder that holds the worktrees. Git is to see nothing of it
// in the main checkout.
func (t *Worktrees) place() error {
	root, err := os.OpenRoot(t.main)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(worktreeFolder, 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(worktreeFolder+"/.gitignore", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}

// WorktreeAddOptions are the options of [Worktrees.Add].
type WorktreeAddOptions struct {
	Base  string // branch, tag or commit at which a new branch begins; empty: HEAD
	Fresh bool   // a branch of that name that is there already is [ErrWorktreeExists]
}

// Add makes a worktree and holds it. Its branch is wt/NAME: a new one, or the
// one of that name if there is one that is checked out nowhere. After an error
// nothing is left of it.
//
// Errors are [ErrWorktreeExists], [ErrWorktreeUsed], [ErrNoCommit], a
// [*BranchUsedError] and those of [Git].
func (t *Worktrees) Add(ctx context.Context, name string, opts WorktreeAddOptions) (*HeldWorktree, error) {
	if err := CheckWorktreeName(name); err != nil {
		return nil, err
	}
	h, err := t.add(ctx, name, opts)
	if err != nil {
		return nil, fmt.Errorf("make the worktree %s: %w", name, err)
	}
	return h, nil
}

func (t *Worktrees) add(ctx context.Context, name string, opts WorktreeAddOptions) (*HeldWorktree, error) {
	if err := t.linked(name); err != nil {
		return nil, err
	}
	rec, err := t.hold(ctx, name)
	if err != nil {
		return nil, err
	}
	made := false
	defer func() {
		if !made {
			t.release(rec)
		}
	}()
	if _, err := os.Lstat(t.Path(name)); err == nil {
		return nil, fmt.Errorf("%s: %w", t.Path(name), ErrWorktreeExists)
	}
	from, fresh, err := t.start(ctx, name, opts.Base)
	if err == nil && opts.Fresh && !fresh {
		err = fmt.Errorf("branch %s: %w", branchOf(name), ErrWorktreeExists)
	}
	if err != nil {
		return nil, err
	}
	if err := t.place(); err != nil {
		return nil, err
	}
	if err := rec.write(doing{what: adding, branch: from, fresh: fresh}); err != nil {
		return nil, err
	}
	if err := t.make(ctx, name, from, fresh); err != nil {
		// What ended the work must not keep it from being undone.
		return nil, errors.Join(err, t.finish(context.WithoutCancel(ctx), rec))
	}
	if err := rec.write(doing{what: there}); err != nil {
		return nil, errors.Join(err, t.finish(context.WithoutCancel(ctx), rec))
	}
	made = true
	h := &HeldWorktree{t: t, rec: rec, Worktree: Worktree{Name: name, Path: t.Path(name), Branch: branchOf(name), Head: from, Used: true}}
	h.Notes = t.notes(name)
	return h, nil
}

func branchOf(name string) string { return "wt/" + name }

// start gives the commit at which a new worktree begins. fresh says that the
// branch is to be made.
func (t *Worktrees) start(ctx context.Context, name, base string) (commit string, fresh bool, err error) {
	list, err := t.entries(ctx)
	if err != nil {
		return "", false, err
	}
	for _, e := range list {
		switch {
		case e.Path == t.Path(name):
			// Its folder is gone; git keeps what it knows of it.
			if err := t.forget(ctx, name); err != nil {
				return "", false, err
			}
		case e.Branch == branchOf(name):
			return "", false, &BranchUsedError{branchOf(name), e.Path}
		}
	}
	if commit, err = t.commit(ctx, "", "refs/heads/"+branchOf(name)); err != nil || commit != "" {
		return commit, false, err
	}
	if base == "" {
		if commit, err = t.commit(ctx, "", "HEAD"); err == nil && commit == "" {
			err = ErrNoCommit
		}
		return commit, true, err
	}
	if commit, err = t.commit(ctx, "", base); err == nil && commit == "" {
		err = fmt.Errorf("%q is no branch, tag or commit of the repository", base)
	}
	return commit, true, err
}

// commit gives the id of the commit that a word means; empty: there is none.
func (t *Worktrees) commit(ctx context.Context, dir, word string) (string, error) {
	if strings.ContainsAny(word, "\x00\n") {
		return "", nil
	}
	out, err := t.run(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", word+"^{commit}")
	var failed *GitError
	if errors.As(err, &failed) && (failed.Code == 1 || failed.Code == 128) {
		return "", nil
	}
	return out, err
}

// make has git make the worktree. Its files come in a second step: the
// settings of a repository can hold some for this branch or folder only, which
// are not known before it is there.
func (t *Worktrees) make(ctx context.Context, name, commit string, fresh bool) error {
	args := []string{"worktree", "add", "--no-checkout", t.Path(name), branchOf(name)}
	if fresh {
		args = []string{"worktree", "add", "--no-checkout", "--no-track", "-b", branchOf(name), t.Path(name), commit}
	}
	if _, err := t.run(ctx, "", args...); err != nil {
		return err
	}
	if actual, err := filepath.EvalSymlinks(t.Path(name)); err != nil || actual != t.Path(name) {
		return fmt.Errorf("it came to lie in %s: %w", actual, t.linked(name))
	}
	_, err := t.run(ctx, t.Path(name), "read-tree", "--reset", "-u", "HEAD")
	return err
}

// notes says what of a new worktree is not as one may expect.
func (t *Worktrees) notes(name string) (notes []string) {
	if _, err := os.Lstat(filepath.Join(t.Path(name), ".gitmodules")); err == nil {
		notes = append(notes, "the folders of submodules are empty; \"git submodule update --init\" fills them")
	}
	text, err := readSome(filepath.Join(t.Path(name), ".gitattributes"))
	if err == nil && bytes.Contains(text, []byte("filter=")) {
		notes = append(notes, "filters did not run, so files that one makes (of git-lfs for example) are as the repository holds them; \"git lfs pull\" gets those of git-lfs")
	}
	return notes
}

// readSome reads the beginning of a plain file.
func readSome(path string) ([]byte, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(filepath.Base(path))
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return nil, errors.Join(err, ErrNotRegular)
	}
	return root.ReadFile(filepath.Base(path))
}

// HeldWorktree is a worktree that this process works in. Nobody else gets it
// until it is released, or the process has ended, however it ends.
type HeldWorktree struct {
	Worktree
	t   *Worktrees
	rec *record
}

// Hold takes a worktree for this process. Its error is [ErrNoWorktree],
// [ErrWorktreeUsed], or says what is broken.
func (t *Worktrees) Hold(ctx context.Context, name string) (*HeldWorktree, error) {
	if err := CheckWorktreeName(name); err != nil {
		return nil, err
	}
	h, err := t.take(ctx, name)
	if err == nil && h.Broken != "" {
		err = errors.Join(errors.New(h.Broken), h.Release())
	}
	if err != nil {
		return nil, fmt.Errorf("worktree %s: %w", name, err)
	}
	return h, nil
}

// take is Hold for what is broken too.
func (t *Worktrees) take(ctx context.Context, name string) (*HeldWorktree, error) {
	if err := t.linked(name); err != nil {
		return nil, err
	}
	rec, err := t.hold(ctx, name)
	if err != nil {
		return nil, err
	}
	w, err := t.find(ctx, name)
	if err == nil {
		err = rec.write(doing{what: there})
	}
	if err != nil {
		t.release(rec)
		return nil, err
	}
	w.Used = true
	return &HeldWorktree{Worktree: w, t: t, rec: rec}, nil
}

// Release lets go of it. It stays as it is.
func (h *HeldWorktree) Release() error { return h.t.release(h.rec) }
