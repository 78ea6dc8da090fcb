package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// SnapshotOptions are the settings of [NewSnapshots].
type SnapshotOptions struct {
	// Dir is where copies are kept: a folder of this conversation's own,
	// outside of the workspace, hidden from commands. It is made with the first
	// change.
	Dir string
	// From is the folder that Dir tells of, where the workspace is a copy of it.
	// Empty: the workspace.
	From string
	// At is the number of the prompt that is being worked on. Later prompts
	// have greater ones.
	At func() int64
	// Since is the newest prompt of which it is not known what it changed, as
	// when the conversation was begun without snapshots. Usually 0.
	Since int64
	// Busy reports whether commands run in the background, so that a change
	// can be theirs. Nil: none does.
	Busy func() bool
	// NoGit keeps git from being run, which is not to be where the user does
	// not trust the folder: everything is copied.
	NoGit bool
	// Trouble is called, with no lock held, when nothing can be kept. The work
	// goes on. Nil: nobody is told before [Snapshots.Plan] is.
	Trouble func(error)

	File  int64         // most bytes of a file that is copied; 0: 10 MB
	Total int64         // most bytes of all copies; 0: 200 MB
	Files int           // most files of a workspace in which what commands change is known; 0: 200,000
	Time  time.Duration // most that looking at them may take; 0: 3 s
}

// Snapshots know what the files of a workspace were before each prompt of a
// conversation, so that what an agent changed can be taken back: by its tools
// on files, which name what they change, and by commands, which do not.
//
// Before the first command that may write, all files are looked at that no
// ignore file names. Those that git has as they are need no copy, of the others
// one is kept, within bounds. What a command changed is seen by looking again,
// beside the next request and at the end of the turn; reading alone costs
// nothing. What differs from what was seen last when a turn first writes, was
// changed by somebody else.
//
// The methods are safe for concurrent use.
type Snapshots struct {
	ws    Workspace
	opts  SnapshotOptions
	roots []snapRoot

	dirty   atomic.Bool // a command may have changed files since the last look
	late    atomic.Bool // so may one in the background that has ended
	idle    sync.Mutex  // guards cancel
	cancel  context.CancelFunc
	waiting sync.WaitGroup

	mu      sync.Mutex
	store   *copies // nil: not opened yet
	failed  error   // why nothing is kept
	told    bool
	repos   map[string]*repo
	held    map[string]*os.Root // folders that are open
	known   map[string]*tracked
	gen     int      // of the last look
	based   bool     // all files are known
	without string   // why what commands change is not known
	why     string   // why it was not, at the prompt ran
	since   int64    // the newest prompt of which nothing is known
	sealed  int64    // the prompt before whose first change everything was looked at
	looked  bool     // that was in this process
	open    bool     // a command ran after which nothing was looked at for good
	crashed bool     // it was so when an earlier process ended
	running int      // commands
	ran     int64    // the last prompt at which commands ran that are not covered
	touched []string // what tools changed since the last look
	heads   []head   // where repositories stood at some prompts
}

// snapRoot is one of the folders of the workspace.
type snapRoot struct {
	dir    string // absolute
	prefix string // of the keys of its files: empty for the root of the workspace
	skip   string // a folder in it that is one itself
}

// Who changed a file.
const (
	byBase    = "base"    // nobody: it was first looked at
	byTool    = "tool"    // the agent
	byUser    = "user"    // somebody else
	byUnknown = "unknown" // one of them
)

// state is what a path was at some time.
type state struct {
	stat
	has    bool // sum is its content
	sum    sum
	git    string // the object of git that is its content
	repo   string // where that is
	to     string // of a link
	why    string // there is no copy
	unread bool   // there is none yet
	racy   bool   // it can change without its stat telling
}

// change is a state with how it came about.
type change struct {
	state
	by string
	n  int64 // at which prompt
}

// tracked is a path and what it was, the oldest first.
type tracked struct {
	change // as seen last
	past   []change
	gen    int
}

const (
	snapFile  = 10_000_000
	snapTotal = 200_000_000
	snapFiles = 200_000
	snapTime  = 3 * time.Second

	// snapPause is how long a request is waited for before files are looked at
	// beside it: a model that answers at once is not to be held up.
	snapPause = 100 * time.Millisecond
	// snapTick is how coarse the times of files may be.
	snapTick = 20 * time.Millisecond
)

