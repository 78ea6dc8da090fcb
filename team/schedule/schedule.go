// Package schedule has prompts said at times, to whoever of several processes is
// there.
//
// A schedule is a journal that all agents of a project share. Each time at which
// something is due is taken by one of them, under the journal's lock, before the
// prompt is said: never twice. What was due while nobody was there is said once,
// by the first who comes; so is what was due several times while whoever took it
// was still at work.
package schedule

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"oneloop/internal/journal"
	"oneloop/internal/watch"
)

// Bounds, so that an agent that schedules itself is held.
const (
	MaxEntries = 50                 // at a time
	MaxPrompt  = 16 << 10           // bytes
	MaxAge     = 7 * 24 * time.Hour // after which one that comes again and again ends
	MaxHourly  = 60                 // prompts of all entries together in any hour
)

// Entry is a prompt and when it is due.
type Entry struct {
	ID        string    `json:"id"` // "cron_1", never given twice
	Cron      string    `json:"cron"`
	Prompt    string    `json:"prompt"`
	Recurring bool      `json:"recurring,omitempty"` // else it ends when it was said
	By        string    `json:"by,omitempty"`        // who made it
	Passing   bool      `json:"passing,omitempty"`   // for its maker alone, and gone with it
	Made      time.Time `json:"made"`
	Next      time.Time `json:"next"`              // due then
	Said      int       `json:"said,omitempty"`    // how often it was
	LastBy    string    `json:"last_by,omitempty"` // to whom last
	LastDue   time.Time `json:"last_due,omitzero"` // when that was due
	Skipped   int       `json:"skipped,omitempty"` // times that were due and went together with one that was said
}

// Fire is an entry that is due now and was taken. Nobody else gets it.
type Fire struct {
	Entry
	Due    time.Time // the last time that it stands for
	Missed int       // times before that which it stands for as well
	Last   bool      // the entry has ended
}

// Options are the settings of [Open].
type Options struct {
	Owner string           // says who makes and takes entries, such as a session's id
	Now   func() time.Time // nil: time.Now
}

// Schedule is one agent's access to the entries of a project. It is safe for
// concurrent use.
type Schedule struct {
	opts    Options
	journal *journal.Journal
	entries state
}

// Open returns the schedule that is kept in the file path, which need not be
// there.
func Open(path string, o Options) *Schedule {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Schedule{opts: o}
	s.entries.Reset()
	s.journal = journal.New(path, &s.entries)
	return s
}

// line is one change.
type line struct {
	V     int       `json:"v"`
	Kind  string    `json:"k"` // add, fire, delete
	At    time.Time `json:"at"`
	Entry *Entry    `json:"entry,omitempty"` // what became of it; of delete only the id
	ID    string    `json:"id,omitempty"`
	Count int       `json:"count,omitempty"` // of ids that were given, in a file that was rewritten
}

const version = 1

type state struct {
	list  []Entry     // in the order they were made
	given int         // ids
	fired []time.Time // the latest
	newer bool        // there are lines that a newer program wrote, which are left to it
}

func (s *state) Reset() { *s = state{} }

func (s *state) Apply(text []byte) {
	var l line
	if json.Unmarshal(text, &l) != nil || l.V > version {
		s.newer = s.newer || l.V > version
		return
	}
	s.given = max(s.given, l.Count)
	switch {
	case l.Kind == "add" && l.Entry != nil:
		if n, err := strconv.Atoi(strings.TrimPrefix(l.Entry.ID, "cron_")); err == nil {
			s.given = max(s.given, n)
		}
		s.drop(l.Entry.ID)
		s.list = append(s.list, *l.Entry)
	case l.Kind == "fire" && l.Entry != nil:
		s.fired = append(s.fired, l.At)
		if len(s.fired) > MaxHourly {
			s.fired = s.fired[1:]
		}
		if i := s.find(l.Entry.ID); i >= 0 {
			s.list[i] = *l.Entry
		}
	case l.Kind == "delete":
		s.drop(l.ID)
	}
}

func (s *state) find(id string) int {
	return slices.IndexFunc(s.list, func(e Entry) bool { return e.ID == id })
}

func (s *state) drop(id string) {
	s.list = slices.DeleteFunc(s.list, func(e Entry) bool { return e.ID == id })
}

