package board_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"oneloop/team/board"
)

// shared is what a scenario needs of a task board, as one process sees it.
type shared interface {
	create(blockedBy ...string) (id string, err error)
	link(id, blocker string) error
	claim(owner, id string) error
	complete(owner, id string) error
	remove(id string) error
	crash()
	// idle has nothing to do until something is ready, which it claims; empty: it
	// gave up. It calls tick when five seconds have passed again.
	idle(owner string, tick func()) string
	// between is called once, in the middle of the next operation.
	between(do func())
}

// lesson is the board of the lessons: a file for each task, read and written by
// everybody as he likes.
type lesson struct {
	dir    string
	middle func()
}

type lessonTask struct {
	ID        int
	Status    string
	Owner     string
	BlockedBy []int
}

func (l *lesson) between(do func()) { l.middle = do }

func (l *lesson) halt() {
	if do := l.middle; do != nil {
		l.middle = nil
		do()
	}
}

func (l *lesson) load(id int) (t lessonTask, err error) {
	text, err := os.ReadFile(filepath.Join(l.dir, fmt.Sprintf("task_%d.json", id)))
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	return t, err
}

func (l *lesson) save(t lessonTask) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.dir, fmt.Sprintf("task_%d.json", t.ID)), text, 0o600)
}

func (l *lesson) all() map[int]lessonTask {
	out := map[int]lessonTask{}
	for id := 1; id < 20; id++ {
		if t, err := l.load(id); err == nil {
			out[id] = t
		}
	}
	return out
}

func (l *lesson) create(blockedBy ...string) (string, error) {
	t := lessonTask{ID: 1, Status: "pending"}
	for id := range l.all() {
		t.ID = max(t.ID, id+1)
	}
	for _, b := range blockedBy {
		t.BlockedBy = append(t.BlockedBy, atoi(b))
	}
	l.halt()
	return strconv.Itoa(t.ID), l.save(t)
}

func (l *lesson) link(id, blocker string) error {
	t, err := l.load(atoi(id))
	if err != nil {
		return err
	}
	t.BlockedBy = append(t.BlockedBy, atoi(blocker))
	return l.save(t)
}

func (l *lesson) claim(owner, id string) error {
	t, err := l.load(atoi(id))
	if err != nil {
		return err
	}
	if t.Status != "pending" || t.Owner != "" {
		return errors.New("not pending")
	}
	l.halt()
	t.Owner, t.Status = owner, "in_progress"
	return l.save(t)
}

func (l *lesson) complete(_, id string) error {
	t, err := l.load(atoi(id))
	if err != nil {
		return err
	}
	t.Status = "completed"
	for _, other := range l.all() {
		if i := slices.Index(other.BlockedBy, t.ID); i >= 0 {
			other.BlockedBy = slices.Delete(other.BlockedBy, i, i+1)
			if err := l.save(other); err != nil {
				return err
			}
		}
	}
	return l.save(t)
}

func (l *lesson) remove(id string) error {
	return os.Remove(filepath.Join(l.dir, fmt.Sprintf("task_%s.json", id)))
}

func (l *lesson) crash() {}

func (l *lesson) idle(owner string, tick func()) string {
	for range 12 {
		tick()
		all := l.all()
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if t := all[id]; t.Status == "pending" && t.Owner == "" && len(t.BlockedBy) == 0 && l.claim(owner, strconv.Itoa(id)) == nil {
				return strconv.Itoa(id)
			}
		}
	}
	return ""
}

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

// ours is a board of this package.
type ours struct {
	t      *testing.T
	b      *board.Board
	clock  *clock
	claims map[string]*board.Claim
	middle func()
}

func (o *ours) between(do func()) { o.middle = do }

// halt is before an operation: in its middle nobody is let in.
func (o *ours) halt() {
	if do := o.middle; do != nil {
		o.middle = nil
		do()
	}
}

func (o *ours) create(blockedBy ...string) (string, error) {
	o.halt()
	t, err := o.b.Create(o.t.Context(), board.New{Subject: "x", BlockedBy: blockedBy})
	return t.ID, err
}

func (o *ours) link(id, blocker string) error {
	_, err := o.b.Change(o.t.Context(), id, board.Change{AddBlockedBy: []string{blocker}})
	return err
}

