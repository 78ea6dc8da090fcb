package anthropic_test

import (
	"context"
	"fmt"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/model"
	"oneloop/model/anthropic"
)

// A model for use: one try falls silent, or fails, and the next one answers.
func Example() {
	api := script.New(script.Fail(529, "overloaded_error", "Overloaded"), script.Say(script.Text("Hello!"))) // in place of the real one
	if err := api.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer api.Close()

	adapter, err := anthropic.New(anthropic.Config{BaseURL: api.URL(), Key: "sk-example", Model: "claude-sonnet-4-6"})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := model.Retry(model.Stall(adapter, model.StallOptions{}), model.RetryOptions{Delay: 1})

	msg, err := m.Generate(context.Background(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("Say hello.")}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(msg.Text())
	// Output: Hello!
}
