package board_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"oneloop/team/board"
)

// waits runs Wait and says what came of it.
func waits(t *testing.T, b *board.Board, owner string) <-chan board.Outlook {
	t.Helper()
	got := make(chan board.Outlook, 1)
	go func() {
		o, err := b.Wait(t.Context(), owner)
		if err != nil {
			t.Error(err)
		}
		got <- o
	}()
	return got
}

// soon is what comes; how long it takes is measured elsewhere.
func soon(t *testing.T, got <-chan board.Outlook) board.Outlook {
	t.Helper()
	select {
	case o := <-got:
		return o
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was woken")
		panic("unreachable")
	}
}

// still says that nothing came, after what would have brought it.
func still(t *testing.T, got <-chan board.Outlook) {
	t.Helper()
	select {
	case o := <-got:
		t.Fatalf("woken for nothing: %+v", o)
	case <-time.After(20 * time.Millisecond):
	}
}

func TestOneWaitsAsLongAsOthersWorkAndNoLonger(t *testing.T) {
	path := fresh(t)
	a, b := open(t, path, board.Options{}), open(t, path, board.Options{})
	if o, err := b.Wait(t.Context(), "s/b"); err != nil || o.Prospect != board.Done {
		t.Fatalf("no tasks: %+v %v", o, err)
	}
	create(t, a, "x")
	create(t, a, "y", "1")
	if o, err := b.Wait(t.Context(), "s/b"); err != nil || o.Prospect != board.Ready || o.Ready[0] != "1" {
		t.Fatalf("%+v %v", o, err)
	}
	c := claim(t, a, "s/a", "1")
	got := waits(t, b, "s/b")
	still(t, got)
	if _, err := a.Change(t.Context(), "2", board.Change{Subject: new("z")}); err != nil {
		t.Fatal(err)
	}
	still(t, got)
	if o, err := b.Outlook("s/b"); err != nil || o.Prospect != board.Busy || o.Why != "#2 waits for #1; in progress: #1" {
		t.Errorf("%+v %v", o, err)
	}
	if _, err := c.Complete(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if o := soon(t, got); o.Prospect != board.Ready || o.Ready[0] != "2" {
		t.Errorf("%+v", o)
	}
	c = claim(t, a, "s/a", "2")
	got = waits(t, b, "s/b")
	still(t, got)
	if _, err := c.Complete(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if o := soon(t, got); o.Prospect != board.Done || o.Why != "" {
		t.Errorf("%+v", o)
	}
}

func TestWaitingEndsWhenNothingIsLeftThatCouldBecomeReady(t *testing.T) {
	path := fresh(t)
	a, b := open(t, path, board.Options{}), open(t, path, board.Options{})
	create(t, a, "x")
	create(t, a, "y", "1")
	create(t, a, "z", "2")
	c := claim(t, a, "s/a", "1")
	got := waits(t, b, "s/b")
	if err := c.Fail(t.Context(), "there is no compiler"); err != nil {
		t.Fatal(err)
	}
	if o := soon(t, got); o.Prospect != board.Stuck || o.Why != "#1 has failed: there is no compiler; #2 waits for #1; #3 waits for #2" {
		t.Errorf("%+v", o)
	}
}

// TestACircleInADamagedFileIsNoReasonToWait has one that no board writes.
func TestACircleInADamagedFileIsNoReasonToWait(t *testing.T) {
	path := fresh(t)
	b := open(t, path, board.Options{})
	text := `{"v":1,"n":1,"t":"2026-01-02T03:04:05Z","tasks":{"1":{"subject":"x","blockedBy":[2]},"2":{"subject":"x","blockedBy":[1,2]}}}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if o, err := b.Wait(t.Context(), "s/b"); err != nil || o.Prospect != board.Stuck || o.Why != "#1 waits for #2; #2 waits for #1" {
		t.Errorf("%+v %v", o, err)
	}
	create(t, b, "y", "1")
	if _, err := b.Change(t.Context(), "1", board.Change{AddBlockedBy: []string{"3"}}); err == nil {
		t.Error("one more circle")
	}
	if _, err := b.Change(t.Context(), "1", board.Change{DropBlockedBy: []string{"2"}}); err != nil {
		t.Error(err)
	}
	if o, err := b.Wait(t.Context(), "s/b"); err != nil || o.Prospect != board.Ready {
		t.Errorf("%+v %v", o, err)
	}
}

func TestTheEndOfALeaseWakes(t *testing.T) {
	path := fresh(t)
	o := board.Options{Lease: 30 * time.Millisecond, Offer: 30 * time.Millisecond}
	a, b := open(t, path, o), open(t, path, o)
	create(t, a, "x")
	claim(t, a, "s/a", "1")
	if o := soon(t, waits(t, b, "s/b")); o.Prospect != board.Ready {
		t.Errorf("%+v", o)
	}
	if _, err := a.Change(t.Context(), "1", board.Change{Owner: new("s/a")}); err != nil {
		t.Fatal(err)
	}
	if o := soon(t, waits(t, b, "s/b")); o.Prospect != board.Ready {
		t.Errorf("%+v", o)
	}
}

func TestWaitingEndsWithTheContextAndTheBoard(t *testing.T) {
	path := fresh(t)
	a, b := open(t, path, board.Options{}), open(t, path, board.Options{})
	create(t, a, "x")
	claim(t, a, "s/a", "1")
	why := errors.New("enough")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(why)
	if _, err := b.Wait(ctx, "s/b"); !errors.Is(err, why) {
		t.Error(err)
	}
	got := make(chan error)
	go func() { _, err := b.Wait(t.Context(), "s/b"); got <- err }()
	time.Sleep(5 * time.Millisecond)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; err == nil || err.Error() != "the board is closed" {
		t.Error(err)
	}
}

// holder is a process that has a task and does nothing with it.
func holder(t *testing.T, path, id string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BOARD_TEST_HOLDER="+path, "BOARD_TEST_ID="+id)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "has it\n" {
		t.Fatal(line, err)
	}
	return cmd
}

func hold(path, id string) {
	b, err := board.Open(path, board.Options{Lease: time.Hour})
	if err == nil {
		_, err = b.Claim(context.Background(), "s/holder", id)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("has it")
	select {}
}

func TestWhoWaitsIsWokenWhenAProcessIsKilled(t *testing.T) {
	path := fresh(t)
	b := open(t, path, board.Options{Lease: time.Hour})
	create(t, b, "x")
	create(t, b, "y", "1")
	cmd := holder(t, path, "1")
	if _, err := b.ClaimNext(t.Context(), "s/b"); !errors.Is(err, board.ErrNothing) {
		t.Fatal(err)
	}
	var got []<-chan board.Outlook
	for range 3 {
		got = append(got, waits(t, b, "s/b"))
	}
	other := open(t, path, board.Options{})
	got = append(got, waits(t, other, "s/c"))
	still(t, got[0])
	cmd.Process.Kill()
	cmd.Wait()
	if runtime.GOOS != "linux" {
		if o, err := b.Outlook("s/b"); err != nil || o.Prospect != board.Ready {
			t.Errorf("%+v %v", o, err)
		}
		if _, err := b.Reclaim(t.Context()); err != nil { // as who started it does
			t.Error(err)
		}
	}
	for _, one := range got {
		if o := soon(t, one); o.Prospect != board.Ready || strings.Join(o.Ready, " ") != "1" {
			t.Errorf("%+v", o)
		}
	}
	if c := claim(t, b, "s/b", "1"); c.Token != 2 {
		t.Error(c.Token)
	}
}