// NewSnapshots returns the snapshots of w. Nothing is looked at yet, or made.
func NewSnapshots(w Workspace, opts SnapshotOptions) (*Snapshots, error) {
	if opts.File == 0 {
		opts.File = snapFile
	}
	if opts.Total == 0 {
		opts.Total = snapTotal
	}
	if opts.Files == 0 {
		opts.Files = snapFiles
	}
	if opts.Time == 0 {
		opts.Time = snapTime
	}
	s := &Snapshots{ws: w, opts: opts, known: map[string]*tracked{}, repos: map[string]*repo{}}
	info := w.Describe()
	var folders []folder
	for _, dir := range append([]string{info.Root}, info.Dirs...) {
		f, err := openFolder(dir)
		if err != nil {
			return nil, fmt.Errorf("open snapshots: %w", err)
		}
		folders = append(folders, f)
	}
	root := folders[0].real
	s.roots = []snapRoot{{dir: root}}
	for _, f := range folders[1:] {
		if _, in := below(root, f.real); in {
			continue // the root holds it
		}
		r := snapRoot{dir: f.real, prefix: filepath.ToSlash(f.real) + "/"}
		if _, in := below(f.real, root); in {
			r.skip = root
		}
		s.roots = append(s.roots, r)
	}
	return s, nil
}

