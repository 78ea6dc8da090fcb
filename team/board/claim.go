package board

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrNothing says that nothing can be claimed now. [Board.Wait] waits for it.
var ErrNothing = errors.New("no task can be claimed now")

// HeldError says that somebody else has a task, or is to have it.
type HeldError struct {
	ID, Owner string
	Offered   bool // it waits for him
	Left      time.Duration
}

func (e *HeldError) Error() string {
	if e.Offered {
		return fmt.Sprintf("#%s is given to %s, who has %v left to begin with it", e.ID, e.Owner, round(e.Left))
	}
	return fmt.Sprintf("#%s is in progress: %s has it, for %v more unless it is renewed", e.ID, e.Owner, round(e.Left))
}

func round(d time.Duration) time.Duration {
	if d > 2*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(time.Millisecond)
}

// BlockedError says what a task waits for.
type BlockedError struct {
	ID    string
	Waits []string
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("#%s cannot be started before %s", e.ID, sharps(e.Waits))
}

func sharps(ids []string) string {
	if len(ids) == 0 {
		return "nothing"
	}
	return "#" + strings.Join(ids, ", #")
}

// LostError refuses an update with the token of a claim that is over.
type LostError struct {
	ID    string
	Token int64
	Task  Task // as it is now; its Status is Deleted when it is not there any more
}

func (e *LostError) Error() string {
	s := fmt.Sprintf("the claim on #%s (token %d) is over, and nothing was changed: ", e.ID, e.Token)
	switch t := e.Task; t.Status {
	case Deleted:
		return s + "the task was deleted"
	case Completed:
		return s + fmt.Sprintf("%s has completed the task (token %d)", somebody(t.Owner), t.Token)
	case InProgress:
		return s + fmt.Sprintf("%s has the task now (token %d)", somebody(t.Owner), t.Token)
	case Pending:
		if t.Owner != "" {
			return s + "the task is given to " + t.Owner
		}
		return s + fmt.Sprintf("nobody has the task now (token %d)", t.Token)
	default:
		return s + fmt.Sprintf("the task is %s", t.Status)
	}
}

func somebody(owner string) string {
	if owner == "" {
		return "somebody"
	}
	return owner
}

// CompletedError says that a task is done already.
type CompletedError struct{ ID, Owner string }

func (e *CompletedError) Error() string {
	return fmt.Sprintf("#%s is completed already, by %s", e.ID, somebody(e.Owner))
}

// Claim is what an owner has of a task. It is safe for concurrent use.
type Claim struct {
	Task  Task // when it was claimed
	Owner string
	Token int64

	b  *Board
	id int
}

// Claim claims the task with an id for owner. The error is a [HeldError], a
// [BlockedError], a [CompletedError] or [ErrNoTask] when it cannot be claimed.
// Who has it already gets his claim again.
func (b *Board) Claim(ctx context.Context, owner, id string) (*Claim, error) {
	return b.claim(ctx, owner, func() (*task, error) {
		t, err := b.find(id)
		if err != nil {
			return nil, err
		}
		return t, b.open(t, owner)
	})
}

// ClaimNext claims for owner the first task that is ready, of those that were
// given to him before others. [ErrNothing]: there is none.
func (b *Board) ClaimNext(ctx context.Context, owner string) (*Claim, error) {
	return b.claim(ctx, owner, func() (*task, error) {
		var first *task
		for _, t := range b.s.order {
			switch {
			case t.status == Completed:
			case t.status == Pending && t.owner == "" && t.failed == "" && t.lost == 0: // as nearly all are
				if first == nil && b.s.free(t) {
					first = t
				}
			case t.status != Pending && t.status != InProgress || b.open(t, owner) != nil || b.mine(t, owner) || b.failed(t) != "":
			case b.offered(t):
				return t, nil // to this owner, else it would not be open to him
			case first == nil:
				first = t
			}
		}
		if first == nil {
			return nil, ErrNothing
		}
		return first, nil
	})
}

