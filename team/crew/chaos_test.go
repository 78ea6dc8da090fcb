package crew_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"oneloop/team/crew"
	"oneloop/team/mail"
)

// answerOn is a member that approves whatever it is asked.
func answerOn(dir, name string) error {
	ctx := context.Background()
	c, err := crew.Open(dir, crew.Options{Mail: mail.Limits{Waiting: -1, PerMinute: -1, PerHour: -1, Sends: -1}})
	if err != nil {
		return err
	}
	seat, err := c.Join(ctx, crew.Member{Name: name})
	if err != nil {
		return err
	}
	box, err := seat.Mailbox(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Println("joined <nil>")
	for {
		if err := box.Wait(ctx); err != nil {
			return err
		}
		list, err := box.Take()
		if err != nil {
			return err
		}
		for _, m := range list {
			// One of a life before was answered with that life.
			if _, err := c.Answer(ctx, name, m.Request, crew.Shutdown, crew.Approved, "yes"); err != nil {
				fmt.Println("late", err)
			}
		}
		if err := box.Ack(ctx, list...); err != nil {
			return err
		}
	}
}

// TestEveryRequestIsAnsweredWhenMembersAreKilled kills members in the middle of answering,
// while others take their names.
func TestEveryRequestIsAnsweredWhenMembersAreKilled(t *testing.T) {
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	rounds := 4
	if os.Getenv("ONELOOP_SOAK") != "" {
		rounds = 60
	} else {
		t.Log("4 rounds instead of 60; ONELOOP_SOAK=1 makes all")
	}
	c := open(t, dir, crew.Options{Mail: mail.Limits{Waiting: -1, PerMinute: -1, PerHour: -1, Sends: -1}})
	join(t, c, "lead")
	count := map[crew.Status]int{}
	for range rounds {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for i := range 3 {
			name := fmt.Sprint("w", i)
			after := time.Duration(random.IntN(20_000)) * time.Microsecond
			wg.Go(func() {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), "CREW_TEST_DIR="+dir, "CREW_TEST_NAME="+name, "CREW_TEST_ANSWER=1")
				out, err := cmd.StdoutPipe()
				if err == nil {
					err = cmd.Start()
				}
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := out.Read(make([]byte, 100)); err != nil {
					t.Error(err)
				}
				late := time.AfterFunc(after, func() { cmd.Process.Kill() })
				defer late.Stop()
				for {
					r, err := c.Ask(t.Context(), crew.Request{From: "lead", To: name, Kind: crew.Shutdown})
					if err != nil {
						break // it is gone
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					r, err = c.Wait(ctx, r.ID)
					cancel()
					if err != nil || r.Status != crew.Approved && r.Status != crew.Left {
						t.Errorf("seed %d: %+v %v", seed, r, err)
						break
					}
					mu.Lock()
					count[r.Status]++
					mu.Unlock()
				}
				cmd.Wait()
			})
		}
		wg.Wait()
	}
	list, err := c.Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.Status == crew.Pending {
			t.Errorf("seed %d: %+v", seed, r)
		}
	}
	t.Logf("seed %d: %v", seed, count)
}
