package workspace

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// How files are looked at.
const (
	statOnly = false // stat only
	keepNew  = true  // what is new is kept
)

// base looks at everything for the first time.
func (s *Snapshots) base(ctx context.Context, n int64) error {
	found, err := s.walk(ctx)
	if err != nil {
		return err
	}
	s.gen++
	// So that it is the same ones that go beyond the bounds.
	slices.SortFunc(found.list, func(a, b seen) int { return strings.Compare(a.key, b.key) })
	alike := s.alike(ctx, found)
	for _, e := range found.list {
		t := s.known[e.key]
		if t != nil { // a tool on files has changed it before
			t.gen = s.gen
			s.compare(e.key, t, e.stat, byUser, n, keepNew)
			continue
		}
		st := state{stat: e.stat}
		if oid := alike[e.key]; oid.name != "" {
			st.git, st.repo, st.racy = oid.name, oid.repo, fresh20(e.stat)
		} else {
			st = s.capture(e.key, e.stat)
		}
		s.record(e.key, change{st, byBase, n})
	}
	s.missing(found, byUser, n, keepNew)
	s.based = true
	s.store.add(line{Kind: "base", N: n})
	return nil
}

// object is one of git's.
type object struct{ name, repo string }

// alike are the files that git has as they are, without reading them.
func (s *Snapshots) alike(ctx context.Context, found *walked) map[string]object {
	list := map[string]object{}
	if s.opts.NoGit {
		return list
	}
	for _, e := range found.list {
		if r, _ := s.repoOf(e.key); r != nil && path.Base(e.key) == ".gitattributes" {
			r.attributes(s.path(e.key))
		}
	}
	unsure := map[string]map[string]int64{} // objects by repository, with their sizes in the folder
	for _, e := range found.list {
		r, rel := s.repoOf(e.key)
		if r == nil || r.filters {
			continue
		}
		oid := r.clean(rel, e.stat)
		if oid == "" {
			continue
		}
		list[e.key] = object{oid, r.top}
		if r.lines {
			if unsure[r.top] == nil {
				unsure[r.top] = map[string]int64{}
			}
			unsure[r.top][oid] = e.size
		}
	}
	for top, sizes := range unsure {
		names := make([]string, 0, len(sizes))
		for oid := range sizes {
			names = append(names, oid)
		}
		have, err := s.objectSizes(ctx, top, names)
		for key, o := range list {
			if o.repo != top {
				continue
			}
			// Where line ends are changed on the way, the size is another.
			if size, ok := have[o.name]; err != nil || !ok || size != sizes[o.name] {
				delete(list, key)
			}
		}
	}
	return list
}

// repoOf is the innermost repository that a file belongs to, and its path
// there.
func (s *Snapshots) repoOf(key string) (r *repo, rel string) {
	name := s.path(key)
	for top, one := range s.repos {
		if r != nil && len(top) < len(r.top) {
			continue
		}
		if in, ok := strings.CutPrefix(name, top+string(filepath.Separator)); ok {
			r, rel = one, filepath.ToSlash(in)
		}
	}
	return r, rel
}

// look looks at everything again. What is otherwise than it was known, by has
// changed at the prompt n.
func (s *Snapshots) look(ctx context.Context, by string, n int64, read bool) error {
	found, err := s.walk(ctx)
	if err != nil {
		return err
	}
	s.gen++
	for _, e := range found.list {
		t := s.known[e.key]
		if t == nil {
			s.fresh(e, by, n, read)
			continue
		}
		t.gen = s.gen
		if e.kind == kindIgnored && t.kind != kindIgnored && t.kind != kindAbsent {
			// It is ignored only now.
			if e.stat, err = s.lstat(e.key); err != nil {
				continue
			}
		}
		s.compare(e.key, t, e.stat, by, n, read)
	}
	s.missing(found, by, n, read)
	return nil
}

// fresh takes a path that was not there before.
func (s *Snapshots) fresh(e seen, by string, n int64, read bool) {
	st := state{stat: e.stat, unread: e.kind == kindFile || e.kind == kindLink, racy: fresh20(e.stat)}
	if read {
		st = s.capture(e.key, e.stat)
	}
	s.record(e.key, change{st, by, n})
}