func (b *Board) claim(ctx context.Context, owner string, choose func() (*task, error)) (*Claim, error) {
	if err := checkOwner(owner); err != nil {
		return nil, err
	}
	process, err := b.presence.join()
	if err != nil {
		return nil, fmt.Errorf("claim a task: %w", err)
	}
	c := &Claim{Owner: owner, b: b}
	err = b.update(ctx, owner, func(now time.Time) ([]*patch, error) {
		t, err := choose()
		if err != nil {
			return nil, err
		}
		c.id, c.Task = t.id, b.shown(t)
		if b.mine(t, owner) {
			c.Token = t.token
			b.hold(owner, t.id, t.token)
			return nil, nil
		}
		p := b.taken(t, owner, process, now)
		c.Token = t.token + 1
		c.Task.Status, c.Task.Owner, c.Task.Token, c.Task.Until = InProgress, owner, c.Token, now.Add(b.opts.Lease)
		c.Task.Lapsed, c.Task.Failed = false, ""
		return []*patch{p}, nil
	})
	if err != nil {
		return nil, err
	}
	b.hold(owner, c.id, c.Token)
	return c, nil
}

// open says why owner cannot claim a task.
func (b *Board) open(t *task, owner string) error {
	held := func(offered bool) error {
		return &HeldError{ID: strconv.Itoa(t.id), Owner: t.owner, Offered: offered, Left: t.lease.end - b.s.elapsed()}
	}
	switch t.status {
	case Completed:
		return &CompletedError{strconv.Itoa(t.id), t.owner}
	case InProgress:
		if b.mine(t, owner) {
			return nil
		}
		if b.live(t) {
			return held(false)
		}
	case Pending:
		if b.offered(t) && !same(t.owner, owner) {
			return held(true)
		}
	default:
		return fmt.Errorf("#%d is %q, which this version does not know", t.id, t.status)
	}
	if !b.s.free(t) {
		return &BlockedError{strconv.Itoa(t.id), texts(b.s.waits(t))}
	}
	return nil
}

// mine says whether owner has a task in progress, by a claim of this process.
func (b *Board) mine(t *task, owner string) bool {
	return t.status == InProgress && t.owner == owner && t.process != "" && t.process == b.presence.own() && !b.s.over(t)
}

// offered says whether a task waits for somebody to begin with it.
func (b *Board) offered(t *task) bool { return t.status == Pending && t.owner != "" && !b.s.over(t) }

// same says whether a task that is given to a name is given to owner: a name may
// be without its session.
func same(given, owner string) bool {
	return given == owner || !strings.Contains(given, "/") && strings.HasSuffix(owner, "/"+given)
}

func (b *Board) taken(t *task, owner, process string, now time.Time) *patch {
	p := (&patch{id: t.id}).text("status", string(InProgress)).text("owner", owner).text("process", process).int("token", t.token+1)
	if t.failed != "" {
		p.none("failed")
	}
	switch {
	case b.failed(t) != "": // asked for all the same
		p.none("lost")
	case t.status == InProgress && (t.owner != owner || t.process != process):
		p.int("lost", int64(t.lost)+1)
	}
	return p.int("term", b.opts.Lease.Milliseconds()).time("until", now.Add(b.opts.Lease))
}

// dropped ends the claim on a task, whoever has it.
func dropped(t *task, status Status) *patch {
	p := (&patch{id: t.id}).text("status", string(status))
	if status == Pending && t.owner != "" {
		p.none("owner")
	}
	for _, f := range []struct {
		name string
		is   bool
	}{{"process", t.process != ""}, {"term", t.term > 0}, {"until", !t.lease.until.IsZero()}, {"failed", t.failed != ""}, {"lost", t.lost > 0}} {
		if f.is {
			p.none(f.name)
		}
	}
	return p
}

// hold remembers the token of a claim that this process was given.
func (b *Board) hold(owner string, id int, token int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[owner] == nil {
		b.held[owner] = map[int]int64{}
	}
	b.held[owner][id] = max(token, b.held[owner][id])
}

func (b *Board) forget(owner string, id int, token int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[owner][id] <= token {
		delete(b.held[owner], id)
	}
}

// with updates the task of a claim that is not over.
func (c *Claim) with(ctx context.Context, decide func(t *task, now time.Time) *patch) error {
	err := c.b.update(ctx, c.Owner, func(now time.Time) ([]*patch, error) {
		t, err := c.current()
		if err != nil {
			return nil, err
		}
		if p := decide(t, now); p != nil {
			return []*patch{p}, nil
		}
		return nil, nil
	})
	if errors.As(err, new(*LostError)) {
		c.b.forget(c.Owner, c.id, c.Token)
	}
	return err
}

