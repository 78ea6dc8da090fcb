package workspace

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
	"time"

	"oneloop/internal/ignore"
)

// Kinds of what a path names.
const (
	kindAbsent  = '-'
	kindFile    = 'f'
	kindLink    = 'l'
	kindDir     = 'd'
	kindOther   = 'o' // a pipe, a device, a socket
	kindIgnored = 'i' // an ignore file names it: nothing is known of what it holds
)

// stat is what a look at a file tells without reading it. On systems that do
// not tell ctime and inode they are 0.
type stat struct {
	kind         byte
	mode         uint32 // permissions, setuid, setgid, sticky
	size         int64
	mtime, ctime int64 // nanoseconds
	ino          uint64
}

// same reports whether the file was not changed between two looks. What
// changes in a folder are the entries, each of which is looked at for itself.
func (s stat) same(o stat) bool {
	if s.kind != o.kind || s.kind == kindDir {
		return s.kind == o.kind && s.mode == o.mode
	}
	return s == o
}

// seen is a path that a walk came by.
type seen struct {
	key string
	stat
}

// errMany says that a tree is larger than a walk may be.
type errMany struct{ why string }

func (e errMany) Error() string { return e.why }

// walked is what a walk through a workspace found.
type walked struct {
	list   []seen
	unread map[string]bool // folders that could not be read, by key
	repos  []string        // where they begin, absolute
}

// walk goes through one of the folders of a workspace.
type walk struct {
	ctx    context.Context
	out    *walked
	root   *os.Root
	base   string // its absolute path
	prefix string // of its keys
	skip   string // a folder in it that is walked for itself, absolute
	most   int
	until  time.Time

	mu   sync.Mutex // guards what follows, and out
	wake sync.Cond
	jobs []folderJob // the last is taken first, so that few wait
	busy int
	err  error // ends the walk
}

// folderJob is a folder that waits, with what is said above it.
type folderJob struct {
	rel string
	up  *ignore.Level
}

// look walks through all folders. It fails with an errMany where there is too
// much, and with the cause of ctx.
func (s *Snapshots) walk(ctx context.Context) (*walked, error) {
	out := &walked{unread: map[string]bool{}}
	until := time.Now().Add(s.opts.Time)
	for _, r := range s.roots {
		root, err := openDir(r.dir)
		if err != nil {
			return nil, fmt.Errorf("%w: %s (%w)", ErrNoRoot, r.dir, plainly(err))
		}
		w := &walk{ctx: ctx, out: out, root: root, base: r.dir, prefix: r.prefix, skip: r.skip, most: s.opts.Files, until: until}
		above, outer := w.above()
		if outer != "" {
			out.repos = append(out.repos, outer)
		}
		err = w.run(above)
		root.Close()
		if err != nil {
			return nil, err
		}
	}
	s.addTracked(out)
	return out, nil
}

// above reads the ignore files above the root, up to where the repository
// begins that it is a part of.
func (w *walk) above() (up *ignore.Level, outer string) {
	if lexists(filepath.Join(w.base, ".git")) {
		return nil, ""
	}
	var dirs []string
	for dir := filepath.Dir(w.base); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if lexists(filepath.Join(dir, ".git")) {
			outer = dir
		}
		if outer != "" || dir == filepath.Dir(dir) {
			break
		}
	}
	for _, dir := range slices.Backward(dirs) {
		add, err := filepath.Rel(dir, w.base)
		if err != nil {
			return up, outer
		}
		l := &ignore.Level{Up: up, Add: filepath.ToSlash(add) + "/", Repo: dir == outer}
		if text, err := readSmall(filepath.Join(dir, ".gitignore"), smallText); err == nil {
			l.Rules = ignore.Parse(text)
		}
		if l.Repo {
			if text, err := readSmall(filepath.Join(dir, ".git/info/exclude"), smallText); err == nil {
				l.More = ignore.Parse(text)
			}
		}
		if l.Rules != nil || l.Repo {
			up = l
		}
	}
	return up, outer
}

// smallText is how much of an ignore file is read, in bytes.
const smallText = 1 << 20

func lexists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// versioned are the folders of version control, which are left alone.
var versioned = []string{".git", ".hg", ".svn", ".jj", ".bzr"}

// run goes through the folders with several workers: most of the time is the
// system's.
func (w *walk) run(above *ignore.Level) error {
	w.wake.L = &w.mu
	w.jobs = []folderJob{{"", above}}
	var wg sync.WaitGroup
	for range min(max(2, runtime.GOMAXPROCS(0)), 4) {
		wg.Go(w.work)
	}
	wg.Wait()
	return w.err
}

func (w *walk) work() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.jobs) == 0 && w.busy > 0 {
			w.wake.Wait()
		}
		if len(w.jobs) == 0 || w.err != nil {
			return
		}
		j := w.jobs[len(w.jobs)-1]
		w.jobs = w.jobs[:len(w.jobs)-1]
		w.busy++
		w.mu.Unlock()
		entries, below, unread := w.safely(j)
		w.mu.Lock()
		w.busy--
		w.took(j, entries, below, unread)
		w.wake.Broadcast()
	}
}

