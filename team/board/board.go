// Package board is a list of tasks that several agents share, in one process or
// in several: what is to be done, what waits for what, who does which.
//
//	b, err := board.Open(path, board.Options{})
//	task, err := b.Create(ctx, board.New{Subject: "write the tests"})
//	claim, err := b.ClaimNext(ctx, "s1/ann")
//	err = claim.Hold(ctx, func(ctx context.Context) error { … })
//	ready, err := claim.Complete(ctx, "12 tests, all pass")
//
// # Who does what
//
// A task is done by who claimed it, and one owner at most has it at any time. A
// [Claim] holds for some time, its lease, and longer when it is renewed. It has
// a token, a number that grows with each claim of the task: who comes late, with
// the token of a claim that is over, is refused and told who has the task now.
// When its owner's process ends, however it ends, the task can be claimed by
// others at once; when the owner hangs, after the lease. A task whose owners
// are lost again and again is nobody's any more, until a person or an agent
// asks for it by its id.
//
// How long a lease has been running is counted by each process for itself, from
// when it saw the claim. So a clock that is set neither ends nor prolongs it,
// and a computer that was suspended goes on with what was left.
//
// # What waits for what
//
// A task can be started when all tasks that block it are completed or deleted:
// what was deleted blocks nobody. An edge that would close a circle is refused.
// [Board.Wait] returns when something can be claimed, or nothing ever will be.
//
// # The file
//
// The board is a file of JSON lines, one an operation, see internal/journal. It
// is rewritten when it has far more lines than tasks. Ids are never used again,
// also those of deleted tasks. Beside the file is a folder in which each process
// that has claims holds the lock of a file; it ends with .live.
package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"oneloop/internal/journal"
	"oneloop/internal/watch"
)

// Status is where a task stands.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Deleted    Status = "deleted"
)

// Limits of a board.
const (
	MostTasks    = 10_000
	MostBlockers = 100      // of one task
	MostBytes    = 32 << 20 // of all texts
	longSubject  = 200      // characters, also of an active form
	longText     = 8_000    // of a description
	longMetadata = 4_000    // bytes
	longResult   = 4_000    // bytes; a longer one is cut
	longOwner    = 200      // bytes
	longFailed   = 500      // bytes; a longer one is cut
	mostLease    = 1_000_000 * time.Hour
)

// What the zero values of [Options] stand for.
const (
	DefaultLease  = 2 * time.Minute
	DefaultOffer  = 10 * time.Minute
	DefaultLosses = 5
)

// Options of a board. Those of all processes that share one should be the same.
type Options struct {
	Now   func() time.Time // nil: time.Now
	Lease time.Duration    // how long a claim holds that is not renewed; 0: DefaultLease
	Offer time.Duration    // how long a task that was given to somebody waits for him; 0: DefaultOffer
	// Losses is how many owners in a row may be lost with a task before nobody
	// is given it by itself; 0: DefaultLosses.
	Losses int
	// Notice is told what is no error of anybody's call: that the file is damaged,
	// once, and that it cannot be rewritten. It may be nil.
	Notice func(text string)
}

// Task is one of a board, as it was when it was read.
type Task struct {
	ID                               string // a whole number from 1
	Subject, Description, ActiveForm string
	Status                           Status
	// Owner has the task in progress, or completed it. A pending task is offered
	// to him until Until.
	Owner     string
	Token     int64     // of the newest claim
	Until     time.Time // when the claim ends if nobody renews it; zero: there is none
	Lapsed    bool      // in progress, and its owner is gone or has not renewed it
	BlockedBy []string  // all that are there
	Waits     []string  // those of them that are not completed
	Blocks    []string
	Metadata  json.RawMessage // an object; nil: none
	Worktree  string
	Result    string // what its last owner said of it
	Failed    string // why nobody is given it by itself; empty: it is not failed
	Created   time.Time
	Updated   time.Time
}

// ErrNoTask says that there is no such task.
var ErrNoTask = errors.New("there is no such task")

// Board is a board. It is safe for concurrent use; all agents of a process should
// use the same.
type Board struct {
	path     string
	opts     Options
	j        *journal.Journal
	s        *state // by j's functions alone
	presence presence

	mu      sync.Mutex
	held    map[string]map[int]int64 // tokens that this process was given, by owner and task
	folders *watch.Folders
	closed  bool
	told    bool // that the file is damaged
	full    bool // that it cannot be rewritten
}

// Open returns the board in the file path. Neither has to be there yet, nor its
// folder, which is made.
func Open(path string, o Options) (*Board, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Lease <= 0 {
		o.Lease = DefaultLease
	}
	if o.Offer <= 0 {
		o.Offer = DefaultOffer
	}
	o.Lease, o.Offer = min(o.Lease, mostLease), min(o.Offer, mostLease)
	if o.Losses <= 0 {
		o.Losses = DefaultLosses
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open board: %w", err)
	}
	began := o.Now() // with what the system counts beside the clock, if it is its clock
	b := &Board{
		path: path, opts: o,
		s:        &state{wall: o.Now, elapsed: func() time.Duration { return o.Now().Sub(began) }},
		presence: presence{dir: strings.TrimSuffix(path, ".jsonl") + ".live"},
		held:     map[string]map[int]int64{},
	}
	b.j = journal.New(path, b.s)
	return b, b.view(func() {})
}

