package session

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// NewID names a session: when it began, and something nobody else has.
func NewID() string {
	return fmt.Sprintf("%s-%08x", time.Now().UTC().Format("20060102T150405"), rand.Uint32())
}

const extension = ".jsonl"

func logPath(dir, id string) string { return filepath.Join(dir, id+extension) }

func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), extension) }

// Store is a folder with the logs of many folders that are worked in.
type Store struct{ Dir string }

// folder is where the logs of sessions in work are. The hash tells folders
// apart, the words are for those who look.
func (s Store) folder(work string) string { return filepath.Join(s.Dir, folderName(work)) }

func folderName(work string) string {
	words := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, filepath.Base(work))
	if r := []rune(words); len(r) > 24 {
		words = string(r[:24])
	}
	sum := sha256.Sum256([]byte(work))
	return words + "-" + hex.EncodeToString(sum[:8])
}

// New returns the log of a new session that works in opts.Dir, which is to be
// a real path.
func (s Store) New(opts LogOptions) *Log {
	if opts.ID == "" {
		opts.ID = NewID()
	}
	return NewLog(logPath(s.folder(opts.Dir), opts.ID), opts)
}

// Listed is a session in a list.
type Listed struct {
	Head
	Info
	Path    string
	Changed time.Time
	Size    int64
	Err     error // why the rest is not known
	empty   bool  // nothing was said in it
}

// List returns the sessions that work in the folder work, newest first; those
// of all folders when work is empty. Subtasks, and sessions in which nothing was
// said, are left out.
func (s Store) List(work string) ([]Listed, error) {
	files, err := s.files(work)
	if err != nil {
		return nil, err
	}
	var list []Listed
	for _, f := range files {
		if l := glanceIn(f.path, work); l.shown() {
			list = append(list, l)
		}
	}
	return list, nil
}

// Newest returns the session that was worked in last in the folder work. It
// looks at no more logs than it takes.
func (s Store) Newest(work string) (Listed, error) {
	files, err := s.files(work)
	if err != nil {
		return Listed{}, err
	}
	for _, f := range files {
		if l := glanceIn(f.path, work); l.shown() {
			return l, nil
		}
	}
	return Listed{}, ErrNoSession
}

// kept is a log in the store.
type keptLog struct {
	path    string
	changed time.Time
}