// took adds what a folder holds to what was found.
func (w *walk) took(j folderJob, entries []seen, below []folderJob, unread error) {
	w.out.list = append(w.out.list, entries...)
	w.jobs = append(w.jobs, below...)
	if unread != nil && !errors.Is(unread, fs.ErrNotExist) {
		w.out.unread[strings.TrimSuffix(w.prefix+j.rel, "/")] = true
	}
	switch {
	case w.err != nil:
	case w.ctx.Err() != nil:
		w.err = context.Cause(w.ctx)
	case time.Now().After(w.until):
		w.err = errMany{LossSlow}
	case len(w.out.list) > w.most:
		w.err = errMany{LossMany + strconv.Itoa(w.most)}
	}
}

// safely is dir with a panic as an error: nobody above could catch it.
func (w *walk) safely(j folderJob) (entries []seen, below []folderJob, unread error) {
	defer func() {
		if v := recover(); v != nil {
			unread = fmt.Errorf("internal error in %s: %v", cmpOr(j.rel, "."), v)
		}
	}()
	return w.dir(j)
}

// dir gives what is in a folder and counts, and the folders below it.
func (w *walk) dir(j folderJob) (entries []seen, below []folderJob, unread error) {
	all, unread := w.list(j.rel)
	l := w.rules(j.rel, j.up, all)
	entries = all[:0]
	for _, e := range all {
		name := path.Base(e.key)
		at := join(j.rel, name)
		switch {
		case slices.Contains(versioned, name), e.kind == kindDir && w.skip != "" && filepath.Join(w.base, filepath.FromSlash(at)) == w.skip:
			continue
		case l.Ignored(at, e.kind == kindDir):
			if e.kind == kindDir { // what is made in it is no change of it
				e.stat = stat{}
			}
			e.kind = kindIgnored
		case e.kind == kindDir:
			below = append(below, folderJob{at, l})
		}
		entries = append(entries, e)
	}
	return entries, below, unread
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// list looks at everything in a folder.
func (w *walk) list(rel string) ([]seen, error) {
	dir, err := w.root.Open(filepath.FromSlash(cmpOr(rel, ".")) + onlyFolder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	entries := make([]seen, 0, len(names))
	for _, name := range names {
		st, missing := lstatIn(dir, w.root, filepath.FromSlash(rel), name)
		if missing == nil {
			entries = append(entries, seen{w.prefix + join(rel, name), st})
		} else if !errors.Is(missing, fs.ErrNotExist) {
			err = errors.Join(err, missing)
		}
	}
	return entries, err
}

func cmpOr(s, or string) string {
	if s == "" {
		return or
	}
	return s
}

// rules adds what a folder says to what the ones above it say.
func (w *walk) rules(rel string, up *ignore.Level, entries []seen) *ignore.Level {
	own, begins := false, false
	for _, e := range entries {
		switch path.Base(e.key) {
		case ".gitignore":
			own = e.kind == kindFile
		case ".git":
			begins = true
		}
	}
	if !own && !begins {
		return up
	}
	l := &ignore.Level{Up: up, Cut: len(rel), Repo: begins}
	if rel != "" {
		l.Cut++
	}
	if own {
		l.Rules = ignore.Parse(w.text(join(rel, ".gitignore")))
	}
	if begins {
		l.More = ignore.Parse(w.text(join(rel, ".git/info/exclude")))
		w.mu.Lock()
		w.out.repos = append(w.out.repos, filepath.Join(w.base, filepath.FromSlash(rel)))
		w.mu.Unlock()
	}
	return l
}

// text reads a small file in the root. One that cannot be read is empty.
func (w *walk) text(rel string) []byte {
	f, err := w.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, smallText))
	if err != nil {
		return nil
	}
	return text
}

// addTracked adds the files that git has although an ignore file names them.
// Once they are known they are looked at as any other.
func (s *Snapshots) addTracked(out *walked) {
	var news []*repo
	for _, top := range out.repos {
		if r := s.repo(top); !r.taken {
			r.taken = true
			news = append(news, r)
		}
	}
	if len(news) == 0 {
		return
	}
	at := map[string]int{}
	for i, e := range out.list {
		at[e.key] = i
	}
	for _, r := range news {
		for rel := range r.index {
			key, ok := s.key(filepath.Join(r.top, filepath.FromSlash(rel)))
			i, there := at[key]
			if !ok || there && out.list[i].kind != kindIgnored {
				continue
			}
			st, err := s.lstat(key)
			switch {
			case err != nil || st.kind == kindDir: // it is gone, or is a submodule
			case there:
				out.list[i].stat = st
			default:
				out.list = append(out.list, seen{key, st})
			}
		}
	}
}
