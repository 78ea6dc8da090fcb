package board

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"oneloop/internal/disk"
)

// presence is how others see that a process is there: it holds the lock of a
// file, which the kernel lets go of however the process ends. A file's name is
// random and never used again, so it does not matter what becomes of the number
// of the process.
//
// Nobody is told when a lock is let go of. So there is a bell beside it, on
// which those hear it who wait.
type presence struct {
	dir string

	mu    sync.Mutex
	name  string // of ours; empty: none yet
	f     *os.File
	bell  *os.File            // nil where there are none
	gone  map[string]bool     // those that are known to be, which no one comes back from
	heard map[string]*os.File // bells of others
	ears  sync.WaitGroup
	quiet chan struct{} // closed when nobody listens any more
}

const bellName = ".bell"

// join takes a lock of our own.
func (p *presence) join() (name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.f != nil && here(p.f) {
		return p.name, nil
	}
	if p.f != nil { // somebody removed it, and we seem to be gone: others may have our tasks
		p.f.Close()
		if p.bell != nil {
			p.bell.Close()
		}
		p.f, p.bell, p.name = nil, nil, ""
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
			p.bell, _ = hang(f.Name() + bellName) // without it others see later that we are gone
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
		if name := strings.TrimSuffix(e.Name(), bellName); isPresence(name) && p.probe(name) {
			p.remove(name)
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
	p.ends(name)
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
	p.remove(name)
	return true
}

// remove removes what a process left that is gone. What cannot be removed is in
// nobody's way.
func (p *presence) remove(name string) {
	os.Remove(filepath.Join(p.dir, name+bellName))
	os.Remove(filepath.Join(p.dir, name))
}

// listen has ring be called when a process is gone, where that can be heard.
func (p *presence) listen(name string, ring func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isPresence(name) || name == p.name || p.gone[name] || p.heard[name] != nil {
		return
	}
	f, err := listen(filepath.Join(p.dir, name+bellName))
	if err != nil {
		return
	}
	if p.heard == nil {
		p.heard, p.quiet = map[string]*os.File{}, make(chan struct{})
	}
	p.heard[name] = f
	quiet := p.quiet
	p.ears.Go(func() {
		_, err := f.Read(make([]byte, 1))
		f.Close()
		if errors.Is(err, io.EOF) && p.last(name, quiet) {
			ring()
		}
	})
}

// last waits until the lock of a process is free whose bell has rung: the kernel
// may let go of it a little later. Where the lock is not free, the process is on
// another computer, where its bell cannot be heard.
func (p *presence) last(name string, quiet chan struct{}) bool {
	f, err := os.Open(filepath.Join(p.dir, name))
	if err == nil {
		defer f.Close()
		ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
		defer stop()
		go func() {
			select {
			case <-quiet:
				stop()
			case <-ctx.Done():
			}
		}()
		err = disk.Lock(ctx, f)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(name)
	p.ends(name)
	return true
}

func (p *presence) ends(name string) {
	if p.gone == nil {
		p.gone = map[string]bool{}
	}
	p.gone[name] = true
}

func isPresence(name string) bool {
	return len(name) == 16 && strings.Trim(name, "0123456789abcdef") == ""
}

// leave gives the lock back.
func (p *presence) leave() error {
	p.mu.Lock()
	for _, f := range p.heard {
		f.Close() // who listens may have done so
	}
	if p.heard != nil {
		close(p.quiet)
	}
	p.heard = nil
	var err error
	if p.f != nil {
		for _, f := range []*os.File{p.bell, p.f} {
			if f == nil {
				continue
			}
			err = errors.Join(err, f.Close())
			if e := os.Remove(f.Name()); !errors.Is(e, fs.ErrNotExist) { // somebody may have tidied up
				err = errors.Join(err, e)
			}
		}
		p.f, p.bell, p.name = nil, nil, ""
	}
	p.mu.Unlock()
	p.ears.Wait()
	return err
}

// own is the name of our lock; empty: there is none.
func (p *presence) own() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.name
}
