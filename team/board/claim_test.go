package board_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"oneloop/team/board"
)

// two are boards of two processes, as far as anybody can tell, with one clock.
func two(t *testing.T, o board.Options) (a, b *board.Board, c *clock) {
	c, path := newClock(), fresh(t)
	o.Now = c.now
	return open(t, path, o), open(t, path, o), c
}

func TestWhatSomebodyHasNobodyElseGets(t *testing.T) {
	a, b, c := two(t, board.Options{})
	create(t, a, "x")
	claim(t, a, "s1/ann", "1")
	c.add(30 * time.Second)
	for _, err := range []error{
		refused(b.Claim(t.Context(), "s2/bob", "1")),
		refused(b.Claim(t.Context(), "s1/ann", "1")), // of the same name, and somewhere else
		refusedChange(b.Change(t.Context(), "1", board.Change{By: "s2/bob", Status: board.InProgress})),
		refusedChange(b.Change(t.Context(), "1", board.Change{By: "s2/bob", Status: board.Completed})),
		refusedChange(b.Change(t.Context(), "1", board.Change{By: "s2/bob", Status: board.Pending})),
		refusedChange(b.Change(t.Context(), "1", board.Change{By: "s2/bob", Status: board.Deleted})),
		refusedChange(b.Change(t.Context(), "1", board.Change{By: "s2/bob", Owner: new("s2/bob")})),
	} {
		held := new(board.HeldError)
		if !errors.As(err, &held) || held.Owner != "s1/ann" || held.Left != 90*time.Second || held.Error() != "#1 is in progress: s1/ann has it, for 1m30s more unless it is renewed" {
			t.Errorf("%v", err)
		}
	}
	if _, err := b.ClaimNext(t.Context(), "s2/bob"); !errors.Is(err, board.ErrNothing) {
		t.Error(err)
	}
	// What it is about may be changed by all.
	if out, err := b.Change(t.Context(), "1", board.Change{By: "s2/bob", Description: new("more of it")}); err != nil || out.Task.Owner != "s1/ann" {
		t.Error(out, err)
	}
	if got := claim(t, a, "s1/ann", "1"); got.Token != 1 {
		t.Errorf("who has it gets it again, with token %d", got.Token)
	}
}

func refused(_ *board.Claim, err error) error        { return err }
func refusedChange(_ board.Changed, err error) error { return err }

func TestALateOwnerIsToldWhoHasTheTask(t *testing.T) {
	a, b, c := two(t, board.Options{})
	create(t, a, "x")
	late := claim(t, a, "s1/ann", "1")
	c.add(board.DefaultLease - 1)
	if _, err := b.ClaimNext(t.Context(), "s2/bob"); !errors.Is(err, board.ErrNothing) {
		t.Fatal("before the end of the lease:", err)
	}
	c.add(1)
	if got := task(t, b, "1"); !got.Lapsed {
		t.Errorf("%+v", got)
	}
	next, err := b.ClaimNext(t.Context(), "s2/bob")
	if err != nil || next.Token != 2 {
		t.Fatal(next, err)
	}
	_, completed := late.Complete(t.Context(), "mine")
	all := []error{completed, late.Release(t.Context()), late.Fail(t.Context(), "why"), late.Renew(t.Context())}
	for _, err := range all {
		if err == nil || err.Error() != "the claim on #1 (token 1) is over, and nothing was changed: s2/bob has the task now (token 2)" {
			t.Error(err)
		}
	}
	if got := task(t, a, "1"); got.Owner != "s2/bob" || got.Status != board.InProgress || got.Result != "" {
		t.Errorf("%+v", got)
	}
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return next.Release(t.Context()) }, "nobody has the task now (token 2)"},
		{func() error { _, err := claim(t, b, "s2/bob", "1").Complete(t.Context(), ""); return err }, "s2/bob has completed the task (token 3)"},
		{func() error {
			_, err := b.Change(t.Context(), "1", board.Change{Status: board.Pending, Owner: new("s3/eve")})
			return err
		}, "the task is given to s3/eve"},
		{func() error { _, err := b.Change(t.Context(), "1", board.Change{Status: board.Deleted}); return err }, "the task was deleted"},
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		if err := late.Renew(t.Context()); err == nil || !strings.HasSuffix(err.Error(), ": "+s.want) {
			t.Errorf("%v, not %s", err, s.want)
		}
	}
}