// missing sees what has become of paths that a walk did not come by.
func (s *Snapshots) missing(found *walked, by string, n int64, read bool) {
	for key, t := range s.known {
		if t.gen == s.gen || t.kind == kindAbsent || !s.reached(key, found) {
			continue
		}
		st, err := s.lstat(key)
		if err != nil {
			st = stat{kind: kindAbsent}
		}
		s.compare(key, t, st, by, n, read)
	}
}

// reached reports whether a walk would have come by a path that is there: it
// lies in a folder that is still one of the workspace, and no folder above it
// failed to open.
func (s *Snapshots) reached(key string, found *walked) bool {
	if filepath.IsAbs(filepath.FromSlash(key)) && s.place("", key).folder == s.roots[0].dir {
		return false
	}
	for above := key; above != ""; {
		i := strings.LastIndexByte(above, '/')
		above = above[:max(i, 0)]
		if found.unread[above] || i < 0 && found.unread[""] {
			return false
		}
	}
	return true
}

// capture is the state of a path, with a copy where git has none.
func (s *Snapshots) capture(key string, st stat) state {
	now := state{stat: st, racy: fresh20(st)}
	switch st.kind {
	case kindLink:
		s.place("readlink", key).in(func(dir *os.Root, base string) error {
			to, err := dir.Readlink(base)
			now.to, now.unread = to, err != nil
			return err
		})
	case kindFile:
		s.content(key, &now)
	}
	return now
}

// content fills in what is in a file.
func (s *Snapshots) content(key string, now *state) {
	r, rel := s.repoOf(key)
	if s.opts.NoGit {
		r = nil
	}
	if r != nil && !r.lines && !r.filters {
		if now.git = r.clean(rel, now.stat); now.git != "" {
			now.repo = r.top
			return
		}
	}
	if now.size > s.opts.File {
		now.why = LossLarge + megabytes(s.opts.File)
		return
	}
	data, whole, err := s.readFile(key, now.stat)
	if err != nil {
		now.why = LossUnread + plainly(err).Error()
		return
	}
	if !whole {
		now.unread = true
		return
	}
	if r != nil {
		if e, ok := r.index[rel]; ok && gitSum(data, r.hash) == e.oid {
			now.git, now.repo = e.oid, r.top
			return
		}
	}
	if t := s.known[key]; t != nil && t.git != "" && gitSum(data, len(t.git)) == t.git {
		now.git, now.repo = t.git, t.repo
		return
	}
	of := sum(sha256.Sum256(data))
	if _, ok := s.store.at[of]; !ok && s.store.size+int64(len(data)) > s.opts.Total {
		now.why = LossFull + megabytes(s.opts.Total)
		return
	}
	if err := s.store.put(of, data); err != nil {
		now.why = LossUnkept + plainly(err).Error()
		return
	}
	now.has, now.sum = true, of
}

// readFile reads a file that is as st says; whole is false when it is not, or
// was changed meanwhile.
func (s *Snapshots) readFile(key string, st stat) (data []byte, whole bool, err error) {
	p := s.place("open", key)
	root, err := s.rootOf(p.folder)
	if err != nil {
		return nil, false, err
	}
	// A link on the way leads to another file, if to any.
	f, err := root.OpenFile(p.rel, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if now, err := statFile(f); err != nil || now != st {
		return nil, false, err
	}
	data = make([]byte, st.size)
	if _, err := io.ReadFull(f, data); err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	now, err := statFile(f)
	return data, now == st, err
}

// rootOf opens a folder of the workspace. It is opened once and held while
// that is the folder at this path.
func (s *Snapshots) rootOf(dir string) (*os.Root, error) {
	if s.held == nil {
		s.held = map[string]*os.Root{}
	}
	at, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if r := s.held[dir]; r != nil {
		if info, err := r.Stat("."); err == nil && os.SameFile(info, at) {
			return r, nil
		}
		r.Close()
		delete(s.held, dir)
	}
	r, err := openRoot(dir)
	if err == nil {
		s.held[dir] = r
	}
	return r, err
}

// release closes what rootOf holds.
func (s *Snapshots) release() {
	for _, r := range s.held {
		r.Close()
	}
	s.held = nil
}

// gitSum is what git calls a content; size is that of its names, in bytes.
func gitSum(data []byte, size int) string {
	var h hash.Hash = sha1.New()
	if size == sha256.Size {
		h = sha256.New()
	}
	io.WriteString(h, "blob "+strconv.Itoa(len(data))+"\x00")
	h.Write(data)
	return string(h.Sum(nil))
}

// equal reports whether two states are the same to whoever reads the files.
func (s *Snapshots) equal(a, b state) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case kindAbsent:
		return true
	case kindLink:
		return a.to == b.to
	case kindFile:
		return a.mode == b.mode && a.size == b.size && s.sameContent(a, b)
	case kindDir:
		return a.mode == b.mode
	}
	return a.stat == b.stat
}

