package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"oneloop/internal/ignore"
	"oneloop/workspace"
)

// tree is a folder, or a file, that is searched. It is read through an
// [os.Root]: a link that leads out of the workspace is never followed, and
// links found on the way are not followed at all.
type tree struct {
	root  *os.Root      // the folder of the workspace that holds it
	base  string        // its absolute path
	start string        // from there, with slashes; "." is the folder itself
	from  string        // what patterns are matched from, likewise; the start that was given
	file  bool          // start is a file
	real  string        // absolute path of start, without links
	outer string        // before a name in results: empty for the workspace root, else base and a slash
	above *ignore.Level // what is said in the folders above start, and in it
	sub   *os.Root      // start, when it is a folder

	withheld func(string) bool // files that are left out, by absolute path; nil: none
	kept     atomic.Int64      // so many were
}

// versioned are the folders of version control, which nothing lists.
var versioned = []string{".git", ".hg", ".svn", ".jj", ".bzr"}

// plant opens what name names in the workspace. An empty name is the root.
func plant(ws workspace.Workspace, name string) (*tree, error) {
	info := ws.Describe()
	real, err := ws.Files().Resolve(cmpOr(name, "."))
	switch {
	case errors.Is(err, workspace.ErrOutside):
		return nil, fmt.Errorf("%s is outside the workspace %s. %s", name, info.Root, elsewhere(info, name))
	case err != nil:
		return nil, fmt.Errorf("find %s: %w", name, err)
	}
	t := &tree{real: real}
	for _, dir := range append([]string{info.Root}, info.Dirs...) {
		rel, err := filepath.Rel(dir, real)
		if err == nil && filepath.IsLocal(rel) && len(dir) > len(t.base) {
			t.base, t.start = dir, filepath.ToSlash(rel)
			t.outer = ""
			if dir != info.Root {
				t.outer = filepath.ToSlash(dir) + "/"
			}
		}
	}
	if t.base == "" {
		return nil, fmt.Errorf("%s is outside the workspace %s. %s", name, info.Root, elsewhere(info, name))
	}
	t.from = t.start
	if t.root, err = os.OpenRoot(t.base); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	if err := t.enter(); err != nil {
		t.root.Close()
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no %s in the workspace %s", name, t.base)
		}
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return t, nil
}

// enter finds out what start is, and what the folders above say.
func (t *tree) enter() error {
	info, err := t.root.Stat(t.start)
	if err != nil {
		return err
	}
	if t.file = !info.IsDir(); t.file {
		if !info.Mode().IsRegular() {
			return errors.New("it is neither a file nor a folder")
		}
		return nil
	}
	if t.sub, err = t.root.OpenRoot(t.start); err != nil {
		return err
	}
	t.above = t.outside()
	at := ""
	for part := range strings.SplitSeq(t.start, "/") {
		if part != "." {
			t.above = t.within(t.above, at)
			at = path.Join(at, part)
		}
	}
	return nil
}

// below is a path of the tree from where patterns are matched.
func (t *tree) below(name string) string {
	if t.from == "." {
		return name
	}
	return name[len(t.from)+1:]
}

// withholds reports whether a file is left out, and counts it.
func (t *tree) withholds(name string) bool {
	if t.withheld == nil || !t.withheld(filepath.Join(t.base, filepath.FromSlash(name))) {
		return false
	}
	t.kept.Add(1)
	return true
}

// withheldNote says how many files were left out; empty: none.
func (t *tree) withheldNote() string {
	switch n := t.kept.Load(); n {
	case 0:
		return ""
	case 1:
		return "1 file was left out: a rule denies reading it"
	default:
		return grouped(n) + " files were left out: a rule denies reading them"
	}
}

// narrow goes to a folder below start, if there is one that a walk would
// reach.
func (t *tree) narrow(dir string) {
	at := t.start
	for part := range strings.SplitSeq(dir, "/") {
		next := path.Join(at, part)
		info, err := t.root.Lstat(next)
		if dir == "" || err != nil || !info.IsDir() || slices.Contains(versioned, part) {
			return
		}
		level := t.within(t.above, strings.TrimPrefix(at, "."))
		if level.Ignored(next, true) {
			return
		}
		sub, err := t.root.OpenRoot(next)
		if err != nil {
			return
		}
		t.sub.Close()
		t.sub, t.start, t.above = sub, next, level
		at = next
	}
}

