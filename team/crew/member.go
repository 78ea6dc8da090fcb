package crew

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"oneloop/internal/alive"
	"oneloop/team/mail"
)

// State is what a member is doing.
type State string

// States. The last two are ends: the name can be taken again.
const (
	Working  State = "working"
	Idle     State = "idle"      // until there is something for it
	Waiting  State = "waiting"   // for an answer
	ShutDown State = "shut down" // it left
	Gone     State = "gone"      // its process ended without a word
)

func (s State) ended() bool { return s == ShutDown || s == Gone }

// Member is an agent of the crew.
type Member struct {
	Name    string    `json:"name"`
	Role    string    `json:"role,omitempty"`  // a few words
	Model   string    `json:"model,omitempty"` // that it was started with
	Session string    `json:"session,omitempty"`
	State   State     `json:"state"`
	Since   time.Time `json:"since"` // of State
	PID     int       `json:"pid"`
	Seat    string    `json:"seat"` // differs each time that a name is taken
}

// reserved are names that mean somebody who is no agent.
func reserved(name string) bool {
	return slices.Contains([]string{"user", "system", "assistant", "oneloop", "all", "everyone"}, name)
}

// ErrTaken says that a name is in use, or that there is no room.
var ErrTaken = errors.New("the name is taken")

// longest role, model and session, in bytes.
const longWords = 200

// Seat is a member's own hold on its name. It is safe for concurrent use.
type Seat struct {
	crew *Crew
	mine Member

	mu     sync.Mutex
	holder *alive.Holder // nil: left
	state  State
}

// Join takes a name. It fails with [ErrTaken] as long as another has that: until it has
// left, or its process is gone. Name, Role, Model and Session of m count.
func (c *Crew) Join(ctx context.Context, m Member) (*Seat, error) {
	if err := mail.CheckName(m.Name); err != nil {
		return nil, err
	}
	if reserved(m.Name) {
		return nil, fmt.Errorf("%q is no name for an agent: it means somebody else", m.Name)
	}
	for _, words := range []*string{&m.Role, &m.Model, &m.Session} {
		*words = strings.Join(strings.Fields(strings.ToValidUTF8(*words, "?")), " ")
		if len(*words) > longWords {
			*words = strings.ToValidUTF8((*words)[:longWords-len("…")], "") + "…"
		}
	}
	m.State, m.PID, m.Seat = Working, os.Getpid(), mail.NewID("", c.now())
	holder, err := alive.Hold(c.alive(m.Seat))
	if err != nil {
		return nil, fmt.Errorf("join the team as %s: %w", m.Name, err)
	}
	err = c.update(ctx, func(now time.Time) ([]line, error) {
		m.Since = now
		here := 0
		for _, other := range c.members {
			switch {
			case other.State.ended():
			case other.Name == m.Name:
				return nil, fmt.Errorf("%w: %s is %s (process %d, session %s). Take another name, or wait until it has left", ErrTaken, other.Name, other.State, other.PID, other.Session)
			default:
				here++
			}
		}
		most := c.opts.Members
		if most == 0 {
			most = DefaultMembers
		} else if most < 0 {
			most = math.MaxInt
		}
		if here >= most {
			return nil, fmt.Errorf("%w: %d agents are there, and that is the most", ErrTaken, here)
		}
		return []line{{Op: opJoin, Member: &m}}, nil
	})
	if err == nil {
		err = errors.Join(c.compact(ctx), c.sweep())
	}
	if err != nil {
		return nil, errors.Join(err, holder.Release())
	}
	s := &Seat{crew: c, mine: m, holder: holder, state: Working}
	c.mu.Lock()
	c.seats[s] = true
	c.mu.Unlock()
	return s, nil
}

// old is the age of a file that nobody can be about to hold.
const old = time.Minute