// key is how a path is called here; ok is false outside of the workspace.
func (s *Snapshots) key(path string) (key string, ok bool) {
	for _, r := range s.roots {
		if rel, in := below(r.dir, path); in && rel != "." {
			return r.prefix + filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// path is the absolute path of a key.
func (s *Snapshots) path(key string) string {
	for _, r := range s.roots[1:] {
		if strings.HasPrefix(key, r.prefix) {
			return filepath.FromSlash(key)
		}
	}
	return filepath.Join(s.roots[0].dir, filepath.FromSlash(key))
}

// place is where a key is.
func (s *Snapshots) place(op, key string) place {
	for _, r := range s.roots[1:] {
		if rel, ok := strings.CutPrefix(key, r.prefix); ok {
			return place{op: op, name: key, folder: r.dir, rel: filepath.FromSlash(rel)}
		}
	}
	return place{op: op, name: key, folder: s.roots[0].dir, rel: filepath.FromSlash(key)}
}

// lstat looks at a key. What lies behind a link is not there.
func (s *Snapshots) lstat(key string) (st stat, err error) {
	err = s.place("lstat", key).in(func(dir *os.Root, base string) error {
		d, err := dir.Open(".")
		if err != nil {
			return err
		}
		defer d.Close()
		st, err = lstatIn(d, dir, "", base)
		return err
	})
	return st, err
}

// Before is called before something is changed: the files of these paths,
// absolute, or any file when there are none. It looks at what it needs to and
// returns what is to be called afterwards.
func (s *Snapshots) Before(ctx context.Context, paths ...string) (after func()) {
	s.stop()
	s.mu.Lock()
	defer s.tell()
	defer s.mu.Unlock()
	if s.load() != nil {
		return func() {}
	}
	n := s.opts.At()
	var keys []string
	if len(paths) == 0 {
		s.beforeAny(ctx, n)
		s.running++
	}
	for _, path := range paths {
		keys = append(keys, s.beforeOne(path, n)...)
	}
	s.release()
	s.keep()
	return sync.OnceFunc(func() { s.after(n, keys, len(paths) == 0) })
}

// stop ends a look beside a request.
func (s *Snapshots) stop() {
	s.idle.Lock()
	defer s.idle.Unlock()
	if s.cancel != nil {
		s.cancel()
		s.cancel = nil
	}
}

// load opens what is kept.
func (s *Snapshots) load() error {
	if s.store != nil || s.failed != nil {
		return s.failed
	}
	root := strconv.QuoteToASCII(cmp.Or(s.opts.From, s.roots[0].dir))
	here := false
	s.store, s.failed = openStore(s.opts.Dir, func(l line) {
		switch {
		case l.Kind == "head":
			// What was known of another folder means nothing here.
			if here = l.Root == root; !here {
				s.known, s.based, s.open = map[string]*tracked{}, false, false
			}
			s.since = l.N
		case here:
			s.take(l)
		}
	})
	if s.failed != nil {
		return s.failed
	}
	s.crashed, s.open = s.open, false
	if !here {
		s.since = s.opts.Since
		s.store.add(line{Kind: "head", N: s.since, Root: root})
	}
	return nil
}

// take adds a line to what is known.
func (s *Snapshots) take(l line) {
	switch l.Kind {
	case "base":
		s.based = l.Why == ""
	case "open":
		s.open, s.sealed = true, l.N
	case "shut":
		s.open = false
	case "ran":
		s.ran, s.why = l.N, l.Why
	case "git":
		s.heads = append(s.heads, head{l.N, l.Path, l.Why})
	case "":
		if l.Is == "" {
			return
		}
		st := state{
			stat: stat{kind: l.Is[0], mode: l.Mode, size: l.Size, mtime: l.Mtime, ctime: l.Ctime, ino: l.Ino},
			to:   l.To, why: l.Why, unread: l.Unread, racy: l.Racy, repo: l.Repo,
		}
		st.has = fromHex(l.Sum, st.sum[:])
		oid := make([]byte, len(l.Git)/2)
		if fromHex(l.Git, oid) {
			st.git = string(oid)
		}
		s.enter(l.Path, change{st, l.By, l.N})
	}
}

// enter makes c what is known of a path. One without an author is what was
// known, with another stat.
func (s *Snapshots) enter(key string, c change) {
	t := s.known[key]
	switch {
	case t == nil:
		t = &tracked{}
		s.known[key] = t
	case c.by == "":
		t.state = c.state
		return
	case t.by != c.by || t.n != c.n:
		t.past = append(t.past, t.change)
	}
	t.change, t.gen = c, s.gen
}

// record enters c and writes it down.
func (s *Snapshots) record(key string, c change) {
	s.enter(key, c)
	s.store.add(c.line(key, s.store))
}

func (c change) line(key string, st *copies) line {
	l := line{
		N: c.n, By: c.by, Path: key, Is: string(rune(c.kind)), Mode: c.mode, Size: c.size, Mtime: c.mtime, Ctime: c.ctime, Ino: c.ino,
		To: c.to, Why: c.why, Unread: c.unread, Racy: c.racy, Repo: c.repo, Git: toHex(c.git),
	}
	if c.has {
		l.Sum, l.At = toHex(string(c.sum[:])), st.at[c.sum].at
	}
	return l
}

// keep writes down what waits.
func (s *Snapshots) keep() {
	if err := s.store.flush(); err != nil && s.failed == nil {
		s.failed = fmt.Errorf("keep what files were: %w", plainly(err))
	}
}

// tell tells once that nothing can be kept.
func (s *Snapshots) tell() {
	s.mu.Lock()
	err := s.failed
	first := err != nil && !s.told
	s.told = s.told || first
	s.mu.Unlock()
	if first && s.opts.Trouble != nil {
		s.opts.Trouble(err)
	}
}

// beforeAny sees to it that everything is known before a command runs.
func (s *Snapshots) beforeAny(ctx context.Context, n int64) {
	if s.sealed != n || !s.looked || !s.based && s.without == "" {
		s.seal(ctx, n)
	}
	if s.without != "" {
		if s.ran != n {
			s.ran, s.why = n, s.without
			s.store.add(line{Kind: "ran", N: n, Why: s.without})
		}
		return
	}
	s.dirty.Store(true)
	if !s.open {
		s.open = true
		s.store.add(line{Kind: "open", N: n})
	}
}

// seal looks at all files before the first change of a turn: what is otherwise
// than it was left, somebody else has changed.
func (s *Snapshots) seal(ctx context.Context, n int64) {
	var err error
	if !s.based {
		err = s.base(ctx, n)
	} else {
		by, at := s.whose(n)
		err = s.look(ctx, by, at, keepNew)
	}
	var many errMany
	if errors.As(err, &many) || errors.Is(err, ErrNoRoot) {
		s.without = err.Error()
		s.store.add(line{Kind: "base", N: n, Why: s.without})
	}
	if err == nil {
		s.sealed, s.looked, s.crashed = n, true, false
		s.dirty.Store(false)
		s.late.Store(false)
		s.stand(n)
	}
}

// head is where a repository stood before the prompt n.
type head struct {
	n         int64
	top, text string
}

// stand takes down where the repositories stand.
func (s *Snapshots) stand(n int64) {
	for top := range s.repos {
		h := head{n, top, headOf(top)}
		s.heads = append(s.heads, h)
		s.store.add(line{Kind: "git", N: n, Path: top, Why: h.text})
	}
}

// moved are the repositories that stand elsewhere than before the prompt to.
func (s *Snapshots) moved(to int64) (lost []FileLoss) {
	seen := map[string]bool{}
	for _, h := range s.heads {
		if h.n < to || seen[h.top] {
			continue
		}
		seen[h.top] = true
		if headOf(h.top) != h.text {
			name, _ := s.key(h.top)
			lost = append(lost, FileLoss{name, LossCommits})
		}
	}
	return lost
}

// whose change it is that is found now, and of which prompt.
func (s *Snapshots) whose(n int64) (by string, at int64) {
	switch {
	case s.dirty.Load():
		return byTool, s.sealed
	case s.crashed, s.late.Load(), s.opts.Busy != nil && s.opts.Busy():
		return byUnknown, n
	}
	return byUser, n
}

// beforeOne sees to it that a file is known, and the folders above that will
// be made for it.
func (s *Snapshots) beforeOne(name string, n int64) (keys []string) {
	key, ok := s.key(name)
	for ok && key != "" && key != "." {
		st, err := s.lstat(key)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			st = stat{kind: kindAbsent}
		}
		s.beforeKey(key, st, n)
		keys = append(keys, key)
		if err == nil {
			break
		}
		above := path.Dir(key)
		key, ok = s.key(s.path(above))
	}
	return keys
}

func (s *Snapshots) beforeKey(key string, st stat, n int64) {
	by, at := byUser, n
	if s.dirty.Load() {
		by, at = byTool, s.sealed
	}
	t := s.known[key]
	switch {
	case t == nil && !s.based:
		s.record(key, change{s.capture(key, st), byBase, n})
	case t == nil && st.kind == kindAbsent:
	case t == nil:
		s.record(key, change{s.capture(key, st), by, at})
	default:
		s.compare(key, t, st, by, at, t.n != n)
	}
}

// compare sees whether a path that is known was changed.
func (s *Snapshots) compare(key string, t *tracked, st stat, by string, n int64, read bool) {
	same := t.same(st)
	if same && !t.racy && !(read && t.unread) || t.kind == kindAbsent && st.kind == kindAbsent {
		return
	}
	if !read {
		if !same {
			s.record(key, change{state{stat: st, unread: st.kind == kindFile || st.kind == kindLink, racy: fresh20(st)}, by, n})
		}
		return
	}
	now := s.capture(key, st)
	switch {
	case same && t.unread:
		s.record(key, change{now, "", 0})
	case !t.unread && s.equal(t.state, now):
		if t.has { // what it is known by stays
			now.has, now.sum, now.git, now.repo = true, t.sum, "", ""
		}
		if !same || now.racy != t.racy {
			s.record(key, change{now, "", 0})
		}
	default:
		s.record(key, change{now, by, n})
	}
}

// after takes note of what was just changed.
func (s *Snapshots) after(n int64, keys []string, any bool) {
	s.mu.Lock()
	defer s.tell()
	defer s.mu.Unlock()
	if s.failed != nil {
		return
	}
	if any {
		s.running--
		s.dirty.Store(s.dirty.Load() || s.without == "")
	}
	s.touched = append(s.touched, keys...)
	s.touch(keys, n)
}

// touch takes what became of paths for the agent's doing.
func (s *Snapshots) touch(keys []string, n int64) {
	for _, key := range keys {
		st, err := s.lstat(key)
		if err != nil {
			st = stat{kind: kindAbsent}
		}
		switch t := s.known[key]; {
		case t != nil:
			s.compare(key, t, st, byTool, n, statOnly)
		case st.kind != kindAbsent:
			s.record(key, change{state{stat: st, unread: true, racy: fresh20(st)}, byTool, n})
		}
	}
	s.keep()
}

// Again says that something of the agent's own, such as a hook, may have
// changed further what the agent has changed, or anything else.
func (s *Snapshots) Again() {
	s.mu.Lock()
	defer s.tell()
	defer s.mu.Unlock()
	if s.store == nil || s.failed != nil || len(s.touched) == 0 && !s.open {
		return
	}
	s.touch(s.touched, s.opts.At())
	s.dirty.Store(s.dirty.Load() || s.based && s.open)
}

// fresh20 reports whether a file was changed so lately that it can change
// again at what is the same time to it.
func fresh20(st stat) bool {
	return time.Now().UnixNano()-max(st.mtime, st.ctime) < int64(snapTick)
}
