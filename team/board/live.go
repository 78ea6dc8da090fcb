package board

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"oneloop/internal/disk"
)

// presence is how others see that a process is there: it holds the lock of a
// file, which the kernel lets go of however the process ends. A file's name is
// random and never used again, so it does not matter what becomes of the number
// of the process.
type presence struct {
	dir string

	mu   sync.Mutex
	name string // of ours; empty: none yet
	f    *os.File
	gone map[string]bool // those that are known to be, which no one comes back from
}

// join takes a lock of our own.
func (p *presence) join() (name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.f != nil {
		return p.name, nil
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return "", err
	}
	p.sweep()
	for range 10 {
		var id [8]byte
		rand.Read(id[:])
		name := hex.EncodeToString(id[:])
		f, err := os.OpenFile(filepath.Join(p.dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "", err
		}
		if err := disk.TryLock(f); err != nil && !errors.Is(err, disk.ErrHeld) {
			return "", errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close(), os.Remove(f.Name()))
		} else if err == nil && here(f) {
			p.name, p.f = name, f
			return name, nil
		}
		f.Close() // another one that came swept it away before it was locked
	}
	return "", fmt.Errorf("%s: no file of it stays", p.dir)
}

func here(f *os.File) bool {
	own, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := os.Stat(f.Name())
	return err == nil && os.SameFile(own, at)
}

// sweep removes what processes left that are gone. What it cannot remove is in
// nobody's way.
func (p *presence) sweep() {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if isPresence(e.Name()) {
			p.probe(e.Name())
		}
	}
}

// ended says whether a process is known to be gone. Where that cannot be known,
// it is not.
func (p *presence) ended(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !isPresence(name), name == p.name: // what is in a file of others names no path
		return false
	case p.gone[name]:
		return true
	}
	if !p.probe(name) {
		return false
	}
	if p.gone == nil {
		p.gone = map[string]bool{}
	}
	p.gone[name] = true
	return true
}

func (p *presence) probe(name string) (gone bool) {
	path := filepath.Join(p.dir, name)
	f, err := os.Open(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	if disk.TryLock(f) != nil {
		return false
	}
	os.Remove(path)
	return true
}

func isPresence(name string) bool {
	return len(name) == 16 && strings.Trim(name, "0123456789abcdef") == ""
}

// leave gives the lock back.
func (p *presence) leave() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.f == nil {
		return nil
	}
	err := errors.Join(p.f.Close(), os.Remove(p.f.Name()))
	p.f, p.name = nil, ""
	return err
}

// own is the name of our lock; empty: there is none.
func (p *presence) own() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.name
}