// Add makes an entry of what is given of it: the expression, which is read by
// [Parse] and counts by the clock of this machine, the prompt, whether it comes
// again, whether it passes.
func (s *Schedule) Add(ctx context.Context, e Entry) (Entry, error) {
	c, err := Parse(e.Cron)
	if err != nil {
		return Entry{}, err
	}
	prompt := strings.TrimSpace(e.Prompt)
	switch {
	case prompt == "":
		return Entry{}, errors.New("the prompt is blank; say what is to be done then")
	case len(prompt) > MaxPrompt:
		return Entry{}, fmt.Errorf("the prompt has %d bytes, %d are the most; put what is long into a file and name it", len(prompt), MaxPrompt)
	case !utf8.ValidString(prompt):
		return Entry{}, errors.New("the prompt is not valid UTF-8")
	}
	err = s.journal.Update(ctx, func() ([][]byte, error) {
		if n := len(s.entries.list); n >= MaxEntries {
			return nil, fmt.Errorf("there are %d entries, which is the most; delete one that is not needed any more", n)
		}
		now := s.opts.Now()
		e = Entry{ID: fmt.Sprintf("cron_%d", s.entries.given+1), Cron: c.String(), Prompt: prompt, Recurring: e.Recurring, Passing: e.Passing,
			By: s.opts.Owner, Made: now, Next: c.Next(now)}
		return lines(line{Kind: "add", At: now, Entry: &e}), nil
	})
	return e, err
}

// lines are changes as they are kept.
func lines(changes ...line) (out [][]byte) {
	for _, l := range changes {
		l.V = version
		text, err := json.Marshal(l)
		if err != nil {
			panic(err) // nothing in it has no form
		}
		out = append(out, text)
	}
	return out
}

// ErrNone says that there is no entry of that id.
var ErrNone = errors.New("there is no such entry")

// Delete removes an entry.
func (s *Schedule) Delete(ctx context.Context, id string) error {
	return s.journal.Update(ctx, func() ([][]byte, error) {
		if s.entries.find(id) < 0 {
			return nil, fmt.Errorf("%w: %q", ErrNone, id)
		}
		return lines(line{Kind: "delete", At: s.opts.Now(), ID: id}), nil
	})
}

// List is all entries, in the order they were made.
func (s *Schedule) List() (all []Entry, err error) {
	err = s.journal.View(func() { all = slices.Clone(s.entries.list) })
	return all, err
}

// abandoned is how long after its time an entry that passes is removed by others:
// its maker would have taken it.
const abandoned = time.Hour

// hour are the times in the last hour at which something was said.
func (s *state) hour(now time.Time) []time.Time {
	return slices.DeleteFunc(slices.Clone(s.fired), func(t time.Time) bool { return now.Sub(t) >= time.Hour || t.After(now) })
}

// Take gives what is due, taken so that nobody else gets it. A process that ends
// between that and saying the prompt has it lost: what an agent does on its own
// had better be left out once than done twice. The entry says who took it.
func (s *Schedule) Take(ctx context.Context) (fires []Fire, err error) {
	now := s.opts.Now()
	if rest, any, err := s.rest(); err != nil || !any || rest > 0 {
		return nil, err
	}
	err = s.journal.Update(ctx, func() ([][]byte, error) {
		var changes []line
		left := MaxHourly - len(s.entries.hour(now))
		for _, e := range s.entries.list {
			switch {
			case e.Next.After(now):
			case e.Passing && e.By != s.opts.Owner:
				if now.Sub(e.Next) > abandoned {
					changes = append(changes, line{Kind: "delete", At: now, ID: e.ID})
				}
			case left > 0:
				f, change := e.fire(now, s.opts.Owner)
				fires, changes = append(fires, f), append(changes, change...)
				left--
			}
		}
		return lines(changes...), nil
	})
	if err != nil {
		return nil, err
	}
	s.shorten(ctx)
	return fires, nil
}

