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
func (s Store) folder(work string) string {
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
	return filepath.Join(s.Dir, words+"-"+hex.EncodeToString(sum[:8]))
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
}

// List returns the sessions that work in the folder work, newest first; those
// of all folders when work is empty. Subtasks are left out.
func (s Store) List(work string) ([]Listed, error) {
	pattern := filepath.Join(s.Dir, "*")
	if work != "" {
		pattern = s.folder(work)
	}
	folders := []string{pattern}
	if work == "" {
		folders = nil
		in, err := os.ReadDir(s.Dir)
		if err != nil && !gone(err) {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		for _, d := range in {
			folders = append(folders, filepath.Join(s.Dir, d.Name()))
		}
	}
	var list []Listed
	for _, folder := range folders {
		in, err := os.ReadDir(folder)
		if err != nil {
			if gone(err) {
				continue
			}
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		for _, f := range in {
			if !f.Type().IsRegular() || filepath.Ext(f.Name()) != extension {
				continue
			}
			if l := glance(filepath.Join(folder, f.Name())); l.Child == nil {
				list = append(list, l)
			}
		}
	}
	slices.SortFunc(list, func(a, b Listed) int {
		return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}

// ErrNoSession says that no session is meant by a word.
var ErrNoSession = errors.New("there is no such session")

// Find returns the session that ref means: its id, the beginning of that, or
// its name. The sessions of work come first.
func (s Store) Find(work, ref string) (Listed, error) {
	all, err := s.List("")
	if err != nil {
		return Listed{}, err
	}
	matches := [][]Listed{{}, {}, {}}
	for _, l := range all {
		switch {
		case l.ID == ref:
			matches[0] = append(matches[0], l)
		case l.Name == ref && ref != "":
			matches[1] = append(matches[1], l)
		case strings.HasPrefix(l.ID, ref) && ref != "":
			matches[2] = append(matches[2], l)
		}
	}
	for _, found := range matches {
		if here := slices.DeleteFunc(slices.Clone(found), func(l Listed) bool { return l.Dir != work }); len(here) > 0 {
			found = here
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		var ids []string
		for _, l := range found[:min(len(found), 5)] {
			ids = append(ids, l.ID)
		}
		return Listed{}, fmt.Errorf("%q means %d sessions (%s); give more of the id", ref, len(found), strings.Join(ids, ", "))
	}
	return Listed{}, fmt.Errorf("%q: %w", ref, ErrNoSession)
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
	_, _, err = scan(io.LimitReader(f, glanceAt), 0, func(e entry) error {
		switch e.kind {
		case kindHead:
			return decoded(e.data, func(h Head) { l.Head = h })
		case kindInfo:
			return decoded(e.data, func(i Info) { l.Info = i })
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
	if l.Info.Title == "" && len(v.prompts) > 0 {
		l.Info.Title = Title(v.prompts[0].Text)
	}
	if l.Size > glanceAt {
		lastInfo(f, l.Size, &l.Info)
	}
	return l
}

// glanceAt is how much of a log is read at a time to list it, in bytes.
const glanceAt = 64 << 10

// lastInfo looks for the newest account of the session from the end backwards.
func lastInfo(f *os.File, size int64, into *Info) {
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
			if e, ok := parse(line); ok && e.kind == kindInfo && decoded(e.data, func(i Info) { *into = i }) == nil {
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
