package board

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"oneloop/internal/watch"
)

// Prospect is what somebody can hope for who has nothing to do.
type Prospect int

const (
	Ready Prospect = iota // he can claim something now
	Busy                  // others have tasks: what they do, or do not, may make one ready
	Done                  // every task is completed
	Stuck                 // some are not, and nothing will make one of them ready by itself
)

func (p Prospect) String() string {
	switch p {
	case Ready:
		return "ready"
	case Busy:
		return "busy"
	case Done:
		return "done"
	}
	return "stuck"
}

// Outlook is the board as one owner sees it.
type Outlook struct {
	Prospect Prospect
	Ready    []string // he can claim these
	Working  []string // these are in progress
	Offered  []string // these were given to others
	Blocked  []string // these wait for others
	Failed   []string // these nobody is given by itself
	// Why says in words what the open tasks wait for; empty when something is
	// ready or all is done.
	Why string
	// Next is how long it takes until a lease or an offer ends; 0: there is none.
	Next time.Duration
}

// Outlook says what owner can hope for now.
func (b *Board) Outlook(owner string) (o Outlook, err error) {
	if err := checkOwner(owner); err != nil {
		return o, err
	}
	err = b.view(func() { o = b.outlook(owner) })
	return o, err
}

func (b *Board) outlook(owner string) (o Outlook) {
	var why []string
	ends := func(t *task) {
		if left := max(t.lease.end-b.s.elapsed(), time.Millisecond); o.Next == 0 || left < o.Next {
			o.Next = left
		}
	}
	for _, t := range b.s.order {
		n := t.id
		switch known := t.status == Pending || t.status == InProgress; {
		case t.status == Completed:
		case b.live(t):
			o.Working = append(o.Working, strconv.Itoa(n))
			ends(t)
		case !known:
			o.Failed = append(o.Failed, strconv.Itoa(n))
			why = append(why, fmt.Sprintf("#%d is %q, which this version does not know", n, t.status))
		case b.failed(t) != "":
			o.Failed = append(o.Failed, strconv.Itoa(n))
			why = append(why, fmt.Sprintf("#%d has failed: %s", n, b.failed(t)))
		case !b.s.free(t):
			o.Blocked = append(o.Blocked, strconv.Itoa(n))
			if len(why) < mostWhy {
				why = append(why, fmt.Sprintf("#%d waits for %s", n, sharps(texts(b.s.waits(t)))))
			}
		case b.offered(t) && !same(t.owner, owner):
			o.Offered = append(o.Offered, strconv.Itoa(n))
			ends(t)
		default:
			o.Ready = append(o.Ready, strconv.Itoa(n))
		}
	}
	switch {
	case len(o.Ready) > 0:
		o.Prospect = Ready
		return o
	case len(o.Working)+len(o.Offered) > 0:
		o.Prospect = Busy
	case len(o.Blocked)+len(o.Failed) > 0:
		o.Prospect = Stuck
	default:
		o.Prospect = Done
		return o
	}
	for _, group := range []struct {
		ids  []string
		what string
	}{{o.Working, "in progress"}, {o.Offered, "given to others"}} {
		if len(group.ids) > 0 {
			why = append(why, fmt.Sprintf("%s: %s", group.what, sharps(group.ids)))
		}
	}
	if n := len(why); n > mostWhy {
		why = append(why[:mostWhy:mostWhy], fmt.Sprintf("and %d more", n-mostWhy))
	}
	o.Why = strings.Join(why, "; ")
	return o
}

// mostWhy is how much of a long list is said.
const mostWhy = 10

// Wait waits as long as owner has nothing to do and others have: until a task is
// [Ready] for him, all is [Done], or what is open is [Stuck]. A board without
// tasks is done. It takes no time while it waits: it is woken by what changes the
// file, in this process or another, and when a lease or an offer ends.
func (b *Board) Wait(ctx context.Context, owner string) (Outlook, error) {
	for {
		folders := b.watch()
		if folders == nil {
			return Outlook{}, errClosed
		}
		changed := folders.Next(b.path)
		o, err := b.Outlook(owner)
		if err != nil || o.Prospect != Busy {
			return o, err
		}
		if err := b.listen(); err != nil {
			return o, err
		}
		late := time.NewTimer(o.Next)
		select {
		case <-changed:
		case <-late.C:
		case <-ctx.Done():
		}
		late.Stop()
		if ctx.Err() != nil {
			return o, context.Cause(ctx)
		}
	}
}

// listen has all who wait be woken when a process is gone that has a task.
func (b *Board) listen() error {
	return b.view(func() {
		for _, t := range b.s.order {
			if t.status == InProgress {
				b.presence.listen(t.process, b.wake)
			}
		}
	})
}

// wake wakes those who wait in this process.
func (b *Board) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.folders != nil {
		b.folders.Tell(b.path)
	}
}

var errClosed = errors.New("the board is closed")

func (b *Board) watch() *watch.Folders {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.folders == nil && !b.closed {
		b.folders = watch.New(filepath.Dir(b.path))
	}
	return b.folders
}