func (t *tree) close() {
	if t.sub != nil {
		t.sub.Close()
	}
	t.root.Close()
}

// outside reads the ignore files above the workspace, up to where the
// repository begins that it is a part of.
func (t *tree) outside() *ignore.Level {
	var up *ignore.Level
	var dirs []string
	if exists(filepath.Join(t.base, ".git")) {
		return nil
	}
	for dir := filepath.Dir(t.base); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if exists(filepath.Join(dir, ".git")) || dir == filepath.Dir(dir) {
			break
		}
	}
	for _, dir := range slices.Backward(dirs) {
		add, err := filepath.Rel(dir, t.base)
		if err != nil {
			return up
		}
		l := &ignore.Level{Up: up, Add: filepath.ToSlash(add) + "/", Repo: exists(filepath.Join(dir, ".git"))}
		root, err := os.OpenRoot(dir)
		if err != nil {
			continue
		}
		readLevel(l, root, ".", true)
		root.Close()
		if l.Rules != nil || l.Repo {
			up = l
		}
	}
	return up
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// within is the level of a folder of the tree; up when it says nothing.
func (t *tree) within(up *ignore.Level, dir string) *ignore.Level {
	_, err := t.root.Lstat(path.Join(dir, ".git"))
	return below(up, t.root, cmpOr(dir, "."), dir, true, err == nil)
}

func cmpOr(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// below is the level of the folder rel of root, which is at in the tree.
func below(up *ignore.Level, root *os.Root, rel, at string, rules, repo bool) *ignore.Level {
	l := &ignore.Level{Up: up, Cut: len(at), Repo: repo}
	if at != "" {
		l.Cut++
	}
	readLevel(l, root, rel, rules)
	if l.Rules == nil && !repo {
		return up
	}
	return l
}

// readLevel reads the ignore file of a folder, and that of its repository.
func readLevel(l *ignore.Level, root *os.Root, rel string, rules bool) {
	if rules {
		l.Rules = ignore.Parse(small(root, rel, ".gitignore"))
	}
	if l.Repo {
		l.More = ignore.Parse(small(root, path.Join(rel, ".git/info"), "exclude"))
	}
}

// small reads a file of at most 1 MiB. One that cannot be read, or is a link,
// is empty: git takes it so.
func small(root *os.Root, rel, name string) []byte {
	dir, err := openFolder(root, rel)
	if err != nil {
		return nil
	}
	defer dir.close()
	f, err := dir.open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil
	}
	return data
}

// visitor takes some files of an open folder. It keeps none of the slice.
type visitor func(worker int, dir *folder, files []entry)

// entry is what a folder holds.
type entry struct {
	path string // from the root of the tree
	name string // the end of it
	kind entryKind
}

type entryKind byte

const (
	otherEntry entryKind = iota // a link, a pipe, a device
	fileEntry
	folderEntry
)

// batch is how many files of a folder are visited in one go.
const batch = 256

// job is a folder that waits, or some files of one.
type job struct {
	dir   string // from the root of the tree; empty: the root
	level *ignore.Level
	files []entry // nil: all of the folder
}

// scratch is what one worker uses for folder after folder.
type scratch struct {
	entries []entry
	buf     []byte
}

// walker goes through a tree with several workers.
type walker struct {
	*tree
	ctx   context.Context
	visit visitor
	top   *folder // start

	mu      sync.Mutex
	wake    sync.Cond
	jobs    []job // the last is taken first, so that few wait
	busy    int
	missed  int   // folders that could not be read
	because error // why the first of them could not
}

// workers is how many go through a tree at a time.
func workers() int { return min(max(2, runtime.GOMAXPROCS(0)), 8) }

