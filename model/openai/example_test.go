package openai_test

import (
	"context"
	"fmt"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/looptest/wires"
	"oneloop/model"
	"oneloop/model/openai"
)

// A model of DeepSeek's, asked again when it is busy. Without a dialect the way
// of Chat Completions is that of the host.
func ExampleNewChat() {
	api := script.New(script.Fail(503, "server_error", "busy"), script.Say(script.Text("你好！"))) // in place of the real one
	api.Wire = wires.Chat(wires.DeepSeek)
	if err := api.Start(); err != nil {
		fmt.Println(err)
		return
	}
	defer api.Close()

	adapter, err := openai.NewChat(openai.Config{BaseURL: api.URL(), Dialect: "deepseek", Key: "sk-example", Model: "deepseek-v4-pro"})
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
	// Output: 你好！
}