func TestALeaseThatIsOverIsGoodAsLongAsNobodyTookTheTask(t *testing.T) {
	a, b, c := two(t, board.Options{})
	create(t, a, "x")
	create(t, a, "y")
	first, second := claim(t, a, "s/a", "1"), claim(t, a, "s/a", "2")
	c.add(time.Hour)
	if err := first.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := b.Claim(t.Context(), "s/b", "1"); err == nil {
		t.Error("it was renewed")
	}
	if _, err := second.Complete(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if _, err := second.Complete(t.Context(), ""); err != nil {
		t.Error("said again:", err)
	}
}

func TestToHoldATaskAddsALineInHalfALease(t *testing.T) {
	a, b, c := two(t, board.Options{})
	create(t, a, "x")
	held := claim(t, a, "s/a", "1")
	changed := task(t, a, "1").Updated
	before := a.Lines()
	const leases = 50
	for range leases * 12 {
		c.add(board.DefaultLease / 12)
		if err := held.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.ClaimNext(t.Context(), "s/b"); !errors.Is(err, board.ErrNothing) {
			t.Fatal(err)
		}
	}
	if n := a.Lines() - before; n != 2*leases {
		t.Errorf("%d lines in %d leases", n, leases)
	}
	if got := task(t, b, "1"); !got.Updated.Equal(changed) {
		t.Errorf("to hold a task changes it: %v", got.Updated)
	}
	for range 2 * board.LeastLines {
		c.add(board.DefaultLease / 2)
		if err := held.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := a.Lines(); n > board.LeastLines+1 {
		t.Errorf("a task that is held for long has grown the file to %d lines", n)
	}
}

func TestWhatAProcessHadThatIsGoneComesBackAtOnce(t *testing.T) {
	path := fresh(t)
	a, b := open(t, path, board.Options{}), open(t, path, board.Options{})
	create(t, a, "x")
	late := claim(t, a, "s/a", "1")
	if err := a.Close(); err != nil { // as the kernel does when a process ends
		t.Fatal(err)
	}
	if got := task(t, b, "1"); !got.Lapsed {
		t.Errorf("%+v", got)
	}
	if got := claim(t, b, "s/b", "1"); got.Token != 2 {
		t.Errorf("%+v", got)
	}
	if err := late.Renew(t.Context()); !errors.As(err, new(*board.LostError)) {
		t.Error(err)
	}
	// The same agent, in a new process: resumed.
	c := open(t, path, board.Options{})
	if _, err := c.Claim(t.Context(), "s/b", "1"); !errors.As(err, new(*board.HeldError)) {
		t.Errorf("another process of the same name: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, c, "s/b", "1"); got.Token != 3 {
		t.Errorf("%+v", got)
	}
	left, err := os.ReadDir(filepath.Join(filepath.Dir(path), "tasks.live"))
	if err != nil || len(left) > 2 {
		t.Errorf("what processes left that are gone stays: %v %v", left, err)
	}
}

func TestALineNamesNoFileOutsideOfTheFolder(t *testing.T) {
	path := fresh(t)
	b := open(t, path, board.Options{})
	victim := filepath.Join(filepath.Dir(path), "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Format(time.RFC3339Nano)
	until := time.Now().Add(time.Minute).UTC().Format(time.RFC3339Nano)
	text := fmt.Sprintf(`{"v":1,"n":1,"t":"%s","tasks":{"1":{"subject":"x","status":"in_progress","owner":"s/a","token":1,"process":"../victim","term":60000,"until":"%s"}}}`+"\n", now, until)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := task(t, b, "1"); got.Lapsed {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
}

// TestAClockThatIsSetNeitherEndsNorProlongsALease sets the clock of the computer.
func TestAClockThatIsSetNeitherEndsNorProlongsALease(t *testing.T) {
	a, b, c := two(t, board.Options{})
	var ran time.Duration // what the system counts beside the clock
	for _, one := range []*board.Board{a, b} {
		one.SetElapsed(func() time.Duration { return ran })
	}
	create(t, a, "x")
	held := claim(t, a, "s/a", "1")
	tasks(t, b) // sees it now
	c.add(10 * time.Hour)
	if _, err := b.ClaimNext(t.Context(), "s/b"); !errors.Is(err, board.ErrNothing) {
		t.Errorf("the clock was set forward, or the computer suspended: %v", err)
	}
	if err := a.Shorten(); err != nil { // and the lines come again
		t.Fatal(err)
	}
	if _, err := b.ClaimNext(t.Context(), "s/b"); !errors.Is(err, board.ErrNothing) {
		t.Errorf("rewritten in between: %v", err)
	}
	ran += board.DefaultLease / 2
	c.add(board.DefaultLease / 2)
	if err := held.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	tasks(t, b)
	c.add(-100 * time.Hour)
	ran += board.DefaultLease
	if _, err := b.ClaimNext(t.Context(), "s/b"); err != nil {
		t.Errorf("the clock was set back, and the lease does not end: %v", err)
	}
}

// TestWhoComesLaterCountsByTheClock has nothing but the clock to go by.
func TestWhoComesLaterCountsByTheClock(t *testing.T) {
	c, path := newClock(), fresh(t)
	o := board.Options{Now: c.now}
	a := open(t, path, o)
	create(t, a, "x")
	claim(t, a, "s/a", "1")
	c.add(-10 * time.Hour) // set back: the claim is from the future, and no longer for it
	b := open(t, path, o)
	c.add(board.DefaultLease)
	if _, err := b.ClaimNext(t.Context(), "s/b"); err != nil {
		t.Error(err)
	}
	c.add(10 * time.Hour)
	if _, err := open(t, path, o).ClaimNext(t.Context(), "s/c"); err != nil {
		t.Error(err)
	}
}

func TestATaskThatLosesItsOwnersIsGivenToNobodyInTheEnd(t *testing.T) {
	path := fresh(t)
	first := open(t, path, board.Options{Losses: 3})
	create(t, first, "kills whoever does it")
	for i := range 3 {
		b := open(t, path, board.Options{Losses: 3})
		if _, err := b.ClaimNext(t.Context(), "s/a"); err != nil {
			t.Fatal(i, err)
		}
		if i == 1 { // told by who started the process, the others are found out
			b.Close()
			if ids, err := first.Reclaim(t.Context()); err != nil || !slices.Equal(ids, []string{"1"}) {
				t.Fatal(ids, err)
			}
		}
		b.Close()
	}
	if _, err := first.ClaimNext(t.Context(), "s/b"); !errors.Is(err, board.ErrNothing) {
		t.Fatal(err)
	}
	o, err := first.Wait(t.Context(), "s/b")
	if err != nil || o.Prospect != board.Stuck || o.Why != "#1 has failed: 3 owners in a row were lost with it" {
		t.Errorf("%+v %v", o, err)
	}
	c := claim(t, first, "s/b", "1") // asked for
	if c.Token != 4 || task(t, first, "1").Failed != "" {
		t.Errorf("%+v", task(t, first, "1"))
	}
	if err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := first.ClaimNext(t.Context(), "s/b"); err != nil {
		t.Errorf("it begins anew: %v", err)
	}
}

func TestWhatFailedIsTakenUpWhenSomebodyAsksForIt(t *testing.T) {
	a, b, _ := two(t, board.Options{})
	create(t, a, "x")
	create(t, a, "y", "1")
	if err := claim(t, a, "s/a", "1").Fail(t.Context(), "no\nnetwork"); err != nil {
		t.Fatal(err)
	}
	if got := task(t, b, "1"); got.Status != board.Pending || got.Owner != "" || got.Failed != "no network" {
		t.Errorf("%+v", got)
	}
	if _, err := b.ClaimNext(t.Context(), "s/b"); !errors.Is(err, board.ErrNothing) {
		t.Error(err)
	}
	o, err := b.Outlook("s/b")
	if err != nil || o.Prospect != board.Stuck || o.Why != "#1 has failed: no network; #2 waits for #1" {
		t.Errorf("%+v %v", o, err)
	}
	if _, err := b.Change(t.Context(), "1", board.Change{By: "s/b", Status: board.Pending}); err != nil {
		t.Fatal(err)
	}
	if c, err := a.ClaimNext(t.Context(), "s/a"); err != nil || c.Task.ID != "1" {
		t.Error(c, err)
	}
}

func TestATaskThatWasGivenToSomebodyWaitsForHimForSomeTime(t *testing.T) {
	a, b, c := two(t, board.Options{})
	create(t, a, "x")
	create(t, a, "y")
	if out, err := a.Change(t.Context(), "2", board.Change{By: "s1/lead", Owner: new("bob")}); err != nil || out.Task.Owner != "bob" || out.Task.Status != board.Pending {
		t.Fatal(out, err)
	}
	if _, err := b.Claim(t.Context(), "s1/ann", "2"); err == nil || err.Error() != "#2 is given to bob, who has 10m0s left to begin with it" {
		t.Error(err)
	}
	if got, err := b.ClaimNext(t.Context(), "s1/bob"); err != nil || got.Task.ID != "2" {
		t.Error("what was given to him comes first:", got, err)
	}
	create(t, a, "z")
	if _, err := a.Change(t.Context(), "3", board.Change{Owner: new("s1/bob")}); err != nil {
		t.Fatal(err)
	}
	claim(t, b, "s1/ann", "1")
	if _, err := b.ClaimNext(t.Context(), "s1/ann"); !errors.Is(err, board.ErrNothing) {
		t.Error(err)
	}
	c.add(board.DefaultOffer)
	if got, err := a.ClaimNext(t.Context(), "s1/eve"); err != nil || got.Task.ID != "1" {
		t.Error(got, err) // whose owner does not renew
	}
	if got, err := b.Claim(t.Context(), "s1/ann", "3"); err != nil {
		t.Error("he did not begin:", got, err)
	}
}

func TestAPersonTakesATaskFromItsOwner(t *testing.T) {
	a, b, _ := two(t, board.Options{})
	for what, change := range map[string]board.Change{
		"back":    {Status: board.Pending},
		"given":   {Owner: new("s/eve")},
		"done":    {Status: board.Completed},
		"deleted": {Status: board.Deleted},
	} {
		id := create(t, a, what)
		c := claim(t, a, "s/a", id)
		if _, err := b.Change(t.Context(), id, change); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := c.Complete(t.Context(), ""); !errors.As(err, new(*board.LostError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWhoHasLostATaskWithoutKnowingIsToldOnce(t *testing.T) {
	a, b, c := two(t, board.Options{})
	create(t, a, "x")
	claim(t, a, "s/a", "1")
	c.add(board.DefaultLease)
	if err := claim(t, b, "s/b", "1").Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := board.Change{By: "s/a", Status: board.Completed}
	if _, err := a.Change(t.Context(), "1", done); err == nil || !strings.Contains(err.Error(), "the claim on #1 (token 1) is over") {
		t.Errorf("somebody else had it in between: %v", err)
	}
	if out, err := a.Change(t.Context(), "1", done); err != nil || out.Task.Token != 3 {
		t.Errorf("he knows now: %+v %v", out, err)
	}
	if _, err := a.Change(t.Context(), "1", done); err != nil {
		t.Errorf("said again: %v", err)
	}
	completed := new(board.CompletedError)
	if _, err := b.Change(t.Context(), "1", board.Change{By: "s/b", Status: board.Completed}); !errors.As(err, &completed) || err.Error() != "#1 is completed already, by s/a" {
		t.Errorf("by another: %v", err)
	}
}

func TestWhatIsBlockedIsNeitherStartedNorCompleted(t *testing.T) {
	a, _, _ := two(t, board.Options{})
	create(t, a, "x")
	create(t, a, "y")
	create(t, a, "z", "1", "2")
	for _, err := range []error{
		refused(a.Claim(t.Context(), "s/a", "3")),
		refusedChange(a.Change(t.Context(), "3", board.Change{By: "s/a", Status: board.InProgress})),
		refusedChange(a.Change(t.Context(), "3", board.Change{By: "s/a", Status: board.Completed})),
	} {
		if !errors.As(err, new(*board.BlockedError)) || err.Error() != "#3 cannot be started before #1, #2" {
			t.Error(err)
		}
	}
	claim(t, a, "s/a", "2")
	if _, err := a.Change(t.Context(), "2", board.Change{AddBlockedBy: []string{"1"}}); err != nil {
		t.Fatal(err)
	}
	if out, err := a.Change(t.Context(), "2", board.Change{By: "s/a", Status: board.Completed}); err != nil || out.Ready != nil {
		t.Errorf("who had begun before may end: %+v %v", out, err)
	}
	if out, err := a.Change(t.Context(), "1", board.Change{By: "s/a", Status: board.Completed}); err != nil || !slices.Equal(out.Ready, []string{"3"}) {
		t.Errorf("%+v %v", out, err)
	}
}

func TestHoldRenewsAndEndsTheWorkOfAClaimThatIsLost(t *testing.T) {
	c, path := newClock(), fresh(t)
	o := board.Options{Now: c.now, Lease: 20 * time.Millisecond} // of which the timers are; the clock is the test's
	a, b := open(t, path, o), open(t, path, o)
	create(t, a, "x")
	held := claim(t, a, "s/a", "1")
	why := errors.New("why")
	if err := held.Hold(t.Context(), func(ctx context.Context) error {
		for range 5 { // renewed each time
			before := task(t, b, "1").Until
			c.add(15 * time.Millisecond)
			for !task(t, b, "1").Until.After(before.Add(10 * time.Millisecond)) {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				time.Sleep(time.Millisecond)
			}
		}
		return why
	}); !errors.Is(err, why) {
		t.Fatal(err)
	}
	err := held.Hold(t.Context(), func(ctx context.Context) error {
		if _, err := b.Change(t.Context(), "1", board.Change{Status: board.Pending}); err != nil {
			return err
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.As(err, new(*board.LostError)) {
		t.Error(err)
	}
}

func TestKeepRenewsAllThatAnOwnerHas(t *testing.T) {
	c, path := newClock(), fresh(t)
	o := board.Options{Now: c.now, Lease: 20 * time.Millisecond}
	a, b := open(t, path, o), open(t, path, o)
	for range 3 {
		create(t, a, "x")
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	lost := make(chan *board.LostError, 1)
	wg.Go(func() { a.Keep(ctx, "s/a", func(e *board.LostError) { lost <- e }) })
	claim(t, a, "s/a", "1") // while it is kept
	if _, err := a.Change(t.Context(), "2", board.Change{By: "s/a", Status: board.InProgress}); err != nil {
		t.Fatal(err)
	}
	claim(t, a, "s/other", "3")
	before := a.Lines()
	time.Sleep(30 * time.Millisecond)
	if n := a.Lines(); n != before {
		t.Errorf("%d lines without need", n-before)
	}
	c.add(15 * time.Millisecond)
	end := task(t, b, "3").Until
	for _, id := range []string{"1", "2"} {
		for !task(t, b, id).Until.After(end) {
			time.Sleep(time.Millisecond)
		}
	}
	if _, err := b.Change(t.Context(), "2", board.Change{Status: board.Deleted}); err != nil {
		t.Fatal(err)
	}
	if e := <-lost; e.ID != "2" {
		t.Error(e)
	}
	if got := task(t, b, "3").Until; !got.Equal(end) {
		t.Error("of another owner nothing is renewed")
	}
	stop()
	wg.Wait()
}

func TestWorkEndsWhenItsClaimCannotBeRenewed(t *testing.T) {
	c, path := newClock(), fresh(t)
	a := open(t, path, board.Options{Now: c.now, Lease: 20 * time.Millisecond})
	create(t, a, "x")
	held := claim(t, a, "s/a", "1")
	err := held.Hold(t.Context(), func(ctx context.Context) error {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil { // no folder any more
			return err
		}
		c.add(20 * time.Millisecond)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if err == nil || errors.As(err, new(*board.LostError)) || !strings.Contains(err.Error(), "tasks.jsonl") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
}

func TestHoldingATaskAndRewritingTheFileDoNotMeet(t *testing.T) {
	path := fresh(t)
	a := open(t, path, board.Options{Lease: 4 * time.Millisecond, Losses: 1000})
	create(t, a, "x")
	held := claim(t, a, "s/a", "1")
	if err := held.Hold(t.Context(), func(ctx context.Context) error {
		for range 20 {
			if err := a.Shorten(); err != nil {
				return err
			}
			if _, err := a.Outlook("s/b"); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestWhoseLockWasRemovedTakesAnother(t *testing.T) {
	path := fresh(t)
	a, b := open(t, path, board.Options{}), open(t, path, board.Options{})
	create(t, a, "x")
	create(t, a, "y")
	claim(t, a, "s/a", "1")
	if err := os.RemoveAll(filepath.Join(filepath.Dir(path), "tasks.live")); err != nil {
		t.Fatal(err)
	}
	claim(t, a, "s/a", "2")
	if got := tasks(t, b); !got[0].Lapsed || got[1].Lapsed {
		t.Errorf("%+v", got)
	}
}
