package session

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"oneloop/internal/disk"
)

// ErrInUse says that another process has the session open.
var ErrInUse = errors.New("another oneloop works on this session")

// file is a log on disk. Lines are put at its end, each in one write, and
// never changed. What cannot be written waits and is tried again with the next
// line: what was told to the caller as kept is in memory until then.
type file struct {
	path  string
	f     logFile
	size  int64  // bytes of whole lines
	wait  []byte // lines that are not written yet
	whole []byte // the memory in which lines are put together
	dirty bool   // something was written that may not be on the disk yet
	fresh bool   // the folder may not know of it yet

	making chan error // set while the file is made
}

// logFile is what a log needs of an [os.File].
type logFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Sync() error
	Fd() uintptr
}

// openDisk opens the file of a log. Tests have it give one that ends the
// process in the middle of a write.
var openDisk = func(path string, flag int) (logFile, error) { return os.OpenFile(path, flag, 0o600) }

// atOnce is up to how many bytes a line is put together to be written at once.
const atOnce = 64 << 10

// add writes a line, and before it what could not be written so far.
func (f *file) add(line [][]byte) error {
	if err := f.made(); err != nil {
		f.later(line)
		return err
	}
	if len(f.wait) > 0 {
		line = append([][]byte{f.wait}, line...)
	}
	size := 0
	for _, p := range line {
		size += len(p)
	}
	if size <= atOnce {
		f.whole = f.whole[:0]
		for _, p := range line {
			f.whole = append(f.whole, p...)
		}
		line = [][]byte{f.whole}
	}
	err := f.write(line)
	if err != nil {
		f.wait = bytes.Join(line, nil)
	} else {
		f.wait = nil
	}
	return err
}

// begin makes the file. Whoever needs it waits in made.
func (f *file) begin() {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				done <- fmt.Errorf("internal error: make the session log: %v", v)
			}
		}()
		done <- f.create()
	}()
	f.making = done
}

// made waits until the file is made, if it is to be. An error is told once: the
// next line tries again.
func (f *file) made() error {
	if f.making == nil {
		return nil
	}
	err := <-f.making
	f.making = nil
	return err
}

func (f *file) write(lines [][]byte) error {
	if f.f == nil {
		if err := f.create(); err != nil {
			return err
		}
	}
	// At their place, so that a try after one that wrote a part takes that
	// part's place.
	at := f.size
	for _, p := range lines {
		if _, err := f.f.WriteAt(p, at); err != nil {
			return fmt.Errorf("write the session log: %w", err)
		}
		at += int64(len(p))
	}
	f.size, f.dirty = at, true
	return nil
}

// later keeps a line to be written with the next one.
func (f *file) later(line [][]byte) {
	for _, p := range line {
		f.wait = append(f.wait, p...)
	}
}

func (f *file) create() error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the session log: %w", err)
	}
	made, err := openDisk(f.path, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("make the session log: %w", err)
	}
	if err := disk.TryLock(made); err != nil {
		made.Close()
		os.Remove(f.path) // the next try makes it again
		return fmt.Errorf("lock the session log: %w", err)
	}
	f.f, f.fresh = made, true
	return nil
}

// sync waits until everything written is on the disk.
func (f *file) sync() error {
	if err := f.made(); err != nil {
		return err
	}
	if !f.dirty || f.f == nil {
		return nil
	}
	if err := disk.Sync(f.f); err != nil {
		return fmt.Errorf("sync the session log: %w", err)
	}
	if f.fresh {
		if err := disk.SyncDir(filepath.Dir(f.path)); err != nil {
			return fmt.Errorf("sync the folder of the session log: %w", err)
		}
		f.fresh = false
	}
	f.dirty = false
	return nil
}

func (f *file) close() error {
	if err := f.made(); err != nil || f.f == nil {
		return err
	}
	err := f.f.Close()
	f.f = nil
	return err
}

// remove takes away a file in which nothing was said, if one was made.
func (f *file) remove() error {
	if f.f == nil {
		return nil
	}
	return errors.Join(f.close(), os.Remove(f.path))
}

