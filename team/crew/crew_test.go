package crew_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"oneloop/team/crew"
	"oneloop/team/mail"
)

// TestMain is also a member that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("CREW_TEST_DIR"); dir != "" {
		if os.Getenv("CREW_TEST_ANSWER") != "" {
			fmt.Println("error", answerOn(dir, os.Getenv("CREW_TEST_NAME")))
			os.Exit(1)
		}
		c, err := crew.Open(dir, crew.Options{})
		if err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		seat, err := c.Join(context.Background(), crew.Member{Name: os.Getenv("CREW_TEST_NAME"), Session: "s-killed"})
		fmt.Println("joined", err)
		io.Copy(io.Discard, os.Stdin)
		fmt.Println(seat.Member().Name)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// clock is a time that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func newClock() *clock { return &clock{at: time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)} }

func open(t testing.TB, dir string, o crew.Options) *crew.Crew {
	t.Helper()
	c, err := crew.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func join(t testing.TB, c *crew.Crew, name string) *crew.Seat {
	t.Helper()
	s, err := c.Join(t.Context(), crew.Member{Name: name, Role: "role of " + name, Session: "s-" + name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Leave(context.WithoutCancel(t.Context())) })
	return s
}

// killable is a member in a process of its own; what it returns kills that.
func killable(t *testing.T, dir, name string) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CREW_TEST_DIR="+dir, "CREW_TEST_NAME="+name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		cmd.Process.Kill()
		cmd.Wait()
		in.Close()
	})
	t.Cleanup(kill)
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "joined <nil>\n" {
		t.Fatal(said, err)
	}
	return kill
}

func states(t testing.TB, c *crew.Crew) string {
	t.Helper()
	list, err := c.Members()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range list {
		out = append(out, m.Name+" "+string(m.State))
	}
	return strings.Join(out, ", ")
}

func TestANameHasOneSeat(t *testing.T) {
	dir := t.TempDir()
	c, d := open(t, dir, crew.Options{}), open(t, dir, crew.Options{}) // as two processes
	first := join(t, c, "a")
	for _, name := range []string{"a", "user", "system", "..", "", "A"} {
		if _, err := d.Join(t.Context(), crew.Member{Name: name}); err == nil || name == "a" && (!errors.Is(err, crew.ErrTaken) || !strings.Contains(err.Error(), "s-a")) {
			t.Errorf("%q joined: %v", name, err)
		}
	}
	if err := first.Set(t.Context(), crew.Idle); err != nil {
		t.Fatal(err)
	}
	if got := states(t, d); got != "a idle" {
		t.Error(got)
	}
	if err := first.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := states(t, d); got != "a shut down" {
		t.Error(got)
	}
	second := join(t, d, "a")
	if err := first.Set(t.Context(), crew.Working); err == nil {
		t.Error("who has left speaks")
	}
	if got := states(t, c); got != "a working" {
		t.Error(got)
	}
	if files, err := os.ReadDir(filepath.Join(dir, "live")); err != nil || len(files) != 1 || files[0].Name() != second.Member().Seat {
		t.Errorf("files: %v %v", files, err)
	}
}

func TestWhoWasKilledIsGoneAndItsNameFree(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, crew.Options{})
	join(t, c, "lead")
	kill := killable(t, dir, "worker")
	if _, err := c.Join(t.Context(), crew.Member{Name: "worker"}); !errors.Is(err, crew.ErrTaken) {
		t.Fatalf("it is there: %v", err)
	}
	kill()
	if got := states(t, c); got != "lead working, worker gone" {
		t.Error(got)
	}
	_, err := c.Mail().Send(t.Context(), "worker", mail.Message{From: "lead", Text: "x"})
	if !errors.Is(err, mail.ErrAway) || !strings.Contains(err.Error(), "worker is gone") || !strings.HasSuffix(err.Error(), "There are: lead") {
		t.Errorf("a message to who is gone: %v", err)
	}
	join(t, c, "worker")
	if got := states(t, c); got != "lead working, worker working" {
		t.Error(got)
	}
	if files, err := os.ReadDir(filepath.Join(dir, "live")); err != nil || len(files) != 2 {
		t.Errorf("files: %v %v", files, err)
	}
}