// fire is what becomes of an entry that is due.
func (e Entry) fire(now time.Time, owner string) (Fire, []line) {
	f := Fire{Due: e.Next, Last: !e.Recurring}
	c, err := Parse(e.Cron)
	if err != nil { // a newer program's, perhaps
		f.Last = true
	}
	for n := c.Next(e.Next.In(now.Location())); !f.Last && !n.IsZero() && !n.After(now); n = c.Next(n) {
		f.Due = n
		f.Missed++
	}
	e.Said++
	e.Skipped += f.Missed
	e.LastBy, e.LastDue = owner, f.Due
	if e.Next = c.Next(now); e.Next.IsZero() || e.Next.Sub(e.Made) > MaxAge && e.Recurring {
		f.Last = true
	}
	f.Entry = e
	changes := []line{{Kind: "fire", At: now, Entry: &e}}
	if f.Last {
		changes = append(changes, line{Kind: "delete", At: now, ID: e.ID})
	}
	return f, changes
}

// shorten rewrites a file that has become much longer than what is in it.
func (s *Schedule) shorten(ctx context.Context) {
	if s.journal.Lines() < 20*MaxEntries {
		return
	}
	// When it fails the file is as it was, and as good.
	s.journal.Rewrite(ctx, func() ([][]byte, error) {
		if s.entries.newer {
			return nil, nil
		}
		now := s.opts.Now()
		all := []line{{Kind: "count", At: now, Count: s.entries.given}}
		for _, at := range s.entries.fired {
			all = append(all, line{Kind: "fire", At: at, Entry: new(Entry)})
		}
		for _, e := range s.entries.list {
			all = append(all, line{Kind: "add", At: now, Entry: &e})
		}
		return lines(all...), nil
	})
}

// Wait waits until something is due, and takes it. folders watches the folder of
// the file, see [watch.New]. It ends with the cause of ctx.
func (s *Schedule) Wait(ctx context.Context, folders *watch.Folders) ([]Fire, error) {
	for {
		changed := folders.Next(s.journal.Path())
		fires, err := s.Take(ctx)
		if err != nil || len(fires) > 0 {
			return fires, err
		}
		rest, any, err := s.rest()
		if err != nil {
			return nil, err
		}
		var rings <-chan time.Time
		stop := func() bool { return true }
		if any {
			// A timer stands still while the machine sleeps, and knows nothing of
			// a clock that is set: one looks each minute.
			timer := time.NewTimer(min(rest, time.Minute))
			rings, stop = timer.C, timer.Stop
		}
		select {
		case <-changed:
		case <-rings:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		stop()
		if err != nil {
			return nil, err
		}
	}
}

// rest is how long there is nothing to do, 0 when something is due; any is
// whether there is anything at all.
func (s *Schedule) rest() (rest time.Duration, any bool, err error) {
	err = s.journal.View(func() {
		now := s.opts.Now()
		free := now // for another prompt
		if hour := s.entries.hour(now); len(hour) >= MaxHourly {
			free = hour[0].Add(time.Hour)
		}
		for _, e := range s.entries.list {
			at := e.Next
			if e.Passing && e.By != s.opts.Owner {
				at = at.Add(abandoned + 1)
			} else if at.Before(free) {
				at = free
			}
			if wait := max(at.Sub(now), 0); !any || wait < rest {
				rest, any = wait, true
			}
		}
	})
	return rest, any, err
}

// Leave removes the entries that pass with their maker, and closes the file.
func (s *Schedule) Leave(ctx context.Context) error {
	mine := func(e Entry) bool { return e.Passing && e.By == s.opts.Owner }
	list, err := s.List()
	if err == nil && slices.ContainsFunc(list, mine) {
		err = s.journal.Update(ctx, func() ([][]byte, error) {
			var changes []line
			for _, e := range s.entries.list {
				if mine(e) {
					changes = append(changes, line{Kind: "delete", At: s.opts.Now(), ID: e.ID})
				}
			}
			return lines(changes...), nil
		})
	}
	return errors.Join(err, s.journal.Close())
}

// String is an entry in one line.
func (e Entry) String() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s [%s] next %s", e.ID, e.Cron, e.Next.Format("2006-01-02 15:04"))
	if !e.Recurring {
		b.WriteString(", once")
	}
	if e.Said > 0 {
		fmt.Fprintf(&b, ", said %d times", e.Said)
	}
	prompt := strings.Join(strings.Fields(e.Prompt), " ")
	if runes := []rune(prompt); len(runes) > 80 {
		prompt = string(runes[:79]) + "…"
	}
	return b.String() + ": " + prompt
}