// openFile opens a log that is there for writing, and locks it.
func openFile(path string) (*file, error) {
	opened, err := openDisk(path, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if err := disk.TryLock(opened); err != nil {
		opened.Close()
		if errors.Is(err, disk.ErrHeld) {
			err = ErrInUse
		}
		return nil, err
	}
	return &file{path: path, f: opened}, nil
}

// InUse reports whether somebody works on the session whose log is at path. Of a
// log that cannot be written here, that is not known: false.
func InUse(path string) bool {
	f, err := openFile(path)
	if err == nil {
		f.close()
	}
	return errors.Is(err, ErrInUse)
}

// Damage is a part of a log that could not be read, or was read with more care
// than others. The file is left as it is, but for a torn end.
type Damage struct {
	Line  int // from 1
	Bytes int // that are lost, or were read with more care
	What  string
	hole  bool // entries are lost with it, and not only one that was being written
}

// unfinished is what a killed writer leaves.
const unfinished = "the last entry was not written to its end"

// Torn reports whether it is only the end of the log that was not written: it
// is cut off when the log is opened, and nobody acted on it.
func (d Damage) Torn() bool { return d.What == unfinished }

func (d Damage) String() string {
	return fmt.Sprintf("line %d: %s", d.Line, d.What)
}

// scan reads the entries of a log up to and with number upTo (0: all). It
// returns how many bytes at the beginning are whole lines; a last line that has
// no end and is no entry is what a killed writer leaves, and is not among them.
func scan(r io.Reader, upTo int64, each func(entry) error) (whole int64, damage []Damage, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	next := int64(0) // a fork's numbers begin where it left its parent
	gap := int64(0)  // the number that was missing before the last entry; 0: none was
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return whole, damage, err
		}
		ended := err == nil
		text := bytes.TrimRight(line, "\r\n")
		if !ended && len(text) == 0 {
			return whole, damage, nil
		}
		found, bad := entriesOf(text)
		if !ended && len(found) == 0 {
			return whole, append(damage, Damage{Line: number, Bytes: len(text), What: unfinished}), nil
		}
		whole += int64(len(line))
		if bad != "" {
			damage = append(damage, Damage{Line: number, Bytes: len(text), What: bad})
		}
		for _, e := range found {
			if next == 0 && e.kind == kindHead {
				next = e.n
			}
			was := gap
			gap = 0
			switch {
			case was > 0 && e.n == was+1 && e.n < next:
				damage = append(damage, Damage{Line: number, What: fmt.Sprintf("the number of the entry before it is %d instead of %d", next-1, was), hole: true})
			case e.n < next:
				damage = append(damage, Damage{Line: number, What: fmt.Sprintf("entry %d comes again and is left out", e.n)})
				continue
			case e.n > max(next, 1) && toldOf(damage, number):
				damage[len(damage)-1].hole = true
			case e.n > max(next, 1):
				damage = append(damage, Damage{Line: number, What: fmt.Sprintf("the entries %d to %d are missing before it", max(next, 1), e.n-1), hole: true})
			}
			if e.n > max(next, 1) {
				gap = max(next, 1)
			}
			next = e.n + 1
			if upTo > 0 && e.n > upTo {
				return whole, damage, nil
			}
			err := each(e)
			if bad, ok := errors.AsType[*unusable](err); ok {
				damage = append(damage, Damage{Line: number, Bytes: len(text), What: bad.Error(), hole: slices.Contains(speaking, e.kind)})
				continue
			}
			if err != nil {
				return whole, damage, err
			}
		}
		if !ended {
			return whole, damage, nil
		}
	}
}

// speaking are the kinds of entries that say what is sent.
var speaking = []string{kindMessage, kindCompact, kindRedact, kindRewind}

// unusable is an entry that can be read, and cannot be used. It costs that entry
// and not the session.
type unusable struct {
	kind  string
	err   error
	taken bool // it is used as far as that goes
}

// usable is err as what it costs.
func usable(e entry, err error) error {
	if err == nil {
		return nil
	}
	return &unusable{e.kind, err, false}
}

func (u *unusable) Error() string {
	if u.taken {
		return fmt.Sprintf("the entry %s is used in part: %v", u.kind, u.err)
	}
	return fmt.Sprintf("the entry %s cannot be used: %v", u.kind, u.err)
}

// toldOf reports whether the line, or the one before it, is told to be damaged.
func toldOf(damage []Damage, line int) bool {
	return len(damage) > 0 && damage[len(damage)-1].Bytes > 0 && damage[len(damage)-1].Line >= line-1
}

// entriesOf reads what is in a line: one entry, unless the line is damaged.
func entriesOf(line []byte) (found []entry, bad string) {
	e, err := readEntry(line)
	if err == nil {
		return []entry{e}, ""
	}
	if err != errNoEntry {
		return nil, err.Error()
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil, "it is empty"
	}
	start := []byte(`{"n":`)
	for from := 0; from < len(line); {
		at := bytes.Index(line[from:], start)
		if at < 0 {
			break
		}
		at += from
		from = at + len(start)
		for end := len(line); end > at; {
			if e, ok := parse(line[at:end]); ok {
				found, from = append(found, e), end
				break
			}
			if last := bytes.LastIndexByte(line[at:end], '}') + 1; last > 0 && at+last < end { // the line break behind it is damaged
				if e, ok := parse(line[at : at+last]); ok {
					found, from = append(found, e), end
					break
				}
			}
			next := bytes.LastIndex(line[at+1:end], start)
			if next < 0 {
				break
			}
			end = at + 1 + next
		}
	}
	switch len(found) {
	case 0:
		return nil, errNoEntry.Error()
	case 1:
		return found, "a part of it is no entry"
	}
	return found, fmt.Sprintf("it holds %d entries instead of one", len(found))
}

// gone reports whether err says that there is no such file.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