// sweep removes the files of those who were killed before they had joined, or before
// they had removed that of another one who was.
func (c *Crew) sweep() error {
	dir := filepath.Dir(c.alive("x"))
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	here, ended := map[string]bool{}, map[string]bool{}
	if err := c.journal.View(func() {
		for _, m := range c.members {
			here[m.Seat], ended[m.Seat] = !m.State.ended(), m.State.ended()
		}
	}); err != nil {
		return err
	}
	for _, entry := range list {
		fi, err := entry.Info()
		if err != nil || here[entry.Name()] || !ended[entry.Name()] && time.Since(fi.ModTime()) < old {
			continue // it is gone, or not to be looked at
		}
		path := filepath.Join(dir, entry.Name())
		if gone, err := alive.Gone(path); err == nil && gone {
			err = os.Remove(path)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// Member is the one whose seat it is, as it joined.
func (s *Seat) Member() Member { return s.mine }

// Mailbox opens the member's mailbox; seen as in [mail.Reader]. What was written to the
// name before, and not read, is there too. Requests among that which are over, because
// they were made to another one of that name for example, are not delivered any more.
func (s *Seat) Mailbox(ctx context.Context, seen map[string]bool) (*mail.Mailbox, error) {
	requests, err := s.crew.Requests(ctx)
	if err != nil {
		return nil, err
	}
	pending := map[string]bool{}
	for _, r := range requests {
		pending[r.ID] = r.Status == Pending
	}
	waiting, err := s.crew.post.Waiting(s.mine.Name)
	if err != nil {
		return nil, err
	}
	seen = maps.Clone(seen)
	for _, m := range waiting {
		if (m.Kind == mail.ShutdownRequest || m.Kind == mail.PlanRequest) && !pending[m.Request] {
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[m.ID] = true
		}
	}
	return s.crew.post.Mailbox(s.mine.Name, mail.Reader{Session: s.mine.Session, Seen: seen})
}

// Set says what the member is doing.
func (s *Seat) Set(ctx context.Context, state State) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == state {
		return nil
	}
	if s.holder == nil || state.ended() {
		return fmt.Errorf("say that %s is %s: it has left, or is to leave by Leave", s.mine.Name, state)
	}
	return s.set(ctx, state)
}

func (s *Seat) set(ctx context.Context, state State) error {
	err := s.crew.update(ctx, func(time.Time) ([]line, error) {
		m := s.crew.member(s.mine.Name)
		if m == nil || m.Seat != s.mine.Seat || m.State.ended() {
			return nil, fmt.Errorf("say that %s is %s: %w by another since, or was given up", s.mine.Name, state, ErrTaken)
		}
		return []line{{Op: opState, Seat: s.mine.Seat, State: state}}, nil
	})
	if err == nil {
		s.state = state
	}
	return err
}

// Leave gives the name back. Requests to the member end.
func (s *Seat) Leave(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder == nil {
		return nil
	}
	err := s.set(ctx, ShutDown)
	if released := s.holder.Release(); err == nil {
		err = released
	}
	s.holder = nil
	s.crew.mu.Lock()
	delete(s.crew.seats, s)
	s.crew.mu.Unlock()
	return errors.Join(err, s.crew.settle(ctx))
}

// Members are all that there are and, as far as it is known, that there were, with
// what they are doing now.
func (c *Crew) Members() (list []Member, err error) {
	viewed := c.journal.View(func() {
		for _, m := range c.members {
			now := *m
			if now.State, err = c.state(m); err != nil {
				return
			}
			list = append(list, now)
		}
	})
	if err = errors.Join(viewed, err); err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}
	return list, nil
}

// state is what a member is doing, which it does not say itself when it was killed.
func (c *Crew) state(m *Member) (State, error) {
	if m.State.ended() {
		return m.State, nil
	}
	gone, err := alive.Gone(c.alive(m.Seat))
	if gone {
		return Gone, nil
	}
	return m.State, err
}

// Recipient makes a Crew a [mail.Roster].
func (c *Crew) Recipient(name string) (r mail.Recipient, known bool, err error) {
	viewed := c.journal.View(func() {
		m := c.member(name)
		if known = m != nil; known {
			var s State
			s, err = c.state(m)
			r = recipient(name, s)
		}
	})
	return r, known, errors.Join(viewed, err)
}

// Recipients makes a Crew a [mail.Roster].
func (c *Crew) Recipients() (list []mail.Recipient, err error) {
	members, err := c.Members()
	for _, m := range members {
		list = append(list, recipient(m.Name, m.State))
	}
	return list, err
}

func recipient(name string, s State) mail.Recipient {
	r := mail.Recipient{Name: name}
	switch s {
	case ShutDown:
		r.Away = "has shut down"
	case Gone:
		r.Away = "is gone, without a word"
	}
	return r
}
