package main

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// lastTime is how long a program may take that was told to end at once.
const lastTime = 500 * time.Millisecond

// lastThings are what is done when there is no time for anything else: what a
// program has put where others find it is taken away. The zero value is ready.
type lastThings struct {
	mu   sync.Mutex
	next int
	list map[int]func()
}

// add adds one. Where it has become needless, drop is called.
func (l *lastThings) add(do func()) (drop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		l.list = map[int]func(){}
	}
	n := l.next
	l.next++
	l.list[n] = do
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.list, n)
	}
}

// do does them, the latest first, as far as there is time: each may wait for
// others that are at work.
func (l *lastThings) do() {
	l.mu.Lock()
	list := maps.Clone(l.list)
	l.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, n := range slices.Backward(slices.Sorted(maps.Keys(list))) {
			doLast(list[n])
		}
	}()
	select {
	case <-done:
	case <-time.After(lastTime):
	}
}

// doLast does one. There is nobody any more who could be told that it broke,
// and others come after it.
func doLast(do func()) {
	defer func() { _ = recover() }()
	do()
}