func (s *Snapshots) sameContent(a, b state) bool {
	switch {
	case a.has && b.has:
		return a.sum == b.sum
	case a.git != "" && b.git != "":
		return a.git == b.git
	case a.git != "" && b.has:
		a, b = b, a
		fallthrough
	case a.has && b.git != "":
		data, err := s.store.get(a.sum)
		return err == nil && gitSum(data, len(b.git)) == b.git
	}
	return a.stat == b.stat
}

// objectSizes asks git for the sizes of objects. Those that are missing are
// left out.
func (s *Snapshots) objectSizes(ctx context.Context, top string, names []string) (map[string]int64, error) {
	var ask bytes.Buffer
	for _, n := range names {
		ask.WriteString(toHex(n) + "\n")
	}
	out, err := Git(ctx, s.ws, GitCmd{Args: []string{"cat-file", "--batch-check"}, Dir: s.gitDir(top), Input: ask.Bytes(), Max: 256*len(names) + 1024})
	if err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for row := range strings.Lines(string(out)) {
		f := strings.Fields(row)
		if len(f) != 3 || f[1] != "blob" {
			continue
		}
		oid := make([]byte, len(f[0])/2)
		size, err := strconv.ParseInt(f[2], 10, 64)
		if err == nil && fromHex(f[0], oid) {
			sizes[string(oid)] = size
		}
	}
	return sizes, nil
}

// gitDir is a folder of the workspace from which git finds a repository.
func (s *Snapshots) gitDir(top string) string {
	for _, r := range s.roots {
		if _, in := below(r.dir, top); in {
			return top
		}
	}
	for _, r := range s.roots {
		if _, in := below(top, r.dir); in {
			return r.dir
		}
	}
	return ""
}

// objects asks git for contents, of which all together have so many bytes.
func (s *Snapshots) objects(ctx context.Context, top string, names []string, total int64) (map[string][]byte, error) {
	var ask bytes.Buffer
	for _, n := range names {
		ask.WriteString(toHex(n) + "\n")
	}
	out, err := Git(ctx, s.ws, GitCmd{Args: []string{"cat-file", "--batch"}, Dir: s.gitDir(top), Input: ask.Bytes(), Max: int(total) + 256*len(names) + 1024})
	if err != nil {
		return nil, err
	}
	contents := map[string][]byte{}
	for _, n := range names {
		head, rest, ok := bytes.Cut(out, []byte("\n"))
		f := bytes.Fields(head)
		if !ok || len(f) < 2 || string(f[0]) != toHex(n) {
			return nil, fmt.Errorf("git cat-file: %w", errAnswer)
		}
		if out = rest; len(f) != 3 || string(f[1]) != "blob" {
			continue // it is missing
		}
		size, err := strconv.Atoi(string(f[2]))
		if err != nil || size < 0 || size+1 > len(out) {
			return nil, fmt.Errorf("git cat-file: %w", errAnswer)
		}
		if data := out[:size]; gitSum(data, len(n)) == n {
			contents[n] = data
		}
		out = out[size+1:]
	}
	return contents, nil
}

var errAnswer = fmt.Errorf("its answer could not be read: %w", fs.ErrInvalid)
