package session

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/disk"
)

// Fork makes a session that begins as the one at path, up to its entry at (0:
// its newest), and returns the path of its log. The cost does not depend on
// how long the session is, but on how much is left out: the new log names the
// old one.
func Fork(path string, at int64, opts LogOptions) (string, error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("fork session %s: %w", idOf(path), err) }
	newest, err := lastEntry(path)
	if err != nil {
		return fail(err)
	}
	if at == 0 {
		at = newest
	}
	if at < 1 || at > newest {
		return fail(fmt.Errorf("entry %d of %d: %w", at, newest, errNoSuchPlace))
	}
	from := glance(path)
	if from.Err != nil {
		return fail(from.Err)
	}
	if err := from.readable(); err != nil {
		return fail(err)
	}
	if opts.Dir == "" {
		opts.Dir = from.Dir
	}
	opts.Series = from.Series
	opts.Parent = &Place{ID: idOf(path), N: at}
	for up := from.Parent; up != nil && at <= up.N; { // the entry is not the session's own
		opts.Parent.ID = up.ID
		if up, err = parentOf(filepath.Dir(path), *up); err != nil {
			return fail(err)
		}
	}
	opts.ID = NewID()
	made := logPath(filepath.Dir(path), opts.ID)
	l := NewLog(made, opts)
	l.n, l.view.info = at, from.Info
	if at < newest {
		l.view.info = infoAt(logPath(filepath.Dir(path), opts.Parent.ID), at)
		l.view.info.Title = from.Info.Title
	}
	l.view.info.Name = ""
	l.view.info.Cost, l.view.info.Known = 0, true // what came before was not used by this one
	if err := l.start(); err != nil {
		return fail(err)
	}
	return made, nil
}

// above opens the log that a fork begins with. A name that is more than one
// would lead elsewhere, and a log that comes before itself has no beginning:
// the entries of a parent come before those of its fork.
func above(dir string, p Place, before int64) (*os.File, error) {
	if p.ID == "" || p.ID != filepath.Base(p.ID) || p.ID == ".." || strings.ContainsAny(p.ID, `/\\`) {
		return nil, fmt.Errorf("it names %q as its beginning, which is no session", p.ID)
	}
	if p.N < 1 || p.N >= before {
		return nil, fmt.Errorf("it begins behind entry %d of session %s, and with entry %d", p.N, p.ID, before)
	}
	return os.Open(logPath(dir, p.ID))
}

// parentOf is where the log begins that p is in; nil when it is no fork.
func parentOf(dir string, p Place) (*Place, error) {
	f, err := above(dir, p, p.N+1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	up := headIn(f).Parent
	if up != nil && up.N >= p.N { // forged: it would come before itself
		return nil, fmt.Errorf("entry %d of session %s: %w", p.N, p.ID, errNoSuchPlace)
	}
	return up, nil
}

// start writes the first entries of a log, and closes it.
func (l *Log) start() error {
	l.mu.Lock()
	err := l.begin()
	if err == nil {
		l.put(kindInfo, l.view.info)
	}
	l.mu.Unlock()
	if bad := l.Close(); bad != nil { // also what could not be written before
		return bad
	}
	return err
}

// lastEntry is the number of the last whole entry of a log.
func lastEntry(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	for part := int64(glanceAt); ; part *= 8 {
		from := max(0, info.Size()-part)
		piece := make([]byte, info.Size()-from)
		if _, err := f.ReadAt(piece, from); err != nil && err != io.EOF {
			return 0, err
		}
		lines := bytes.Split(piece, []byte("\n"))
		if from > 0 {
			lines = lines[1:]
		}
		for _, line := range slices.Backward(lines) {
			if e, ok := parse(line); ok {
				return e.n, nil
			}
		}
		if from == 0 {
			return 0, errors.New("it has no entries")
		}
	}
}

// makeWhole rewrites a fork so that it needs no parent.
func makeWhole(path string) error {
	f, err := openFile(path)
	if err != nil {
		return err
	}
	defer f.close()
	tmp, err := os.CreateTemp(filepath.Dir(path), ".whole-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	out := bufio.NewWriter(tmp)
	if err := copyWhole(out, filepath.Dir(path), io.NewSectionReader(f.f, 0, 1<<62)); err != nil {
		return err
	}
	if err := errors.Join(out.Flush(), tmp.Sync()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return disk.SyncDir(filepath.Dir(path))
}

// copyWhole writes a log that needs no parent: the entries of r, those of its
// parents in their places.
func copyWhole(out io.Writer, dir string, r io.Reader) error {
	_, err := walk(dir, r, 0, nil, func(e entry) error {
		for _, p := range e.line([][]byte{e.data}) {
			if _, err := out.Write(p); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// walk goes through the entries of a log up to upTo (0: all), those of its
// parents in their places. The first entry is head, or the log's own, without
// a parent.
func walk(dir string, r io.Reader, upTo int64, head *Head, do func(entry) error) ([]Damage, error) {
	var earlier []Damage
	_, damage, err := scan(r, upTo, func(e entry) error {
		if e.kind != kindHead {
			return do(e)
		}
		var own Head
		if err := decoded(e.data, func(h Head) { own = h }); err != nil {
			return &unusable{e.kind, err, false}
		}
		parent := own.Parent
		if own.Parent = nil; head == nil {
			head = &own
		}
		if parent == nil {
			data, err := appendHead(nil, *head)
			if err != nil {
				return err
			}
			return do(entry{n: e.n, at: e.at, kind: kindHead, data: data})
		}
		f, err := above(dir, *parent, e.n)
		if gone(err) {
			return &unusable{e.kind, err, true}
		}
		if err != nil {
			return err
		}
		defer f.Close()
		if earlier, err = walk(dir, f, parent.N, head, do); err != nil {
			return err
		}
		// In the place of its first entry, so that no number is missing.
		data, err := encode(oneloop.Notice{Text: "forked from session " + parent.ID})
		if err != nil {
			return err
		}
		return do(entry{n: e.n, at: e.at, kind: string(oneloop.KindNotice), data: data})
	})
	return append(earlier, damage...), err
}
