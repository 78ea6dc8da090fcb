package mail_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"oneloop/team/mail"
)

func TestWaitingEndsWithAMessageAndWithNothingElse(t *testing.T) {
	dir := t.TempDir()
	here, there := open(t, dir, mail.Options{}), open(t, dir, mail.Options{})
	box := read(t, here, "b", nil)
	for _, p := range []*mail.Post{here, there} {
		ended := make(chan error, 1)
		go func() { ended <- box.Wait(t.Context()) }()
		send(t, p, "a", "c", "for another")
		got := take(t, box)
		if len(got) > 0 {
			t.Fatal(texts(got))
		}
		send(t, p, "a", "b", "one")
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("nobody was told")
		}
		if got := texts(take(t, box)); !slices.Equal(got, []string{"one"}) {
			t.Errorf("got %v", got)
		}
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := box.Wait(ctx); !errors.Is(err, why) {
		t.Errorf("what was taken is waited for, or not: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- box.Wait(t.Context()) }()
	here.Close()
	if err := <-ended; err == nil {
		t.Error("the mail was closed")
	}
	if err := box.Wait(t.Context()); err == nil {
		t.Error("the mail is closed")
	}
}

// TestManyWaitAndOneIsTold also says what they take.
func TestManyWaitAndOneIsTold(t *testing.T) {
	var names mail.Names
	for i := range 100 {
		names = append(names, fmt.Sprint("n", i))
	}
	p := open(t, t.TempDir(), mail.Options{Roster: append(names, "lead")})
	before := runtime.NumGoroutine()
	var mu sync.Mutex
	told := map[string]int{}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, name := range names {
		box := read(t, p, name, nil)
		wg.Go(func() {
			for box.Wait(ctx) == nil {
				list, err := box.Take()
				if err == nil {
					err = box.Ack(ctx, list...)
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				told[name] += len(list)
				mu.Unlock()
			}
		})
	}
	if now := runtime.NumGoroutine(); now > before+len(names)+4 {
		t.Errorf("100 wait with %d goroutines", now-before)
	}
	for i := range 10 {
		send(t, p, "lead", fmt.Sprint("n", i*7), "x")
	}
	for {
		mu.Lock()
		n := len(told)
		mu.Unlock()
		if n == 10 {
			break
		}
		runtime.Gosched()
	}
	cancel()
	wg.Wait()
	for name, n := range told {
		if n != 1 {
			t.Errorf("%s was told of %d", name, n)
		}
	}
}
