package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"oneloop/internal/disk"
	"oneloop/team/board"
)

const (
	limitShared = 2   // to one wait for the disk
	limitNotice = 50  // ms
	limitIdle   = 10  // ms of a processor that 100 take in a second
	limitEach   = 100 // kB
)

// team measures what it costs that agents share things.
func (b *bench) team(ctx context.Context) (figures []figure, err error) {
	for _, part := range []func(context.Context) ([]figure, error){b.boardOperations, b.boardWaiting} {
		f, err := part(ctx)
		if figures = append(figures, f...); err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// boardTasks is how many tasks are on the board that is measured.
const boardTasks = 200

// boardOperations measures one operation on a board that two processes use by
// turns, against writing as much to a file.
func (b *bench) boardOperations(ctx context.Context) (figures []figure, err error) {
	dir, err := os.MkdirTemp("", "bench-board-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	boards := make([]*board.Board, 2)
	for i := range boards {
		if boards[i], err = board.Open(filepath.Join(dir, "tasks.jsonl"), board.Options{}); err != nil {
			return nil, err
		}
		defer boards[i].Close()
	}
	for i := range boardTasks {
		n := board.New{Subject: fmt.Sprint("task ", i), Description: "What is to be done, in a line or two."}
		if i > 1 {
			n.BlockedBy = []string{fmt.Sprint(i - 1)}
		}
		if _, err := boards[i%2].Create(ctx, n); err != nil {
			return nil, err
		}
	}
	plain, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	size := func() (int64, error) {
		info, err := os.Stat(filepath.Join(dir, "tasks.jsonl"))
		if err != nil {
			return 0, err
		}
		return info.Size(), nil
	}
	var operations, synced, written []time.Duration
	line := make([]byte, 200) // the next one is about as long as the one before
	against := func() error {
		began := time.Now()
		if _, err := plain.Write(line); err != nil {
			return err
		}
		written = append(written, time.Since(began))
		if err := disk.Sync(plain); err != nil {
			return err
		}
		synced = append(synced, time.Since(began))
		return nil
	}
	turn := 0
	timed := func(do func() error) error {
		if turn++; turn%2 == 0 { // who comes second finds a disk that is awake
			if err := against(); err != nil {
				return err
			}
		}
		before, err := size()
		if err != nil {
			return err
		}
		began := time.Now()
		if err := do(); err != nil {
			return err
		}
		operations = append(operations, time.Since(began))
		after, err := size()
		if err != nil {
			return err
		}
		if after > before { // it was not rewritten
			line = make([]byte, after-before)
		}
		if turn%2 == 1 {
			return against()
		}
		return nil
	}
	for i := range boardTasks {
		var c *board.Claim
		if err := timed(func() (err error) { c, err = boards[i%2].ClaimNext(ctx, "s/ann"); return err }); err != nil {
			return nil, err
		}
		if _, err := boards[1-i%2].Tasks(); err != nil { // the other one has read it
			return nil, err
		}
		if err := timed(func() error { _, err := c.Complete(ctx, "done"); return err }); err != nil {
			return nil, err
		}
	}
	same := func(d time.Duration) time.Duration { return d }
	one, sync, write := median(operations, same), median(synced, same), median(written, same)
	if sync < leastSync {
		b.miss(fmt.Sprintf("an operation on a board, which takes %s, against one wait for the disk: this one syncs in %s, too little to count by", ms(one), ms(sync)))
		return nil, nil
	}
	return []figure{{Name: fmt.Sprintf("an operation on a board of %d tasks, against appending and syncing as much (%s of it to append)", boardTasks, write), Ours: ms(one), Against: ms(sync),
		Value: float64(one) / float64(sync), Limit: limitShared, Unit: "×"}}, nil
}

// boardWaiting measures those who wait for others: how soon they hear, what they
// take meanwhile.
func (b *bench) boardWaiting(ctx context.Context) (figures []figure, err error) {
	dir, err := os.MkdirTemp("", "bench-board-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tasks.jsonl")
	works, err := board.Open(path, board.Options{})
	if err != nil {
		return nil, err
	}
	defer works.Close()
	waits, err := board.Open(path, board.Options{})
	if err != nil {
		return nil, err
	}
	defer waits.Close()
	const agents = 100
	var heard []time.Duration
	var idle, each float64
	for round := range 5 {
		if _, err := works.Create(ctx, board.New{Subject: "what all wait for"}); err != nil {
			return nil, err
		}
		c, err := works.ClaimNext(ctx, "s/ann")
		if err != nil {
			return nil, err
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var began time.Time
		base := held()
		for i := range agents {
			wg.Go(func() {
				if _, e := waits.Wait(ctx, fmt.Sprint("s/a", i)); e != nil {
					mu.Lock()
					err = e
					mu.Unlock()
				}
				took := time.Since(began)
				mu.Lock()
				heard = append(heard, took)
				mu.Unlock()
			})
		}
		time.Sleep(300 * time.Millisecond) // until they wait
		if round == 0 {
			each = float64(held()-base) / agents / 1e3
			used := cpu()
			time.Sleep(2 * time.Second)
			idle = float64(cpu()-used) / float64(2*time.Millisecond)
		}
		began = time.Now()
		if _, err := c.Complete(ctx, ""); err != nil {
			return nil, err
		}
		wg.Wait()
		if err != nil {
			return nil, err
		}
	}
	last := median(heard, func(d time.Duration) time.Duration { return d })
	return []figure{
		{Name: fmt.Sprintf("from completing a task until %d others who wait for it know, of a board of another process", agents), Ours: ms(last), Value: float64(last) / 1e6, Limit: limitNotice, Unit: "ms"},
		{Name: fmt.Sprintf("%d agents who wait at a board, in a second of a processor", agents), Ours: fmt.Sprintf("%.2f ms", idle), Value: idle, Limit: limitIdle, Unit: "ms"},
		{Name: "memory of each of them", Ours: fmt.Sprintf("%.1f kB", each), Value: each, Limit: limitEach, Unit: "kB"},
	}, nil
}
