package crew_test

import (
	"context"
	"fmt"
	"os"

	"oneloop/team/crew"
)

func Example() {
	dir, err := os.MkdirTemp("", "project-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	c, err := crew.Open(dir, crew.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for _, m := range []crew.Member{{Name: "lead"}, {Name: "reviewer", Role: "reviews changes"}} {
		seat, err := c.Join(ctx, m)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer seat.Leave(ctx)
	}

	asked, err := c.Ask(ctx, crew.Request{From: "lead", To: "reviewer", Kind: crew.Shutdown, Text: "All is reviewed."})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.Answer(ctx, "lead", asked.ID, crew.Shutdown, crew.Approved, ""); err != nil {
		fmt.Println("lead may not answer for the reviewer")
	}
	if _, err := c.Answer(ctx, "reviewer", asked.ID, crew.Shutdown, crew.Rejected, "One change is open."); err != nil {
		fmt.Println(err)
	}
	answered, err := c.Wait(ctx, asked.ID) // it would also end if the reviewer were killed
	fmt.Println(answered.Status, answered.Answer, err)
	// Output:
	// lead may not answer for the reviewer
	// rejected One change is open. <nil>
}
