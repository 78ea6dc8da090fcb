// Weather asks whether today is a day for sightseeing in Beijing: one tool,
// a system prompt of its own, all in Chinese.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"oneloop"
	"oneloop/model/anthropic"
	"oneloop/tool"
	"oneloop/workspace"
)

type place struct {
	City string `json:"city" jsonschema:"城市的中文名，例如：北京"`
}

// A real program would ask a weather service here.
func weather(_ context.Context, in place) (string, error) {
	if in.City != "北京" {
		return "", fmt.Errorf("没有“%s”的天气数据，目前只能查询：北京", in.City)
	}
	return "北京：晴，25°C，微风 2 级", nil
}

func main() {
	workspace.Helper()
	ctx := context.Background()
	model, err := anthropic.New(anthropic.Config{
		BaseURL: os.Getenv("ANTHROPIC_BASE_URL"),
		Key:     os.Getenv("ANTHROPIC_API_KEY"),
		Model:   "claude-sonnet-5",
	})
	if err != nil {
		log.Fatal(err)
	}
	tools := &oneloop.Toolbox{Tools: []oneloop.Tool{
		tool.New("get_weather", "查询一个城市此刻的天气。", weather),
	}}
	history := &oneloop.History{
		System: []oneloop.Block{&oneloop.Text{Text: "你是一名旅游顾问。回答前先用工具查询实时天气，不要猜测。"}},
		Tools:  tools.Defs(),
	}
	history.Append(ctx, oneloop.UserText("今天北京的天气怎么样？适合出门游玩吗？"))
	if err := oneloop.Run(ctx, model, tools, history, func(oneloop.Event) {}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(history.Last().Text())
}
