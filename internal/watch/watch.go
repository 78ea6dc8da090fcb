// Package watch tells when files change, so that whoever waits for another
// process takes no time meanwhile.
package watch

import (
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Every is how often one is told to look where the system does not tell.
const Every = time.Second

// Folders watches the files in some folders. It is safe for concurrent use.
type Folders struct {
	w   *fsnotify.Watcher
	err error // why there is none

	mu   sync.Mutex
	next map[string]chan struct{} // of each file that somebody waits for
	done chan struct{}            // closed when nothing of run is left
}

// New watches folders that are there, not those in them. Where the system cannot,
// because too much is watched already for example, whoever waits is told to look
// [Every] second, and Err says why.
func New(folders ...string) *Folders {
	f := &Folders{next: map[string]chan struct{}{}, done: make(chan struct{})}
	f.w, f.err = fsnotify.NewWatcher()
	for _, dir := range folders {
		if f.err == nil {
			f.err = f.w.Add(dir)
		}
	}
	if f.err != nil {
		if f.w != nil {
			f.err = errors.Join(f.err, f.w.Close())
		}
		close(f.done)
		return f
	}
	go f.run()
	return f
}

// Err is why nothing can be watched; nil: it is.
func (f *Folders) Err() error { return f.err }

// Next is closed with the next change of a file: when it is made, written,
// replaced or removed. To miss none, take it before looking at the file:
//
//	for {
//		changed := folders.Next(path)
//		if look(path) {
//			return
//		}
//		<-changed
//	}
func (f *Folders) Next(path string) <-chan struct{} {
	path = filepath.Clean(path)
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.next[path]
	if c == nil {
		c = make(chan struct{})
		f.next[path] = c
		if f.err != nil {
			time.AfterFunc(Every, func() { f.tell(path) })
		}
	}
	return c
}

// Tell is for a change that the system does not tell of, or that this process
// made: it takes the way round.
func (f *Folders) Tell(path string) { f.tell(filepath.Clean(path)) }

func (f *Folders) tell(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.next[path]; c != nil {
		delete(f.next, path)
		close(c)
	}
}

func (f *Folders) run() {
	defer close(f.done)
	for {
		select {
		case e, ok := <-f.w.Events:
			if !ok {
				return
			}
			if e.Op != fsnotify.Chmod {
				f.tell(filepath.Clean(e.Name))
			}
		case _, ok := <-f.w.Errors: // more happened than there is room for: anything may have changed
			if !ok {
				return
			}
			f.tellAll()
		}
	}
}

func (f *Folders) tellAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for path, c := range f.next {
		delete(f.next, path)
		close(c)
	}
}

// Close ends watching and tells all who wait.
func (f *Folders) Close() error {
	var err error
	if f.err == nil {
		err = f.w.Close()
	}
	<-f.done
	f.tellAll()
	return err
}
