package trace_test

import (
	"context"
	"fmt"

	"oneloop/trace"
)

// A session is taken again from its log: nothing is asked, nothing is run.
func ExampleReplay() {
	r, err := trace.Replay(context.Background(), "../looptest/testdata/weather.jsonl", trace.ReplayOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if r.Differs != nil {
		fmt.Println("it came out otherwise:", r.Differs)
	}
	fmt.Printf("turns: %d, replies: %d, calls: %d\n", r.Turns, r.Replies, r.Calls)
	// Output: turns: 1, replies: 2, calls: 1
}