// Close ends the board for this process. What it has claimed can be claimed by
// others then; who waits is told.
func (b *Board) Close() error {
	err := errors.Join(b.j.Close(), b.presence.leave())
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.held)
	b.closed = true
	if b.folders != nil {
		err = errors.Join(err, b.folders.Close())
		b.folders = nil
	}
	return err
}

// Tasks are all that are there, in the order of their ids.
func (b *Board) Tasks() (tasks []Task, err error) {
	err = b.view(func() {
		tasks = make([]Task, 0, len(b.s.order))
		for _, t := range b.s.order {
			tasks = append(tasks, b.shown(t))
		}
	})
	return tasks, err
}

// Task is the one with an id, else an [ErrNoTask].
func (b *Board) Task(id string) (found Task, err error) {
	seen := b.view(func() {
		var t *task
		if t, err = b.find(id); err == nil {
			found = b.shown(t)
		}
	})
	return found, errors.Join(seen, err)
}

func (b *Board) shown(t *task) Task {
	out := Task{
		ID: strconv.Itoa(t.id), Subject: t.subject, Description: t.description, ActiveForm: t.activeForm,
		Status: t.status, Owner: t.owner, Token: t.token, BlockedBy: texts(b.s.blockers(t)), Waits: texts(b.s.waits(t)), Blocks: texts(b.s.waiters[t.id]),
		Metadata: slices.Clone(t.metadata), Worktree: t.worktree, Result: t.result, Failed: b.failed(t), Created: t.created, Updated: t.updated,
	}
	if !t.lease.until.IsZero() {
		out.Until = b.opts.Now().Add(t.lease.end - b.s.elapsed())
	}
	out.Lapsed = t.status == InProgress && !b.live(t)
	return out
}

// live says whether somebody is at a task.
func (b *Board) live(t *task) bool {
	return t.status == InProgress && !b.s.over(t) && !b.presence.ended(t.process)
}

// failed is why nobody is given a task by itself.
func (b *Board) failed(t *task) string {
	lost := t.lost
	if t.status == InProgress && !b.live(t) {
		lost++
	}
	if t.failed == "" && t.status != Completed && lost >= b.opts.Losses {
		return fmt.Sprintf("%d owners in a row were lost with it", lost)
	}
	return t.failed
}

// find takes #3 for 3, as it is shown.
func (b *Board) find(id string) (*task, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "#"))
	switch t := b.s.tasks[n]; {
	case err != nil:
		return nil, fmt.Errorf("%w: %.40q is no id of one, ids are numbers", ErrNoTask, id)
	case t != nil:
		return t, nil
	case 0 < n && n <= b.s.last:
		return nil, fmt.Errorf("%w: #%d was deleted", ErrNoTask, n)
	case b.s.last == 0:
		return nil, fmt.Errorf("%w: there is none at all yet, so no #%d", ErrNoTask, n)
	}
	return nil, fmt.Errorf("%w: the newest is #%d, there is no #%d", ErrNoTask, b.s.last, n)
}

func texts(ids []int) (out []string) {
	for _, id := range ids {
		out = append(out, strconv.Itoa(id))
	}
	return out
}

func (b *Board) view(look func()) error {
	skipped := 0
	if err := b.j.View(func() { look(); skipped = b.s.skipped }); err != nil {
		return fmt.Errorf("read the board: %w", err)
	}
	b.tellDamage(skipped)
	return nil
}

func (b *Board) tellDamage(skipped int) {
	n := skipped + b.j.Bad()
	b.mu.Lock()
	first := n > 0 && !b.told
	b.told = b.told || n > 0
	b.mu.Unlock()
	if first && b.opts.Notice != nil {
		b.opts.Notice(fmt.Sprintf("%d lines of the task board could not be read and are left out: %s", n, b.path))
	}
}

// update has decide see the board and changes what it says, for by. Nothing
// happens in between.
func (b *Board) update(ctx context.Context, by string, decide func(now time.Time) ([]*patch, error)) error {
	long, skipped := false, 0
	err := b.j.Update(ctx, func() ([][]byte, error) {
		skipped = b.s.skipped
		long = b.long()
		now := b.opts.Now()
		patches, err := decide(now)
		if err != nil || len(patches) == 0 {
			return nil, err
		}
		return [][]byte{b.s.line(now, by, patches)}, nil
	})
	b.tellDamage(skipped)
	if err != nil {
		return err
	}
	b.wake()
	if long {
		b.shorten(ctx)
	}
	return nil
}

// A file of fewer lines is not rewritten, nor one of fewer than so many for each
// task.
const (
	leastLines = 512
	taskLines  = 4
)

func (b *Board) long() bool { return b.s.lines > leastLines && b.s.lines > taskLines*len(b.s.tasks) }

// shorten rewrites the file. The operation it follows has been done, so that it
// fails is nobody's error.
func (b *Board) shorten(ctx context.Context) {
	err := b.j.Rewrite(ctx, func() ([][]byte, error) {
		if !b.long() { // another process has done it
			return nil, nil
		}
		return b.s.rewritten(), nil
	})
	b.mu.Lock()
	first := err != nil && !b.full && ctx.Err() == nil
	b.full = b.full || first
	b.mu.Unlock()
	if first && b.opts.Notice != nil {
		b.opts.Notice(fmt.Sprintf("the file of the task board grows: %v", err))
	}
}
