package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"oneloop"
	"oneloop/internal/watch"
	"oneloop/team/schedule"
)

// clock is one that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.at }

func (c *clock) set(text string) {
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// shared gives several accesses to one schedule at ten o'clock.
func shared(t *testing.T, owners ...string) (c *clock, all []*schedule.Schedule, path string) {
	c = new(clock)
	c.set("2026-12-01 10:00:30")
	path = filepath.Join(t.TempDir(), "schedule.jsonl")
	for _, o := range owners {
		s := schedule.Open(path, schedule.Options{Owner: o, Now: c.now})
		t.Cleanup(func() { s.Leave(context.Background()) })
		all = append(all, s)
	}
	return c, all, path
}

func add(t *testing.T, s *schedule.Schedule, e schedule.Entry) schedule.Entry {
	t.Helper()
	e, err := s.Add(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func take(t *testing.T, s *schedule.Schedule) (said []string) {
	t.Helper()
	fires, err := s.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fires {
		said = append(said, fmt.Sprintf("%s %s +%d", f.Prompt, f.Due.Format("15:04"), f.Missed))
	}
	return said
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func list(t *testing.T, s *schedule.Schedule) (ids []string) {
	t.Helper()
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestOneOfThemTakesWhatIsDue(t *testing.T) {
	c, s, _ := shared(t, "a", "b")
	add(t, s[0], schedule.Entry{Cron: "*/5 * * * *", Prompt: " again ", Recurring: true})
	add(t, s[1], schedule.Entry{Cron: "7 10 * * *", Prompt: "once"})
	same(t, take(t, s[1]))
	c.set("2026-12-01 10:05:00")
	same(t, take(t, s[1]), "again 10:05 +0")
	same(t, take(t, s[0]))
	c.set("2026-12-01 10:07:59")
	same(t, take(t, s[0]), "once 10:07 +0")
	same(t, take(t, s[1]))
	same(t, list(t, s[1]), "cron_1")
	all, _ := s[0].List()
	if e := all[0]; e.Said != 1 || e.LastBy != "b" || e.By != "a" || e.Next.Format("15:04") != "10:10" {
		t.Errorf("%+v", e)
	}
}

func TestWhatWasMissedIsSaidOnce(t *testing.T) {
	c, s, path := shared(t, "a")
	add(t, s[0], schedule.Entry{Cron: "0 * * * *", Prompt: "hourly", Recurring: true})
	add(t, s[0], schedule.Entry{Cron: "30 11 * * *", Prompt: "once"})
	s[0].Leave(t.Context()) // the program is gone for a day
	c.set("2026-12-02 09:20:00")
	later := schedule.Open(path, schedule.Options{Owner: "c", Now: c.now})
	defer later.Leave(t.Context())
	same(t, take(t, later), "hourly 09:00 +22", "once 11:30 +0")
	same(t, take(t, later))
	c.set("2026-12-02 10:00:00")
	same(t, take(t, later), "hourly 10:00 +0")
}

func TestWhoIsGoneTakesAlongWhatPasses(t *testing.T) {
	c, s, _ := shared(t, "a", "b")
	add(t, s[0], schedule.Entry{Cron: "*/5 * * * *", Prompt: "mine", Recurring: true, Passing: true})
	add(t, s[0], schedule.Entry{Cron: "0 12 * * *", Prompt: "kept"})
	c.set("2026-12-01 10:05:00")
	same(t, take(t, s[1])) // it is not b's
	same(t, take(t, s[0]), "mine 10:05 +0")
	if err := s[0].Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	same(t, list(t, s[1]), "cron_2")

	// One that was killed did not remove it.
	add(t, s[0], schedule.Entry{Cron: "30 10 * * *", Prompt: "mine", Passing: true})
	c.set("2026-12-01 11:29:00")
	same(t, take(t, s[1]))
	same(t, list(t, s[1]), "cron_2", "cron_3")
	c.set("2026-12-01 11:31:00")
	same(t, take(t, s[1]))
	same(t, list(t, s[1]), "cron_2")
}

func TestAnAgentThatSchedulesItselfIsHeld(t *testing.T) {
	c, s, _ := shared(t, "a")
	for range schedule.MaxEntries {
		add(t, s[0], schedule.Entry{Cron: "* * * * *", Prompt: "go on", Recurring: true})
	}
	if _, err := s[0].Add(t.Context(), schedule.Entry{Cron: "* * * * *", Prompt: "one more"}); err == nil || !strings.Contains(err.Error(), "the most") {
		t.Errorf("one more: %v", err)
	}
	said := 0
	for minute := 1; minute <= 50; minute++ {
		c.set(fmt.Sprintf("2026-12-01 10:%02d:31", minute))
		said += len(take(t, s[0]))
	}
	if said != schedule.MaxHourly {
		t.Errorf("%d prompts in an hour", said)
	}
	c.set("2026-12-01 11:01:40")
	if n := len(take(t, s[0])); n != schedule.MaxEntries {
		t.Errorf("%d in the next hour", n)
	}
	// Each ends after a week, and says so.
	c.set("2026-12-20 00:00:00")
	fires, err := s[0].Take(t.Context())
	if err != nil || len(fires) != schedule.MaxEntries || !fires[0].Last {
		t.Errorf("%d, %v", len(fires), err)
	}
	same(t, list(t, s[0]))
}

func TestIDsAreNotGivenTwice(t *testing.T) {
	c, s, path := shared(t, "a", "b")
	add(t, s[0], schedule.Entry{Cron: "0 0 1 1 *", Prompt: "x"})
	if err := s[1].Delete(t.Context(), "cron_1"); err != nil {
		t.Fatal(err)
	}
	if err := s[1].Delete(t.Context(), "cron_1"); !errors.Is(err, schedule.ErrNone) {
		t.Errorf("deleted twice: %v", err)
	}
	if e := add(t, s[1], schedule.Entry{Cron: "0 0 1 1 *", Prompt: "y"}); e.ID != "cron_2" {
		t.Error(e.ID)
	}
	// Not even in a file that was rewritten since.
	for range 10 {
		add(t, s[0], schedule.Entry{Cron: "0 * * * *", Prompt: "hourly", Recurring: true})
	}
	last := add(t, s[0], schedule.Entry{Cron: "0 0 1 1 *", Prompt: "z"})
	if err := s[0].Delete(t.Context(), last.ID); err != nil {
		t.Fatal(err)
	}
	at, short, size := c.now(), false, int64(0)
	for range 150 {
		at = at.Add(time.Hour)
		c.set(at.Format(time.DateTime))
		if n := len(take(t, s[0])); n != 10 {
			t.Fatalf("%d prompts", n)
		}
		fi, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		short, size = short || fi.Size() < size, fi.Size()
	}
	if !short {
		t.Errorf("the file was not shortened: %d bytes", size)
	}
	if e := add(t, s[1], schedule.Entry{Cron: "0 0 1 1 *", Prompt: "z"}); e.ID != "cron_14" {
		t.Errorf("%s after %s", e.ID, last.ID)
	}
	same(t, list(t, s[0]), list(t, s[1])...)
}

func TestLinesOfANewerProgramStay(t *testing.T) {
	c, s, path := shared(t, "a")
	newer := `{"v":2,"k":"moved","id":"cron_1"}` + "\n"
	if err := os.WriteFile(path, []byte(newer+strings.Repeat("{}\n", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	add(t, s[0], schedule.Entry{Cron: "* * * * *", Prompt: "x"})
	c.set("2026-12-01 10:01:30")
	same(t, take(t, s[0]), "x 10:01 +0")
	if got, _ := os.ReadFile(path); !strings.HasPrefix(string(got), newer) {
		t.Error("it was rewritten without them")
	}
}

func TestWhatCannotBeScheduled(t *testing.T) {
	_, s, _ := shared(t, "a")
	for _, e := range []schedule.Entry{
		{Cron: "nonsense", Prompt: "x"}, {Cron: "* * * * *", Prompt: " \n"}, {Cron: "* * * * *", Prompt: strings.Repeat("x", schedule.MaxPrompt+1)}, {Cron: "* * * * *", Prompt: "\xff"},
	} {
		if _, err := s[0].Add(t.Context(), e); err == nil {
			t.Errorf("%.50v is scheduled", e)
		}
	}
	same(t, list(t, s[0]))
}

func TestWaitingEndsWhenSomethingIsDue(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		folders := watch.New(filepath.Join(dir, "none")) // nobody tells: one looks each second
		defer folders.Close()
		s := schedule.Open(filepath.Join(dir, "s"), schedule.Options{Owner: "a"})
		defer s.Leave(context.Background())
		why := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, why)
		defer cancel()
		if fires, err := s.Wait(ctx, folders); !errors.Is(err, why) || fires != nil {
			t.Fatalf("nothing is scheduled: %v, %v", fires, err)
		}
		e := add(t, s, schedule.Entry{Cron: "*/20 * * * *", Prompt: "x", Recurring: true})
		for range 3 {
			fires, err := s.Wait(t.Context(), folders)
			if err != nil || len(fires) != 1 || !fires[0].Due.Equal(e.Next) || time.Since(e.Next) > time.Second {
				t.Fatalf("%+v %v at %v, not %v", fires, err, time.Now(), e.Next)
			}
			e = fires[0].Entry
		}
	})
}

// TestWhatIsSomebodyElsesIsNotWaitedFor would not end if it were.
func TestWhatIsSomebodyElsesIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		folders := watch.New(filepath.Join(dir, "none"))
		defer folders.Close()
		a := schedule.Open(filepath.Join(dir, "s"), schedule.Options{Owner: "a"})
		b := schedule.Open(filepath.Join(dir, "s"), schedule.Options{Owner: "b"})
		defer a.Leave(context.Background())
		defer b.Leave(context.Background())
		add(t, a, schedule.Entry{Cron: "* * * * *", Prompt: "x", Passing: true})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		if fires, err := b.Wait(ctx, folders); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v", fires, err)
		}
	})
}

func TestAnotherProcessWakesWhoWaits(t *testing.T) {
	dir := t.TempDir()
	folders := watch.New(dir)
	defer folders.Close()
	if folders.Err() != nil {
		t.Fatal(folders.Err())
	}
	path := filepath.Join(dir, "s")
	now := time.Now().Add(-time.Hour)
	a := schedule.Open(path, schedule.Options{Owner: "a"})
	b := schedule.Open(path, schedule.Options{Owner: "b", Now: func() time.Time { return now }}) // what it adds is due already
	defer a.Leave(context.Background())
	defer b.Leave(context.Background())
	got := make(chan []schedule.Fire, 1)
	go func() {
		fires, err := a.Wait(t.Context(), folders)
		if err != nil {
			t.Error(err)
		}
		got <- fires
	}()
	add(t, b, schedule.Entry{Cron: "* * * * *", Prompt: "x"})
	select {
	case fires := <-got:
		if len(fires) != 1 || fires[0].Prompt != "x" {
			t.Errorf("%+v", fires)
		}
	case <-time.After(20 * time.Second):
		t.Error("nobody was woken")
	}
}

// TestManyTakeEachTimeOnce has all of them look at once.
func TestManyTakeEachTimeOnce(t *testing.T) {
	c, s, _ := shared(t, "a", "b", "c", "d")
	for range 10 {
		add(t, s[0], schedule.Entry{Cron: "* * * * *", Prompt: "x", Recurring: true})
	}
	var mu sync.Mutex
	times := map[string]int{}
	for minute := 1; minute <= 5; minute++ {
		c.set(fmt.Sprintf("2026-12-01 10:%02d:00", minute))
		var wg sync.WaitGroup
		for _, one := range s {
			wg.Go(func() {
				fires, err := one.Take(t.Context())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, f := range fires {
					times[f.ID+f.Due.String()]++
				}
			})
		}
		wg.Wait()
	}
	if len(times) != 50 {
		t.Errorf("%d of 50", len(times))
	}
	for what, n := range times {
		if n != 1 {
			t.Errorf("%s: %d times", what, n)
		}
	}
}

func TestTheToolsSpeakOfIt(t *testing.T) {
	_, s, _ := shared(t, "a")
	box := &oneloop.Toolbox{Tools: s[0].Tools(), Aliases: schedule.Aliases()}
	call := func(name, input string) string {
		m := box.Run(t.Context(), []*oneloop.ToolUse{{ID: "t", Name: name, Input: []byte(input)}}, func(oneloop.Event) {})
		r := m.Blocks[0].(*oneloop.ToolResult)
		return fmt.Sprint(r.IsError, " ", r.Content[0].(*oneloop.Text).Text)
	}
	for _, c := range [][3]string{
		{"CronList", `{}`, "false Nothing is scheduled."},
		{"CronCreate", `{"cron":"30 9 * * 1-5","prompt":"look at the build","durable":true}`, "false cron_1 is due next at 2026-12-02 09:30 UTC, again and again until it is deleted, for 7 days at most."},
		{"schedule_cron", `{"cron":"0 12 * * *","prompt":"lunch","recurring":false}`, "false cron_2 is due next at 2026-12-01 12:00 UTC; it ends with this session."},
		{"CronCreate", `{"cron":"61 * * * *","prompt":"x"}`, "true the minute \"61\""},
		{"list_crons", `{}`, "false cron_1 [30 9 * * 1-5] next 2026-12-02 09:30: look at the build\ncron_2 [0 12 * * *] next 2026-12-01 12:00, once: lunch\n"},
		{"cancel_cron", `{"job_id":"cron_2"}`, "false cron_2 is deleted."},
		{"CronDelete", `{"id":"cron_2"}`, "true there is no such entry: \"cron_2\"; CronList shows those there are"},
	} {
		if got := call(c[0], c[1]); !strings.HasPrefix(got, c[2]) {
			t.Errorf("%s %s: %q, not %q", c[0], c[1], got, c[2])
		}
	}
}
