package board_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"oneloop/team/board"
)

// An agent does what it finds until nothing is left that it could do.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	b, err := board.Open(filepath.Join(dir, "tasks.jsonl"), board.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()

	build, err := b.Create(ctx, board.New{Subject: "build it"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := b.Create(ctx, board.New{Subject: "test it", BlockedBy: []string{build.ID}}); err != nil {
		log.Fatal(err)
	}
	for {
		claim, err := b.ClaimNext(ctx, "s1/ann")
		if errors.Is(err, board.ErrNothing) {
			o, err := b.Wait(ctx, "s1/ann")
			if err != nil {
				log.Fatal(err)
			}
			if o.Prospect == board.Ready {
				continue
			}
			fmt.Println("all is", o.Prospect)
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		err = claim.Hold(ctx, func(context.Context) error {
			fmt.Println("ann is to", claim.Task.Subject)
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
		ready, err := claim.Complete(ctx, "it works")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("ready now:", ready)
	}
	// Output:
	// ann is to build it
	// ready now: [2]
	// ann is to test it
	// ready now: []
	// all is done
}
