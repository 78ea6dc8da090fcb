package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"oneloop/internal/alive"
	"oneloop/internal/journal"
	"oneloop/internal/watch"
	"oneloop/team/mail"
)

// DefaultExpiry is how long a request waits for its answer.
const DefaultExpiry = 15 * time.Minute

// DefaultMembers is how many may be there at once.
const DefaultMembers = 64

// Options make a [Crew].
type Options struct {
	Mail    mail.Limits
	Members int              // there at once; 0: DefaultMembers, below zero: any number
	Expiry  time.Duration    // of requests that name none; 0: DefaultExpiry
	Now     func() time.Time // nil: time.Now
}

// Crew are the agents of one project. One serves all agents of a process; it is safe
// for concurrent use.
type Crew struct {
	dir     string
	path    string
	opts    Options
	now     func() time.Time
	post    *mail.Post
	journal *journal.Journal

	// Under the lock of journal.
	n        int64
	members  []*Member // the last of each name, in the order in which they came
	requests []*Request

	mu      sync.Mutex
	folders *watch.Folders // nil: nobody has waited yet
	seats   map[*Seat]bool // of this process: a file that nobody refers to is closed, and its holder taken for gone
	closed  chan struct{}
}

// version of the lines.
const version = 1

// line is one line of team.jsonl.
type line struct {
	V    int       `json:"v"`
	N    int64     `json:"n"`
	Time time.Time `json:"t"`
	Op   string    `json:"op"`

	Member  *Member  `json:"member,omitempty"`  // opJoin
	Seat    string   `json:"seat,omitempty"`    // opState
	State   State    `json:"state,omitempty"`   // opState
	Request *Request `json:"request,omitempty"` // opAsk
	ID      string   `json:"id,omitempty"`      // opEnd
	Status  Status   `json:"status,omitempty"`  // opEnd
	Answer  string   `json:"answer,omitempty"`  // opEnd
}

const (
	opJoin  = "join"
	opState = "state"
	opAsk   = "ask"
	opEnd   = "end"
)

// Open opens the crew of a project in its folder, which is made when it is not there:
// team.jsonl, mail/ and live/ in it are for this package. Agents' commands must not
// reach that folder.
func Open(dir string, o Options) (*Crew, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Crew{dir: dir, path: filepath.Join(dir, "team.jsonl"), opts: o, now: func() time.Time { return o.Now().Round(0).UTC() }, seats: map[*Seat]bool{}, closed: make(chan struct{})}
	c.journal = journal.New(c.path, c)
	post, err := mail.Open(filepath.Join(dir, "mail"), mail.Options{Roster: c, Limits: o.Mail, Now: o.Now})
	if err != nil {
		return nil, err
	}
	c.post = post
	return c, nil
}

// Mail is the mail of the crew; its members are who there is.
func (c *Crew) Mail() *mail.Post { return c.post }

// Dir is the folder that was opened.
func (c *Crew) Dir() string { return c.dir }

// Close ends all waiting and closes the files. It gives back no seat.
func (c *Crew) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closed:
		return nil
	default:
	}
	close(c.closed)
	errs := []error{c.post.Close(), c.journal.Close()}
	if c.folders != nil {
		errs = append(errs, c.folders.Close())
	}
	return errors.Join(errs...)
}

// watch is made when somebody waits for the first time; nil when c is closed.
func (c *Crew) watch() *watch.Folders {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closed:
		return nil
	default:
	}
	if c.folders == nil {
		c.folders = watch.New(c.dir)
	}
	return c.folders
}

// Reset is for the journal.
func (c *Crew) Reset() { c.n, c.members, c.requests = 0, nil, nil }

// Apply is for the journal.
func (c *Crew) Apply(data []byte) {
	var l line
	if json.Unmarshal(data, &l) != nil {
		return
	}
	c.n = max(c.n, l.N)
	switch l.Op {
	case opJoin:
		if l.Member == nil || mail.CheckName(l.Member.Name) != nil || !isID(l.Member.Seat) {
			return
		}
		c.members = append(slices.DeleteFunc(c.members, func(m *Member) bool { return m.Name == l.Member.Name }), l.Member)
	case opState:
		for _, m := range c.members {
			if m.Seat == l.Seat {
				m.State, m.Since = l.State, l.Time
			}
		}
	case opAsk:
		if r := l.Request; r != nil && isID(r.ID) && mail.CheckName(r.From) == nil && mail.CheckName(r.To) == nil && c.request(r.ID) == nil {
			c.requests = append(c.requests, l.Request)
		}
	case opEnd:
		if r := c.request(l.ID); r != nil && r.Status == Pending {
			r.Status, r.Answer, r.Ended = l.Status, l.Answer, l.Time
		}
	}
}