// files are the logs of sessions in work, or in all folders, the one that was
// written to last first.
func (s Store) files(work string) (list []*keptLog, err error) {
	folders := []string{s.folder(work)}
	if work == "" {
		folders = nil
		in, err := os.ReadDir(s.Dir)
		if err != nil && !gone(err) {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		for _, d := range in {
			if d.IsDir() {
				folders = append(folders, filepath.Join(s.Dir, d.Name()))
			}
		}
	}
	for _, folder := range folders {
		in, err := os.ReadDir(folder)
		if err != nil && !gone(err) {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		for _, f := range in {
			if !f.Type().IsRegular() || filepath.Ext(f.Name()) != extension {
				continue
			}
			if info, err := f.Info(); err == nil { // else it has gone meanwhile
				list = append(list, &keptLog{filepath.Join(folder, f.Name()), info.ModTime()})
			}
		}
	}
	slices.SortFunc(list, func(a, b *keptLog) int {
		return cmp.Or(b.changed.Compare(a.changed), cmp.Compare(b.path, a.path))
	})
	return list, nil
}

// ErrNoSession says that no session is meant by a word.
var ErrNoSession = errors.New("there is no such session")

// Find returns the session that ref means: its id, the beginning of that, or its
// name; a subtask by the whole of its id. The sessions of work come first. Logs of others are looked into only for
// a name.
func (s Store) Find(work, ref string) (Listed, error) {
	files, err := s.files("")
	if err != nil || ref == "" {
		return Listed{}, cmp.Or(err, fmt.Errorf("%q: %w", ref, ErrNoSession))
	}
	var found []Listed
	look := func(means func(*keptLog) bool, and func(Listed) bool) {
		for _, f := range files {
			if means(f) {
				l := glanceIn(f.path, work)
				if whole := l.ID == ref && !l.empty; (whole || l.shown()) && and(l) {
					found = append(found, l)
				}
			}
		}
	}
	any, anyone := func(*keptLog) bool { return true }, func(Listed) bool { return true }
	if look(func(f *keptLog) bool { return idOf(f.path) == ref }, anyone); len(found) == 0 {
		look(func(f *keptLog) bool { return strings.HasPrefix(idOf(f.path), ref) }, anyone)
	}
	if len(found) == 0 {
		look(any, func(l Listed) bool { return l.Name == ref })
	}
	if here := slices.DeleteFunc(slices.Clone(found), func(l Listed) bool { return l.Dir != work }); len(here) > 0 {
		found = here
	}
	switch len(found) {
	case 0:
		return Listed{}, fmt.Errorf("%q: %w", ref, ErrNoSession)
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, l := range found[:min(len(found), 5)] {
		ids = append(ids, l.ID)
	}
	return Listed{}, fmt.Errorf("%q means %d sessions (%s); give more of the id", ref, len(found), strings.Join(ids, ", "))
}

// shown reports whether l belongs into a list: it is no subtask, and something
// was said in it.
func (l Listed) shown() bool { return l.Child == nil && !l.empty }

// glanceIn is a glance at a log where the folder work is worked in, which is
// the log's when its own first entry does not say.
func glanceIn(path, work string) Listed {
	l := glance(path)
	if l.Dir == "" && folderName(work) == filepath.Base(filepath.Dir(path)) {
		l.Dir = work
	}
	return l
}

// glance reads the ends of a log: what a list shows of it.
func glance(path string) (l Listed) {
	l.Path, l.ID = path, idOf(path)
	f, err := os.Open(path)
	if err != nil {
		l.Err = err
		return l
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		l.Err = err
		return l
	}
	l.Changed, l.Size = stat.ModTime(), stat.Size()
	var v view
	_, damage, err := scan(io.LimitReader(f, glanceAt), 0, func(e entry) error {
		switch e.kind {
		case kindHead:
			return usable(e, decoded(e.data, func(h Head) { l.Head = h; l.ID = idOf(path) })) // by which it is found
		case kindInfo:
			return usable(e, decoded(e.data, func(i Info) { l.Info = i }))
		case kindMessage:
			if len(v.prompts) == 0 {
				return v.take(e)
			}
		}
		return nil
	})
	if err != nil {
		l.Err = err
	}
	l.empty = err == nil && len(damage) == 0 && l.Size < glanceAt && len(v.prompts) == 0 && l.Info == (Info{})
	if l.Info.Title == "" && len(v.prompts) > 0 {
		l.Info.Title = Title(v.prompts[0].Text)
	}
	if l.Size > glanceAt {
		lastInfo(f, l.Size, 0, &l.Info)
	}
	return l
}

// glanceAt is how much of a log is read at a time to list it, in bytes.
const glanceAt = 64 << 10

// infoAt is the account of the session as it was after an entry.
func infoAt(path string, at int64) (i Info) {
	f, err := os.Open(path)
	if err != nil {
		return i
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return i
	}
	scan(io.LimitReader(f, glanceAt), at, func(e entry) error {
		if e.kind == kindInfo {
			decoded(e.data, func(got Info) { i = got })
		}
		return nil
	})
	lastInfo(f, stat.Size(), at, &i)
	return i
}

// lastInfo looks for the newest account of the session up to an entry (0: any)
// from the end backwards. What a glance has read is left out.
func lastInfo(f *os.File, size, upTo int64, into *Info) {
	mark := []byte(`","k":"` + kindInfo + `","d":`)
	var rest []byte // the beginning of what was read before, cut inside a line
	for end := size; end > glanceAt; {
		from := max(0, end-glanceAt)
		piece := make([]byte, end-from, end-from+int64(len(rest)))
		if _, err := f.ReadAt(piece, from); err != nil {
			return
		}
		piece = append(piece, rest...)
		for at := len(piece); ; {
			if at = bytes.LastIndex(piece[:at], mark); at < 0 {
				break
			}
			begin := bytes.LastIndexByte(piece[:at], '\n')
			if begin < 0 && from > 0 {
				break // with the piece before
			}
			line, _, _ := bytes.Cut(piece[begin+1:], []byte("\n"))
			if e, ok := parse(line); ok && e.kind == kindInfo && (upTo == 0 || e.n <= upTo) && decoded(e.data, func(i Info) { *into = i }) == nil {
				return
			}
		}
		rest = nil
		if first := bytes.IndexByte(piece, '\n'); first >= 0 && first < glanceAt {
			rest = bytes.Clone(piece[:first+1])
		}
		end = from
	}
}

// Title is how a prompt begins: its first line, up to 60 characters.
func Title(prompt string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	line = strings.Join(strings.Fields(line), " ")
	if r := []rune(line); len(r) > 60 {
		line = string(r[:59]) + "…"
	}
	return line
}

// Remove removes a session with the logs of its subtasks. Forks of it are made
// whole first, so that they need it no longer. It returns [ErrInUse] when one
// of them is open.
func (s Store) Remove(path string) error {
	fail := func(err error) error { return fmt.Errorf("remove session %s: %w", idOf(path), err) }
	id, dir := idOf(path), filepath.Dir(path)
	held, err := openFile(path)
	if err != nil {
		return fail(err)
	}
	defer held.close()
	in, err := os.ReadDir(dir)
	if err != nil {
		return fail(err)
	}
	var children []string
	for _, f := range in {
		other := filepath.Join(dir, f.Name())
		if filepath.Ext(f.Name()) != extension || other == path {
			continue
		}
		head := headOf(other)
		if head.Child != nil && head.Child.Of == id {
			children = append(children, other)
		}
		if head.Parent != nil && head.Parent.ID == id {
			if err := makeWhole(other); err != nil {
				return fail(fmt.Errorf("make its fork %s whole: %w", head.ID, err))
			}
		}
	}
	for _, c := range children {
		if err := os.Remove(c); err != nil && !gone(err) {
			return fail(err)
		}
	}
	if err := os.RemoveAll(FilesDir(path)); err != nil {
		return fail(err)
	}
	if err := os.Remove(RecordingPath(path)); err != nil && !gone(err) {
		return fail(err)
	}
	if err := os.Remove(path); err != nil {
		return fail(err)
	}
	return nil
}

// Children returns the subtasks of the session id, the one that was worked in
// last at the end. Those without a folder of their own are taken for ones in
// work.
func (s Store) Children(work, id string) ([]Listed, error) {
	files, err := s.files("")
	if err != nil {
		return nil, err
	}
	var list []Listed
	for _, f := range slices.Backward(files) {
		if head := headOf(f.path); head.Child != nil && head.Child.Of == id {
			if l := glanceIn(f.path, work); !l.empty {
				list = append(list, l)
			}
		}
	}
	return list, nil
}

// headOf is the first entry of a log, zero when it has none.
func headOf(path string) (h Head) {
	f, err := os.Open(path)
	if err != nil {
		return h
	}
	defer f.Close()
	return headIn(f)
}

func headIn(r io.Reader) (h Head) {
	stop := errors.New("enough")
	scan(io.LimitReader(r, glanceAt), 0, func(e entry) error {
		if e.kind == kindHead {
			decoded(e.data, func(got Head) { h = got })
		}
		return stop
	})
	return h
}

// Rename gives a session a name, by which it can be found; an empty one takes
// it away. That is no work in the session: which one was worked in last stays
// as it was.
func Rename(path, name string) error {
	was, err := os.Stat(path)
	if err != nil {
		return err
	}
	l, _, err := OpenLog(path, LogOptions{})
	if err != nil {
		return err
	}
	l.SetInfo(func(i *Info) { i.Name = strings.Join(strings.Fields(name), " ") })
	return errors.Join(l.Kept(), l.Close(), os.Chtimes(path, time.Time{}, was.ModTime()))
}
