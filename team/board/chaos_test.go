package board_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"oneloop/team/board"
)

// shortLease is over for who is stopped for a while.
const shortLease = 300 * time.Millisecond

// work is a process of some agents that do what they find on a board, until
// nothing is left. It says what it completed.
func work(path, name string) {
	b, err := board.Open(path, board.Options{Losses: 1000, Lease: shortLease})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			if err := agent(b, fmt.Sprintf("%s/a%d", name, i)); err != nil {
				fmt.Println("error", err)
			}
		})
	}
	wg.Wait()
	if err := b.Close(); err != nil {
		fmt.Println("error", err)
	}
}

func agent(b *board.Board, owner string) error {
	ctx := context.Background()
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), uint64(len(owner))))
	for {
		c, err := b.ClaimNext(ctx, owner)
		if errors.Is(err, board.ErrNothing) {
			o, err := b.Wait(ctx, owner)
			switch {
			case err != nil:
				return err
			case o.Prospect == board.Done:
				return nil
			case o.Prospect == board.Stuck:
				return errors.New(o.Why)
			}
			continue
		}
		if err != nil {
			return err
		}
		fmt.Printf("began %s %d\n", c.Task.ID, c.Token)
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
		switch {
		case random.IntN(10) == 0:
			err = c.Release(ctx)
		case random.IntN(10) == 0:
			err = c.Renew(ctx)
			fallthrough
		default:
			if err == nil {
				_, err = c.Complete(ctx, owner)
			}
			if err == nil {
				fmt.Printf("done %s %d\n", c.Task.ID, c.Token)
			}
		}
		if errors.As(err, new(*board.LostError)) {
			fmt.Printf("lost %s %d\n", c.Task.ID, c.Token)
		} else if err != nil {
			return err
		}
	}
}

// TestEachTaskIsDoneOnceWhenProcessesAreKilled kills processes in the middle of
// their tasks, and has others stand still until their claims are over.
func TestEachTaskIsDoneOnceWhenProcessesAreKilled(t *testing.T) {
	processes, many, kills := 2, 40, 6
	if os.Getenv("ONELOOP_SOAK") != "" {
		processes, many, kills = 4, 200, 60
	}
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	path := fresh(t)
	b := open(t, path, board.Options{Losses: 1000})
	waitsFor := map[string][]string{}
	for i := 1; i <= many; i++ {
		var blockers []string
		for range min(i-1, random.IntN(4)) {
			blockers = append(blockers, strconv.Itoa(max(1, i-1-random.IntN(8))))
		}
		id := create(t, b, fmt.Sprint("task ", i), blockers...)
		waitsFor[id] = task(t, b, id).BlockedBy
	}

	type event struct{ kind, id, token string }
	var mu sync.Mutex
	var events []event
	var wg sync.WaitGroup
	left, stops, losses := kills, 0, 0
	next := func(line int) (after int, kill bool) { // what happens to a process, and behind which of its lines
		mu.Lock()
		defer mu.Unlock()
		if left == 0 {
			return 1 << 30, true
		}
		left--
		return line + random.IntN(8), random.IntN(4) > 0
	}
	for p := range processes {
		wg.Go(func() {
			for life := 0; ; life++ { // until one ends by itself
				after, kill := next(0)
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), "BOARD_TEST_WORKER="+path, fmt.Sprintf("BOARD_TEST_NAME=p%d-%d", p, life))
				cmd.Stderr = os.Stderr
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Error(err)
					return
				}
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				lines := bufio.NewScanner(out)
				for i := 0; lines.Scan(); i++ {
					f := strings.Fields(lines.Text())
					if len(f) != 3 || f[0] == "error" {
						t.Error(lines.Text())
						continue
					}
					mu.Lock()
					events = append(events, event{f[0], f[1], f[2]})
					mu.Unlock()
					if i == after && kill {
						cmd.Process.Kill()
					}
					if i == after && !kill {
						if err := stop(cmd.Process); err != nil {
							t.Error(err)
						}
						time.Sleep(2 * shortLease) // its claims are over, at least on an idle machine
						if err := goOn(cmd.Process); err != nil {
							t.Error(err)
						}
						mu.Lock()
						stops++
						mu.Unlock()
						after, kill = next(i + 1)
					}
				}
				if cmd.Wait() == nil {
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}

	began, done := map[event]int{}, map[string]int{}
	for _, e := range events {
		switch e.kind {
		case "began":
			if began[e]++; began[e] > 1 {
				t.Errorf("two have token %s of #%s", e.token, e.id)
			}
		case "lost":
			losses++
		case "done":
			if done[e.id]++; done[e.id] > 1 {
				t.Errorf("#%s was completed twice", e.id)
			}
		}
	}
	for _, one := range tasks(t, b) {
		if one.Status != board.Completed || one.Result != one.Owner {
			t.Errorf("%+v", one)
		}
	}
	// The file says it too: each task is completed by one line, with the newest
	// token, after all that it waited for.
	if n := inFile(t, path, waitsFor); n != many {
		t.Errorf("%d of %d were completed in the file", n, many)
	}
	t.Logf("%d processes, %d tasks, %d claims, %d kills, %d stops, %d came too late", processes, many, len(began), kills-left-stops, stops, losses)
}

// inFile goes through the lines of a board that was never rewritten, and counts
// what was completed.
func inFile(t *testing.T, path string, waitsFor map[string][]string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	completed, token := map[string]bool{}, map[string]int64{}
	for line := range strings.Lines(string(text)) {
		var l struct {
			Tasks map[string]struct {
				Status string
				Token  int64
			}
		}
		if json.Unmarshal([]byte(line), &l) != nil {
			continue
		}
		for id, set := range l.Tasks {
			if set.Token != 0 {
				if set.Token != token[id]+1 || completed[id] {
					t.Errorf("#%s: token %d follows %d, completed: %v", id, set.Token, token[id], completed[id])
				}
				token[id] = set.Token
			}
			if set.Status != "completed" {
				continue
			}
			if completed[id] {
				t.Errorf("#%s is completed a second time: %s", id, line)
			}
			completed[id] = true
			for _, by := range waitsFor[id] {
				if !completed[by] {
					t.Errorf("#%s was completed before #%s", id, by)
				}
			}
		}
	}
	return len(completed)
}