func (o *ours) claim(owner, id string) error {
	o.halt()
	c, err := o.b.Claim(o.t.Context(), owner, id)
	o.claims[id] = c
	return err
}

func (o *ours) complete(_, id string) error {
	_, err := o.claims[id].Complete(o.t.Context(), "")
	return err
}

func (o *ours) remove(id string) error {
	_, err := o.b.Change(o.t.Context(), id, board.Change{Status: board.Deleted})
	return err
}

func (o *ours) crash() { o.b.Close() }

func (o *ours) idle(owner string, tick func()) string {
	got := make(chan board.Outlook, 1)
	go func() {
		out, err := o.b.Wait(o.t.Context(), owner)
		if err != nil {
			o.t.Error(err)
		}
		got <- out
	}()
	for i := range 200 {
		tick()
		pause := time.Millisecond
		if i == 100 {
			pause = 20 * time.Second // long after anything happens
		}
		select {
		case out := <-got:
			if out.Prospect != board.Ready {
				return ""
			}
			c, err := o.b.ClaimNext(o.t.Context(), owner)
			if err != nil {
				o.t.Error(err)
				return ""
			}
			return c.Task.ID
		case <-time.After(pause):
		}
	}
	return ""
}

// TestWhatGoesWrongWithTheBoardOfTheLessons plays each scenario on a board of
// theirs too, where it has to go wrong: else it would show nothing.
func TestWhatGoesWrongWithTheBoardOfTheLessons(t *testing.T) {
	for _, c := range []struct {
		name string
		play func(a, b shared, clock *clock) error
	}{
		{"two make a task at once", func(a, b shared, _ *clock) error {
			var other string
			a.between(func() { other, _ = b.create() })
			id, err := a.create()
			if id == other {
				return fmt.Errorf("both got #%s", id)
			}
			return err
		}},
		{"an id is used again", func(a, b shared, _ *clock) error {
			a.create()
			first, _ := a.create()
			b.remove(first)
			second, err := a.create()
			if first == second {
				return fmt.Errorf("#%s is another task now", first)
			}
			return err
		}},
		{"two wait for each other", func(a, b shared, _ *clock) error {
			first, _ := a.create()
			second, _ := a.create(first)
			if b.link(first, second) == nil {
				return errors.New("nobody refuses it")
			}
			return nil
		}},
		{"two pollers claim a task at once", func(a, b shared, _ *clock) error {
			id, _ := a.create()
			var theirs error
			a.between(func() { theirs = b.claim("s/b", id) })
			if ours := a.claim("s/a", id); (ours == nil) == (theirs == nil) {
				return fmt.Errorf("%v and %v", ours, theirs)
			}
			return nil
		}},
		{"an owner crashes", func(a, b shared, _ *clock) error {
			id, _ := a.create()
			if err := a.claim("s/a", id); err != nil {
				return err
			}
			a.crash()
			return b.claim("s/b", id)
		}},
		{"an owner hangs, and comes back when another has the task", func(a, b shared, clock *clock) error {
			id, _ := a.create()
			if err := a.claim("s/a", id); err != nil {
				return err
			}
			clock.add(time.Hour)
			if err := b.claim("s/b", id); err != nil {
				return err
			}
			if a.complete("s/a", id) == nil {
				return errors.New("both may complete it")
			}
			return b.complete("s/b", id)
		}},
		{"what is left is blocked for longer than a minute", func(a, b shared, clock *clock) error {
			first, _ := a.create()
			second, _ := a.create(first)
			if err := a.claim("s/a", first); err != nil {
				return err
			}
			waited := 0
			got := b.idle("s/b", func() {
				clock.add(5 * time.Second)
				if waited += 5; waited == 90 {
					a.complete("s/a", first)
				}
			})
			if got != second {
				return fmt.Errorf("nobody does #%s", second)
			}
			return nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := c.play(&lesson{dir: dir}, &lesson{dir: dir}, newClock()); err == nil {
				t.Error("it goes well with theirs")
			} else {
				t.Log("theirs:", err)
			}
			a, b, clock := two(t, board.Options{})
			play := func(b *board.Board) shared { return &ours{t: t, b: b, clock: clock, claims: map[string]*board.Claim{}} }
			if err := c.play(play(a), play(b), clock); err != nil {
				t.Error("ours:", err)
			}
		})
	}
}