// walk visits all files below start that are not ignored: some of one folder
// at a time, in no order, from several goroutines. What could not be read is
// told in words.
func (t *tree) walk(ctx context.Context, visit visitor) []string {
	top, err := openFolder(t.sub, ".")
	if err != nil {
		return []string{fmt.Sprintf("the folder could not be read: %v", err)}
	}
	defer top.close()
	w := &walker{tree: t, ctx: ctx, visit: visit, top: top}
	w.wake.L = &w.mu
	at := t.start
	if at == "." {
		at = ""
	}
	w.jobs = []job{{dir: at, level: t.above}}
	var wg sync.WaitGroup
	for i := range workers() {
		wg.Go(func() { w.work(i) })
	}
	wg.Wait()
	if w.missed > 0 {
		return []string{fmt.Sprintf("%d folders could not be read: %v", w.missed, w.because)}
	}
	return nil
}

func (w *walker) work(worker int) {
	var s scratch
	for {
		j, ok := w.next()
		if !ok {
			return
		}
		err := w.safely(worker, &s, j)
		w.mu.Lock()
		if err != nil {
			if w.missed++; w.because == nil {
				w.because = err
			}
		}
		w.busy--
		w.mu.Unlock()
		w.wake.Broadcast()
	}
}

// next waits for a job. There is none once nobody can make one.
func (w *walker) next() (job, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.jobs) == 0 && w.busy > 0 {
		w.wake.Wait()
	}
	if len(w.jobs) == 0 || w.ctx.Err() != nil {
		return job{}, false
	}
	j := w.jobs[len(w.jobs)-1]
	w.jobs = w.jobs[:len(w.jobs)-1]
	w.busy++
	return j, true
}

func (w *walker) add(jobs []job) {
	if len(jobs) == 0 {
		return
	}
	w.mu.Lock()
	w.jobs = append(w.jobs, jobs...)
	w.mu.Unlock()
	w.wake.Broadcast()
}

// safely is do with a panic as an error: nobody above could catch it.
func (w *walker) safely(worker int, s *scratch, j job) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("internal error in %s: %v", cmpOr(j.dir, "."), v)
		}
	}()
	return w.do(worker, s, j)
}

func (w *walker) do(worker int, s *scratch, j job) error {
	rel := "."
	if w.start == "." {
		rel = cmpOr(j.dir, ".")
	} else if len(j.dir) > len(w.start) {
		rel = j.dir[len(w.start)+1:]
	}
	dir, err := w.top.folder(w.sub, rel)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed meanwhile
		}
		return err
	}
	defer dir.close()
	if j.files != nil {
		w.visit(worker, dir, j.files)
		return nil
	}
	err = dir.list(j.dir, s)
	files := w.sort(j, rel, s.entries)
	if len(files) > 2*batch {
		rest := slices.Clone(files[batch:])
		for part := range slices.Chunk(rest, batch) {
			w.add([]job{{dir: j.dir, level: j.level, files: part}})
		}
		files = files[:batch]
	}
	if len(files) > 0 {
		w.visit(worker, dir, files)
	}
	return err
}

// sort makes jobs of the folders among entries and returns the files, in the
// place of the entries.
func (w *walker) sort(j job, rel string, entries []entry) (files []entry) {
	var rules, repo bool
	for _, e := range entries {
		rules = rules || e.name == ".gitignore"
		repo = repo || e.name == ".git"
	}
	if rules || repo {
		j.level = below(j.level, w.sub, rel, j.dir, rules, repo)
	}
	files = entries[:0]
	var folders []job
	for _, e := range entries {
		switch {
		case e.kind == otherEntry, e.name[0] == '.' && slices.Contains(versioned, e.name), j.level.Ignored(e.path, e.kind == folderEntry):
		case e.kind == folderEntry:
			folders = append(folders, job{dir: e.path, level: j.level})
		default:
			files = append(files, e)
		}
	}
	w.add(folders)
	return files
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// label is a path from the root of the tree as results show it: one line,
// with every character as it is but those that would break the line.
func (t *tree) label(name string) string {
	name = t.outer + name
	if strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd || unprintable(r) }) >= 0 {
		return strconv.Quote(name)
	}
	return name
}