func (c *Claim) current() (*task, error) {
	t := c.b.s.tasks[c.id]
	if t == nil || t.token != c.Token || t.status != InProgress {
		return t, c.b.lost(c.id, c.Token)
	}
	return t, nil
}

func (b *Board) lost(id int, token int64) error {
	e := &LostError{ID: strconv.Itoa(id), Token: token, Task: Task{Status: Deleted}}
	if t := b.s.tasks[id]; t != nil {
		e.Task = b.shown(t)
	}
	return e
}

// Renew has the claim hold for a whole lease again; also one whose lease is over,
// if nobody else has claimed the task since, else the error is a [LostError].
// Nothing is written as long as more than half of the lease is left: so a claim
// adds a line to the file in each half of a lease, however often it is renewed.
func (c *Claim) Renew(ctx context.Context) error {
	var err error
	late := false
	seen := c.b.view(func() {
		var t *task
		if t, err = c.current(); err == nil {
			late = t.lease.end-c.b.s.elapsed() <= t.term/2
		}
	})
	if err != nil {
		c.b.forget(c.Owner, c.id, c.Token)
		return err
	}
	if seen != nil || !late {
		return seen
	}
	return c.with(ctx, func(t *task, now time.Time) *patch { return c.b.renewed(t, now) })
}

func (b *Board) renewed(t *task, now time.Time) *patch {
	p := &patch{id: t.id}
	if t.term != b.opts.Lease {
		p.int("term", b.opts.Lease.Milliseconds())
	}
	return p.time("until", now.Add(b.opts.Lease))
}

// Complete says that the task is done, and what came of it. It returns the tasks
// that can be started now because of it. To say it again changes nothing.
func (c *Claim) Complete(ctx context.Context, result string) (ready []string, err error) {
	err = c.b.update(ctx, c.Owner, func(time.Time) ([]*patch, error) {
		t, err := c.current()
		if err != nil {
			if t != nil && t.status == Completed && t.token == c.Token {
				return nil, nil
			}
			return nil, err
		}
		ready = texts(c.b.freed(t.id))
		return []*patch{completed(t, c.Owner, result)}, nil
	})
	if err == nil || errors.As(err, new(*LostError)) {
		c.b.forget(c.Owner, c.id, c.Token)
	}
	return ready, err
}

func completed(t *task, owner, result string) *patch {
	p := dropped(t, Completed)
	if owner != "" && t.owner != owner {
		p.text("owner", owner)
	}
	if result != "" {
		p.text("result", cut(result, longResult))
	}
	return p
}

// freed are the tasks that wait for this one alone.
func (b *Board) freed(id int) (ids []int) {
	for _, other := range b.s.waiters[id] {
		t := b.s.tasks[other]
		if waits := b.s.waits(t); t.status == Pending && len(waits) == 1 && waits[0] == id {
			ids = append(ids, other)
		}
	}
	return ids
}

// Release gives the task back undone: others can claim it.
func (c *Claim) Release(ctx context.Context) error {
	err := c.with(ctx, func(t *task, _ time.Time) *patch { return dropped(t, Pending) })
	if err == nil {
		c.b.forget(c.Owner, c.id, c.Token)
	}
	return err
}

// Fail gives the task back and says why it cannot be done. It stays pending, but
// nobody is given it by [Board.ClaimNext]; [Board.Claim], and a [Change] of its
// status to pending, begin anew.
func (c *Claim) Fail(ctx context.Context, why string) error {
	why = cut(line(why), longFailed)
	if why == "" {
		why = "its owner gave it up"
	}
	err := c.with(ctx, func(t *task, _ time.Time) *patch {
		t = &task{id: t.id, owner: t.owner, process: t.process, term: t.term, lease: t.lease, lost: t.lost}
		return dropped(t, Pending).text("failed", why)
	})
	if err == nil {
		c.b.forget(c.Owner, c.id, c.Token)
	}
	return err
}