func TestASeatThatNobodyRefersToIsTakenAllTheSame(t *testing.T) {
	c := open(t, t.TempDir(), crew.Options{})
	if _, err := c.Join(t.Context(), crew.Member{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		runtime.GC()
		runtime.Gosched()
	}
	if got := states(t, c); got != "a working" {
		t.Error(got)
	}
}

func TestFilesOfWhoWasKilledAreSwept(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "live")
	c := open(t, dir, crew.Options{})
	left := join(t, c, "a")
	here := join(t, c, "b")
	if err := left.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	// As if who wrote that it had left had been killed then; and two who were killed
	// before they had joined, one of them just now.
	for _, name := range []string{left.Member().Seat, "old", "new"} {
		path := filepath.Join(live, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-time.Hour)
	for _, name := range []string{"old", here.Member().Seat} {
		if err := os.Chtimes(filepath.Join(live, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	third := join(t, c, "c")
	files, err := os.ReadDir(live)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if n := f.Name(); n != here.Member().Seat && n != third.Member().Seat && n != "new" {
			t.Errorf("%s is there still", n)
		}
	}
	if got := states(t, c); len(files) != 3 || got != "a shut down, b working, c working" {
		t.Errorf("%v, %s", files, got)
	}
}

func TestAnOldSeatDoesNotSpeakForTheNewOne(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, crew.Options{})
	old := join(t, c, "a")
	if err := os.Remove(filepath.Join(dir, "live", old.Member().Seat)); err != nil { // as if it were gone
		t.Fatal(err)
	}
	join(t, c, "a")
	if err := old.Set(t.Context(), crew.Idle); !errors.Is(err, crew.ErrTaken) {
		t.Errorf("the old one: %v", err)
	}
	if err := old.Leave(t.Context()); !errors.Is(err, crew.ErrTaken) {
		t.Errorf("the old one leaves: %v", err)
	}
	if got := states(t, c); got != "a working" {
		t.Error(got)
	}
}

func TestNotMoreThanSoManyAreThere(t *testing.T) {
	c := open(t, t.TempDir(), crew.Options{Members: 2})
	a := join(t, c, "a")
	join(t, c, "b")
	if _, err := c.Join(t.Context(), crew.Member{Name: "c"}); !errors.Is(err, crew.ErrTaken) || !strings.Contains(err.Error(), "2 agents") {
		t.Errorf("a third: %v", err)
	}
	if err := a.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	join(t, c, "c")
}

func TestOfTwoThatTakeANameAtOnceOneHasIt(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		c := open(t, dir, crew.Options{})
		wg.Go(func() { _, errs[i] = c.Join(t.Context(), crew.Member{Name: "a"}) })
	}
	wg.Wait()
	n := 0
	for _, err := range errs {
		if err == nil {
			n++
		} else if !errors.Is(err, crew.ErrTaken) {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("%d have it: %v", n, errs)
	}
}

func ask(t testing.TB, c *crew.Crew, from, to string, kind crew.Kind) crew.Request {
	t.Helper()
	r, err := c.Ask(t.Context(), crew.Request{From: from, To: to, Kind: kind, Text: "text"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARequestIsAnsweredOnceByTheOneItWasAskedOf(t *testing.T) {
	k, dir := newClock(), t.TempDir()
	c, d := open(t, dir, crew.Options{Now: k.now}), open(t, dir, crew.Options{Now: k.now})
	join(t, c, "lead")
	join(t, d, "worker")
	join(t, d, "other")
	r := ask(t, c, "lead", "worker", crew.Shutdown)
	got, err := d.Mail().Waiting("worker")
	if err != nil || len(got) != 1 || got[0].Kind != mail.ShutdownRequest || got[0].Request != r.ID || got[0].From != "lead" {
		t.Fatalf("worker has %+v %v", got, err)
	}
	refused := func(want error, words, from, id string, kind crew.Kind) {
		t.Helper()
		if _, err := d.Answer(t.Context(), from, id, kind, crew.Approved, ""); !errors.Is(err, want) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s answers %s: %v", from, id, err)
		}
	}
	if _, err := c.Ask(t.Context(), crew.Request{From: "lead", To: "worker", Kind: crew.Shutdown}); !errors.Is(err, crew.ErrOpen) || !strings.Contains(err.Error(), r.ID) {
		t.Errorf("asked twice: %v", err)
	}
	refused(crew.ErrUnknown, "These wait for you: "+r.ID, "worker", "nothing", crew.Shutdown)
	refused(crew.ErrForeign, "asked of worker", "other", r.ID, crew.Shutdown)
	refused(crew.ErrForeign, "No request waits for you", "lead", r.ID, crew.Shutdown)
	refused(crew.ErrKind, "shutdown_response", "worker", r.ID, crew.Plan)
	if _, err := d.Answer(t.Context(), "worker", r.ID, crew.Shutdown, crew.Expired, ""); !errors.Is(err, crew.ErrKind) {
		t.Errorf("an answer that is none: %v", err)
	}
	if now, err := c.Request(t.Context(), r.ID); err != nil || now.Status != crew.Pending {
		t.Fatalf("after all that: %+v %v", now, err)
	}
	if _, err := d.Answer(t.Context(), "worker", r.ID, crew.Shutdown, crew.Rejected, "not yet"); err != nil {
		t.Fatal(err)
	}
	refused(crew.ErrOver, "is rejected", "worker", r.ID, crew.Shutdown)
	if got, err := c.Mail().Waiting("lead"); err != nil || len(got) != 1 || got[0].Kind != mail.ShutdownResponse || got[0].Verdict != "rejected" || got[0].Text != "not yet" || got[0].Request != r.ID || got[0].From != "worker" {
		t.Errorf("lead has %+v %v", got, err)
	}
	late := ask(t, c, "lead", "worker", crew.Plan)
	k.pass(crew.DefaultExpiry)
	refused(crew.ErrOver, "expired", "worker", late.ID, crew.Plan)
	// A new process finds all that again.
	again := open(t, dir, crew.Options{Now: k.now})
	list, err := again.Requests(t.Context())
	if err != nil || len(list) != 2 || list[0].Status != crew.Rejected || list[0].Answer != "not yet" || list[1].Status != crew.Expired {
		t.Errorf("kept: %+v %v", list, err)
	}
}

// TestAnAnswerThatIsLateWhenItIsWrittenIsLate has the time pass while the file is waited
// for.
func TestAnAnswerThatIsLateWhenItIsWrittenIsLate(t *testing.T) {
	k := newClock()
	slow := false
	c := open(t, t.TempDir(), crew.Options{Now: func() time.Time {
		now := k.now()
		if slow {
			k.pass(crew.DefaultExpiry)
		}
		return now
	}})
	join(t, c, "lead")
	join(t, c, "worker")
	r := ask(t, c, "lead", "worker", crew.Shutdown)
	slow = true
	if _, err := c.Answer(t.Context(), "worker", r.ID, crew.Shutdown, crew.Approved, ""); !errors.Is(err, crew.ErrOver) || !strings.Contains(err.Error(), "too late") {
		t.Error(err)
	}
	if got, err := c.Request(t.Context(), r.ID); err != nil || got.Status != crew.Expired {
		t.Errorf("%+v %v", got, err)
	}
	slow = false
}

func TestWhoIsNotThereIsNotAsked(t *testing.T) {
	c := open(t, t.TempDir(), crew.Options{})
	join(t, c, "lead")
	if err := join(t, c, "worker").Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"worker", "nobody", "../x"} {
		if _, err := c.Ask(t.Context(), crew.Request{From: "lead", To: to, Kind: crew.Shutdown}); !errors.Is(err, crew.ErrAway) || !strings.HasSuffix(err.Error(), "There are: lead") {
			t.Errorf("%s: %v", to, err)
		}
	}
	if _, err := c.Ask(t.Context(), crew.Request{From: "lead", To: "lead", Kind: crew.Shutdown}); !errors.Is(err, crew.ErrForeign) {
		t.Errorf("oneself: %v", err)
	}
	if list, err := c.Requests(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("kept: %v %v", list, err)
	}
}

// TestNobodyWaitsForEver is the series' lead, whose teammate dies without an answer.
func TestNobodyWaitsForEver(t *testing.T) {
	for name, end := range map[string]struct {
		do   func(t *testing.T, c *crew.Crew, worker *crew.Seat, r crew.Request) error
		want crew.Status
	}{
		"approved": {func(t *testing.T, c *crew.Crew, _ *crew.Seat, r crew.Request) error {
			_, err := c.Answer(t.Context(), "worker", r.ID, crew.Shutdown, crew.Approved, "yes")
			return err
		}, crew.Approved},
		"withdrawn": {func(t *testing.T, c *crew.Crew, _ *crew.Seat, r crew.Request) error {
			return c.Withdraw(t.Context(), r.ID, "lead")
		}, crew.Withdrawn},
		"expired": {func(*testing.T, *crew.Crew, *crew.Seat, crew.Request) error { return nil }, crew.Expired},
		"left": {func(t *testing.T, _ *crew.Crew, worker *crew.Seat, _ crew.Request) error {
			return worker.Leave(t.Context())
		}, crew.Left},
	} {
		dir := t.TempDir()
		o := crew.Options{}
		if name == "expired" {
			o.Expiry = 30 * time.Millisecond
		}
		c, d := open(t, dir, o), open(t, dir, o)
		join(t, c, "lead")
		worker := join(t, d, "worker")
		r := ask(t, c, "lead", "worker", crew.Shutdown)
		type got struct {
			r   crew.Request
			err error
		}
		ended := make(chan got, 2)
		for _, one := range []*crew.Crew{c, d} {
			go func() {
				r, err := one.Wait(t.Context(), r.ID)
				ended <- got{r, err}
			}()
		}
		if err := end.do(t, d, worker, r); err != nil {
			t.Fatal(name, err)
		}
		for range 2 {
			select {
			case g := <-ended:
				if g.err != nil || g.r.Status != end.want {
					t.Errorf("%s: %+v %v", name, g.r, g.err)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s: who waits is not told", name)
			}
		}
	}
}

func TestWhoWasKilledAnswersAtOnce(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, crew.Options{})
	join(t, c, "lead")
	kill := killable(t, dir, "worker")
	r := ask(t, c, "lead", "worker", crew.Shutdown)
	ended := make(chan crew.Request, 1)
	go func() {
		r, err := c.Wait(t.Context(), r.ID)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	kill()
	select {
	case r := <-ended:
		if r.Status != crew.Left {
			t.Errorf("%+v", r)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("who waits for it is not told")
	}
	// One that comes back under the name is another one.
	join(t, c, "worker")
	if _, err := c.Answer(t.Context(), "worker", r.ID, crew.Shutdown, crew.Approved, ""); !errors.Is(err, crew.ErrOver) || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("the next one of that name answers: %v", err)
	}
}

func TestTheNextOneOfANameIsNotAskedWhatTheLastOneWas(t *testing.T) {
	c := open(t, t.TempDir(), crew.Options{})
	join(t, c, "lead")
	first := join(t, c, "worker")
	ask(t, c, "lead", "worker", crew.Shutdown)
	if _, err := c.Mail().Send(t.Context(), "worker", mail.Message{From: "lead", Text: "stays"}); err != nil {
		t.Fatal(err)
	}
	if err := first.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := join(t, c, "worker")
	ask(t, c, "lead", "worker", crew.Plan)
	seen := map[string]bool{}
	box, err := second.Mailbox(t.Context(), seen)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	list, err := box.Take()
	if err != nil || len(list) != 2 || list[0].Text != "stays" || list[1].Kind != mail.PlanRequest || len(seen) > 0 {
		t.Errorf("%+v %v", list, err)
	}
	if err := box.Ack(t.Context(), list...); err != nil {
		t.Fatal(err)
	}
	if left, err := c.Mail().Waiting("worker"); err != nil || len(left) > 0 {
		t.Errorf("left: %+v %v", left, err)
	}
}

func TestWaitingEndsWithTheContextAndTheCrew(t *testing.T) {
	c := open(t, t.TempDir(), crew.Options{})
	join(t, c, "lead")
	join(t, c, "worker")
	r := ask(t, c, "lead", "worker", crew.Plan)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	wait := func(ctx context.Context) {
		_, err := c.Wait(ctx, r.ID)
		ended <- err
	}
	go wait(ctx)
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Error(err)
	}
	if _, err := c.Wait(t.Context(), "none"); !errors.Is(err, crew.ErrUnknown) {
		t.Error(err)
	}
	go wait(t.Context())
	c.Close()
	if err := <-ended; err == nil {
		t.Error("it was closed")
	}
}

func TestARequestThatCannotBeDeliveredIsWithdrawn(t *testing.T) {
	c := open(t, t.TempDir(), crew.Options{Mail: mail.Limits{Waiting: 1}})
	join(t, c, "lead")
	join(t, c, "worker")
	if _, err := c.Mail().Send(t.Context(), "worker", mail.Message{From: "lead", Text: "in the way"}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), crew.Request{From: "lead", To: "worker", Kind: crew.Shutdown}); !errors.Is(err, mail.ErrFull) {
		t.Error(err)
	}
	if list, err := c.Requests(t.Context()); err != nil || len(list) != 1 || list[0].Status != crew.Withdrawn {
		t.Errorf("kept: %+v %v", list, err)
	}
}

func TestALineThatIsBrokenTakesNoOtherWithIt(t *testing.T) {
	dir := t.TempDir()
	c := open(t, dir, crew.Options{})
	join(t, c, "lead")
	outside := filepath.Join(dir, "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "team.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`{`, `[]`, `"x"`, `{"v":9,"op":"new"}`, `{"op":"join"}`, `{"op":"ask"}`, `{"op":"end","id":"x"}`, `{"op":"state","seat":"x","state":"gone"}`,
		`{"op":"join","member":{"name":"../x","seat":"1"}}`, `{"op":"join","member":{"name":"evil","state":"working","seat":"../outside"}}`,
		`{"op":"join","member":{"name":"evil","state":"working"}}`, `{"op":"ask","request":{"id":"1","from":"evil\" x","to":"lead","status":"pending"}}`} {
		if _, err := f.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	join(t, c, "worker")
	if got := states(t, open(t, dir, crew.Options{})); got != "lead working, worker working" {
		t.Error(got)
	}
	if list, err := c.Requests(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error("a file beside those of the members was removed:", err)
	}
}

func TestTheFileDoesNotGrowForEver(t *testing.T) {
	k, dir := newClock(), t.TempDir()
	c := open(t, dir, crew.Options{Now: k.now, Mail: mail.Limits{Waiting: -1, PerMinute: -1, PerHour: -1, Sends: -1}})
	join(t, c, "lead")
	var last crew.Request
	for i := range 260 {
		s := join(t, c, fmt.Sprint("w", i))
		if i%10 == 0 {
			last = ask(t, c, "lead", s.Member().Name, crew.Shutdown)
		}
		if err := s.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	open := join(t, c, "open")
	pending := ask(t, c, "lead", "open", crew.Plan)
	join(t, c, "one-more")
	data, err := os.ReadFile(filepath.Join(dir, "team.jsonl"))
	if lines := strings.Count(string(data), "\n"); err != nil || lines > 540 {
		t.Errorf("%d lines (%v)", lines, err)
	}
	if m, err := c.Members(); err != nil || len(m) > 200 {
		t.Errorf("%d members are known (%v)", len(m), err)
	}
	if r, err := c.Request(t.Context(), last.ID); err != nil || r.Status != crew.Left {
		t.Errorf("the last that is over: %+v %v", r, err)
	}
	if r, err := c.Request(t.Context(), pending.ID); err != nil || r.Status != crew.Pending {
		t.Errorf("the one that is not: %+v %v", r, err)
	}
	if err := open.Set(t.Context(), crew.Idle); err != nil {
		t.Error(err)
	}
}
