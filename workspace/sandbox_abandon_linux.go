//go:build amd64 || arm64

package workspace

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Abandon ends the commands and takes away what stands in the workspace for
// protected files, as far as that can be done at once. It is for a program that
// is about to end without [SandboxWorkspace.Close], at any time. w is of no use
// afterwards.
func (w *SandboxWorkspace) Abandon() {
	// Nothing may be unprotected as long as a command runs. One that holds the
	// lock is at it.
	locked := lockSoon(&w.mu)
	if locked {
		w.closed = true
		if w.holder != nil {
			w.holder.Kill()
			<-w.holder.Ended()
		}
		if w.wrap != nil {
			w.wrap.Close()
		}
	}
	w.guards.abandon()
	if !locked {
		return
	}
	if w.tmp != nil {
		w.tmp.remove() // nobody is left to be told
		w.tmp = nil
	}
	w.mu.Unlock()
}

// abandon removes the stand-ins. None is made any more.
func (g *guards) abandon() {
	if !lockSoon(&g.mu) {
		return
	}
	defer g.mu.Unlock()
	g.abandoned = true
	defer g.list.close()
	if len(g.users) == 0 {
		return
	}
	unlock, _, err := g.list.hold()
	if err != nil {
		return
	}
	defer unlock() // before it is closed
	var free []spot
	for here := range g.users {
		if !g.list.shared(here) {
			free = append(free, here)
		}
	}
	// What is in a folder comes before that.
	slices.SortFunc(free, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.root, b.root), -cmp.Compare(len(a.name), len(b.name)))
	})
	remove(free)
}

func lockSoon(mu *sync.Mutex) bool {
	for end := time.Now().Add(lockTime); !mu.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