// Hold renews the claim as long as work runs. When the claim is lost, or cannot
// be renewed before it ends, the context of work ends with why.
func (c *Claim) Hold(ctx context.Context, work func(context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	kept, last := make(chan struct{}), c.b.opts.Now()
	go func() {
		defer close(kept)
		c.b.keep(ctx, func() error {
			err := c.Renew(ctx)
			now := c.b.opts.Now()
			switch {
			case err == nil:
				last = now
			case errors.As(err, new(*LostError)), now.Sub(last) >= c.b.opts.Lease:
				stop(err)
			}
			return err
		})
	}()
	err := work(ctx)
	stop(context.Canceled)
	<-kept
	return err
}

// Keep renews all claims that owner got in this process, those he gets meanwhile
// too, until ctx ends. Claims that others have taken over it tells to lost, which
// may be nil.
func (b *Board) Keep(ctx context.Context, owner string, lost func(*LostError)) error {
	b.keep(ctx, func() error { return b.renew(ctx, owner, lost) })
	return context.Cause(ctx)
}

// keep calls renew a few times in each half of a lease, and sooner when it failed.
func (b *Board) keep(ctx context.Context, renew func() error) {
	every := b.opts.Lease / 4
	for pause := every; ; {
		next := time.NewTimer(max(pause, time.Millisecond))
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return
		}
		if pause = every; renew() != nil {
			pause = every / 4
		}
	}
}

// renew renews all claims of an owner by one line.
func (b *Board) renew(ctx context.Context, owner string, lost func(*LostError)) error {
	b.mu.Lock()
	tokens := make(map[int]int64, len(b.held[owner]))
	for id, token := range b.held[owner] {
		tokens[id] = token
	}
	b.mu.Unlock()
	if len(tokens) == 0 {
		return nil
	}
	var gone []*LostError
	late := false
	look := func(do func(*task)) {
		for id, token := range tokens {
			if t, err := (&Claim{b: b, id: id, Token: token}).current(); err == nil {
				do(t)
			} else if is := new(LostError); errors.As(err, &is) {
				gone = append(gone, is)
				delete(tokens, id)
			}
		}
	}
	err := b.view(func() {
		look(func(t *task) { late = late || t.lease.end-b.s.elapsed() <= t.term/2 })
	})
	if err == nil && late {
		err = b.update(ctx, owner, func(now time.Time) (patches []*patch, err error) {
			look(func(t *task) { patches = append(patches, b.renewed(t, now)) })
			return patches, nil
		})
	}
	for _, e := range gone {
		id, _ := strconv.Atoi(e.ID)
		b.forget(owner, id, e.Token)
		if lost != nil {
			lost(e)
		}
	}
	return err
}

// Reclaim gives back what processes had that are gone, so that all who wait see
// it at once. Whoever starts processes calls it when one has ended. Without it
// a task comes back too: to the next who looks.
func (b *Board) Reclaim(ctx context.Context) (ids []string, err error) {
	err = b.update(ctx, "", func(time.Time) (patches []*patch, err error) {
		ids = nil
		for _, t := range b.s.order {
			if t.status == InProgress && b.presence.ended(t.process) {
				kept := *t
				kept.lost = 0
				patches = append(patches, dropped(&kept, Pending).int("lost", int64(t.lost)+1))
				ids = append(ids, strconv.Itoa(t.id))
			}
		}
		return patches, nil
	})
	return ids, err
}

func checkOwner(owner string) error {
	switch {
	case owner == "":
		return errors.New("the owner of a task has a name")
	case len(owner) > longOwner:
		return fmt.Errorf("the name of an owner has %d bytes, the most is %d", len(owner), longOwner)
	case owner != line(owner) || strings.ContainsAny(owner, " @,()"):
		return fmt.Errorf("%.60q is no name of an owner: it has no spaces and none of @,()", owner)
	}
	return nil
}

// cut shortens a text to at most so many bytes.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= most {
		return s
	}
	const mark = " … [cut]"
	for most -= len(mark); most > 0 && !utf8.RuneStart(s[most]); most-- {
	}
	return s[:most] + mark
}

// line is a text in one line, without what steers a terminal.
func line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || 0x7f <= r && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	return strings.Join(strings.Fields(s), " ")
}