// isID reports whether s is what NewID makes: a seat becomes a path.
func isID(s string) bool {
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return 0 < len(s) && len(s) <= mail.LongestName
}

// member is the last one of a name, nil: there was none.
func (c *Crew) member(name string) *Member {
	for _, m := range c.members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

func (c *Crew) request(id string) *Request {
	for _, r := range c.requests {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// update has decide see what is so now, and writes its lines. Before that, what came
// to its end without anybody saying so is written down.
func (c *Crew) update(ctx context.Context, decide func(now time.Time) ([]line, error)) error {
	if err := c.settle(ctx); err != nil {
		return err
	}
	return c.write(ctx, decide)
}

func (c *Crew) write(ctx context.Context, decide func(now time.Time) ([]line, error)) error {
	err := c.journal.Update(ctx, func() (out [][]byte, err error) {
		now := c.now()
		lines, err := decide(now)
		for i, l := range lines {
			l.V, l.N, l.Time = version, c.n+int64(i)+1, now
			b, err := json.Marshal(l)
			if err != nil {
				return nil, err
			}
			out = append(out, b)
		}
		return out, err
	})
	if err == nil {
		c.mu.Lock()
		if c.folders != nil {
			c.folders.Tell(c.path)
		}
		c.mu.Unlock()
	}
	return err
}

// settle writes down what came to an end by itself.
func (c *Crew) settle(ctx context.Context) error {
	var ends []line
	var err error
	if viewed := c.journal.View(func() { ends, err = c.ends(c.now()) }); viewed != nil || err != nil || len(ends) == 0 {
		return errors.Join(viewed, err)
	}
	err = c.write(ctx, func(now time.Time) ([]line, error) {
		ends, err = c.ends(now)
		return ends, err
	})
	for _, l := range ends { // nobody holds these any more
		if l.Op == opState && err == nil {
			if err = os.Remove(c.alive(l.Seat)); errors.Is(err, os.ErrNotExist) {
				err = nil
			}
		}
	}
	if err != nil {
		return fmt.Errorf("bring the team up to date: %w", err)
	}
	return nil
}

// ends are the lines for members whose process is gone and for requests that are over.
func (c *Crew) ends(now time.Time) (lines []line, err error) {
	here := map[string]bool{} // seats
	for _, m := range c.members {
		if m.State.ended() {
			continue
		}
		gone, err := alive.Gone(c.alive(m.Seat))
		if err != nil {
			return nil, fmt.Errorf("look whether %s is there: %w", m.Name, err)
		}
		if here[m.Seat] = !gone; gone {
			lines = append(lines, line{Op: opState, Seat: m.Seat, State: Gone})
		}
	}
	for _, r := range c.requests {
		switch {
		case r.Status != Pending:
		case !here[r.ToSeat]:
			lines = append(lines, line{Op: opEnd, ID: r.ID, Status: Left})
		case !now.Before(r.Until):
			lines = append(lines, line{Op: opEnd, ID: r.ID, Status: Expired})
		}
	}
	return lines, nil
}

// alive is the file that says whether a seat is taken by a living process.
func (c *Crew) alive(seat string) string { return filepath.Join(c.dir, "live", seat) }

// A file of more lines than these, of which most are over, is rewritten.
const (
	longFile  = 512
	needsOnly = 4
	kept      = 100 // of what is over, for those who ask what became of it
)

// compact leaves out of the file what is over.
func (c *Crew) compact(ctx context.Context) error {
	needed := 0
	err := c.journal.View(func() { needed = len(c.neededMembers()) + len(c.neededRequests()) })
	if err != nil || c.journal.Lines() <= max(longFile, needsOnly*needed) {
		return err
	}
	return c.journal.Rewrite(ctx, func() (out [][]byte, err error) {
		add := func(l line) {
			if err != nil {
				return
			}
			var b []byte
			l.V, l.N, l.Time = version, c.n, c.now()
			b, err = json.Marshal(l)
			out = append(out, b)
		}
		for _, m := range c.neededMembers() {
			add(line{Op: opJoin, Member: m})
		}
		for _, r := range c.neededRequests() {
			add(line{Op: opAsk, Request: r})
		}
		return out, err
	})
}

func (c *Crew) neededMembers() []*Member {
	return newest(c.members, func(m *Member) bool { return !m.State.ended() })
}

func (c *Crew) neededRequests() []*Request {
	return newest(c.requests, func(r *Request) bool { return r.Status == Pending })
}

// newest are those that are needed, and the last ones of the others.
func newest[T any](list []T, needed func(T) bool) (out []T) {
	over := 0
	for _, x := range slices.Backward(list) {
		if !needed(x) {
			over++
		}
		if needed(x) || over <= kept {
			out = append(out, x)
		}
	}
	slices.Reverse(out)
	return out
}
