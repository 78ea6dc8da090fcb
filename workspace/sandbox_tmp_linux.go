//go:build amd64 || arm64

package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// tmpName begins the name of a folder for temporary files of commands.
const tmpName = "oneloop-tmp-"

// sessionTmp is a folder for temporary files of commands, where they are not
// in memory. It is locked as long as the program lives.
type sessionTmp struct {
	path string
	lock *os.File
}

// newTmp makes one in dir, and removes those of programs that were killed.
func newTmp(dir string) (*sessionTmp, error) {
	clearTmp(dir, time.Now().Add(-time.Minute))
	path, err := os.MkdirTemp(dir, tmpName)
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	lock, err := os.Open(path)
	if err == nil {
		err = flock(lock, unix.LOCK_SH)
	}
	if err != nil {
		os.RemoveAll(path)
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	return &sessionTmp{path, lock}, nil
}

func (s *sessionTmp) remove() error {
	return errors.Join(os.RemoveAll(s.path), s.lock.Close())
}

// clearTmp removes what killed programs left in dir: folders of this user's
// alone that nobody has locked. One made after then may not be locked yet.
func clearTmp(dir string, then time.Time) {
	list, err := filepath.Glob(filepath.Join(dir, tmpName+"*"))
	if err != nil {
		return // the name of dir is a pattern that is none
	}
	for _, path := range list {
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st) == nil && int(st.Uid) == os.Geteuid() && st.Mode&0o077 == 0 &&
			time.Unix(st.Ctim.Unix()).Before(then) && flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil {
			os.RemoveAll(path)
		}
		f.Close()
	}
}
