//go:build amd64 || arm64

package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// spot is a name below a folder.
type spot struct{ root, name string }

// list is a file that names the stand-ins this program has put into folders,
// one a line. It is locked as long as the program lives, so that another can
// tell the list of one that crashed, and clears up after it.
type list struct {
	dirs   []string // the first in which it can be kept is taken
	dir    string   // that was
	lock   *os.File
	own    *os.File
	others []spot // in the lists of programs that run, read when locked
}

// Sweep removes what sandboxes of programs that were killed left in folders,
// by their lists in the folder state (see [SandboxOptions]). Every sandbox does
// that when it starts; this is for a program that uses none.
func Sweep(state string) error {
	left, err := fs.Glob(os.DirFS(state), "*.list")
	if state == "" || err != nil || len(left) == 0 {
		return err
	}
	g := &guards{list: &list{dirs: []string{state}}}
	if err := errors.Join(g.sweep(), g.list.close()); err != nil {
		return fmt.Errorf("remove what a sandbox left in folders: %w", err)
	}
	return nil
}

// hold locks out other programs that look after stand-ins. left are
// stand-ins of programs that crashed, given once.
func (l *list) hold() (release func(), left []spot, err error) {
	if l.lock == nil {
		if err := l.create(); err != nil {
			return nil, nil, fmt.Errorf("open the list of protected files: %w", err)
		}
	}
	if err := flock(l.lock, unix.LOCK_EX); err != nil {
		return nil, nil, fmt.Errorf("lock the list of protected files: %w", err)
	}
	left, err = l.read()
	if err != nil {
		flock(l.lock, unix.LOCK_UN)
		return nil, nil, fmt.Errorf("read the lists of protected files: %w", err)
	}
	return func() { flock(l.lock, unix.LOCK_UN) }, left, nil
}

func (l *list) create() error {
	var errs []error
	for _, l.dir = range l.dirs {
		err := l.createIn()
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (l *list) createIn() error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	// In a temporary folder somebody else may have been first.
	var st unix.Stat_t
	if err := unix.Lstat(l.dir, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return fmt.Errorf("%s is not a folder of this user's alone", l.dir)
	}
	lock, err := os.OpenFile(filepath.Join(l.dir, "lock"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	own, err := os.CreateTemp(l.dir, "*.list")
	if err == nil {
		err = flock(own, unix.LOCK_EX)
	}
	if err != nil {
		lock.Close()
		return err
	}
	l.lock, l.own = lock, own
	return nil
}

// read looks at the lists of others. That of a program that ended is removed,
// once what it names has been given.
func (l *list) read() (left []spot, err error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	l.others = nil
	for _, e := range entries {
		path := filepath.Join(l.dir, e.Name())
		if !strings.HasSuffix(e.Name(), ".list") || path == l.own.Name() {
			continue
		}
		names, lives, err := peek(path)
		switch {
		case err != nil: // just removed by its owner
		case lives:
			l.others = append(l.others, names...)
		default:
			left = append(left, names...)
			os.Remove(path)
		}
	}
	return left, nil
}

func peek(path string) (names []spot, lives bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	err = flock(f, unix.LOCK_SH|unix.LOCK_NB)
	lives = errors.Is(err, unix.EWOULDBLOCK)
	if err != nil && !lives {
		return nil, false, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	for line := range strings.Lines(string(text)) {
		var p spot
		if n, _ := fmt.Sscanf(line, "%q %q", &p.root, &p.name); n == 2 { // the last line may be cut
			names = append(names, p)
		}
	}
	return names, lives, err
}

// set replaces what is listed. It is called before stand-ins are made, and
// after they were removed.
func (l *list) set(names []spot) error {
	var text strings.Builder
	for _, p := range names {
		fmt.Fprintf(&text, "%q %q\n", p.root, p.name)
	}
	// Between the two it names what was and what is.
	if _, err := l.own.WriteAt([]byte(text.String()), 0); err != nil {
		return err
	}
	return l.own.Truncate(int64(text.Len()))
}

// shared reports whether another program that runs has made it too.
func (l *list) shared(p spot) bool { return slices.Contains(l.others, p) }

func (l *list) close() error {
	if l.lock == nil {
		return nil
	}
	err := os.Remove(l.own.Name())
	err = errors.Join(err, l.own.Close(), l.lock.Close())
	l.lock, l.own = nil, nil
	return err
}

func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}
